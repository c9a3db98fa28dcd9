#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace hopgap::embedded {

// A Pub/Sub broker inside this process, for tests in C++: in memory, on
// loopback, over real gRPC. Several may run at once.
//
// Thread-safe, but the destructor, which ends it and all calls to it.
class Broker {
 public:
  struct Options {
    uint16_t port = 0;        // 0: any free one
    std::string seed = {};    // the text of a seed file (docs/seed.md); empty: nothing is there
    bool test_clock = false;  // AdvanceClock() may be called
    bool admin = false;       // docs/admin.md's calls are answered over HTTP/1.1; implied by test_clock
  };

  // Clients can call when it returns, and what the seed holds is there.
  // InvalidArgument for a bad seed, with its line and entry, or what the broker
  // said to an entry; AlreadyExists if the port is in use.
  static absl::StatusOr<std::unique_ptr<Broker>> Start(const Options& options);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // "127.0.0.1:41234": what PUBSUB_EMULATOR_HOST and gRPC channels take.
  std::string endpoint() const;

  // Moves the broker's time on; leases that are over then have ended when it
  // returns. Clients' own timers do not move. FailedPrecondition without
  // Options::test_clock.
  absl::Status AdvanceClock(std::chrono::nanoseconds length);

 private:
  class Impl;
  explicit Broker(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace hopgap::embedded
