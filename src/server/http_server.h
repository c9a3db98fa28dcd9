#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace hopgap::server {

struct HttpCall {
  std::string method;
  std::string path;  // without its query
  std::vector<std::pair<std::string, std::string>> headers, query;
  std::string body;       // unpacked if it came compressed
  std::string peer = {};  // the address that it came from

  // The first of that name, whatever its case; empty if there is none.
  std::string_view Header(std::string_view name) const;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// HTTP/1.1 for our own small interfaces: `POST /send`, health, OTLP. A thread a
// connection, so for tens of clients, not for thousands.
//
// Stop() and the destructor are for one thread.
class HttpServer {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    uint16_t port = 0;  // 0: any free one
    // Connections served at once; one more waits for a thread.
    size_t threads = 32;
    size_t body_bytes_max = 64 << 20;  // unpacked; beyond: 413
    Duration read_timeout = std::chrono::seconds{10};
  };
  // Called on the connection's thread, several at once; what it throws is a 500.
  using Handler = std::function<HttpReply(const HttpCall&)>;

  // AlreadyExists if the port is in use, InvalidArgument if the host is no
  // address of this machine. Clients can connect when it returns.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Options options, Handler handler);
  ~HttpServer();

  uint16_t port() const;

  // Answers what has begun, then closes. Idempotent, implied by the destructor.
  void Stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopgap::server
