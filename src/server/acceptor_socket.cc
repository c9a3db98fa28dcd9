// The parts of Acceptor that answer and open, apart from its loop.
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "server/acceptor.h"
#include "server/first_bytes.h"
#include "server/listen.h"

namespace hopgap::server {
absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Listen(const std::string& host, uint16_t port,
                                                           const Limits& limits) {
  absl::StatusOr<UniqueFd> listener = OpenListener(host, port);
  if (!listener.ok()) return listener.status();
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) return absl::ResourceExhaustedError(StrCat("eventfd: ", std::strerror(errno)));
  const uint16_t bound = BoundPort(listener->get());
  return std::unique_ptr<Acceptor>(new Acceptor(*std::move(listener), std::move(wake), bound, limits));
}

bool Acceptor::Refuse(Pending& pending, Instant now) {
  ++refused_;
  const std::string answer = Http1Refusal();
  // A fresh connection's send buffer holds it; if not, the client is odd enough.
  send(pending.fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  shutdown(pending.fd.get(), SHUT_WR);
  const int low = 1;
  setsockopt(pending.fd.get(), SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low);
  pending.lingering = true;
  pending.until = now + limits_.linger;
  return Linger(pending);
}

// Closing a socket with unread bytes in it would reset the connection, and the
// client might lose the answer.
bool Acceptor::Linger(Pending& pending) {
  std::array<char, 4'096> rest;
  const ssize_t size = recv(pending.fd.get(), rest.data(), rest.size(), 0);
  return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace hopgap::server
