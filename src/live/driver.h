#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "lab/ledger.h"
#include "lab/logic.h"
#include "loop/strand.h"
#include "loop/timer.h"
#include "remote/remote.h"

namespace hopgap::live {

// Drives a logic over gRPC: performs its commands on connections, one an
// endpoint, and brings the answers and deadlines back, all on one strand.
//
// Thread-safe where not said otherwise; the logic is touched on the strand alone.
// Everything outlives it that is handed in by reference.
class Driver final : public lab::LedgerClock {
 public:
  struct Options {
    remote::Target target;  // authorized
    bool probe = false;
  };
  Driver(Options options, remote::Remote& remote, loop::Timer& timer);
  ~Driver() override;

  Instant Stamp() override;

  // Before anything else, on the calling thread.
  void Adopt(lab::Logic& logic);
  // Waits until each endpoint has its connection: what is asked of one that has
  // none yet leaves in any order once it has. The same thread.
  absl::Status ConnectAll(Duration timeout);
  // Afterwards nothing touches the logic any more: answers that still come are
  // dropped. Requires: not called on the strand.
  void Release();

  // Runs `task` on the strand and performs what it asks for; returns when done.
  using Task = std::function<void(Instant now, lab::Commands& out)>;
  void Run(const Task& task);
  // The same without waiting: for answers to others' threads.
  void Post(Task task);

  bool ready() const { return ready_; }
  bool finished() const { return finished_; }
  bool stopped() const { return stopped_; }  // nothing in flight
  // The first answer after which going on is of no use (remote::EndsARun()), if any.
  absl::Status failure();
  // Since when calls and streams end without an answer (Unavailable, a timeout),
  // and none has one; kNever: the last had. A suspicion, and no more.
  Instant failing_since() const { return failing_since_; }
  loop::Strand::Figures figures() const { return strand_.figures(); }
  void ForgetLongest() { strand_.ForgetLongest(); }
  std::vector<Duration> TakeProbes();

 private:
  class Endpoint;
  void Step(const Task& task);
  void Perform(lab::Commands& commands);
  void Arm();
  void OnTimer(Instant at);
  void NoteEnd(Instant now, const absl::Status& status);

  const Options options_;
  remote::Remote& remote_;
  loop::Timer& timer_;
  loop::Strand strand_;
  // Touched on the strand alone.
  lab::Logic* logic_ = nullptr;  // until Release()
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  Instant armed_ = kNever;
  uint64_t receipt_calls_ = 0;
  std::vector<Duration> probes_;
  absl::Status failure_;
  std::atomic<bool> ready_{false}, finished_{false}, stopped_{false}, failed_{false};
  std::atomic<Instant> failing_since_{kNever};
};

}  // namespace hopgap::live
