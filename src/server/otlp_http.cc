#include "server/otlp_http.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <array>
#include <future>
#include <optional>

#include "base/text.h"
#include "formats/json_text.h"
#include "formats/rpc_status.h"

namespace hopgap::server {
namespace {

constexpr char kPath[] = "/v1/traces";
constexpr char kProtobufType[] = "application/x-protobuf";
constexpr char kJsonType[] = "application/json";
constexpr std::array<std::string_view, 5> kUnpacked = {"", "identity", "gzip", "deflate", "br"};

HttpReply Plain(int status, std::string text) {
  return {.status = status, .content_type = "text/plain", .body = std::move(text) + "\n", .headers = {}};
}

std::optional<OtlpEncoding> EncodingOf(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  const auto is = [type](const char* name) { return absl::EqualsIgnoreCase(ToAbsl(type), name); };
  if (is(kProtobufType)) return OtlpEncoding::kProtobuf;
  if (is(kJsonType)) return OtlpEncoding::kJson;
  return std::nullopt;
}

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument: return 400;
    case absl::StatusCode::kResourceExhausted: return 429;
    case absl::StatusCode::kUnavailable: return 503;
    default: return 500;
  }
}

// In the encoding that the request came in.
HttpReply Reply(const OtlpAnswer& answer, OtlpEncoding encoding) {
  const bool json = encoding == OtlpEncoding::kJson;
  HttpReply reply{.status = 200, .content_type = json ? kJsonType : kProtobufType, .body = {}, .headers = {}};
  if (answer.status.ok()) {
    reply.body = json ? formats::OtlpResponseJson(answer.partial) : formats::EncodeOtlpResponse(answer.partial);
    return reply;
  }
  reply.status = HttpStatusOf(answer.status.code());
  if (json) {
    reply.body = StrCat("{\"code\":", static_cast<int>(answer.status.code()), ",\"message\":");
    formats::AppendJsonText(MessageOf(answer.status), reply.body);
    reply.body += '}';
  } else {
    reply.body = formats::EncodeRpcStatus(answer.status, std::nullopt);
  }
  return reply;
}

}  // namespace

HttpReply AnswerOtlpHttp(const HttpCall& call, OtlpIntake& intake, Duration retry_after) {
  if (call.path != kPath) return Plain(404, StrCat("'", call.path, "' is not served: spans go to ", kPath));
  if (call.method != "POST") {
    HttpReply reply = Plain(405, StrCat(call.method, " is not served: POST spans to ", kPath));
    reply.headers = {{"Allow", "POST"}};
    return reply;
  }
  const std::optional<OtlpEncoding> encoding = EncodingOf(call.Header("Content-Type"));
  if (!encoding) {
    return Plain(
        415, StrCat("Content-Type '", call.Header("Content-Type"), "' is neither ", kProtobufType, " nor ", kJsonType));
  }
  const std::string_view packed = call.Header("Content-Encoding");
  if (std::find(kUnpacked.begin(), kUnpacked.end(), packed) == kUnpacked.end()) {
    return Plain(415, StrCat("Content-Encoding '", packed, "' is not served: gzip or none"));
  }
  std::promise<OtlpAnswer> promise;
  if (intake.Post(call.body, *encoding, [&promise](const OtlpAnswer& answer) { promise.set_value(answer); })) {
    return Reply(promise.get_future().get(), *encoding);
  }
  HttpReply reply = Reply({absl::ResourceExhaustedError("the receiver has no room for spans now"), {}}, *encoding);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(retry_after);
  reply.headers = {{"Retry-After", std::to_string(seconds.count())}};
  return reply;
}

}  // namespace hopgap::server
