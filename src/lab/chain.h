#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "lab/ledger.h"
#include "lab/options.h"
#include "lab/sender.h"
#include "lab/worker.h"

namespace hopgap::lab {

// A message of the schedule that reached the end with every ack answered.
struct Settled {
  size_t arm = 0;
  uint64_t slot = 0;
  uint64_t trace_hi = 0, trace_lo = 0;
};

// What the lab counts for one arm beside the paths.
struct ArmCounts {
  uint64_t sent = 0, completed = 0, duplicates = 0, reprocessed = 0;
  uint64_t deduplicated = 0;      // copies that a worker's store knew; counted in neither of those
  uint64_t handler_failures = 0;  // handlings that ended in a nack as Options::failures asked
  uint64_t redelivered = 0;  // of a run of processes: handler entries of a message beyond its first, before its ack
  uint64_t publish_failures = 0, ack_failures = 0;
  uint64_t responses = 0, messages_received = 0;
  std::string failure;  // why a subscriber stopped for good
};

// One arm: a publisher that the generator drives and `hops` workers, each of
// which receives, works, publishes to the next hop and acks.
//
// Local endpoints: 0 publishes to hop 1; 2h - 1 subscribes at hop h; 2h
// publishes to hop h + 1.
//
// Sans-I/O; one strand. `now` must not fall.
class Chain {
 public:
  struct Environment {
    const Options& options;
    size_t arm = 0;  // index into options.arms
    client::Model model;
    trace::EventSink& sink;
    uint64_t& next_rpc;
    Ledger& ledger;
    LedgerClock& clock;
    std::vector<Settled>& settled;
  };
  explicit Chain(const Environment& environment);

  void Start(Instant now, Commands& out);
  // The generator's publish call for `slot`.
  void Send(Instant now, uint64_t slot, Instant due, Commands& out);

  // `local` numbers the arm's endpoints; see Logic for the calls.
  void OnResponse(Instant now, uint32_t local, uint32_t stream, Instant received, Instant read_posted,
                  pubsub::StreamingPullResponse response, Commands& out);
  void OnStreamEnded(Instant now, uint32_t local, uint32_t stream, const absl::Status& status, Commands& out);
  void OnCallDone(Instant now, uint32_t local, uint64_t call, const absl::Status& status, std::string_view details,
                  const pubsub::Bytes& response, Commands& out);
  void OnHandlerEntered(Instant now, uint32_t local, uint64_t delivery, Commands& out);
  // Does the one thing that is due first; there may be more.
  void OnDeadline(Instant now, Commands& out);
  Instant NextDeadline() const { return deadlines_.empty() ? kNever : deadlines_.begin()->first; }  // kNever: none

  void Stop(Instant now, Commands& out);
  bool Stopped() const;
  bool Ready() const;  // every stream answered once
  bool ExactlyOnceSeen() const;
  bool AllSettled() const { return settled_ == counts_.sent; }
  bool Handled(uint64_t slot) const { return slots_[slot].handled; }
  const ArmCounts& counts() const { return counts_; }
  static uint32_t EndpointCount(int hops) { return static_cast<uint32_t>(2 * hops); }
  std::pair<uint64_t, uint64_t> TraceId(uint64_t slot) const;

 private:
  enum class Fate : uint8_t { kUnseen, kInHandler, kAcked, kGivenBack };
  struct Visit {           // of a slot's message at one hop
    uint64_t message = 0;  // the newest id, hashed
    Fate fate = Fate::kUnseen;
    uint64_t ArmCounts::*counted = nullptr;  // what its last handler entry was counted as
  };
  struct Slot {
    bool handled = false;
    bool settled = false;
    uint32_t open = 0;  // deliveries without an ack result
  };
  // What one hop's worker tells.
  class Book final : public WorkerBook {
   public:
    Book(Chain& chain, int hop) : chain_(chain), hop_(hop) {}
    bool OnEntered(uint64_t delivery, const client::Subscriber::Delivery& received) override;
    void OnWorkDone(uint64_t delivery) override;
    void OnHandlerFailed(uint64_t delivery) override;
    void OnPublished(bool ok) override;
    void OnRepeatDropped(uint64_t delivery) override;
    void OnReturned(uint64_t delivery, bool ack) override;
    void OnAckDone(uint64_t delivery, bool ok) override;
    void OnFailed(const std::string& error) override;

   private:
    Chain& chain_;
    const int hop_;
    std::unordered_map<uint64_t, uint64_t> slots_;  // delivery -> slot, until its ack has its result
  };

  // Units: 0 is the sender, h the worker of hop h, which publishes to hop h + 1.
  static uint32_t UnitOf(uint32_t local) { return (local + 1) / 2; }
  Worker& WorkerAt(uint32_t unit) { return *workers_[unit - 1]; }
  Visit& VisitOf(int hop, uint64_t slot) {
    return visits_[slot * static_cast<size_t>(hops_) + static_cast<size_t>(hop - 1)];
  }
  uint32_t Endpoint(uint32_t local) const { return static_cast<uint32_t>(env_.arm) * EndpointCount(hops_) + local; }
  void StampPublishCall(int hop, uint64_t slot);
  void CountVisit(int hop, uint64_t slot, std::string_view message_id);
  void Settle(uint64_t slot);
  void Refresh(uint32_t unit);

  Environment env_;
  const int hops_;
  std::unique_ptr<Sender> sender_;
  std::vector<std::unique_ptr<Book>> books_;      // by hop - 1
  std::vector<std::unique_ptr<Worker>> workers_;  // by hop - 1
  std::vector<Slot> slots_;
  std::vector<Visit> visits_;
  std::set<std::pair<Instant, uint32_t>> deadlines_;  // of units
  std::vector<Instant> deadline_of_;                  // by unit
  uint64_t settled_ = 0;
  ArmCounts counts_;
};

}  // namespace hopgap::lab
