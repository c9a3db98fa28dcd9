#include "server/acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/system_clock.h"
#include "server/first_bytes.h"

namespace hopgap::server {
namespace {

// After EMFILE and the like: the condition needs time to pass, not a busy loop.
constexpr Duration kAcceptPause = std::chrono::milliseconds{100};

void SetOption(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

int PollTimeoutMs(Instant now, Instant until) {
  const Duration left = std::max(until - now, Duration{0});
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

}  // namespace

Acceptor::Acceptor(UniqueFd listener, UniqueFd wake, uint16_t port, const Limits& limits)
    : listener_(std::move(listener)), wake_(std::move(wake)), port_(port), limits_(limits) {}

Acceptor::~Acceptor() { Stop(); }

void Acceptor::Start(HandOver http2, HandOver http1) {
  HOPGAP_CHECK(!thread_.joinable(), "an acceptor is started once");
  http2_ = std::move(http2);
  http1_ = std::move(http1);
  thread_ = std::thread([this] { Loop(); });
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    eventfd_write(wake_.get(), 1);
    thread_.join();
  }
  listener_.Reset();
  pending_.clear();
}

// Stops when the eventfd is readable.
void Acceptor::Loop() {
  std::vector<pollfd> polled;
  for (;;) {
    const Instant now = SteadyNow();
    const bool may_accept = pending_.size() < limits_.pending_max && now >= accept_again_;
    polled.clear();
    polled.push_back({wake_.get(), POLLIN, 0});
    polled.push_back({may_accept ? listener_.get() : -1, POLLIN, 0});
    Instant wake_at = now < accept_again_ ? accept_again_ : kNever;
    for (const Pending& pending : pending_) {
      polled.push_back({pending.fd.get(), POLLIN, 0});
      wake_at = std::min(wake_at, pending.until);
    }
    poll(polled.data(), polled.size(), wake_at == kNever ? -1 : PollTimeoutMs(now, wake_at));
    if (polled[0].revents != 0) return;

    const Instant woken = SteadyNow();
    size_t kept = 0;
    for (size_t i = 0; i < pending_.size(); ++i) {
      bool keep = woken < pending_[i].until;
      if (!keep && !pending_[i].lingering) ++dropped_;
      if (keep && polled[i + 2].revents != 0) keep = Advance(pending_[i], woken, true);
      if (keep && kept != i) pending_[kept] = std::move(pending_[i]);
      if (keep) ++kept;
    }
    pending_.resize(kept);
    if (polled[1].revents != 0) Accept(woken);
  }
}

void Acceptor::Accept(Instant now) {
  while (pending_.size() < limits_.pending_max) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) accept_again_ = now + kAcceptPause;
      return;
    }
    SetOption(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    // Not readable before it can be told apart; the end of a connection always is.
    SetOption(fd.get(), SOL_SOCKET, SO_RCVLOWAT, static_cast<int>(kFirstBytesNeeded));
    Pending pending{std::move(fd), now + limits_.first_bytes_wait};
    // The preface usually is here already: saves a turn of the loop.
    if (Advance(pending, now, false)) pending_.push_back(std::move(pending));
  }
}

bool Acceptor::Advance(Pending& pending, Instant now, bool readable) {
  if (pending.lingering) return Linger(pending);
  std::array<char, kFirstBytesNeeded> first{};
  const ssize_t size = recv(pending.fd.get(), first.data(), first.size(), MSG_PEEK);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (size <= 0) {
    ++dropped_;
    return false;
  }
  switch (Classify({first.data(), static_cast<size_t>(size)})) {
    case FirstBytes::kMore:
      // Readable with too few bytes (see SO_RCVLOWAT): no more will come.
      if (readable) ++dropped_;
      return !readable;
    case FirstBytes::kHttp2:
      SetOption(pending.fd.get(), SOL_SOCKET, SO_RCVLOWAT, 1);
      ++handed_over_;
      http2_(pending.fd.Release());
      return false;
    case FirstBytes::kHttp1:
      if (!http1_) return Refuse(pending, now);
      SetOption(pending.fd.get(), SOL_SOCKET, SO_RCVLOWAT, 1);
      http1_(pending.fd.Release());
      return false;
    case FirstBytes::kUnknown: ++dropped_; return false;
  }
  return false;
}

}  // namespace hopgap::server
