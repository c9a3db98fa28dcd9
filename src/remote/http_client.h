#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace hopgap::remote {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string path = "/";  // with its query, escaped
  HttpHeaders headers;
  std::string body;
  std::string content_type;  // of a body
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
  std::string body;

  // The first of that name, whatever its case; empty if there is none.
  std::string_view Header(std::string_view name) const;
};

// "https://host:8443/v1/traces?x=1" in two: the origin "https://host:8443" and
// the rest "/v1/traces?x=1" (empty if the URL ends before it).
struct Url {
  std::string origin, path;
};
// InvalidArgument unless it is http:// or https:// with a host and, if any, a port.
absl::StatusOr<Url> ParseUrl(std::string_view text);

// An HTTP/1.1 client that keeps one connection to one origin and opens it again
// when it broke. Blocks: never for a thread that measures.
//
// Not thread-safe, but Cancel().
class HttpClient {
 public:
  struct Options {
    std::string origin;  // of ParseUrl()
    Duration connect_timeout = std::chrono::seconds{5};
    Duration timeout = std::chrono::seconds{10};  // of each read and write
    // PEM files; empty: the system's roots, no client certificate.
    std::string ca_file = {}, client_certificate_file = {}, client_key_file = {};
  };
  explicit HttpClient(Options options);
  ~HttpClient();

  // Any answer, whatever its status. Unavailable if none came (what could not be
  // reached and why is in the message), DeadlineExceeded if it took too long.
  absl::StatusOr<HttpResponse> Send(const HttpRequest& request);

  // Breaks the exchange under way, if there is one, which then fails with
  // Unavailable; a connection that is still being made is not broken. Any thread.
  void Cancel();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopgap::remote
