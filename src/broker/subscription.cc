#include "broker/subscription.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/check.h"
#include "broker/catalog.h"

namespace hopgap::broker {
namespace {

using State = Delivery::State;
constexpr Instant kLongAgo{Duration::min()};

pubsub::Filter Read(std::string_view text) {
  absl::StatusOr<pubsub::Filter> filter = pubsub::Filter::Parse(text);
  HOPGAP_CHECK(filter.ok(), "a subscription with a bad filter");
  return *std::move(filter);
}

}  // namespace

Subscription::Subscription(Incarnation incarnation, pubsub::Subscription resource, Topic& its_topic, Sequence from,
                           Sequence send_bound, Duration lease_ceiling)
    : SubscriptionState(incarnation, std::move(resource), Read(resource.filter), its_topic, from, send_bound,
                        lease_ceiling) {
  // What was there before it is finished with, until a seek brings it.
  if (from > 0) acked_.Append(0, from);
}

void Subscription::Append(Sequence sequence, const pubsub::Message& message) {
  Delivery& delivery = deliveries_.Add(sequence, Delivery{.bytes = static_cast<uint32_t>(message.wire_size())});
  JoinLine(sequence, delivery, message);
}

void Subscription::JoinLine(Sequence sequence, Delivery& delivery, const pubsub::Message& message) {
  if (ordered() && !message.ordering_key().empty()) ready_.Join(message.ordering_key(), sequence, delivery);
}

void Subscription::MakeDeliverable(Sequence sequence, Delivery& delivery, Instant now, Instant due) {
  if (due <= now) return MakeReady(sequence, delivery);
  delivery.state = State::kDelayed;
  delayed_.emplace_back(due, sequence);
  std::push_heap(delayed_.begin(), delayed_.end(), std::greater<>());
}

void Subscription::ReleaseDelayed(Instant now) {
  while (!delayed_.empty() && delayed_.front().first <= now) {
    const Sequence sequence = delayed_.front().second;
    std::pop_heap(delayed_.begin(), delayed_.end(), std::greater<>());
    delayed_.pop_back();
    // A standard subscription's late ack may have finished it meanwhile.
    Delivery* delivery = Find(sequence);
    if (delivery != nullptr && delivery->state == State::kDelayed) MakeReady(sequence, *delivery);
  }
}

void Subscription::MakeReady(Sequence sequence, Delivery& delivery) {
  if (!exactly_once() || delivery.generation_unsent) return ready_.Push(sequence, delivery);
  if (delivery.generation > 0) {
    delivery.state = State::kAwaitsGeneration;
    awaiting_generation_.push_back(sequence);
  } else if (sequence >= bound.durable()) {
    delivery.state = State::kAwaitsBound;
    awaiting_bound_.push_back(sequence);
  } else {
    ready_.Push(sequence, delivery);
  }
}

std::vector<LeaseTable::Expired> Subscription::TakeExpired(Instant now) {
  std::vector<LeaseTable::Expired> expired = leases_.TakeExpired(now);
  for (const LeaseTable::Expired& lease : expired) {
    Delivery& delivery = *Find(lease.id);
    if (planted != Planted::kCreditLeakedOnExpiry) FreeCredit(delivery);
    delivery.state = State::kReturning;
  }
  return expired;
}

void Subscription::EndLease(Sequence sequence) {
  Delivery& delivery = *Find(sequence);
  if (delivery.state == State::kLeased) {
    // What is still in the table was found live: `now` does not matter.
    HOPGAP_CHECK(leases_.End(sequence, kLongAgo).ok(), "ended what is not leased");
    FreeCredit(delivery);
  } else {
    HOPGAP_CHECK(delivery.state == State::kAckedEarly, "ended what is not leased");
  }
  delivery.state = State::kReturning;
}

void Subscription::CloseStream(StreamId stream) {
  streams.Close(stream);
  ready_.OnStreamClosed(stream);
}

void Subscription::FreeCredit(Delivery& delivery) {
  if (!delivery.stream) return;
  streams.Free(*delivery.stream, delivery.bytes);
  if (planted != Planted::kGateStaysShut) streams.OpenGate(*delivery.stream, delivery.response);
}

void Subscription::NoteReceipt(Delivery& delivery) {
  if (delivery.stream && planted != Planted::kGateStaysShut) streams.OpenGate(*delivery.stream, delivery.response);
}

Generation Subscription::StartLease(Sequence sequence, Instant now, Duration length, std::optional<StreamId> stream,
                                    uint64_t response) {
  Delivery& delivery = *Find(sequence);
  HOPGAP_CHECK(delivery.state == State::kReady, "sent what is not ready");
  HOPGAP_CHECK(length <= LeaseLimit(), "a lease above the ceiling");
  if (!delivery.generation_unsent) {
    HOPGAP_CHECK(!exactly_once() || delivery.generation == 0, "a generation that is not committed");
    ++delivery.generation;
  }
  HOPGAP_CHECK(!exactly_once() || delivery.generation > 1 || sequence < bound.durable(), "sent above the bound");
  delivery.state = State::kLeased;
  delivery.generation_unsent = false;
  delivery.receipt_seen = false;
  delivery.held_after_restart = false;
  delivery.stream = stream;
  delivery.response = response;
  leases_.Grant(sequence, now, planted == Planted::kLeaseTooShort ? length / 2 : length);
  return delivery.generation;
}

Subscription::IdState Subscription::Classify(const AckId& ack, Instant now) {
  const Delivery* delivery = Find(ack.sequence);
  if (delivery == nullptr) {
    if (!acked_.Contains(ack.sequence) || ended_.Contains(ack.sequence)) return IdState::kUnknown;
    const auto winner = winners_.find(ack.sequence);
    const Generation won = winner == winners_.end() ? 1 : winner->second.generation;
    return won == ack.generation ? IdState::kAckedByThis : IdState::kUnknown;
  }
  if (delivery->state == State::kUncommitted) return IdState::kUnknown;
  if (ack.generation != delivery->generation && planted != Planted::kStaleIdAccepted) return IdState::kSuperseded;
  if (delivery->state == State::kAckPending) return IdState::kAckPending;
  if (delivery->state != State::kLeased || !leases_.DeadlineOf(ack.sequence, now)) return IdState::kEnded;
  return IdState::kLive;
}

void Subscription::ExtendLease(Sequence sequence, Instant now, Instant deadline) {
  const absl::Status extended = leases_.Extend(sequence, now, deadline);
  HOPGAP_CHECK(extended.ok(), "extended what is not leased");
}

void Subscription::BeginAck(Sequence sequence, Instant now) {
  const absl::Status ended = leases_.End(sequence, now);
  HOPGAP_CHECK(ended.ok(), "acked what is not leased");
  Delivery& delivery = *Find(sequence);
  delivery.state = State::kAckPending;
  under_way_[sequence] = {.generation = delivery.generation, .acked = true, .kept = value.retain_acked_messages};
}

void Subscription::BeginDeadLetter(Sequence sequence) {
  under_way_[sequence] = {
      .generation = Find(sequence)->generation, .acked = false, .kept = value.retain_acked_messages};
}

void Subscription::AckEarly(Sequence sequence, Instant now) {
  Delivery& delivery = *Find(sequence);
  HOPGAP_CHECK(leases_.End(sequence, now).ok(), "acked what is not leased");
  FreeCredit(delivery);
  delivery.state = State::kAckedEarly;
}

void Subscription::Finish(Sequence sequence, Generation generation, End end, std::vector<AckedDelivery>& finished) {
  FinishFrom(sequence, {.generation = generation, .journaled = generation}, end, finished);
}

void Subscription::FinishFrom(Sequence sequence, Won won, End end, std::vector<AckedDelivery>& finished) {
  finished.push_back({sequence, won.generation});
  std::optional<Sequence> next = FinishOne(sequence, won, end);
  while (next) {
    const Delivery& delivery = *Find(*next);
    if (delivery.state != State::kAckedEarly) return;
    finished.push_back({*next, delivery.generation});
    next = FinishOne(*next, {.generation = delivery.generation, .journaled = delivery.generation}, End::kAcked);
  }
}

std::optional<Sequence> Subscription::FinishOne(Sequence sequence, Won won, End end) {
  Delivery& delivery = *Find(sequence);
  // `now` does not matter here: what is still in the table was found live.
  if (delivery.state == State::kLeased) {
    HOPGAP_CHECK(leases_.End(sequence, kLongAgo).ok(), "acked what is not leased");
  }
  const bool counted = delivery.state == State::kLeased || delivery.state == State::kAckPending;
  if (counted && planted != Planted::kCreditLeakedOnAck) FreeCredit(delivery);
  const bool keep = end != End::kTooOld && KeepsWhenFinished(sequence);
  under_way_.erase(sequence);
  if (delivery.returned) returned_.erase(sequence);
  const std::optional<Sequence> next = ready_.Leave(sequence, delivery);
  deliveries_.Remove(sequence);
  if (keep) {
    kept_.Insert(sequence);
  } else {
    topic.log.Release(sequence);
  }
  acked_.Insert(sequence);
  if (end != End::kAcked) ended_.Insert(sequence);
  if (std::max(won.generation, won.journaled) > 1) winners_[sequence] = won;
  return next;
}

// What is on its way was decided when its record was made: a replay decides there.
bool Subscription::KeepsWhenFinished(Sequence sequence) const {
  const auto under_way = under_way_.find(sequence);
  return under_way == under_way_.end() ? value.retain_acked_messages : under_way->second.kept;
}

// Of a message that is finished by something else than its ack.
Won Subscription::WonBy(Sequence sequence) {
  const auto under_way = under_way_.find(sequence);
  if (under_way != under_way_.end()) {
    return {.generation = under_way->second.generation, .journaled = under_way->second.generation};
  }
  const Delivery& delivery = *Find(sequence);
  return {.generation = delivery.generation, .journaled = delivery.journaled};
}

Returned& Subscription::NoteReturn(Sequence sequence, Delivery& delivery, Instant at, LeaseEnd how) {
  delivery.returned = true;
  Returned& returned = returned_[sequence];
  returned.how = how;
  returned.at = at;
  // A delivery fails once. One that had, and was held after a crash as nobody knew, may be nacked again.
  const bool counted = delivery.held_after_restart && returned.failed >= delivery.generation;
  const bool counts = (how == LeaseEnd::kExpired || how == LeaseEnd::kNacked) && !counted;
  if (counts && planted != Planted::kAttemptNotCounted) ++returned.failures;
  return returned;
}

const Returned* Subscription::FindReturned(Sequence sequence) const {
  const auto found = returned_.find(sequence);
  return found == returned_.end() ? nullptr : &found->second;
}

std::vector<AckedDelivery> Subscription::TakeAwaitingGeneration(size_t count) {
  std::vector<AckedDelivery> taken;
  while (taken.size() < count && !awaiting_generation_.empty()) {
    const Sequence sequence = awaiting_generation_.front();
    awaiting_generation_.pop_front();
    Delivery* delivery = Find(sequence);
    if (delivery == nullptr || delivery->state != State::kAwaitsGeneration) continue;
    delivery->state = State::kCommitting;
    delivery->journaled = delivery->generation + (planted == Planted::kGenerationReused ? 0 : 1);
    taken.push_back({sequence, delivery->journaled});
  }
  committing_ += taken.size();
  return taken;
}

void Subscription::OnGenerations(const std::vector<AckedDelivery>& committed) {
  for (const AckedDelivery& next : committed) {
    Delivery* delivery = Find(next.sequence);
    // Finished meanwhile, or finished and come back to life, perhaps with a newer one under way.
    if (delivery == nullptr || delivery->state != State::kCommitting || delivery->journaled != next.generation)
      continue;
    delivery->generation = next.generation;
    delivery->generation_unsent = true;
    ready_.Push(next.sequence, *delivery);
  }
  committing_ -= committed.size();
}

size_t Subscription::OnBoundDurable(Sequence raised) {
  bound.OnDurable(raised);
  size_t released = 0;
  while (!awaiting_bound_.empty() && awaiting_bound_.front() < bound.durable()) {
    const Sequence sequence = awaiting_bound_.front();
    awaiting_bound_.pop_front();
    Delivery* delivery = Find(sequence);
    if (delivery == nullptr || delivery->state != State::kAwaitsBound) continue;
    ready_.Push(sequence, *delivery);
    ++released;
  }
  return released;
}

std::vector<AckedDelivery> Subscription::StartExactlyOnce() {
  exactly_once_ = true;
  std::vector<AckedDelivery> sent;
  std::vector<Sequence> waiting;
  deliveries_.ForEach([&](Sequence sequence, Delivery& delivery) {
    if (delivery.generation > 0) {
      sent.push_back({sequence, delivery.generation});
      if (delivery.nacked >= delivery.generation) delivery.nacked = 0;  // of another delivery, before a crash
    }
    delivery.journaled = std::max(delivery.journaled, delivery.generation);
    if (delivery.state != State::kReady) return;
    ready_.Withdraw(delivery);
    waiting.push_back(sequence);
  });
  ready_.Sweep();
  for (Sequence sequence : waiting) MakeReady(sequence, *Find(sequence));
  return sent;
}

std::vector<AckedDelivery> Subscription::NoteFailuresOfNewest() {
  std::vector<AckedDelivery> failed;
  if (!value.dead_letter_policy) return failed;
  deliveries_.ForEach([&](Sequence sequence, Delivery& delivery) {
    const bool waits = delivery.state == State::kDelayed || delivery.state == State::kReady ||
                       delivery.state == State::kAwaitsBound || delivery.state == State::kAwaitsGeneration;
    if (!waits || delivery.generation_unsent || !delivery.returned) return;
    Returned& returned = returned_[sequence];
    const bool counted = returned.how == LeaseEnd::kExpired || returned.how == LeaseEnd::kNacked;
    if (!counted || returned.failures == 0) return;
    returned.journaled = returned.failures;
    returned.failed = delivery.NewestJournaled();
    failed.push_back({sequence, returned.failures});
  });
  return failed;
}

void Subscription::StopExactlyOnce() {
  exactly_once_ = false;
  awaiting_bound_.clear();
  awaiting_generation_.clear();
  deliveries_.ForEach([&](Sequence sequence, Delivery& delivery) {
    const bool waits = delivery.state == State::kAwaitsBound || delivery.state == State::kAwaitsGeneration;
    if (waits) ready_.Push(sequence, delivery);
  });
}

std::vector<SequenceRange> Subscription::Unacked() {
  std::vector<SequenceRange> ranges;
  deliveries_.ForEach([&](Sequence sequence, Delivery& delivery) {
    if (delivery.state == State::kAckPending || delivery.state == State::kDeadLettering) return;
    if (!ranges.empty() && ranges.back().end == sequence) {
      ++ranges.back().end;
    } else {
      ranges.push_back({sequence, sequence + 1});
    }
  });
  return ranges;
}

std::optional<Instant> Subscription::NextDeadline() const {
  std::optional<Instant> next = leases_.NextDeadline();
  if (!delayed_.empty()) next = std::min(next.value_or(kNever), delayed_.front().first);
  if (paused_until) next = std::min(next.value_or(kNever), *paused_until);
  return next;
}

void Subscription::ReleaseAll() {
  deliveries_.ForEach([this](Sequence sequence, Delivery&) { topic.log.Release(sequence); });
  ReleaseKept(std::numeric_limits<Sequence>::max());
}

void Subscription::ReplayAck(const AckedDelivery& delivery) {
  // A prefix of the journal may hold an ack twice only by a fault of ours; an
  // ack of what is finished changes nothing either way.
  if (planted == Planted::kAckForgottenOnReplay) return;
  const Won won{.generation = delivery.generation, .journaled = delivery.generation};
  if (Find(delivery.sequence) != nullptr) FinishOne(delivery.sequence, won, End::kAcked);
}

void Subscription::ReplayEnd(const AckedDelivery& delivery) {
  const Won won{.generation = delivery.generation, .journaled = delivery.generation};
  if (Find(delivery.sequence) != nullptr) FinishOne(delivery.sequence, won, End::kEnded);
}

void Subscription::ReplayFailures(const AckedDelivery& failed) {
  Delivery* delivery = Find(failed.sequence);
  if (delivery == nullptr) return;
  delivery->returned = true;
  Returned& returned = returned_[failed.sequence];
  returned.failures = returned.journaled = failed.generation;
  returned.failed = delivery->NewestJournaled();
}

void Subscription::ReplayGeneration(const AckedDelivery& next) {
  if (planted == Planted::kGenerationForgottenOnReplay) return;
  Delivery* delivery = Find(next.sequence);
  if (delivery == nullptr) return;
  delivery->generation = delivery->journaled = std::max(delivery->generation, next.generation);
  // A standard delivery after a crash had the generation of one that was nacked before it.
  if (delivery->nacked >= next.generation) delivery->nacked = 0;
}

void Subscription::ReplayNack(const AckedDelivery& nack) {
  Delivery* delivery = Find(nack.sequence);
  if (delivery == nullptr) return;
  delivery->NoteNack(nack.generation);
  // Its number is not given again: who had it then would be taken for the one who nacked it.
  delivery->generation = std::max(delivery->generation, nack.generation);
}

void Subscription::SetValue(pubsub::Subscription updated) {
  value = std::move(updated);
  if (planted == Planted::kUpdateLosesRetryPolicy) value.retry_policy.reset();
  if (value.retain_acked_messages || planted == Planted::kKeptNotReleased) return;
  ReleaseKept(std::numeric_limits<Sequence>::max());
  for (auto& [sequence, end] : under_way_) end.kept = false;
}

void Subscription::ReplayUpdate(pubsub::Subscription updated) {
  if (planted == Planted::kUpdateForgottenOnReplay) return;
  SetValue(std::move(updated));
  exactly_once_ = value.enable_exactly_once_delivery;
}

void Subscription::Restore(Instant now, const std::vector<CleanStop::Lease>* clean) {
  std::map<Sequence, Duration> held;
  if (clean != nullptr) {
    for (const CleanStop::Lease& lease : *clean) {
      if (lease.subscription == id) held[lease.delivery.sequence] = lease.remaining;
    }
    // Nothing may start or extend a lease before a record has made that stop
    // void: the next crash would hold too little. So L has to be raised first.
    ceiling_floor = ceiling;
    ceiling = ceiling_durable = Duration{0};
  }
  deliveries_.ForEach([&](Sequence sequence, Delivery& delivery) {
    if (delivery.line == nullptr) JoinLine(sequence, delivery, topic.log.Find(sequence)->message);
    if (!exactly_once() || sequence >= bound.durable()) return MakeReady(sequence, delivery);
    delivery.generation = std::max<Generation>(delivery.generation, 1);
    const auto lease = held.find(sequence);
    const Duration length = clean == nullptr ? ceiling : lease == held.end() ? Duration{0} : lease->second;
    const bool held_no_more =
        length <= Duration{0} || delivery.nacked == delivery.generation || planted == Planted::kHoldSkipped;
    // What was sent after a message of its key that came back, came back with it.
    if (held_no_more || !ready_.Hold(sequence, delivery)) return MakeReady(sequence, delivery);
    delivery.state = State::kLeased;
    delivery.held_after_restart = true;
    leases_.Grant(sequence, now, planted == Planted::kHoldTooShort ? length / 4 : length);
  });
}

}  // namespace hopgap::broker
