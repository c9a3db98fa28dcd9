#pragma once

#include <httplib.h>

#include <array>
#include <string>

#include "base/time.h"
#include "server/listen.h"

namespace hopgap::server {

// One connection as the HTTP library reads and writes it. The library's own
// waits for the next request without hearing that the server stops; this one
// hears it. One thread.
class HttpConnection final : public httplib::Stream {
 public:
  // Owns `fd`, a blocking socket; `stop` becomes readable when the server stops.
  HttpConnection(int fd, int stop, Duration patience);
  ~HttpConnection() override;

  // True when a request begins within `idle`. What has come is seen even when the
  // server stops.
  bool WaitForRequest(Duration idle);

  bool is_readable() const override;
  bool is_writable() const override;
  // At most `patience` for the next byte.
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return fd_.get(); }

 private:
  UniqueFd fd_;
  const int stop_;
  const Duration patience_;
  // The library reads heads byte by byte.
  std::array<char, 4096> buffer_;
  size_t begin_ = 0, end_ = 0;
};

}  // namespace hopgap::server
