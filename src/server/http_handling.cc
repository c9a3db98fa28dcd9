#include "server/http_handling.h"

#include "base/text.h"
#include "server/http_connection.h"

namespace hopgap::server {
namespace {

constexpr int kTooLarge = 413;

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
  const auto without_body = [this](const httplib::Request& request, httplib::Response& response) {
    Answer(request, {}, response);
  };
  // A request without a length has no body; the library would wait for one.
  set_pre_routing_handler([without_body](const httplib::Request& request, httplib::Response& response) {
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
    if (!process_request(connection, last, closed, nullptr) || last) break;
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
