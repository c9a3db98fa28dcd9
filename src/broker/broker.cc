#include "broker/broker.h"

#include <algorithm>

#include "base/check.h"
#include "broker/admin_calls.h"
#include "broker/chores.h"
#include "broker/errors.h"
#include "broker/impl.h"

namespace hopgap::broker {
Broker::Broker(Options options, trace::EventSink& sink) : impl_(std::make_unique<Impl>(std::move(options), sink)) {}
Broker::~Broker() = default;

absl::Status Broker::Replay(const StoredRecord& record, const FindBody& find) { return impl_->Replay(record, find); }
absl::Status Broker::ReplayDone(Instant now) { return impl_->ReplayDone(now); }
void Broker::OnCall(Instant now, CallId call, pubsub::Method method, pubsub::Request request, Actions& out,
                    std::optional<Instant> read) {
  impl_->ReadAt(read.value_or(now));
  impl_->OnCall(now, call, method, std::move(request), out);
}
void Broker::OnCallCancelled(Instant now, CallId call, Actions& out) { impl_->OnCallCancelled(now, call, out); }
void Broker::OnStreamOpen(Instant now, StreamId stream, pubsub::StreamingPullRequest first, Actions& out) {
  impl_->ReadAt(now);
  impl_->OnStreamOpen(now, stream, std::move(first), out);
}
void Broker::OnStreamRequest(Instant now, StreamId stream, pubsub::StreamingPullRequest request, Actions& out) {
  impl_->ReadAt(now);
  impl_->OnStreamRequest(now, stream, std::move(request), out);
}
void Broker::OnStreamHalfClosed(Instant now, StreamId stream, Actions& out) {
  impl_->ReadAt(now);
  impl_->OnStreamHalfClosed(now, stream, out);
}
void Broker::OnStreamGone(Instant now, StreamId stream, Actions& out) {
  impl_->ReadAt(now);
  impl_->OnStreamGone(now, stream, out);
}
void Broker::OnWriteDone(Instant now, StreamId stream, Actions& out) {
  impl_->ReadAt(now);
  impl_->OnWriteDone(now, stream, out);
}
void Broker::OnPersisted(Instant now, PersistToken token, Actions& out) { impl_->OnPersisted(now, token, out); }
void Broker::OnStored(const std::vector<StoredRecord>& records) { impl_->durability().OnStored(records); }
void Broker::StartCheckpoint(CheckpointPlan plan, Actions& out) {
  impl_->durability().StartCheckpoint(std::move(plan), out);
}
bool Broker::checkpointing() const { return impl_->durability().checkpointing(); }
const LiveBytes& Broker::live_bytes() const { return impl_->durability().live_bytes(); }
void Broker::SetPublishRoom(uint64_t bytes) { impl_->durability().SetPublishRoom(bytes); }
void Broker::OnDeadline(Instant now, Actions& out) { impl_->OnDeadline(now, out); }
std::optional<Instant> Broker::NextDeadline() const { return impl_->NextDeadline(); }
absl::StatusOr<uint64_t> Broker::OnAdmin(Instant now, const AdminRequest& request, Actions& out) {
  return impl_->OnAdmin(now, request, out);
}
absl::StatusOr<LeaseReport> Broker::Leases(Instant now, const std::string& subscription) {
  return impl_->Leases(now, subscription);
}
void Broker::Stop(Instant now, Actions& out) { impl_->Stop(now, out); }
const Counters& Broker::counters() const { return impl_->counters(); }

absl::Status Broker::Impl::ReplayDone(Instant now) {
  if (absl::Status done = replayer_.Done(now); !done.ok()) return done;
  for (Subscription* subscription : catalog_.Subscriptions()) {
    subscription->last_use = now;
    UpdateWake(*subscription);
    Chores(*this).LookSoon(*subscription, now);
  }
  for (Topic* topic : catalog_.Topics()) {
    topic->committed = topic->log.next();
    if (topic->keeps()) Chores(*this).LookSoon(*topic, now);
  }
  return absl::OkStatus();
}

void Broker::Impl::OnCall(Instant now, CallId call, pubsub::Method method, pubsub::Request request, Actions& out) {
  using pubsub::Method;
  calls_[call] = 0;
  if (stopping_) return Reply(call, Stopping(), out);
  switch (method) {
    case Method::kPublish: return Publish(now, call, std::get<pubsub::PublishRequest>(std::move(request)), out);
    case Method::kPull: return Pull(now, call, std::get<pubsub::PullRequest>(request), out);
    case Method::kAcknowledge: {
      auto& ack = std::get<pubsub::AcknowledgeRequest>(request);
      return AcknowledgeCall(now, call, ack, out);
    }
    case Method::kModifyAckDeadline: {
      auto& modify = std::get<pubsub::ModifyAckDeadlineRequest>(request);
      return ModifyAckDeadlineCall(now, call, modify, out);
    }
    case Method::kSeek: return Seek(now, call, std::get<pubsub::SeekRequest>(request), out);
    case Method::kStreamingPull: HOPGAP_CHECK(false, "StreamingPull is no unary call");
    default: return Admin(*this, now, call, out).Run(method, std::move(request));
  }
}

void Broker::Impl::OnCallCancelled(Instant, CallId call, Actions&) {
  const bool waited = StopWaiting(call);
  calls_.erase(call);
  if (waited) DropStalePullDeadlines();
}

void Broker::Impl::ReplyWithDetails(CallId call, absl::Status status, std::string details, Actions& out) {
  if (calls_.erase(call) == 0) return;
  out.push_back(
      {.kind = Action::Kind::kReply, .call = call, .status = std::move(status), .details = std::move(details)});
}

// An answer that tells of a resource made or deleted waits until that is
// durable, whoever did it: a crash would take it back.
void Broker::Impl::Reply(CallId call, absl::Status status, Actions& out) {
  if (!absl::IsNotFound(status) && !absl::IsAlreadyExists(status)) {
    return ReplyWithDetails(call, std::move(status), {}, out);
  }
  if (const auto found = calls_.find(call); found != calls_.end()) found->second = 0;  // a Pull waits no more
  const auto answer = [this, call, status](Instant, Actions& then) { ReplyWithDetails(call, status, {}, then); };
  commits_.AfterAwaited(Instant{}, answer, out);
}

void Broker::Impl::Reply(CallId call, pubsub::Slices payload, Actions& out) {
  if (!calls_.contains(call)) return;
  ReplyWithDetails(call, absl::OkStatus(), {}, out);
  out.back().payload = std::move(payload);
}

void Broker::Impl::RunAfter(Duration delay, Instant now, Then then, Actions& out) {
  if (delay <= Duration{0}) return then(now, out);
  held_.Add(now + delay, std::move(then));
}

void Broker::Impl::Trace(const trace::MessageKey& key, trace::Event event) {
  if (key == trace::MessageKey{}) return;
  event.message = key;
  sink_.Record(event);
}

void Broker::Impl::UpdateWake(Subscription& subscription) {
  const std::optional<Instant> next = subscription.NextDeadline();
  if (next == subscription.wake) return;
  if (subscription.wake) wakes_.erase({*subscription.wake, subscription.id});
  if (next) wakes_.emplace(*next, subscription.id);
  subscription.wake = next;
}

// All that is due, in the order of the deadlines, however far the clock went.
void Broker::Impl::OnDeadline(Instant now, Actions& out) {
  for (;;) {
    const Instant held = held_.NextDue().value_or(kNever);
    const Instant wake = stopping_ || wakes_.empty() ? kNever : wakes_.begin()->first;
    DropStalePullDeadlines();
    const Instant pull = stopping_ || pull_deadlines_.empty() ? kNever : pull_deadlines_.front().first;
    const Instant snapshot = stopping_ ? kNever : Chores::NextSnapshotExpiry(*this).value_or(kNever);
    const Instant chore = stopping_ || chores_.empty() ? kNever : chores_.begin()->first;
    const Instant next = std::min({held, wake, pull, snapshot, chore});
    if (next > now || next == kNever) return;
    if (next == held) {
      (*held_.TakeDue(now))(now, out);
    } else if (next == wake) {
      Subscription& subscription = *catalog_.FindSubscription(wakes_.begin()->second);
      Advance(now, subscription);
      Dispatch(now, subscription, out);
    } else if (next == pull) {
      AnswerDuePull(out);
    } else if (next == snapshot) {
      Chores(*this).ExpireSnapshots(now, out);
    } else {
      Chores(*this).Do(now, out);
    }
  }
}

// A pull that was answered or cancelled leaves its deadline behind.
void Broker::Impl::DropStalePullDeadlines() {
  const auto stale = [this](CallId call) {
    const auto found = calls_.find(call);
    return found == calls_.end() || found->second == 0;
  };
  while (!pull_deadlines_.empty() && stale(pull_deadlines_.front().second)) pull_deadlines_.pop_front();
}

// Requires: one waits.
void Broker::Impl::AnswerDuePull(Actions& out) {
  const CallId call = pull_deadlines_.front().second;
  StopWaiting(call);
  if (Has(Planted::kPullNeverAnswered)) calls_.erase(call);
  Reply(call, pubsub::EncodePullResponse({}), out);
  DropStalePullDeadlines();
}

std::optional<Instant> Broker::Impl::NextDeadline() const {
  std::optional<Instant> next = held_.NextDue();
  if (stopping_) return next;
  if (!wakes_.empty()) next = std::min(next.value_or(kNever), wakes_.begin()->first);
  if (!chores_.empty()) next = std::min(next.value_or(kNever), chores_.begin()->first);
  if (const auto expiry = Chores::NextSnapshotExpiry(*this)) next = std::min(next.value_or(kNever), *expiry);
  if (!pull_deadlines_.empty()) next = std::min(next.value_or(kNever), pull_deadlines_.front().first);
  return next;
}

void Broker::Impl::Stop(Instant now, Actions& out) {
  if (stopping_) return;
  stopping_ = true;
  // A held request is refused; a held answer is true already and goes out.
  while (std::optional<Then> then = held_.TakeDue(kNever)) (*then)(now, out);
  std::vector<Record> clean{CleanStop{}};
  for (Subscription* subscription : catalog_.Subscriptions()) {
    for (const WaitingPull& pull : subscription->pulls) Reply(pull.call, pubsub::EncodePullResponse({}), out);
    waiting_pulls_ -= subscription->pulls.size();
    subscription->pulls.clear();
    CloseAllStreams(*subscription, Stopping(), out);
    if (!subscription->exactly_once() || Has(Planted::kCleanStopForgetsLeases)) continue;
    subscription->ForEachLease(now, [&](const AckedDelivery& delivery, Duration remaining) {
      if (std::get<CleanStop>(clean.back()).leases.size() == options_.deliveries_per_record_max) {
        std::get<CleanStop>(clean.back()).more = true;
        clean.emplace_back(CleanStop{});
      }
      std::get<CleanStop>(clean.back()).leases.push_back({subscription->id, delivery, remaining});
    });
  }
  commits_.Persist(
      clean, [](Instant, Actions&) {}, out);
}

}  // namespace hopgap::broker
