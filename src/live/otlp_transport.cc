#include "live/otlp_transport.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "base/version.h"
#include "formats/otlp_proto.h"
#include "formats/rpc_status.h"
#include "remote/gzip.h"

namespace hopgap::live {
namespace {

using Kind = OtlpOutcome::Kind;
constexpr size_t kQuotedMax = 200;  // of a body that explains an error
constexpr Duration kConnectMax = std::chrono::seconds{5};
constexpr int64_t kWaitSecondsMax = 86'400;
constexpr size_t kDateLength = 29;  // "Sun, 06 Nov 1994 08:49:37 GMT"

std::string UserAgent() { return StrCat("OTel-OTLP-Exporter-Cpp-hopgap/", kVersion); }

// What a receiver that took the request says besides.
OtlpOutcome Taken(std::string_view response) {
  const absl::StatusOr<formats::OtlpPartialSuccess> partial = formats::DecodeOtlpResponse(response);
  // The spans are there, whatever this is; sending them again would double them.
  if (!partial.ok()) return {.message = StrCat("taken, but the answer is ", MessageOf(partial.status()))};
  if (partial->empty()) return {};
  return {.rejected_spans = partial->rejected_spans,
          .message = partial->rejected_spans == 0
                         ? StrCat("taken, with a warning: ", partial->message)
                         : StrCat(partial->rejected_spans, " spans rejected: ", partial->message)};
}

std::optional<int> MonthOf(std::string_view name) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto found = std::find(kMonths.begin(), kMonths.end(), name);
  if (found == kMonths.end()) return std::nullopt;
  return static_cast<int>(found - kMonths.begin()) + 1;
}

// The one form of date that a server may generate.
std::optional<WallTime> ReadDate(std::string_view text) {
  if (text.size() != kDateLength || !text.ends_with(" GMT")) return std::nullopt;
  const std::optional<int> day = ParseNumber<int>(text.substr(5, 2)), month = MonthOf(text.substr(8, 3)),
                           year = ParseNumber<int>(text.substr(12, 4)), hour = ParseNumber<int>(text.substr(17, 2)),
                           minute = ParseNumber<int>(text.substr(20, 2)), second = ParseNumber<int>(text.substr(23, 2));
  if (!day || !month || !year || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return WallTime{std::chrono::sys_days{date}.time_since_epoch() + std::chrono::hours{*hour} +
                  std::chrono::minutes{*minute} + std::chrono::seconds{*second}};
}

class HttpTransport final : public OtlpTransport {
 public:
  explicit HttpTransport(const formats::OtelSettings& settings)
      : gzip_(settings.gzip),
        client_({.origin = settings.origin,
                 .connect_timeout = std::min(kConnectMax, settings.timeout),
                 .timeout = settings.timeout,
                 .ca_file = settings.ca_file,
                 .client_certificate_file = settings.client_certificate_file,
                 .client_key_file = settings.client_key_file}) {
    request_.method = "POST";
    request_.path = settings.path;
    request_.content_type = "application/x-protobuf";
    request_.headers = settings.headers;
    request_.headers.emplace_back("User-Agent", UserAgent());
    if (gzip_) request_.headers.emplace_back("Content-Encoding", "gzip");
  }

  OtlpOutcome Send(const std::string& request, Duration) override {
    request_.body = gzip_ ? remote::Gzip(request) : request;
    return JudgeHttp(client_.Send(request_), WallNow());
  }
  void Cancel() override { client_.Cancel(); }

 private:
  const bool gzip_;
  remote::HttpClient client_;
  remote::HttpRequest request_;
};

class GrpcTransport final : public OtlpTransport {
 public:
  explicit GrpcTransport(std::unique_ptr<remote::OtlpGrpc> client) : client_(std::move(client)) {}
  OtlpOutcome Send(const std::string& request, Duration timeout) override {
    return JudgeGrpc(client_->Export(request, timeout));
  }
  void Cancel() override { client_->Cancel(); }

 private:
  std::unique_ptr<remote::OtlpGrpc> client_;
};

}  // namespace

std::optional<Duration> ReadRetryAfter(std::string_view text, WallTime now) {
  if (const std::optional<int64_t> seconds = ParseNumber<int64_t>(text)) {
    if (*seconds < 0) return std::nullopt;
    return std::chrono::seconds{std::min(*seconds, kWaitSecondsMax)};
  }
  const std::optional<WallTime> date = ReadDate(text);
  if (!date) return std::nullopt;
  return std::clamp(*date - now, Duration{0}, Duration{std::chrono::seconds{kWaitSecondsMax}});
}

OtlpOutcome JudgeHttp(const absl::StatusOr<remote::HttpResponse>& answer, WallTime now) {
  if (!answer.ok()) return {.kind = Kind::kTryAgain, .message = std::string(MessageOf(answer.status()))};
  const int status = answer->status;
  if (status >= 200 && status < 300) return Taken(answer->body);
  OtlpOutcome outcome{.kind = Kind::kRefused, .message = StrCat("HTTP ", status)};
  if (answer->Header("Content-Type").starts_with("text/") && !answer->body.empty()) {
    outcome.message += StrCat(": ", answer->body.substr(0, kQuotedMax));
  }
  if (status == 429 || status == 502 || status == 503 || status == 504) {
    outcome.kind = Kind::kTryAgain;
    outcome.wait = ReadRetryAfter(answer->Header("Retry-After"), now);
  }
  return outcome;
}

OtlpOutcome JudgeGrpc(const remote::OtlpGrpc::Result& answer) {
  if (answer.status.ok()) return Taken(answer.response);
  OtlpOutcome outcome{.kind = Kind::kRefused, .message = answer.status.ToString()};
  outcome.wait = formats::RetryDelayOf(answer.details);
  switch (answer.status.code()) {
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss: outcome.kind = Kind::kTryAgain; break;
    // Without a delay it means that the request itself is too much.
    case absl::StatusCode::kResourceExhausted:
      if (outcome.wait) outcome.kind = Kind::kTryAgain;
      break;
    default: break;
  }
  return outcome;
}

absl::StatusOr<std::unique_ptr<OtlpTransport>> MakeOtlpTransport(const formats::OtelSettings& settings) {
  if (settings.protocol == formats::OtlpProtocol::kHttpProtobuf) {
    return std::unique_ptr<OtlpTransport>(std::make_unique<HttpTransport>(settings));
  }
  auto client = remote::OtlpGrpc::Create({.target = settings.origin,
                                          .tls = settings.tls,
                                          .ca_file = settings.ca_file,
                                          .client_key_file = settings.client_key_file,
                                          .client_certificate_file = settings.client_certificate_file,
                                          .headers = settings.headers,
                                          .gzip = settings.gzip,
                                          .user_agent = UserAgent()});
  if (!client.ok()) return client.status();
  return std::unique_ptr<OtlpTransport>(std::make_unique<GrpcTransport>(*std::move(client)));
}

}  // namespace hopgap::live
