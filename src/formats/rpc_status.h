#pragma once

#include <absl/status/status.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace hopgap::formats {

// google.rpc.Status with, maybe, a RetryInfo: the trailer `grpc-status-details-bin`
// and the body of an OTLP error over HTTP.
std::string EncodeRpcStatus(const absl::Status& status, std::optional<Duration> retry_after);

// The RetryInfo's delay; nullopt if there is none or it is negative.
std::optional<Duration> RetryDelayOf(std::string_view status_bytes);

}  // namespace hopgap::formats
