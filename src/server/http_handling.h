#pragma once

#include <fcntl.h>
#include <httplib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <string>

#include "base/time.h"
#include "server/http_server.h"
#include "server/listen.h"

namespace hopgap::server {

// The HTTP library behind our handler: what it reads goes there, whatever its
// path. Its own ways that we do not want are replaced: it opens its socket with
// SO_REUSEPORT, which would let two servers share a port silently (this one
// takes sockets that we opened), and idle connections hold up its end (this one
// wakes them).
//
// Serve() may be called by many threads at once.
class HttpHandling final : public httplib::Server {
 public:
  struct Options {
    size_t body_bytes_max = 0;
    Duration read_timeout{0};
    Duration idle = std::chrono::seconds{60};  // a connection without a request
  };
  HttpHandling(const Options& options, HttpServer::Handler handler);

  // For listen_after_bind().
  void Adopt(int listener) { svr_sock_ = listener; }
  // Answers requests on `fd`, which it owns, until the client or the server has
  // enough. After each it asks whether to go on.
  void Serve(int fd, const std::function<bool()>& go_on);
  // No further request is read. Also ends listen_after_bind().
  void Stop();

 private:
  bool process_and_close_socket(socket_t socket) override;
  bool ReadBody(const httplib::ContentReader& read, std::string& body, bool& fits) const;
  void Answer(const httplib::Request& request, std::string body, httplib::Response& response);

  const Options options_;
  const HttpServer::Handler handler_;
  const UniqueFd stopped_;
};

}  // namespace hopgap::server
