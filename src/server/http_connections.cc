#include "server/http_connections.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <string_view>
#include <utility>

#include "server/http_handling.h"

namespace hopgap::server {
namespace {

constexpr std::string_view kBusy =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 38\r\nRetry-After: 1\r\n"
    "Connection: close\r\n\r\ntoo many HTTP/1.1 connections at once\n";

}  // namespace

class HttpConnections::Handling {
 public:
  HttpHandling http;
};

HttpConnections::HttpConnections(const Options& options, HttpServer::Handler handler)
    : options_(options),
      handling_(new Handling{
          {{.body_bytes_max = options.body_bytes_max, .read_timeout = options.read_timeout, .idle = options.idle},
           std::move(handler)}}) {}

HttpConnections::~HttpConnections() { Stop(); }

void HttpConnections::Serve(int fd) {
  UniqueFd connection(fd);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  std::lock_guard lock(mu_);
  if (stopping_) return;
  if (waiting_.size() >= options_.waiting_max) {
    send(fd, kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_WR);
    return;
  }
  waiting_.push_back(std::move(connection));
  if (waiting_.size() > free_threads_ && threads_.size() < options_.threads_max) {
    ++free_threads_;
    threads_.emplace_back([this] { Loop(); });
  }
  changed_.notify_one();
}

// Stops when the server does; what is being answered is answered.
void HttpConnections::Loop() {
  std::unique_lock lock(mu_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    UniqueFd connection = std::move(waiting_.front());
    waiting_.pop_front();
    --free_threads_;
    lock.unlock();
    handling_->http.Serve(connection.Release(), [this] {
      std::lock_guard asking(mu_);
      return !stopping_ && waiting_.empty();
    });
    lock.lock();
    ++free_threads_;
  }
}

void HttpConnections::Stop() {
  {
    std::lock_guard lock(mu_);
    if (stopping_) return;
    stopping_ = true;
    waiting_.clear();
  }
  handling_->http.Stop();
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace hopgap::server
