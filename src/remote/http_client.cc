#include "remote/http_client.h"

#include <absl/strings/match.h>
#include <httplib.h>

#include <optional>

#include "base/system_clock.h"
#include "base/text.h"

namespace hopgap::remote {
namespace {

absl::Status BadUrl(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("'", text, "' ", why, "; expected http://HOST[:PORT] or https://…"));
}

std::string_view Words(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection: return "no connection";
    case httplib::Error::ConnectionTimeout: return "no connection in time";
    case httplib::Error::BindIPAddress: return "no local address to call from";
    case httplib::Error::Read: return "no answer";
    case httplib::Error::Write: return "the request could not be sent";
    case httplib::Error::SSLConnection: return "the TLS handshake failed";
    case httplib::Error::SSLLoadingCerts: return "the certificates cannot be loaded";
    case httplib::Error::SSLServerVerification: return "the server's certificate is not trusted";
    default: return "the exchange broke off";
  }
}

template <typename Set>
void SetTimeout(Duration timeout, const Set& set) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  set(static_cast<time_t>(seconds.count()),
      static_cast<time_t>(std::chrono::duration_cast<std::chrono::microseconds>(timeout - seconds).count()));
}

}  // namespace

std::string_view HttpResponse::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (absl::EqualsIgnoreCase({key.data(), key.size()}, {name.data(), name.size()})) return value;
  }
  return {};
}

absl::StatusOr<Url> ParseUrl(std::string_view text) {
  const size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) return BadUrl(text, "has no scheme");
  const std::string_view scheme = text.substr(0, scheme_end);
  if (scheme != "http" && scheme != "https") return BadUrl(text, "is neither http nor https");
  const size_t host = scheme_end + 3;
  const size_t path = std::min(text.find_first_of("/?#", host), text.size());
  const std::string_view authority = text.substr(host, path - host);
  if (authority.find('@') != std::string_view::npos) return BadUrl(text, "carries a user name");
  const size_t bracket = authority.rfind(']');  // of an IPv6 address
  const size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  if (authority.substr(0, has_port ? colon : authority.size()).empty()) return BadUrl(text, "has no host");
  if (has_port) {
    const std::optional<uint16_t> port = ParseNumber<uint16_t>(authority.substr(colon + 1));
    if (!port || *port == 0) return BadUrl(text, "has no port from 1 to 65535 after its colon");
  }
  return Url{std::string(text.substr(0, path)), std::string(text.substr(path))};
}

class HttpClient::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        client_(options_.origin, options_.client_certificate_file, options_.client_key_file) {
    client_.set_keep_alive(true);
    client_.set_tcp_nodelay(true);
    SetTimeout(options_.connect_timeout, [&](time_t s, time_t us) { client_.set_connection_timeout(s, us); });
    SetTimeout(options_.timeout, [&](time_t s, time_t us) { client_.set_read_timeout(s, us); });
    SetTimeout(options_.timeout, [&](time_t s, time_t us) { client_.set_write_timeout(s, us); });
    if (!options_.ca_file.empty()) client_.set_ca_cert_path(options_.ca_file.c_str());
  }

  absl::StatusOr<HttpResponse> Send(const HttpRequest& request) {
    if (!client_.is_valid())
      return absl::UnavailableError(StrCat(options_.origin, ": the certificates cannot be loaded"));
    httplib::Request wire;
    wire.method = request.method;
    wire.path = request.path;
    for (const auto& [name, value] : request.headers) wire.headers.emplace(name, value);
    if (!request.content_type.empty()) wire.headers.emplace("Content-Type", request.content_type);
    wire.body = request.body;
    const Instant start = SteadyNow();
    const httplib::Result result = client_.send(wire);
    if (!result) return Failure(result.error(), SteadyNow() - start);
    HttpResponse response;
    response.status = result->status;
    response.headers.assign(result->headers.begin(), result->headers.end());
    response.body = result->body;
    return response;
  }

  void Cancel() { client_.stop(); }

 private:
  // The library says Read for a read that timed out and for one that broke.
  absl::Status Failure(httplib::Error error, Duration took) const {
    const std::string text = StrCat(options_.origin, ": ", Words(error));
    const bool late =
        error == httplib::Error::ConnectionTimeout || (error == httplib::Error::Read && took >= options_.timeout);
    return late ? absl::DeadlineExceededError(text) : absl::UnavailableError(text);
  }

  const Options options_;
  httplib::Client client_;
};

HttpClient::HttpClient(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
HttpClient::~HttpClient() = default;
absl::StatusOr<HttpResponse> HttpClient::Send(const HttpRequest& request) { return impl_->Send(request); }
void HttpClient::Cancel() { impl_->Cancel(); }

}  // namespace hopgap::remote
