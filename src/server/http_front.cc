#include "server/http_front.h"

#include "formats/admin_json.h"
#include "server/admin_http.h"
#include "server/first_bytes.h"

namespace hopgap::server {
namespace {

constexpr int kNotImplemented = 501;

HttpReply Plain(std::string text) {
  return {.status = 200, .content_type = "text/plain", .body = std::move(text), .headers = {}};
}

}  // namespace

// Nobody is answered before the broker has replayed its journal and its seed is
// there, so whoever is answered may call.
HttpReply HttpFront::Answer(const HttpCall& call) {
  const bool get = call.method == "GET" || call.method == "HEAD";
  if (get && call.path == "/") return Plain("Ok");
  if (get && call.path == "/healthz") return Plain("ok\n");
  if (call.path.starts_with(formats::kAdminPrefix)) return AnswerAdminCall(call);
  ++refused_;
  return {.status = kNotImplemented, .content_type = "application/json", .body = Http1RefusalBody(), .headers = {}};
}

HttpReply HttpFront::AnswerAdminCall(const HttpCall& call) const {
  if (admin_ == nullptr) return AdminError(absl::NotFoundError("the admin API is off: start the broker with --admin"));
  if (absl::Status status = AdmitAdmin(call, admission_); !status.ok()) return AdminError(status);
  return AnswerAdmin(call, *admin_);
}

}  // namespace hopgap::server
