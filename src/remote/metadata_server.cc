#include "remote/metadata_server.h"

#include "base/text.h"

namespace hopgap::remote {
namespace {

constexpr char kUsualAddress[] = "169.254.169.254";
// A machine that is not Google's drops what is sent there.
constexpr Duration kConnect = std::chrono::seconds{3};

}  // namespace

std::string MetadataHost(const Credentials::Environment& environment) {
  const std::string named = environment("GCE_METADATA_HOST");
  return named.empty() ? kUsualAddress : named;
}

absl::StatusOr<HttpResponse> AskMetadataServer(const std::string& host, const std::string& path) {
  HttpClient client({.origin = StrCat("http://", host), .connect_timeout = kConnect});
  HttpRequest request;
  request.path = StrCat("/computeMetadata/v1/", path);
  request.headers = {{"Metadata-Flavor", "Google"}};
  return client.Send(request);
}

absl::StatusOr<std::string> MachineRegion(const Credentials::Environment& environment) {
  const absl::StatusOr<HttpResponse> response = AskMetadataServer(MetadataHost(environment), "instance/zone");
  if (!response.ok()) return response.status();
  // "projects/123/zones/europe-west1-b".
  const std::string_view zone = std::string_view(response->body).substr(response->body.rfind('/') + 1);
  const size_t dash = zone.rfind('-');
  if (response->status != 200 || response->Header("Metadata-Flavor") != "Google" || dash == std::string_view::npos) {
    return absl::UnavailableError("what answers is no metadata server, or knows no zone");
  }
  return std::string(zone.substr(0, dash));
}

}  // namespace hopgap::remote
