#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "broker/broker.h"
#include "broker/journal.h"
#include "loop/strand.h"
#include "loop/timer.h"
#include "pubsub/api.h"
#include "server/admission.h"
#include "server/call.h"
#include "trace/event.h"

namespace hopgap::server {

// Answered at once, on the polling thread: the floor that latencies are
// compared with.
inline constexpr std::string_view kProbePath = "/hopgap.Probe/Empty";

// Brings RPCs to the broker and its actions back to the RPCs.
//
// The broker and all maps belong to one strand. Requests are decoded on the
// polling thread and posted; `now` is read on the strand, once per event, so
// that it never falls. Actions are performed on the strand in their order.
class Dispatcher final : public CallOwner {
 public:
  struct Options {
    broker::Broker::Options broker;
    Duration planted_wire_delay{0};
    size_t queued_requests_max = loop::Strand::kQueuedMax;
    Admission admission = nullptr;  // null: everybody
  };
  // All three references outlive the dispatcher.
  Dispatcher(Options options, broker::Journal& journal, trace::EventSink& sink, loop::Timer& timer);
  ~Dispatcher() override;

  // Before the first RPC.
  absl::Status Replay(const std::vector<pubsub::Bytes>& records);

  // Stops the broker and returns when all that it journals is durable. RPCs that
  // come later are refused by the broker.
  void StopBroker();
  // After the last RPC is gone: no timer is set and the strand is idle.
  void Close();

  loop::Strand& strand() { return strand_; }
  broker::Counters counters();

  // CallOwner.
  void OnRequested(const CallRef& call) override;
  void OnRead(const CallRef& call, pubsub::Bytes message) override;
  void OnReadEnded(const CallRef& call) override;
  void OnWritten(const CallRef& call, bool ok) override;
  void OnDone(const CallRef& call) override;

 private:
  struct Open {
    CallRef call;
    bool stream = false;
  };
  // A response that the planted wire delay holds back.
  struct HeldWrite {
    Instant due;
    uint64_t id = 0;
    pubsub::Slices payload;
  };
  struct Armed {
    Instant at;
    loop::Timer::Token token = 0;
  };

  // Poller.
  void ReadUnary(const CallRef& call, pubsub::Bytes message);
  void ReadStream(const CallRef& call, const pubsub::Bytes& message);

  // Strand.
  void OpenStream(const CallRef& call, pubsub::StreamingPullRequest first);
  void StreamRequest(const CallRef& call, pubsub::StreamingPullRequest request);
  void StreamFailed(uint64_t id, const absl::Status& status);
  void Done(uint64_t id);
  void Perform(broker::Actions& actions);
  void PerformOne(broker::Action& action);
  void Reply(broker::Action& action);
  void Write(broker::Action& action);
  void WriteNow(uint64_t id, const pubsub::Slices& payload);
  void WriteHeld(Instant due_until);
  void WriteHeldOf(uint64_t id);
  void Persist(broker::Action& action);
  void Persisted(broker::PersistToken token, const std::vector<broker::StoredRecord>& stored);
  void OnTimer(Instant armed_for);
  void Rearm();
  Call* FindStream(uint64_t id);

  const Options options_;
  broker::Journal& journal_;
  loop::Timer& timer_;
  loop::Strand strand_;

  // The strand's.
  broker::Broker broker_;
  absl::flat_hash_map<uint64_t, Open> open_;  // never iterated
  std::deque<HeldWrite> held_;                // one delay for all: due in order
  std::optional<Armed> armed_;
  bool broker_stopped_ = false;
  bool closed_ = false;

  std::mutex persists_mu_;
  std::condition_variable persists_done_;
  size_t persists_ = 0;  // guarded: groups that are not durable yet
};

}  // namespace hopgap::server
