#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "cli/log.h"
#include "cli/target_flags.h"
#include "live/span_maker.h"
#include "remote/target.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace hopgap::cli {

// --target and how it is reached, for commands that need a broker that is there.
class BrokerFlags {
 public:
  void Add(CLI::App& command);
  // PUBSUB_EMULATOR_HOST stands in for a target that is not given.
  // InvalidArgument if there is neither.
  absl::StatusOr<remote::Target> Finish() const;
  // Whether there is a target, by flag or environment, for commands that can do without.
  bool given() const;
  bool settings_given() const { return flags_ && flags_->given(); }

 private:
  std::shared_ptr<std::string> text_ = std::make_shared<std::string>();
  std::optional<TargetFlags> flags_;
};

// What api and worker have in common.
struct ProcessFlags {
  BrokerFlags target;
  std::string project, arm, client = "go", log_format = "text", ready_file;

  void Add(CLI::App& command);
  Log::Format log() const { return log_format == "json" ? Log::Format::kJson : Log::Format::kText; }
  // "projects/P/KIND/ID" as it stands; an ID alone belongs to --project or the
  // target's. InvalidArgument if there is neither, or for another form.
  absl::StatusOr<std::string> FullName(std::string_view flag, std::string_view kind, const std::string& name,
                                       const remote::Target& target) const;
};

// Writes `text` to a file that appears whole; for whoever waits for a start.
// Does nothing for an empty path.
absl::Status WriteReadyFile(const std::string& path, const std::string& text);

// "HOST:PORT" or ":PORT" of --listen and --health.
struct Address {
  std::string host;
  uint16_t port = 0;
};
absl::StatusOr<Address> ParseAddress(std::string_view flag, std::string_view text);

}  // namespace hopgap::cli
