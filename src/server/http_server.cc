#include "server/http_server.h"

#include <absl/strings/match.h>
#include <fcntl.h>
#include <httplib.h>

#include <thread>

#include "server/listen.h"

namespace hopgap::server {
namespace {

constexpr time_t kIdleSeconds = 60;  // a connection without a request

// The library opens its socket with SO_REUSEPORT, which would let two servers
// share a port silently; this one takes a socket that we opened.
class Listening final : public httplib::Server {
 public:
  void Adopt(int fd) { svr_sock_ = fd; }
};

void FillCall(const httplib::Request& request, HttpCall& call) {
  call.method = request.method;
  call.path = request.path;
  call.headers.assign(request.headers.begin(), request.headers.end());
  call.query.assign(request.params.begin(), request.params.end());
  call.body = request.body;
}

}  // namespace

std::string_view HttpCall::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (absl::EqualsIgnoreCase({key.data(), key.size()}, {name.data(), name.size()})) return value;
  }
  return {};
}

class HttpServer::Impl {
 public:
  Impl(Options options, Handler handler, UniqueFd listener)
      : options_(std::move(options)), handler_(std::move(handler)), port_(BoundPort(listener.get())) {
    server_.new_task_queue = [threads = options_.threads] { return new httplib::ThreadPool(threads); };
    server_.set_tcp_nodelay(true);
    server_.set_keep_alive_max_count(~size_t{0});
    server_.set_keep_alive_timeout(kIdleSeconds);
    server_.set_payload_max_length(options_.body_bytes_max);
    server_.set_read_timeout(options_.read_timeout);
    const auto answer = [this](const httplib::Request& request, httplib::Response& response) {
      HttpCall call;
      FillCall(request, call);
      HttpReply reply = handler_(call);
      response.status = reply.status;
      for (const auto& [name, value] : reply.headers) response.set_header(name, value);
      response.set_content(std::move(reply.body), reply.content_type);
    };
    // A request without a length has no body; the library would wait for one.
    server_.set_pre_routing_handler([answer](const httplib::Request& request, httplib::Response& response) {
      if (request.has_header("Content-Length") || request.has_header("Transfer-Encoding")) {
        return httplib::Server::HandlerResponse::Unhandled;
      }
      answer(request, response);
      return httplib::Server::HandlerResponse::Handled;
    });
    server_.Get(".*", answer).Post(".*", answer).Put(".*", answer).Delete(".*", answer).Patch(".*", answer);
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
    server_.stop();
    thread_.join();
  }

 private:
  const Options options_;
  const Handler handler_;
  const uint16_t port_;
  Listening server_;
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options, Handler handler) {
  absl::StatusOr<UniqueFd> listener = OpenListener(options.host, options.port);
  if (!listener.ok()) return listener.status();
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler), *std::move(listener));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

uint16_t HttpServer::port() const { return impl_->port(); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace hopgap::server
