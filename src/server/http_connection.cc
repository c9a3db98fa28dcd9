#include "server/http_connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace hopgap::server {
namespace {

// Whether `poll` finds anything; an interrupted wait begins anew.
bool Poll(pollfd* fds, nfds_t count, Duration patience) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  int ready = 0;
  do {
    ready = poll(fds, count, static_cast<int>(ms));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

bool Ready(int fd, short events, Duration patience) {
  pollfd wanted{.fd = fd, .events = events, .revents = 0};
  return Poll(&wanted, 1, patience);
}

}  // namespace

HttpConnection::HttpConnection(int fd, int stop, Duration patience) : fd_(fd), stop_(stop), patience_(patience) {
  // An answer is two writes; the second would wait for the first to be acknowledged.
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

HttpConnection::~HttpConnection() {
  shutdown(fd_.get(), SHUT_RDWR);  // the answer goes out before the reset that unread bytes would cause
}

bool HttpConnection::WaitForRequest(Duration idle) {
  if (begin_ < end_) return true;
  pollfd either[] = {{.fd = fd_.get(), .events = POLLIN, .revents = 0}, {.fd = stop_, .events = POLLIN, .revents = 0}};
  return Poll(either, 2, idle) && either[0].revents != 0;
}

bool HttpConnection::is_readable() const { return begin_ < end_ || Ready(fd_.get(), POLLIN, patience_); }

bool HttpConnection::is_writable() const { return Ready(fd_.get(), POLLOUT, patience_); }

ssize_t HttpConnection::read(char* to, size_t size) {
  if (begin_ == end_) {
    if (!is_readable()) return -1;
    const ssize_t got = recv(fd_.get(), buffer_.data(), buffer_.size(), 0);
    if (got <= 0) return got;
    begin_ = 0;
    end_ = static_cast<size_t>(got);
  }
  const size_t taken = std::min(size, end_ - begin_);
  std::memcpy(to, buffer_.data() + begin_, taken);
  begin_ += taken;
  return static_cast<ssize_t>(taken);
}

void HttpConnection::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (getpeername(fd_.get(), generic, &size) != 0) return;
  if (getnameinfo(generic, size, host.data(), host.size(), service.data(), service.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return;
  }
  ip = host.data();
  port = ParseNumber<int>(service.data()).value_or(0);
}

ssize_t HttpConnection::write(const char* from, size_t size) {
  return is_writable() ? send(fd_.get(), from, size, MSG_NOSIGNAL) : -1;
}

}  // namespace hopgap::server
