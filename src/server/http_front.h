#pragma once

#include <atomic>
#include <cstdint>

#include "server/http_server.h"

namespace hopgap::server {

// What the broker's port answers to HTTP/1.1: `GET /` "Ok" as the official
// emulator does, `GET /healthz`, and 501 for all else until the REST interface
// comes. Thread-safe.
class HttpFront {
 public:
  HttpReply Answer(const HttpCall& call);

  uint64_t refused() const { return refused_; }  // answered 501

 private:
  std::atomic<uint64_t> refused_{0};
};

}  // namespace hopgap::server
