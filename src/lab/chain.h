#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "client/publisher.h"
#include "client/subscriber.h"
#include "lab/ledger.h"
#include "lab/options.h"

namespace hopgap::lab {

// An order to the driver. Endpoints number the run's publishers and
// subscribers; each has a connection of its own, as separate processes would.
struct Command {
  uint32_t endpoint = 0;
  client::Action action;
};
using Commands = std::vector<Command>;

// A message of the schedule that reached the end with every ack answered.
struct Settled {
  size_t arm = 0;
  uint64_t slot = 0;
  uint64_t trace_hi = 0, trace_lo = 0;
};

// What the lab counts for one arm beside the paths.
struct ArmCounts {
  uint64_t sent = 0, completed = 0, duplicates = 0, reprocessed = 0;
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

  void OnResponse(Instant now, uint32_t local, uint32_t stream, Instant received, Instant read_posted,
                  pubsub::StreamingPullResponse response, Commands& out);
  void OnStreamEnded(Instant now, uint32_t local, uint32_t stream, const absl::Status& status, Commands& out);
  void OnCallDone(Instant now, uint32_t local, uint64_t call, const absl::Status& status, std::string_view details,
                  const pubsub::Bytes& response, Commands& out);
  // The handler of `delivery` is entered (the answer to kStartCallback).
  void OnHandlerEntered(Instant now, uint32_t local, uint64_t delivery, Commands& out);
  // Does the one thing that is due first; there may be more.
  void OnDeadline(Instant now, Commands& out);
  Instant NextDeadline() const;  // kNever: none

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
  };
  struct Slot {
    bool handled = false;
    bool settled = false;
    uint32_t open = 0;  // deliveries without an ack result
  };
  struct Handling {  // a delivery in its handler
    int hop = 0;
    uint64_t slot = 0;
    uint64_t delivery = 0;
  };
  struct WorkEnd {
    Instant at;
    uint64_t order = 0;
    Handling handling;
    bool operator>(const WorkEnd& other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
  };

  client::Subscriber& SubscriberAt(int hop) { return *subscribers_[static_cast<size_t>(hop - 1)]; }
  client::Publisher& PublisherTo(int hop) { return *publishers_[static_cast<size_t>(hop - 1)]; }
  Visit& VisitOf(int hop, uint64_t slot) {
    return visits_[slot * static_cast<size_t>(hops_) + static_cast<size_t>(hop - 1)];
  }

  void PublishTo(Instant now, int hop, uint64_t slot, uint64_t publish, uint64_t parent, std::optional<Instant> due,
                 Commands& out);
  void Take(Instant now, uint32_t local, client::Actions& actions, Commands& out);
  void TakeOwn(Instant now, uint32_t local, client::Action& action, Commands& out);
  void OnWorkDone(Instant now, const Handling& handling, Commands& out);
  void OnPublished(Instant now, const client::Action& action, Commands& out);
  void OnAckDone(int hop, const client::Action& action);
  void Finish(Instant now, const Handling& handling, bool ack, Commands& out);
  void CountVisit(int hop, uint64_t slot, std::string_view message_id);
  void Settle(uint64_t slot);
  void Refresh(uint32_t local);

  Environment env_;
  const int hops_;
  std::vector<std::unique_ptr<client::Subscriber>> subscribers_;  // by hop - 1
  std::vector<std::unique_ptr<client::Publisher>> publishers_;    // to hop, by hop - 1
  std::vector<Slot> slots_;
  std::vector<Visit> visits_;
  std::vector<std::unordered_map<uint64_t, uint64_t>> slot_of_;  // per hop: delivery -> slot
  std::unordered_map<uint64_t, Handling> publishing_;            // publish -> who waits for it
  std::priority_queue<WorkEnd, std::vector<WorkEnd>, std::greater<>> working_;
  std::set<std::pair<Instant, uint32_t>> deadlines_;  // of endpoints
  std::vector<Instant> deadline_of_;
  uint64_t next_publish_ = 1;
  uint64_t next_order_ = 0;
  uint64_t settled_ = 0;
  ArmCounts counts_;
};

}  // namespace hopgap::lab
