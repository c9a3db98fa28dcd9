#include "server/listen.h"

#include <absl/status/status.h>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace hopgap::server {
namespace {

constexpr int kBacklog = 4'096;

absl::Status ListenError(int error, const std::string& host, uint16_t port) {
  switch (error) {
    case EADDRINUSE:
      return absl::AlreadyExistsError(
          StrCat("port ", port, " on ", host,
                 " is in use by another program: stop it, choose another port, or use port 0 for any free one"));
    case EACCES:
      return absl::PermissionDeniedError(
          StrCat("port ", port, " on ", host, " may not be opened by this user: choose a port above 1023"));
    case EADDRNOTAVAIL:
      return absl::InvalidArgumentError(
          StrCat("host ", host, " is no address of this machine: use 127.0.0.1, or 0.0.0.0 for all"));
    default: return absl::UnavailableError(StrCat("cannot listen on ", host, ":", port, ": ", std::strerror(error)));
  }
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

int UniqueFd::Release() { return std::exchange(fd_, -1); }

void UniqueFd::Reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

absl::StatusOr<UniqueFd> OpenListener(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); failed != 0) {
    return absl::InvalidArgumentError(StrCat("host ", host, ": ", gai_strerror(failed)));
  }
  UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;  // lets a restart use the port at once; no second listener gets in by it
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool ok =
      fd.get() >= 0 && bind(fd.get(), found->ai_addr, found->ai_addrlen) == 0 && listen(fd.get(), kBacklog) == 0;
  const int error = errno;
  freeaddrinfo(found);
  if (!ok) return ListenError(error, host, port);
  return fd;
}

uint16_t BoundPort(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace hopgap::server
