#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/time.h"
#include "live/process.h"
#include "torture/kill_points.h"

namespace hopgap::torture {

// How a life is to end, unless the driver ends it.
struct Death {
  std::optional<Point> point;  // there, after it was passed `skip` times
  uint64_t skip = 0, draw = 0;
};

// From now on a signal that stops this process (Ctrl-C, a time limit) takes the running broker with it.
void EndBrokerWhenStopped();

// One process of `hopgap serve --data FOLDER/data --admin --test-clock`, from its
// start to its end. Killed, if it still runs, when destroyed.
class Broker {
 public:
  Broker(const std::string& folder, const Death& death);
  ~Broker() { Disarm(); }

  // Until it listens: true, and then port() is known. False if it ended before.
  bool WaitReady(Duration limit);
  // SIGKILL at `at` or soon after, from a thread of its own, whatever the caller does meanwhile.
  void KillAt(Instant at);
  // Ended, and not waited for: does not block.
  bool dead() const;
  void Signal(int signal) { process_.Signal(signal); }
  // Blocks until it has ended; 128 + signal if it was killed.
  int Wait();

  int port() const { return port_; }
  const std::string& output() const { return process_.output(); }

 private:
  void Disarm();

  tests::Process process_;
  int port_ = 0;
  std::mutex mu_;
  std::condition_variable changed_;
  bool disarmed_ = false;  // guarded by mu_
  std::thread killer_;
};

}  // namespace hopgap::torture
