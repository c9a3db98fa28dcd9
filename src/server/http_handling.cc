#include "server/http_handling.h"

#include <optional>

#include "base/text.h"
#include "server/http_connection.h"

namespace hopgap::server {
namespace {

constexpr int kBadRequest = 400, kTooLarge = 413;
// A body of up to so many limits is read to its end, so that its sender gets the
// answer and may go on with the next request; a longer one is not waited for.
constexpr uint64_t kReadLimits = 16;

// The library tells a handler nothing of its connection; both run on this thread.
thread_local bool close_after_answer = false;

std::string TooLargeText(size_t bytes_max) {
  return StrCat("the body is larger than ", bytes_max, " bytes: send less at once\n");
}

// Sets an answer and returns true for a length that is none, or that nobody
// would wait for. The library would take what it can of the text, and wait.
bool RefuseLength(const httplib::Request& request, size_t bytes_max, httplib::Response& response) {
  for (size_t i = 0; i < request.get_header_value_count("Content-Length"); ++i) {
    const std::string text = request.get_header_value("Content-Length", i);
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    const std::optional<uint64_t> length = digits ? ParseNumber<uint64_t>(text) : std::nullopt;
    // Digits that are no number of 64 bits are a length, and too large.
    if (digits && length && *length <= kReadLimits * bytes_max) continue;
    response.status = digits ? kTooLarge : kBadRequest;
    response.set_content(digits ? TooLargeText(bytes_max) : "Content-Length is no number\n", "text/plain");
    response.set_header("Connection", "close");
    close_after_answer = true;
    return true;
  }
  return false;
}

void FillCall(const httplib::Request& request, HttpCall& call) {
  call.method = request.method;
  call.path = request.path;
  call.peer = request.remote_addr;
  call.headers.assign(request.headers.begin(), request.headers.end());
  call.query.assign(request.params.begin(), request.params.end());
}

}  // namespace

HttpHandling::HttpHandling(const Options& options, HttpServer::Handler handler)
    : options_(options), handler_(std::move(handler)), stopped_(eventfd(0, EFD_CLOEXEC)) {
  set_keep_alive_max_count(~size_t{0});  // these two for its headers alone
  set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(options_.idle).count());
  set_payload_max_length(options_.body_bytes_max);
  // The library's own refusals have no words.
  set_error_handler([this](const httplib::Request&, httplib::Response& response) {
    if (response.status == kTooLarge && response.body.empty()) {
      response.set_content(TooLargeText(options_.body_bytes_max), "text/plain");
    }
  });
  const auto without_body = [this](const httplib::Request& request, httplib::Response& response) {
    Answer(request, {}, response);
  };
  // A request without a length has no body; the library would wait for one.
  set_pre_routing_handler([this, without_body](const httplib::Request& request, httplib::Response& response) {
    if (RefuseLength(request, options_.body_bytes_max, response)) return httplib::Server::HandlerResponse::Handled;
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
    response.set_content(TooLargeText(options_.body_bytes_max), "text/plain");
  };
  Get(".*", without_body).Delete(".*", without_body);
  Post(".*", with_body).Put(".*", with_body).Delete(".*", with_body).Patch(".*", with_body);
}

void HttpHandling::Stop() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = write(stopped_.get(), &one, sizeof one);  // stays readable
  stop();
}

void HttpHandling::Serve(int fd, const std::function<bool()>& go_on) {
  HttpConnection connection(fd, stopped_.get(), options_.read_timeout);
  bool closed = false;
  for (Duration idle = options_.idle; !closed && connection.WaitForRequest(idle);
       idle = go_on() ? options_.idle : Duration{0}) {
    const bool last = !go_on();
    close_after_answer = false;
    if (!process_request(connection, last, closed, nullptr) || last || close_after_answer) break;
  }
}

bool HttpHandling::process_and_close_socket(socket_t socket) {
  Serve(socket, [] { return true; });
  return true;
}

// The library limits what stands in Content-Length only: neither what a packed
// body becomes nor one that comes in chunks. What is too much is read to its
// end, because the next request stands behind it.
bool HttpHandling::ReadBody(const httplib::ContentReader& read, std::string& body, bool& fits) const {
  return read([&](const char* data, size_t size) {
    fits = fits && size <= options_.body_bytes_max - body.size();
    if (fits) body.append(data, size);
    return true;
  });
}

void HttpHandling::Answer(const httplib::Request& request, std::string body, httplib::Response& response) {
  HttpCall call;
  FillCall(request, call);
  call.body = std::move(body);
  HttpReply reply = handler_(call);
  response.status = reply.status;
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  response.set_content(std::move(reply.body), reply.content_type);
}

}  // namespace hopgap::server
