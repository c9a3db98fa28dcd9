#include "client/retry.h"

#include <absl/strings/match.h>

#include "pubsub/error_details.h"

namespace hopgap::client {

Verdict Judge(const absl::Status& status, const std::map<std::string, std::string>& metadata,
              const std::string& ack_id) {
  if (const auto named = metadata.find(ack_id); named != metadata.end()) {
    // PERMANENT_FAILURE_INVALID_ACK_ID and any text this version does not know.
    return named->second.starts_with(pubsub::kTransientPrefix) ? Verdict::kRetry : Verdict::kFailed;
  }
  switch (status.code()) {
    case absl::StatusCode::kOk: return Verdict::kSuccess;
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable: return Verdict::kRetry;
    default: return Verdict::kFailed;
  }
}

bool ResendsUnary(const absl::Status& status) { return status.code() == absl::StatusCode::kUnavailable; }

bool ReopensStream(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kAborted: return true;
    case absl::StatusCode::kUnavailable: return !absl::StrContains(status.message(), "Server shutdownNow invoked");
    case absl::StatusCode::kUnknown:
      return absl::StrContains(status.message(), "received prior goaway: code: NO_ERROR");
    default:  // RESOURCE_EXHAUSTED too: it may be tried again on opening only, and this is a read
      return false;
  }
}

bool RetriesPublish(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded: return true;
    case absl::StatusCode::kInternal:
      return !absl::StrContains(status.message(), "string field contains invalid UTF-8");
    default: return false;
  }
}

}  // namespace hopgap::client
