#include "server/first_bytes.h"

#include <absl/strings/ascii.h>

#include <algorithm>

#include "base/text.h"

namespace hopgap::server {

FirstBytes Classify(std::string_view first) {
  if (first.size() < kFirstBytesNeeded) return FirstBytes::kMore;
  const std::string_view start = first.substr(0, kFirstBytesNeeded);
  if (start == "PRI") return FirstBytes::kHttp2;
  const bool method = std::all_of(start.begin(), start.end(),
                                  [](char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); });
  return method ? FirstBytes::kHttp1 : FirstBytes::kUnknown;
}

std::string Http1RefusalBody() {
  return R"({"error":{"code":501,"message":"Pub/Sub over HTTP/1.1 is not supported yet: this port speaks gRPC )"
         R"((HTTP/2 without TLS). Point PUBSUB_EMULATOR_HOST of a client library at it.","status":"UNIMPLEMENTED"}})"
         "\n";
}

std::string Http1Refusal() {
  const std::string body = Http1RefusalBody();
  return StrCat("HTTP/1.1 501 Not Implemented\r\nContent-Type: application/json\r\nContent-Length: ", body.size(),
                "\r\nConnection: close\r\n\r\n", body);
}

}  // namespace hopgap::server
