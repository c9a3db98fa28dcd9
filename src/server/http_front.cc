#include "server/http_front.h"

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
  ++refused_;
  return {.status = kNotImplemented, .content_type = "application/json", .body = Http1RefusalBody(), .headers = {}};
}

}  // namespace hopgap::server
