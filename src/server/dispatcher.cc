#include "server/dispatcher.h"

#include <absl/status/statusor.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/system_clock.h"

namespace hopgap::server {

using broker::Action;
using broker::Actions;
using broker::CallId;
using broker::StreamId;

Dispatcher::Dispatcher(Options options, broker::Journal& journal, trace::EventSink& sink, loop::Timer& timer)
    : options_(std::move(options)),
      journal_(journal),
      timer_(timer),
      strand_(options_.queued_requests_max),
      failures_(options_.failure_line),
      broker_(BrokerOptions(), sink) {}

broker::Broker::Options Dispatcher::BrokerOptions() {
  broker::Broker::Options options = options_.broker;
  options.on_lease_failure = [this](Instant now, const broker::LeaseFailure& failure) {
    failures_.Add(now, options_.broker.anchor.ToWall(now), failure);
  };
  return options;
}

Instant Dispatcher::Now() const { return SteadyNow() + Duration{ahead_ns_.load(std::memory_order_relaxed)}; }

Dispatcher::~Dispatcher() { HOPGAP_CHECK(!armed_.has_value(), "a dispatcher is closed before it is destroyed"); }

absl::Status Dispatcher::Replay(const std::vector<pubsub::Bytes>& records) {
  absl::Status status;
  strand_.Run([&] {
    for (const pubsub::Bytes& record : records) {
      status = broker_.Replay(record);
      if (!status.ok()) return;
    }
    status = journal_.Replay([this](const broker::StoredRecord& record, const broker::FindBody& find) {
      return broker_.Replay(record, find);
    });
    if (!status.ok()) return;
    status = broker_.ReplayDone(Now());
    if (status.ok()) Rearm();
  });
  return status;
}

void Dispatcher::StopBroker() {
  strand_.Run([this] {
    broker_stopped_ = true;
    watches_.Stop();
    RefuseAdvances();
    WriteHeld(kNever);
    Actions actions;
    broker_.Stop(Now(), actions);
    Perform(actions);
  });
  std::unique_lock lock(persists_mu_);
  persists_done_.wait(lock, [this] { return persists_ == 0; });
}

void Dispatcher::Close() {
  strand_.Run([this] {
    HOPGAP_CHECK(open_.empty(), "the broker still holds RPCs that are gone");
    closed_ = true;
    held_.clear();
    if (armed_.has_value()) timer_.Cancel(armed_->token);
    armed_.reset();
  });
  strand_.WaitIdle();  // a callback that was running has posted once more
}

broker::Counters Dispatcher::counters() {
  broker::Counters counters;
  strand_.Run([&] { counters = broker_.counters(); });
  return counters;
}

void Dispatcher::Perform(Actions& actions) {
  for (Action& action : actions) PerformOne(action);
  Rearm();
}

void Dispatcher::PerformOne(Action& action) {
  switch (action.kind) {
    case Action::Kind::kReply: return Reply(action);
    case Action::Kind::kWrite: return Write(action);
    case Action::Kind::kCloseStream:
      if (Call* call = FindStream(static_cast<uint64_t>(action.stream))) {
        WriteHeldOf(call->id());
        if (!call->finished()) call->Finish(action.status, std::move(action.details));
      }
      return;
    case Action::Kind::kPersist: return Persist(action);
  }
}

void Dispatcher::Reply(Action& action) {
  if (ReplyLocally(action)) return;
  const auto found = open_.find(static_cast<uint64_t>(action.call));
  if (found == open_.end()) return;  // the client left
  const CallRef call = std::move(found->second.call);
  open_.erase(found);
  if (action.status.ok()) {
    call->Reply(action.payload);
  } else {
    call->Finish(action.status, std::move(action.details));
  }
}

void Dispatcher::Write(Action& action) {
  const uint64_t id = static_cast<uint64_t>(action.stream);
  if (options_.planted_wire_delay <= Duration{0} || broker_stopped_) return WriteNow(id, action.payload);
  held_.push_back({Now() + options_.planted_wire_delay, id, std::move(action.payload)});
}

void Dispatcher::WriteNow(uint64_t id, const pubsub::Slices& payload) {
  Call* call = FindStream(id);
  if (call != nullptr && !call->finished()) call->Write(payload);
}

void Dispatcher::WriteHeld(Instant due_until) {
  while (!held_.empty() && held_.front().due <= due_until) {
    const HeldWrite held = std::move(held_.front());
    held_.pop_front();
    WriteNow(held.id, held.payload);
  }
}

// A stream's responses come before its end.
void Dispatcher::WriteHeldOf(uint64_t id) {
  const auto found = std::find_if(held_.begin(), held_.end(), [id](const HeldWrite& held) { return held.id == id; });
  if (found == held_.end()) return;
  const HeldWrite held = std::move(*found);
  held_.erase(found);
  WriteNow(id, held.payload);
}

Call* Dispatcher::FindStream(uint64_t id) {
  const auto found = open_.find(id);
  return found == open_.end() ? nullptr : found->second.call.get();
}

void Dispatcher::Persist(Action& action) {
  {
    std::lock_guard lock(persists_mu_);
    ++persists_;
  }
  if (action.awaited) awaited_ = action.token;
  journal_.Append(action.token, std::move(action.records), action.awaited,
                  [this](broker::PersistToken token, std::vector<broker::StoredRecord> stored) {
                    strand_.Post([this, token, stored = std::move(stored)] { Persisted(token, stored); });
                  });
}

void Dispatcher::Persisted(broker::PersistToken token, const std::vector<broker::StoredRecord>& stored) {
  Actions actions;
  persisted_ = std::max(persisted_, token);
  broker_.OnStored(stored);
  broker_.OnPersisted(Now(), token, actions);
  if (!broker_.checkpointing() && !broker_stopped_) {
    if (auto plan = journal_.NextCheckpoint(broker_.live_bytes())) {
      broker_.StartCheckpoint(*std::move(plan), actions);
    }
  }
  Perform(actions);
  if (!advances_.empty()) ContinueAdvance();
  std::lock_guard lock(persists_mu_);
  if (--persists_ == 0) persists_done_.notify_all();
}

void Dispatcher::OnTimer(Instant armed_for) {
  if (armed_.has_value() && armed_->at == armed_for) armed_.reset();
  const Instant now = Now();
  WriteHeld(now);
  Actions actions;
  broker_.OnDeadline(now, actions);
  Perform(actions);
}

// A timer that is set too early stays: it costs one wake-up, where moving it
// would cost a lock and two tree operations for every message.
void Dispatcher::Rearm() {
  if (closed_) return;
  std::optional<Instant> next = broker_.NextDeadline();
  if (!held_.empty()) next = std::min(next.value_or(kNever), held_.front().due);
  if (!next.has_value() || (armed_.has_value() && armed_->at <= *next)) return;
  if (armed_.has_value()) timer_.Cancel(armed_->token);
  const Instant at = *next;
  const Instant fires = at == kNever ? at : at - Duration{ahead_ns_.load(std::memory_order_relaxed)};
  armed_ = Armed{at, timer_.Set(fires, [this, at] { strand_.Post([this, at] { OnTimer(at); }); })};
}

}  // namespace hopgap::server
