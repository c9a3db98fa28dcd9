#include "cli/process_flags.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/text.h"

namespace hopgap::cli {

void BrokerFlags::Add(CLI::App& command) {
  const std::string group = "Broker";
  command.add_option("--target", *text_, "HOST:PORT, tls:HOST:PORT or gcp:PROJECT; PUBSUB_EMULATOR_HOST is honoured")
      ->group(group);
  flags_.emplace(command, group);
}

bool BrokerFlags::given() const {
  const char* emulator = std::getenv("PUBSUB_EMULATOR_HOST");
  return !text_->empty() || (emulator != nullptr && *emulator != '\0');
}

absl::StatusOr<remote::Target> BrokerFlags::Finish() const {
  const char* emulator = std::getenv("PUBSUB_EMULATOR_HOST");
  if (!text_->empty()) return flags_->Parse(*text_);
  if (emulator == nullptr || *emulator == '\0') {
    return absl::InvalidArgumentError(
        "--target: which broker? HOST:PORT (hopgap serve starts one), gcp:PROJECT, or set PUBSUB_EMULATOR_HOST");
  }
  return flags_->Parse(emulator);
}

void ProcessFlags::Add(CLI::App& command) {
  target.Add(command);
  command.add_option("--project", project, "of names that are no full ones (default: the target's)")->group("Broker");
  command.add_option("--client", client, "client model: go")->capture_default_str();
  command.add_option("--arm", arm, "a name for spans and logs");
  command.add_option("--log-format", log_format, "text or json, a line an event, on standard error")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json"}));
  command.add_option("--ready-file", ready_file, "a file to write once it is ready");
}

absl::StatusOr<std::string> ProcessFlags::FullName(std::string_view flag, std::string_view kind,
                                                   const std::string& name, const remote::Target& at) const {
  if (name.empty()) return absl::InvalidArgumentError(StrCat(flag, ": is required"));
  const std::vector<std::string_view> parts = Split(name, '/');
  if (parts.size() == 4 && parts[0] == "projects" && parts[2] == kind) return name;
  if (parts.size() != 1) {
    return absl::InvalidArgumentError(StrCat(flag, " ", name, ": is neither an id nor projects/PROJECT/", kind, "/ID"));
  }
  const std::string& owner = project.empty() ? at.project : project;
  if (owner.empty())
    return absl::InvalidArgumentError(StrCat(flag, " ", name, ": whose? Give --project or the full name"));
  return StrCat("projects/", owner, "/", kind, "/", name);
}

absl::Status WriteReadyFile(const std::string& path, const std::string& text) {
  if (path.empty()) return absl::OkStatus();
  const std::string part = path + ".part";
  {
    std::ofstream file(part, std::ios::trunc);
    file << text << "\n";
    if (!file.flush()) return absl::PermissionDeniedError(StrCat("--ready-file ", path, ": cannot be written"));
  }
  if (std::rename(part.c_str(), path.c_str()) != 0) {
    return absl::PermissionDeniedError(StrCat("--ready-file ", path, ": cannot be written"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Address> ParseAddress(std::string_view flag, std::string_view text) {
  const size_t colon = text.rfind(':');
  const std::optional<uint16_t> port =
      colon == std::string_view::npos ? std::nullopt : ParseNumber<uint16_t>(text.substr(colon + 1));
  if (!port) return absl::InvalidArgumentError(StrCat(flag, " ", text, ": is not HOST:PORT with a port in [0, 65535]"));
  std::string host(text.substr(0, colon));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return Address{host.empty() ? "127.0.0.1" : host, *port};
}

}  // namespace hopgap::cli
