#include "formats/rpc_status.h"

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

#include "base/text.h"

namespace hopgap::formats {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr int64_t kDelaySecondsMax = 86'400;  // who asks for more has not understood, or wants us stuck

}  // namespace

std::string EncodeRpcStatus(const absl::Status& status, std::optional<Duration> retry_after) {
  google::rpc::Status proto;
  proto.set_code(static_cast<int>(status.code()));
  proto.set_message(std::string(MessageOf(status)));
  if (retry_after) {
    google::rpc::RetryInfo info;
    info.mutable_retry_delay()->set_seconds(retry_after->count() / kNanosPerSecond);
    info.mutable_retry_delay()->set_nanos(static_cast<int32_t>(retry_after->count() % kNanosPerSecond));
    proto.add_details()->PackFrom(info);
  }
  return proto.SerializeAsString();
}

std::optional<Duration> RetryDelayOf(std::string_view status_bytes) {
  google::rpc::Status proto;
  if (!proto.ParseFromArray(status_bytes.data(), static_cast<int>(status_bytes.size()))) return std::nullopt;
  for (const google::protobuf::Any& detail : proto.details()) {
    google::rpc::RetryInfo info;
    if (!detail.UnpackTo(&info) || !info.has_retry_delay()) continue;
    const int64_t seconds = info.retry_delay().seconds();
    const int64_t nanos = info.retry_delay().nanos();
    if (seconds < 0 || nanos < 0) return std::nullopt;
    return Duration{std::min(seconds, kDelaySecondsMax) * kNanosPerSecond + nanos};
  }
  return std::nullopt;
}

}  // namespace hopgap::formats
