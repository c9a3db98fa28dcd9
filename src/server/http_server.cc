#include "server/http_server.h"

#include <absl/strings/match.h>
#include <fcntl.h>

#include <thread>

#include "base/text.h"
#include "server/http_handling.h"
#include "server/listen.h"

namespace hopgap::server {

std::string_view HttpCall::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (absl::EqualsIgnoreCase({key.data(), key.size()}, {name.data(), name.size()})) return value;
  }
  return {};
}

class HttpServer::Impl {
 public:
  Impl(const Options& options, Handler handler, UniqueFd listener)
      : port_(BoundPort(listener.get())),
        server_({.body_bytes_max = options.body_bytes_max, .read_timeout = options.read_timeout}, std::move(handler)) {
    server_.new_task_queue = [threads = options.threads] { return new httplib::ThreadPool(threads); };
    const int fd = listener.Release();
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    server_.Adopt(fd);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();  // stop() before that would be lost
  }

  ~Impl() { Stop(); }

  uint16_t port() const { return port_; }

  void Stop() {
    if (!thread_.joinable()) return;
    server_.Stop();
    thread_.join();
  }

 private:
  const uint16_t port_;
  HttpHandling server_;
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options, Handler handler) {
  absl::StatusOr<UniqueFd> listener = OpenListener(options.host, options.port);
  if (!listener.ok()) return listener.status();
  auto impl = std::make_unique<Impl>(options, std::move(handler), *std::move(listener));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

uint16_t HttpServer::port() const { return impl_->port(); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace hopgap::server
