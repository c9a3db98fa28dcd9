#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
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
#include "server/dispatcher_state.h"
#include "server/failure_log.h"
#include "server/local_calls.h"
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
//
// `now` is the machine's steady clock plus what AdvanceClock() has added, which
// is nothing but under --test-clock.
class Dispatcher final : public CallOwner, public LocalCalls, private DispatcherState {
 public:
  struct Options {
    broker::Broker::Options broker;
    Duration planted_wire_delay{0};
    size_t queued_requests_max = loop::Strand::kQueuedMax;
    Admission admission = nullptr;  // null: everybody
    bool test_clock = false;        // AdvanceClock() may be called
    FailureLog::Line failure_line;  // called, on the strand, for failed acks and modacks
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

  // LocalCalls: from any thread but the strand's; each waits for its answer.
  std::vector<absl::StatusOr<pubsub::Bytes>> AskAll(std::vector<LocalRequest> requests) override;

  // The admin API, from any thread but the strand's (dispatcher_admin.cc).
  struct Clock {
    WallTime now;
    Duration ahead{0};  // of the machine's
  };
  absl::StatusOr<uint64_t> Administer(const broker::AdminRequest& request);
  absl::StatusOr<broker::LeaseReport> Leases(const std::string& subscription);
  std::vector<std::pair<WallTime, broker::LeaseFailure>> NewestFailures();
  Clock ReadClock() const;
  // Moves the broker's time on. All that is due by then fires, in the order of
  // the deadlines, each at its own instant, before it answers.
  // FailedPrecondition without Options::test_clock.
  absl::StatusOr<Clock> AdvanceClock(Duration length);

  // CallOwner.
  void OnRequested(const CallRef& call) override;
  void OnRead(const CallRef& call, pubsub::Bytes message) override;
  void OnReadEnded(const CallRef& call) override;
  void OnWritten(const CallRef& call, bool ok) override;
  void OnDone(const CallRef& call) override;

 private:
  // Poller.
  void ReadUnary(const CallRef& call, pubsub::Bytes message);
  void ReadStream(const CallRef& call, const pubsub::Bytes& message);
  void ReadHealth(const CallRef& call, const pubsub::Bytes& message);
  Instant Now() const;  // any thread
  broker::Broker::Options BrokerOptions();

  // Strand.
  void OpenStream(const CallRef& call, pubsub::StreamingPullRequest first);
  void StreamRequest(const CallRef& call, pubsub::StreamingPullRequest request);
  void StreamFailed(uint64_t id, const absl::Status& status);
  void Done(uint64_t id);
  void Perform(broker::Actions& actions);
  void PerformOne(broker::Action& action);
  void Reply(broker::Action& action);
  bool ReplyLocally(broker::Action& action);
  void Write(broker::Action& action);
  void WriteNow(uint64_t id, const pubsub::Slices& payload);
  void WriteHeld(Instant due_until);
  void WriteHeldOf(uint64_t id);
  void Persist(broker::Action& action);
  void Persisted(broker::PersistToken token, const std::vector<broker::StoredRecord>& stored);
  void OnTimer(Instant armed_for);
  void Rearm();
  Call* FindStream(uint64_t id);
  void ContinueAdvance();
  void GoTo(Instant then);
  void RefuseAdvances();

  const Options options_;
  broker::Journal& journal_;
  loop::Timer& timer_;
  loop::Strand strand_;

  // The strand's.
  FailureLog failures_;
  broker::Broker broker_;
};

}  // namespace hopgap::server
