#include "server/http_server.h"

#include <absl/strings/match.h>
#include <fcntl.h>
#include <httplib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "base/text.h"
#include "server/http_connection.h"
#include "server/listen.h"

namespace hopgap::server {
namespace {

constexpr Duration kIdle = std::chrono::seconds{60};  // a connection without a request
constexpr int kTooLarge = 413;

// The library opens its socket with SO_REUSEPORT, which would let two servers
// share a port silently; this one takes a socket that we opened. And it lets
// idle connections hold up the end of the server; this one wakes them.
class Listening final : public httplib::Server {
 public:
  explicit Listening(Duration read_timeout) : read_timeout_(read_timeout), stopped_(eventfd(0, EFD_CLOEXEC)) {}
  void Adopt(int fd) { svr_sock_ = fd; }
  void Stop() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = write(stopped_.get(), &one, sizeof one);  // stays readable
    stop();
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    HttpConnection connection(socket, stopped_.get(), read_timeout_);
    bool closed = false;
    while (!closed && connection.WaitForRequest(kIdle)) {
      if (!process_request(connection, false, closed, nullptr)) break;
    }
    return true;
  }

  const Duration read_timeout_;
  const UniqueFd stopped_;
};

void FillCall(const httplib::Request& request, HttpCall& call) {
  call.method = request.method;
  call.path = request.path;
  call.headers.assign(request.headers.begin(), request.headers.end());
  call.query.assign(request.params.begin(), request.params.end());
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
      : options_(std::move(options)),
        handler_(std::move(handler)),
        port_(BoundPort(listener.get())),
        server_(options_.read_timeout) {
    server_.new_task_queue = [threads = options_.threads] { return new httplib::ThreadPool(threads); };
    server_.set_keep_alive_max_count(~size_t{0});  // these two for its headers alone
    server_.set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(kIdle).count());
    server_.set_payload_max_length(options_.body_bytes_max);
    const auto without_body = [this](const httplib::Request& request, httplib::Response& response) {
      Answer(request, {}, response);
    };
    // A request without a length has no body; the library would wait for one.
    server_.set_pre_routing_handler([without_body](const httplib::Request& request, httplib::Response& response) {
      if (request.has_header("Content-Length") || request.has_header("Transfer-Encoding")) {
        return httplib::Server::HandlerResponse::Unhandled;
      }
      without_body(request, response);
      return httplib::Server::HandlerResponse::Handled;
    });
    const auto with_body = [this](const httplib::Request& request, httplib::Response& response,
                                  const httplib::ContentReader& read) {
      std::string body;
      bool fits = true;
      if (!ReadBody(read, body, fits)) return;  // the library has set 413, or 400 for what is no body
      if (fits) return Answer(request, std::move(body), response);
      response.status = kTooLarge;
      response.set_content(
          StrCat("the body, unpacked, is larger than ", options_.body_bytes_max, " bytes: send less at once\n"),
          "text/plain");
    };
    server_.Get(".*", without_body).Delete(".*", without_body);
    server_.Post(".*", with_body).Put(".*", with_body).Delete(".*", with_body).Patch(".*", with_body);
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
  // The library limits what stands in Content-Length only: neither what a packed
  // body becomes nor one that comes in chunks. What is too much is read to its
  // end, because the next request stands behind it.
  bool ReadBody(const httplib::ContentReader& read, std::string& body, bool& fits) const {
    return read([&](const char* data, size_t size) {
      fits = fits && size <= options_.body_bytes_max - body.size();
      if (fits) body.append(data, size);
      return true;
    });
  }

  void Answer(const httplib::Request& request, std::string body, httplib::Response& response) {
    HttpCall call;
    FillCall(request, call);
    call.body = std::move(body);
    HttpReply reply = handler_(call);
    response.status = reply.status;
    for (const auto& [name, value] : reply.headers) response.set_header(name, value);
    response.set_content(std::move(reply.body), reply.content_type);
  }

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
