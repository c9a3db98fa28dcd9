#include "server/health.h"

#include "base/text.h"
#include "pubsub/wire.h"

namespace hopgap::server {
namespace {

constexpr uint32_t kService = 1, kStatus = 1;

}  // namespace

absl::StatusOr<std::string> DecodeHealthRequest(std::string_view wire) {
  std::string service;
  pubsub::WireReader reader(wire);
  while (reader.Next()) {
    if (reader.field().Is(kService, pubsub::WireType::kBytes)) service = reader.field().bytes;
  }
  if (!reader.ok()) return absl::InvalidArgumentError("HealthCheckRequest: malformed bytes");
  return service;
}

pubsub::Slices EncodeHealthResponse(HealthStatus status) {
  std::string wire;
  if (status != HealthStatus::kUnknown) pubsub::WireWriter(wire).Varint(kStatus, static_cast<uint64_t>(status));
  return {pubsub::Bytes(std::move(wire))};
}

bool HasHealth(std::string_view service) {
  return service.empty() || service == "google.pubsub.v1.Publisher" || service == "google.pubsub.v1.Subscriber";
}

}  // namespace hopgap::server
