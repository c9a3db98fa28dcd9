#include "client/retry.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <vector>

#include "pubsub/error_details.h"

namespace hopgap::client {

Verdict Judge(const absl::Status& status, const std::map<std::string, std::string>& metadata, const std::string& ack_id,
              UnlistedIds unlisted) {
  if (const auto named = metadata.find(ack_id); named != metadata.end()) {
    if (named->second.starts_with(pubsub::kTransientPrefix)) return Verdict::kRetry;
    // Any other text is one that this version does not know.
    return named->second == pubsub::kPermanentInvalidAckId ? Verdict::kInvalidId : Verdict::kFailed;
  }
  if (!metadata.empty() && unlisted == UnlistedIds::kSucceeded) return Verdict::kSuccess;
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

bool ReopensStream(const absl::Status& status, const Model& model) {
  const std::vector<absl::StatusCode>& codes = model.reopens_after;
  if (std::find(codes.begin(), codes.end(), status.code()) == codes.end()) {
    return status.code() == absl::StatusCode::kUnknown &&
           absl::StrContains(status.message(), "received prior goaway: code: NO_ERROR");
  }
  return status.code() != absl::StatusCode::kUnavailable || !model.shutdown_now_is_final ||
         !absl::StrContains(status.message(), "Server shutdownNow invoked");
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
