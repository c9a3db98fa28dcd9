#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "formats/otel_settings.h"
#include "remote/http_client.h"
#include "remote/otlp_grpc.h"

namespace hopgap::live {

// What became of one request.
struct OtlpOutcome {
  enum class Kind : uint8_t { kTaken, kTryAgain, kRefused };
  Kind kind = Kind::kTaken;
  std::optional<Duration> wait = {};  // how long the receiver asks to be left alone before the next try
  int64_t rejected_spans = 0;         // of a request that was taken
  std::string message = {};           // why not, or the receiver's warning; empty when all is well
};

// What an answer means, by OTLP's rules: which errors may be tried again is a
// list, all others are final. `now` is for a Retry-After that names a date.
OtlpOutcome JudgeHttp(const absl::StatusOr<remote::HttpResponse>& answer, WallTime now);
OtlpOutcome JudgeGrpc(const remote::OtlpGrpc::Result& answer);

// Retry-After: seconds or a date ("Sun, 06 Nov 1994 08:49:37 GMT"); nullopt if
// it is neither. A date that has passed is no wait.
std::optional<Duration> ReadRetryAfter(std::string_view text, WallTime now);

// Carries requests to one receiver. One thread, but Cancel() is for any.
class OtlpTransport {
 public:
  virtual ~OtlpTransport() = default;
  // Blocks, for `timeout` at most where the transport can keep it (HTTP counts
  // it for each read and write, as the settings say).
  virtual OtlpOutcome Send(const std::string& request, Duration timeout) = 0;
  // Ends the Send() under way, if there is one.
  virtual void Cancel() = 0;
};

// The transport of the settings' protocol. InvalidArgument or NotFound for a
// header or a certificate that cannot be used. Connects later.
absl::StatusOr<std::unique_ptr<OtlpTransport>> MakeOtlpTransport(const formats::OtelSettings& settings);

}  // namespace hopgap::live
