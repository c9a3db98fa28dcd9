#include "remote/target.h"

#include <absl/strings/ascii.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/text.h"
#include "remote/access.h"
#include "remote/credentials.h"

namespace hopgap::remote {
namespace {

constexpr std::string_view kService = "gcp:", kTls = "tls:";
// Where Debian, and after it most images, keep the roots; gRPC's own default
// depends on how it was built.
constexpr char kSystemRoots[] = "/etc/ssl/certs/ca-certificates.crt";

absl::Status Bad(std::string_view flag, std::string_view value, std::string_view why) {
  return absl::InvalidArgumentError(StrCat(flag, " ", value, ": ", why));
}

bool HostAndPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::optional<uint16_t> port = ParseNumber<uint16_t>(text.substr(colon + 1));
  return port && *port > 0 && text.find_first_of("/ ") == std::string_view::npos;
}

// 6–30 of a-z, 0-9 and '-', or an older one with a domain ("example.com:p").
bool ProjectId(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-.:";
  return !text.empty() && text.size() <= 100 && text[0] >= 'a' && text[0] <= 'z' &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

absl::Status NoUse(std::string_view target, const TargetSettings& settings, bool tls, bool service) {
  if (!settings.endpoint.empty() && !service) {
    return Bad("--endpoint", settings.endpoint, StrCat("is for gcp:PROJECT, not for --target ", target));
  }
  if (!settings.token_file.empty() && (service || !tls)) {
    return Bad("--token-file", settings.token_file,
               service ? "is not for gcp:PROJECT, which uses application default credentials"
                       : "needs --target tls:HOST:PORT: a token must not travel in the clear");
  }
  for (const auto& [flag, value] :
       {std::pair{"--ca-file", &settings.ca_file}, std::pair{"--client-cert", &settings.certificate_file},
        std::pair{"--client-key", &settings.key_file}}) {
    if (!value->empty() && !tls) return Bad(flag, *value, "needs --target tls:HOST:PORT or gcp:PROJECT");
  }
  if (settings.certificate_file.empty() != settings.key_file.empty()) {
    return absl::InvalidArgumentError("--client-cert and --client-key: give both or neither");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadSetting(std::string_view flag, const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.str().empty()) return absl::NotFoundError(StrCat(flag, " ", path, ": cannot be read, or is empty"));
  return text.str();
}

absl::StatusOr<Access::Certificates> ReadCertificates(const Target& target) {
  Access::Certificates certificates;
  for (const auto& [flag, path, place] :
       {std::tuple{"--ca-file", &target.ca_file, &certificates.roots},
        std::tuple{"--client-cert", &target.certificate_file, &certificates.certificate},
        std::tuple{"--client-key", &target.key_file, &certificates.key}}) {
    absl::StatusOr<std::string> text = ReadSetting(flag, *path);
    if (!text.ok()) return text.status();
    *place = *std::move(text);
  }
  if (target.ca_file.empty()) {
    if (absl::StatusOr<std::string> roots = ReadSetting("", kSystemRoots); roots.ok()) {
      certificates.roots = *std::move(roots);
    }
  }
  return certificates;
}

}  // namespace

absl::StatusOr<Target> ParseTarget(std::string_view text, const TargetSettings& settings) {
  Target target;
  target.text = std::string(text);
  const bool service = text.substr(0, kService.size()) == kService;
  target.tls = service || text.substr(0, kTls.size()) == kTls;
  if (absl::Status status = NoUse(text, settings, target.tls, service); !status.ok()) return status;
  target.address = target.tls ? text.substr(kTls.size()) : text;
  if (service) {
    target.project = text.substr(kService.size());
    if (!ProjectId(target.project)) {
      return Bad("--target", text, "has no project id after gcp: (lower-case letters, digits and '-')");
    }
    target.address = settings.endpoint.empty() ? kGlobalEndpoint : settings.endpoint;
    if (!HostAndPort(target.address) && !settings.endpoint.empty() && HostAndPort(StrCat(target.address, ":443"))) {
      target.address += ":443";
    }
    if (!HostAndPort(target.address)) return Bad("--endpoint", settings.endpoint, "is not HOST[:PORT]");
  } else if (!HostAndPort(target.address)) {
    return Bad("--target", text, "is none of embedded, HOST:PORT, tls:HOST:PORT, gcp:PROJECT");
  }
  target.ca_file = settings.ca_file;
  target.certificate_file = settings.certificate_file;
  target.key_file = settings.key_file;
  target.token_file = settings.token_file;
  return target;
}

absl::Status Authorize(Target& target, Duration timeout) {
  if (!target.tls) return absl::OkStatus();
  absl::StatusOr<Access::Certificates> certificates = ReadCertificates(target);
  if (!certificates.ok()) return certificates.status();
  absl::StatusOr<std::string> token = ReadSetting("--token-file", target.token_file);
  if (!token.ok()) return token.status();
  std::shared_ptr<Credentials> credentials;
  if (target.service()) {
    absl::StatusOr<std::shared_ptr<Credentials>> found = Credentials::Default();
    if (!found.ok()) return found.status();
    credentials = *std::move(found);
    if (absl::Status status = credentials->WaitForToken(timeout).status(); !status.ok()) return status;
  }
  target.access = std::make_shared<Access>(*std::move(certificates), std::move(credentials),
                                           std::string(ToStd(absl::StripAsciiWhitespace(*token))));
  return absl::OkStatus();
}

std::string DescribeAccess(const Target& target) { return target.access ? target.access->Describe() : std::string(); }

absl::Status Explain(const absl::Status& status, const Target& target) {
  if (!target.tls) return status;
  const std::string who = DescribeAccess(target);
  std::string more;
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
      more = who.empty() ? "; the target wants a token: give --token-file" : StrCat("; sent was ", who);
      break;
    case absl::StatusCode::kPermissionDenied:
      more = target.service() ? StrCat("; the ", who, " may not do this in project ", target.project,
                                       ": give it the role roles/pubsub.editor there, and enable the Pub/Sub API")
                              : StrCat("; sent was ", who);
      break;
    case absl::StatusCode::kResourceExhausted:
      more = "; a quota is used up: wait a minute, lower --rate, or ask for more (IAM & Admin, Quotas)";
      break;
    default: return status;
  }
  return absl::Status(status.code(), StrCat(MessageOf(status), more));
}

absl::Status CheckAccess(const Target& target) {
  return target.access ? target.access->Headers().status() : absl::OkStatus();
}

bool EndsARun(const absl::Status& status, const Target& target) {
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied: return target.tls;
    case absl::StatusCode::kResourceExhausted: return target.service();
    default: return false;
  }
}

}  // namespace hopgap::remote
