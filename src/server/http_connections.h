#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"
#include "server/http_server.h"
#include "server/listen.h"

namespace hopgap::server {

// Serves HTTP/1.1 on connections that somebody else accepted. A thread serves
// one connection at a time; threads are begun when they are needed and stay, so
// a server that nobody asks over HTTP has none. Where others wait, a connection
// is closed after its answer.
//
// Serve() is thread-safe; Stop() and the destructor are for one thread.
class HttpConnections {
 public:
  struct Options {
    size_t threads_max = 16;
    size_t waiting_max = 256;         // connections beyond the threads; beyond: 503
    size_t body_bytes_max = 1 << 20;  // unpacked; beyond: 413
    Duration read_timeout = std::chrono::seconds{10};
    Duration idle = std::chrono::seconds{10};  // a connection without a request
  };
  HttpConnections(const Options& options, HttpServer::Handler handler);
  ~HttpConnections();

  // Takes a connected socket over; after Stop() it just closes it.
  void Serve(int fd);
  // Answers what has begun, closes all else. Idempotent, implied by the destructor.
  void Stop();

 private:
  class Handling;
  void Loop();

  const Options options_;
  const std::unique_ptr<Handling> handling_;
  std::mutex mu_;
  std::condition_variable changed_;
  // Guarded by mu_.
  std::deque<UniqueFd> waiting_;
  size_t free_threads_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hopgap::server
