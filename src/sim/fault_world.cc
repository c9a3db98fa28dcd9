#include "sim/fault_world.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/text.h"
#include "sim/dice.h"
#include "sim/fault_clients.h"
#include "sim/net.h"
#include "sim/queue.h"
#include "sim/record_disk.h"

namespace hopgap::sim {
namespace {

using namespace std::chrono_literals;

// After the faults: a hold, then a lease that was asked for in it, then a
// backoff, of up to 600 s each, and retries of clients that wait up to a minute.
constexpr Duration kDrain = 1900s;
constexpr uint64_t kStepsMax = 20'000'000;  // far above what any plan needs: something spins
constexpr Duration kCalmDelay = 100us;

enum WorldActor : uint64_t { kNetActor = 50, kProcessActor, kChaosActor };

class FaultWorld final : public Net {
 public:
  explicit FaultWorld(const FaultOptions& options)
      : plan_(DrawFaultPlan(options.seed)),
        checkers_(plan_.broker.messages_per_response_max, options.log),
        sink_(checkers_),
        net_dice_(options.seed, kNetActor),
        process_dice_(options.seed, kProcessActor),
        chaos_dice_(options.seed, kChaosActor) {
    plan_.broker.planted = options.planted;
    plan_.store.planted = options.store_planted;
    plan_.store.on |= options.over_store;
    disk_ = plan_.store.on ? MakeStoreDisk(options.seed, plan_.store, plan_.broker.ack_id_key)
                           : std::make_unique<RecordDisk>(options.seed);
  }

  FaultResult Run();

  Instant now() const override { return now_; }
  bool calm() const override { return calm_; }
  void At(Instant when, std::function<void()> then) override { queue_.Push(std::max(when, now_), std::move(then)); }
  void Call(pubsub::Method method, pubsub::Request request, Duration timeout,
            std::function<void(const Answer&)> done) override;
  uint64_t OpenStream(pubsub::StreamingPullRequest first, StreamEvents events) override;
  void Send(uint64_t stream, pubsub::StreamingPullRequest request) override;
  void HalfClose(uint64_t stream) override;
  void Cancel(uint64_t stream) override;

 private:
  class Sink final : public trace::EventSink {
   public:
    explicit Sink(Checkers& checkers) : checkers_(checkers) {}
    void Record(const trace::Event& event) override { checkers_.Recorded(event); }
    uint16_t AddPlace(const trace::Place&) override { return 0; }

   private:
    Checkers& checkers_;
  };
  struct PendingCall {
    std::function<void(const Answer&)> done;  // empty once it was called
    uint64_t epoch = 0;                       // of the process it is at; 0: none
  };
  struct Link {
    StreamEvents events;
    uint64_t epoch = 0;        // of the process that has it open; 0: none
    bool client_done = false;  // it ended, or was cancelled, for the client
    bool cut = false;
    Instant up{}, down{};  // when the last packet arrives
  };

  // The network.
  Duration Delay();
  bool Lost() { return !calm_ && net_dice_.Chance(plan_.lost); }
  void ArriveCall(uint64_t id, pubsub::Method method, const pubsub::Request& request);
  void AnswerCall(uint64_t id, Answer answer);
  void Timeout(uint64_t id);
  void SendUp(uint64_t stream, std::function<void(Link&)> arrives);
  void SendDown(uint64_t stream, std::function<void(Link&)> arrives);
  void EndAtClient(uint64_t stream, absl::Status status);
  void CutLater(uint64_t stream);

  // The process.
  void Start();
  void End(bool restart);
  void StopCleanly();
  void FinishStop();
  template <typename Event>
  void AtBroker(Event event);  // event(Broker&, Actions&), now; the process is up
  void Perform(broker::Actions& actions);
  void Write(broker::Action& action);
  void Sync();
  void FailDisk();
  void Wake();

  void Setup();
  void Chaos();
  void CrashNow();
  void CalmDown();

  FaultPlan plan_;
  Checkers checkers_;
  Sink sink_;
  std::unique_ptr<Disk> disk_;
  Dice net_dice_, process_dice_, chaos_dice_;
  Instant now_ = kWorldStart;
  Queue<std::function<void()>> queue_;
  std::unique_ptr<broker::Broker> broker_;  // null: the process is down
  uint64_t epoch_ = 0;
  bool stopping_ = false, calm_ = false;
  Instant wake_ = kNever;
  absl::flat_hash_map<uint64_t, PendingCall> calls_;
  std::map<uint64_t, Link> links_;  // a link stays where it is while its client is told
  uint64_t next_call_ = 1, next_stream_ = 1, steps_ = 0;
  std::vector<std::unique_ptr<Client>> clients_;
};

// ---- network -------------------------------------------------------------------------------------------------------

Duration FaultWorld::Delay() {
  if (calm_) return kCalmDelay;
  if (net_dice_.Chance(plan_.slow)) return net_dice_.Between(plan_.delay_max, plan_.slow_max);
  return net_dice_.Between(plan_.delay_min, plan_.delay_max);
}

void FaultWorld::Call(pubsub::Method method, pubsub::Request request, Duration timeout,
                      std::function<void(const Answer&)> done) {
  const uint64_t id = next_call_++;
  calls_[id].done = std::move(done);
  // What is made again after it was deleted would be another one.
  const bool makes = method == pubsub::Method::kCreateTopic || method == pubsub::Method::kCreateSubscription ||
                     method == pubsub::Method::kCreateSnapshot;
  const bool twice = !calm_ && !makes && net_dice_.Chance(plan_.duplicated);
  if (twice) {
    const uint64_t copy = next_call_++;
    calls_[copy].done = [](const Answer&) {};
    After(Delay(), [this, copy, method, request] { ArriveCall(copy, method, request); });
  }
  if (!Lost()) After(Delay(), [this, id, method, request = std::move(request)] { ArriveCall(id, method, request); });
  After(timeout, [this, id] { Timeout(id); });
}

void FaultWorld::ArriveCall(uint64_t id, pubsub::Method method, const pubsub::Request& request) {
  if (!broker_) return AnswerCall(id, {absl::UnavailableError("connection refused"), {}, {}});
  calls_[id].epoch = epoch_;
  checkers_.CallArrived(now_, id, method, request);
  AtBroker([&](broker::Broker& broker, broker::Actions& out) {
    broker.OnCall(now_, broker::CallId{id}, method, request, out);
  });
}

// The answer is on its way back.
void FaultWorld::AnswerCall(uint64_t id, Answer answer) {
  calls_[id].epoch = 0;
  if (Lost()) return;
  After(Delay(), [this, id, answer = std::move(answer)] {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    const auto done = std::move(found->second.done);
    calls_.erase(found);
    if (done) done(answer);
  });
}

void FaultWorld::Timeout(uint64_t id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  const auto done = std::exchange(found->second.done, nullptr);
  if (!Lost()) {
    After(Delay(), [this, id] {
      const auto call = calls_.find(id);
      if (call == calls_.end() || call->second.epoch != epoch_ || !broker_) return;
      calls_.erase(call);
      checkers_.CallCancelled(now_, id);
      AtBroker(
          [&](broker::Broker& broker, broker::Actions& out) { broker.OnCallCancelled(now_, broker::CallId{id}, out); });
    });
  }
  if (done) done({absl::DeadlineExceededError("the call's timeout passed"), {}, {}});
}

void FaultWorld::SendUp(uint64_t stream, std::function<void(Link&)> arrives) {
  Link& link = links_[stream];
  link.up = std::max(link.up, now_ + Delay());
  At(link.up, [this, stream, arrives = std::move(arrives)] { arrives(links_[stream]); });
}

void FaultWorld::SendDown(uint64_t stream, std::function<void(Link&)> arrives) {
  Link& link = links_[stream];
  link.down = std::max(link.down, now_ + Delay());
  At(link.down, [this, stream, arrives = std::move(arrives)] {
    Link& there = links_[stream];
    if (!there.client_done && !there.cut) arrives(there);
  });
}

void FaultWorld::EndAtClient(uint64_t stream, absl::Status status) {
  SendDown(stream, [status](Link& link) {
    link.client_done = true;
    link.events.ended(status);
  });
}

uint64_t FaultWorld::OpenStream(pubsub::StreamingPullRequest first, StreamEvents events) {
  const uint64_t id = next_stream_++;
  links_[id].events = std::move(events);
  SendUp(id, [this, id, first = std::move(first)](Link& link) {
    if (link.client_done) return;
    if (!broker_) return EndAtClient(id, absl::UnavailableError("connection refused"));
    link.epoch = epoch_;
    checkers_.StreamOpened(now_, id, first);
    AtBroker([&](broker::Broker& broker, broker::Actions& out) {
      broker.OnStreamOpen(now_, broker::StreamId{id}, first, out);
    });
    if (!calm_ && plan_.cut_about_every > Duration{0}) CutLater(id);
  });
  return id;
}

void FaultWorld::Send(uint64_t stream, pubsub::StreamingPullRequest request) {
  if (links_[stream].client_done) return;
  SendUp(stream, [this, stream, request = std::move(request)](Link& link) {
    if (!broker_ || link.epoch != epoch_) return;
    checkers_.StreamAsked(now_, stream, request);
    AtBroker([&](broker::Broker& broker, broker::Actions& out) {
      broker.OnStreamRequest(now_, broker::StreamId{stream}, request, out);
    });
  });
}

void FaultWorld::HalfClose(uint64_t stream) {
  SendUp(stream, [this, stream](Link& link) {
    if (!broker_ || link.epoch != epoch_) return;
    AtBroker([&](broker::Broker& broker, broker::Actions& out) {
      broker.OnStreamHalfClosed(now_, broker::StreamId{stream}, out);
    });
  });
}

void FaultWorld::Cancel(uint64_t stream) {
  links_[stream].client_done = true;
  SendUp(stream, [this, stream](Link& link) {
    if (!broker_ || std::exchange(link.epoch, 0) != epoch_) return;
    checkers_.StreamGone(now_, stream);
    AtBroker([&](broker::Broker& broker, broker::Actions& out) {
      broker.OnStreamGone(now_, broker::StreamId{stream}, out);
    });
  });
}

// The client hears of it at once; the broker writes into the void for a while.
void FaultWorld::CutLater(uint64_t stream) {
  After(chaos_dice_.Between(plan_.cut_about_every / 8, plan_.cut_about_every * 2), [this, stream] {
    Link& link = links_[stream];
    if (link.client_done || link.cut || calm_) return;
    link.cut = link.client_done = true;
    const uint64_t epoch = link.epoch;
    link.events.ended(absl::UnavailableError("the connection was cut"));
    After(chaos_dice_.Between(1ms, 10s), [this, stream, epoch] {
      Link& gone = links_[stream];
      if (!broker_ || epoch != epoch_ || std::exchange(gone.epoch, 0) != epoch_) return;
      checkers_.StreamGone(now_, stream);
      AtBroker([&](broker::Broker& broker, broker::Actions& out) {
        broker.OnStreamGone(now_, broker::StreamId{stream}, out);
      });
    });
  });
}

// ---- process -------------------------------------------------------------------------------------------------------

void FaultWorld::Start() {
  ++epoch_;
  stopping_ = false;
  wake_ = kNever;
  broker::Broker::Options options = plan_.broker;
  options.anchor = {kWorldStart, kWorldWall};
  if (plan_.wall_step_max > Duration{0}) {
    options.anchor.wall += process_dice_.Between(1ms, plan_.wall_step_max) - plan_.wall_step_max / 2;
  }
  for (;;) {
    broker_ = std::make_unique<broker::Broker>(options, sink_);
    absl::Status replayed = disk_->Replay(*broker_);
    if (replayed.ok()) replayed = broker_->ReplayDone(now_);
    if (replayed.ok()) break;
    broker_ = nullptr;
    if (!disk_->died()) return checkers_.Break(now_, "restart", StrCat("replay: ", MessageOf(replayed)));
    disk_->Crash();  // power was lost again
  }
  Wake();
}

void FaultWorld::End(bool restart) {
  if (!broker_) return;
  broker_ = nullptr;
  disk_->Crash();
  checkers_.Ended(now_);
  std::vector<uint64_t> calls, streams;
  for (const auto& [id, call] : calls_) {
    if (call.epoch == epoch_) calls.push_back(id);
  }
  for (const auto& [id, link] : links_) {
    if (link.epoch == epoch_) streams.push_back(id);
  }
  std::sort(calls.begin(), calls.end());  // hash order may not reach the run
  for (const uint64_t id : calls) AnswerCall(id, {absl::UnavailableError("connection reset"), {}, {}});
  for (const uint64_t id : streams) {
    links_[id].epoch = 0;
    EndAtClient(id, absl::UnavailableError("connection reset"));
  }
  if (restart)
    After(process_dice_.Between(1ms, plan_.down_max), [this] {
      if (!broker_) Start();
    });
}

void FaultWorld::StopCleanly() {
  if (!broker_ || stopping_) return;
  stopping_ = true;
  AtBroker([&](broker::Broker& broker, broker::Actions& out) { broker.Stop(now_, out); });
}

template <typename Event>
void FaultWorld::AtBroker(Event event) {
  broker::Actions actions;
  broker_->SetPublishRoom(disk_->PublishRoom());
  event(*broker_, actions);
  Perform(actions);
}

void FaultWorld::Perform(broker::Actions& actions) {
  for (broker::Action& action : actions) {
    const auto stream = static_cast<uint64_t>(action.stream);
    switch (action.kind) {
      case broker::Action::Kind::kReply: {
        const auto call = static_cast<uint64_t>(action.call);
        Answer answer{std::move(action.status), std::move(action.details), pubsub::Bytes(pubsub::Join(action.payload))};
        checkers_.Replied(now_, call, answer.status, answer.details, answer.payload);
        const bool ok = answer.status.ok();
        AnswerCall(call, std::move(answer));
        if (ok && !calm_ && !stopping_ && chaos_dice_.Chance(plan_.crash_after_ok)) CrashNow();
        break;
      }
      case broker::Action::Kind::kWrite: Write(action); break;
      case broker::Action::Kind::kCloseStream:
        checkers_.StreamClosed(now_, stream, action.status);
        links_[stream].epoch = 0;
        EndAtClient(stream, action.status);
        break;
      case broker::Action::Kind::kPersist: disk_->Append(action); break;
    }
  }
  if (disk_->wants_sync()) Sync();
  Wake();
}

void FaultWorld::Write(broker::Action& action) {
  const auto stream = static_cast<uint64_t>(action.stream);
  absl::StatusOr<pubsub::StreamingPullResponse> response =
      pubsub::DecodeStreamingPullResponse(pubsub::Bytes(pubsub::Join(action.payload)));
  if (!response.ok()) return checkers_.Break(now_, "wire", "a response cannot be read");
  checkers_.Wrote(now_, stream, *response);
  const uint64_t epoch = epoch_;
  After(calm_ ? Duration{1us} : net_dice_.Between(Duration{1us}, plan_.write_max), [this, stream, epoch] {
    if (!broker_ || epoch != epoch_ || links_[stream].epoch != epoch_) return;
    checkers_.WriteDone(stream);
    AtBroker(
        [&](broker::Broker& broker, broker::Actions& out) { broker.OnWriteDone(now_, broker::StreamId{stream}, out); });
  });
  SendDown(stream, [response = *std::move(response)](Link& link) mutable { link.events.response(response); });
}

void FaultWorld::Sync() {
  disk_->StartSync();
  const uint64_t epoch = epoch_;
  const bool fails = !calm_ && process_dice_.Chance(plan_.sync_fails);
  After(calm_ ? Duration{1ms} : process_dice_.Between(plan_.sync_min, plan_.sync_max), [this, epoch, fails] {
    if (!broker_ || epoch != epoch_) return;
    bool done = true;
    AtBroker([&](broker::Broker& broker, broker::Actions& out) { done = disk_->FinishSync(now_, fails, broker, out); });
    if (!done) return FailDisk();
    if (stopping_ && broker_ && !disk_->syncing()) End(true);
  });
}

// Never retried: the process ends. A full disk is no reason to.
void FaultWorld::FailDisk() {
  const absl::Status failure = disk_->failure();
  if (failure.code() == absl::StatusCode::kResourceExhausted) {
    checkers_.Break(now_, "full disk", StrCat("the process ended: ", MessageOf(failure)));
  }
  End(true);
}

// A timer is a little late, as real ones are.
void FaultWorld::Wake() {
  if (!broker_) return;
  const std::optional<Instant> next = broker_->NextDeadline();
  if (!next || *next >= wake_) return;
  wake_ = std::max(*next, now_);
  const Instant due = wake_;
  const uint64_t epoch = epoch_;
  const Duration late = calm_ ? Duration{0} : Duration{static_cast<int64_t>(process_dice_.Below(2'000'000))};
  At(due + late, [this, due, epoch] {
    if (!broker_ || epoch != epoch_) return;
    if (wake_ == due) wake_ = kNever;
    AtBroker([&](broker::Broker& broker, broker::Actions& out) { broker.OnDeadline(now_, out); });
    if (const auto after = broker_->NextDeadline(); after && *after <= now_) {
      checkers_.Break(now_, "time goes on", "a deadline that passed neither moved nor acted");
    }
  });
}

// ---- the run -------------------------------------------------------------------------------------------------------

void FaultWorld::Setup() {
  calm_ = true;
  Start();
  for (const pubsub::Topic& topic : plan_.topics) {
    Call(pubsub::Method::kCreateTopic, pubsub::CreateTopicRequest{topic}, 60s, [](const Answer&) {});
  }
  if (!plan_.dead_letter_topic.name.empty()) {
    Call(pubsub::Method::kCreateTopic, pubsub::CreateTopicRequest{plan_.dead_letter_topic}, 60s, [](const Answer&) {});
  }
  After(1s, [this] {
    for (const pubsub::Subscription& subscription : plan_.subscriptions) {
      Call(pubsub::Method::kCreateSubscription, pubsub::CreateSubscriptionRequest{subscription}, 60s,
           [this](const Answer& answer) {
             if (!answer.status.ok()) checkers_.Break(now_, "driver", StrCat("setup: ", answer.status.message()));
           });
    }
  });
  After(2s, [this] {
    calm_ = false;
    disk_->StartFaults();
    clients_ = MakeClients(plan_, *this);
    for (const auto& client : clients_) client->Start();
    Chaos();
  });
}

void FaultWorld::Chaos() {
  if (plan_.crash_about_every > Duration{0}) {
    After(chaos_dice_.Between(plan_.crash_about_every / 8, plan_.crash_about_every * 2), [this] {
      if (calm_) return;
      if (chaos_dice_.Chance(plan_.clean_stops)) {
        StopCleanly();
      } else {
        End(true);
      }
      Chaos();
    });
  }
}

// What was promised a moment ago is what a crash must not take back.
void FaultWorld::CrashNow() {
  At(now_, [this, epoch = epoch_] {
    if (!calm_ && epoch == epoch_) End(true);
  });
}

void FaultWorld::CalmDown() {
  calm_ = true;
  disk_->CalmDown();
  if (!broker_) Start();
}

FaultResult FaultWorld::Run() {
  Setup();
  At(kWorldStart + 2s + plan_.chaos, [this] { CalmDown(); });
  const Instant end = kWorldStart + 2s + plan_.chaos + kDrain;
  while (!queue_.empty() && queue_.NextAt() <= end && !checkers_.violation()) {
    now_ = queue_.NextAt();
    const std::function<void()> next = queue_.Pop();
    next();
    if (++steps_ > kStepsMax) checkers_.Break(now_, "time goes on", "the world spins");
  }
  if (!checkers_.violation()) checkers_.Quiet(now_, broker_->TakeCensus());
  return {.violation = checkers_.violation(), .tally = checkers_.tally(), .steps = steps_, .plan = plan_.Describe()};
}

}  // namespace

FaultResult RunFaults(const FaultOptions& options) {
  FaultWorld world(options);
  return world.Run();
}

}  // namespace hopgap::sim
