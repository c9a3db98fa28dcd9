#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "server/listen.h"

namespace hopgap::server {

// Owns the listening socket: accepts, looks at the first bytes of each
// connection and hands it over as HTTP/2 or HTTP/1, so that one port can serve
// more than gRPC. HTTP/1 that nobody takes is answered 501, everything else is
// closed.
//
// Never SO_REUSEPORT: two brokers would share the port silently.
class Acceptor {
 public:
  struct Limits {
    // A connection that has not said what it is within this time is closed.
    Duration first_bytes_wait = std::chrono::seconds{5};
    // How long the client of a refused connection may take to read the answer.
    Duration linger = std::chrono::seconds{1};
    // Connections of unknown kind at once; further ones wait in the kernel.
    size_t pending_max = 1'000;
  };

  // Takes a connected, non-blocking socket over. Called on the acceptor thread.
  using HandOver = std::function<void(int fd)>;

  // Binds and listens; port 0 takes any free one. AlreadyExists if the port is
  // in use, PermissionDenied if it may not be used, InvalidArgument for a host
  // that is none of this machine's. Connections wait until Start().
  static absl::StatusOr<std::unique_ptr<Acceptor>> Listen(const std::string& host, uint16_t port, const Limits& limits);
  ~Acceptor();

  // `http1` may be null.
  void Start(HandOver http2, HandOver http1 = nullptr);
  // Closes the listening socket and what has not been handed over. Idempotent.
  void Stop();

  uint16_t port() const { return port_; }
  uint64_t handed_over() const { return handed_over_; }  // HTTP/2
  uint64_t refused() const { return refused_; }          // HTTP/1, answered
  uint64_t dropped() const { return dropped_; }          // neither, or silent for too long

 private:
  struct Pending {
    UniqueFd fd;
    Instant until;
    bool lingering = false;  // answered; reading what is left, so that the answer is not reset away
  };
  Acceptor(UniqueFd listener, UniqueFd wake, uint16_t port, const Limits& limits);
  void Loop();
  void Accept(Instant now);
  // False when the connection is done with. `readable`: poll() said so.
  bool Advance(Pending& pending, Instant now, bool readable);
  bool Refuse(Pending& pending, Instant now);
  bool Linger(Pending& pending);

  UniqueFd listener_;
  UniqueFd wake_;  // an eventfd: stop
  const uint16_t port_;
  const Limits limits_;
  HandOver http2_, http1_;
  std::vector<Pending> pending_;
  Instant accept_again_{};  // not before, after the process ran out of descriptors
  std::atomic<uint64_t> handed_over_{0}, refused_{0}, dropped_{0};
  std::thread thread_;
};

}  // namespace hopgap::server
