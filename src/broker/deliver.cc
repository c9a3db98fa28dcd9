// Who gets what, and when: expiry and added delays, unary Pull, the streams in
// turn, and what has to be in the journal before it.

#include <algorithm>
#include <limits>

#include "broker/dead_letters.h"
#include "broker/errors.h"
#include "broker/impl.h"
#include "pubsub/limits.h"
#include "pubsub/names.h"

namespace hopgap::broker {
namespace {

// Generations committed in one group, and the ready messages up to which more
// are committed ahead.
constexpr size_t kGenerationsPerGroup = 1000;

// Of the redelivery that follows the given number of failures.
Duration Backoff(const pubsub::RetryPolicy& policy, uint32_t failures) {
  Duration backoff = policy.minimum_backoff;
  for (; failures > 1 && backoff < policy.maximum_backoff; --failures)
    backoff = std::min(2 * backoff, policy.maximum_backoff);
  return std::min(backoff, policy.maximum_backoff);
}

}  // namespace

void Broker::Impl::Pull(Instant now, CallId call, const pubsub::PullRequest& request, Actions& out) {
  const absl::StatusOr<Subscription*> found = AttachedNamed(request.subscription);
  if (!found.ok()) return Reply(call, found.status(), out);
  if (request.max_messages < pubsub::kPullMessagesMin) return Reply(call, BadArgument("max_messages"), out);
  Subscription& subscription = **found;
  const int32_t count = std::min(request.max_messages, pubsub::kPullMessagesMax);
  subscription.pulls.push_back(
      {.call = call, .messages_max = static_cast<size_t>(count), .immediately = request.return_immediately});
  calls_[call] = subscription.id;
  ++waiting_pulls_;
  pull_deadlines_.emplace_back(now + options_.pull_wait, call);
  Advance(now, subscription);
  EnsureCeiling(subscription, subscription.ack_deadline(), out);
  Dispatch(now, subscription, out);
  // Only waiting is limited: what can be answered at once is, or those that wait
  // at empty subscriptions would keep everybody from the full ones.
  if (waiting_pulls_ <= options_.waiting_pulls_max || !StopWaiting(call)) return;
  Reply(call, LimitReached("waiting pulls", options_.waiting_pulls_max), out);
}

bool Broker::Impl::StopWaiting(CallId call) {
  const auto found = calls_.find(call);
  if (found == calls_.end() || found->second == 0) return false;
  std::deque<WaitingPull>& pulls = catalog_.FindSubscription(found->second)->pulls;
  std::erase_if(pulls, [call](const WaitingPull& pull) { return pull.call == call; });
  --waiting_pulls_;
  return true;
}

// Brings the subscription to `now`: what expired is ready again, what a delay
// held is let go. Every look at a lease comes after it, and Dispatch() too.
void Broker::Impl::Advance(Instant now, Subscription& subscription) {
  for (const LeaseTable::Expired& lease : subscription.TakeExpired(now)) {
    if (Has(Planted::kExpiredForgotten)) continue;
    Return(now, subscription, lease.id, LeaseEnd::kExpired, lease.deadline);
  }
  subscription.ReleaseDelayed(now);
  if (subscription.paused_until && *subscription.paused_until <= now) subscription.paused_until.reset();
}

// A lease has ended without an ack, `at` some instant that may lie behind. Those
// of its key that were sent after it come back too.
void Broker::Impl::Return(Instant now, Subscription& subscription, Sequence sequence, LeaseEnd how, Instant at) {
  Delivery& delivery = *subscription.Find(sequence);
  const bool hold_ended = delivery.held_after_restart && how == LeaseEnd::kExpired;
  if (hold_ended && !Has(Planted::kHoldCountsAsAttempt)) how = LeaseEnd::kHoldEnded;
  Returned& returned = subscription.NoteReturn(sequence, delivery, at, how);
  TraceReturn(at, subscription, sequence, delivery, how);
  if (DeadLetters(*this).Claim(subscription, sequence, returned)) {
    delivery.state = Delivery::State::kDeadLettering;
    return;
  }
  const bool counts = how == LeaseEnd::kExpired || how == LeaseEnd::kNacked;
  if (counts && subscription.value.dead_letter_policy) {
    returned.journaled = returned.failures;
    returned.failed = delivery.NewestJournaled();
    subscription.failures_to_journal.push_back({sequence, returned.failures});
  }
  const std::optional<pubsub::RetryPolicy>& retry = subscription.value.retry_policy;
  const Instant due = counts && retry && !Has(Planted::kRetryAtOnce) ? at + Backoff(*retry, returned.failures) : now;
  for (Sequence later : subscription.TakeBack(sequence)) {
    Delivery& revoked = *subscription.Find(later);
    subscription.EndLease(later);
    subscription.NoteReturn(later, revoked, at, LeaseEnd::kRevoked);
    TraceReturn(at, subscription, later, revoked, LeaseEnd::kRevoked);
    Requeue(now, subscription, later, revoked, now);
  }
  Requeue(now, subscription, sequence, delivery, due);
}

// A hold is no delivery of this process: no attempt, no event, no new draw.
void Broker::Impl::TraceReturn(Instant at, const Subscription& subscription, Sequence sequence,
                               const Delivery& delivery, LeaseEnd how) {
  if (delivery.held_after_restart) return;
  if (how == LeaseEnd::kExpired) ++counters_.expired_leases;
  const LoggedMessage& message = *subscription.topic.log.Find(sequence);
  if (message.key == trace::MessageKey{}) return;
  const std::string ack_id = FormatAckId(options_.ack_id_key, {subscription.id, sequence, delivery.generation});
  Trace(message.key, {.at = at,
                      .delivery = trace::DeliveryKey(ack_id),
                      .value = how == LeaseEnd::kExpired ? 0 : 1,
                      .what = trace::What::kReturned,
                      .place = subscription.place});
}

void Broker::Impl::Requeue(Instant now, Subscription& subscription, Sequence sequence, Delivery& delivery,
                           Instant due) {
  const Duration delay = delivery.held_after_restart ? Duration{0} : DrawDeliver(now, subscription, sequence, delivery);
  subscription.MakeDeliverable(sequence, delivery, now, std::max(due, now) + delay);
}

Duration Broker::Impl::DrawDeliver(Instant now, Subscription& subscription, Sequence sequence, Delivery& delivery) {
  if (subscription.delays == nullptr) return Duration{0};
  const LoggedMessage& message = *subscription.topic.log.Find(sequence);
  const bool cold = subscription.uses.NoteUse(Leg::kDeliver, now, subscription.delays->profile());
  const Duration delay = subscription.delays->Draw(subscription.exactly_once(), Leg::kDeliver, message.draw,
                                                   delivery.deliver_draws++, cold);
  if (delay > Duration{0}) {
    Trace(message.key, {.at = now,
                        .value = delay.count(),
                        .what = trace::What::kDelayAdded,
                        .place = subscription.place,
                        .count = static_cast<uint16_t>(Leg::kDeliver)});
  }
  return delay;
}

void Broker::Impl::Dispatch(Instant now, Subscription& subscription, Actions& out) {
  if (!stopping_) {
    if (!subscription.failures_to_journal.empty()) DeadLetters(*this).JournalFailures(subscription, out);
    if (!subscription.dead_letters.empty()) DeadLetters(*this).Forward(now, subscription, out);
    ServePulls(now, subscription, out);
    if (!subscription.paused_until) ServeStreams(now, subscription, out);
    JournalAhead(now, subscription, out);
    AnswerPullsThatNeedNotWait(subscription, out);
  }
  UpdateWake(subscription);
}

void Broker::Impl::ServePulls(Instant now, Subscription& subscription, Actions& out) {
  const Duration lease = subscription.ack_deadline();
  while (!subscription.pulls.empty() && subscription.ready() > 0 && lease <= subscription.LeaseLimit()) {
    const WaitingPull pull = subscription.pulls.front();
    subscription.pulls.pop_front();
    --waiting_pulls_;
    const std::vector<Sequence> taken =
        subscription.TakeReady({.count = std::min(pull.messages_max, options_.messages_per_response_max),
                                .messages_max = std::min(pull.messages_max, options_.messages_per_response_max),
                                .bytes_max = std::numeric_limits<int64_t>::max(),
                                .response_bytes_max = options_.bytes_per_response_max,
                                .stream = {}});
    std::vector<pubsub::ReceivedMessage> messages;
    messages.reserve(taken.size());
    for (Sequence sequence : taken) {
      messages.push_back(Send(now, subscription, sequence, lease, nullptr, taken.size()));
    }
    Reply(pull.call, pubsub::EncodePullResponse(messages), out);
  }
  DropStalePullDeadlines();
}

bool Broker::Impl::Gated(const Subscription& subscription) const {
  return options_.response_policy == ResponsePolicy::kGated && subscription.exactly_once();
}

// Each stream that can take part gets its share of what is ready; what one has
// no credit for goes round again.
void Broker::Impl::ServeStreams(Instant now, Subscription& subscription, Actions& out) {
  while (subscription.any_ready()) {
    const std::vector<Stream*> eligible = subscription.streams.Eligible(subscription.LeaseLimit());
    if (eligible.empty()) return;
    const size_t share = (subscription.ready() + eligible.size() - 1) / eligible.size();
    bool wrote = false;
    for (Stream* stream : eligible) {
      wrote |= WriteMessages(now, subscription, *stream, share, eligible.size() == 1, out);
    }
    if (!wrote) return;
  }
}

bool Broker::Impl::WriteMessages(Instant now, Subscription& subscription, Stream& stream, size_t share, bool alone,
                                 Actions& out) {
  Subscription::TakeLimits limits{
      .count = share,
      .messages_max = Has(Planted::kResponseLimitIgnored) ? size_t{1000} : options_.messages_per_response_max,
      .bytes_max = std::numeric_limits<int64_t>::max(),
      .response_bytes_max = options_.bytes_per_response_max,
      .stream = stream.id,
      .spare = !alone};
  if (stream.messages_max > 0 && !Has(Planted::kMessageCreditIgnored)) {
    limits.messages_max = std::min(limits.messages_max, static_cast<size_t>(stream.messages_max - stream.messages));
  }
  if (stream.bytes_max > 0 && !Has(Planted::kByteCreditIgnored)) limits.bytes_max = stream.bytes_max - stream.bytes;
  const std::vector<Sequence> taken = subscription.TakeReady(limits);
  if (taken.empty()) return false;

  ++stream.responses;
  std::vector<pubsub::ReceivedMessage> messages;
  messages.reserve(taken.size());
  for (Sequence sequence : taken) {
    messages.push_back(Send(now, subscription, sequence, stream.lease, &stream, taken.size()));
    stream.bytes += subscription.Find(sequence)->bytes;
  }
  stream.messages += static_cast<int64_t>(taken.size());
  if (Gated(subscription)) stream.gated_by = stream.responses;
  Write(subscription, stream, std::move(messages), out);
  subscription.streams.Served(stream);
  return true;
}

// Starts the lease and makes the message as the subscriber sees it. `stream` is
// null for a unary pull.
pubsub::ReceivedMessage Broker::Impl::Send(Instant now, Subscription& subscription, Sequence sequence, Duration lease,
                                           const Stream* stream, size_t count) {
  const LoggedMessage& message = *subscription.topic.log.Find(sequence);
  const bool held = subscription.Find(sequence)->held_after_restart;
  const Generation generation = subscription.StartLease(
      sequence, now, lease, stream ? std::optional(stream->id) : std::nullopt, stream ? stream->responses : 0);
  if (generation > 1 && !held) ++counters_.redeliveries;
  pubsub::ReceivedMessage received{.ack_id = FormatAckId(options_.ack_id_key, {subscription.id, sequence, generation}),
                                   .message = message.message,
                                   .delivery_attempt = DeadLetters::AttemptOf(subscription, sequence)};
  if (message.key != trace::MessageKey{}) {
    Trace(message.key, {.at = now,
                        .delivery = trace::DeliveryKey(received.ack_id),
                        .rpc = stream ? stream->responses : 0,
                        .what = trace::What::kWritten,
                        .place = subscription.place,
                        .stream = stream ? stream->ordinal : uint16_t{0},
                        .count = static_cast<uint16_t>(count)});
  }
  return received;
}

// What has to be durable before more can be sent, if anybody wants more.
void Broker::Impl::JournalAhead(Instant now, Subscription& subscription, Actions& out) {
  if (!subscription.exactly_once() || !subscription.Wants()) return;
  if (subscription.awaits_generation() && subscription.ready() < kGenerationsPerGroup) {
    const std::vector<AckedDelivery> next = subscription.TakeAwaitingGeneration(kGenerationsPerGroup);
    if (Has(Planted::kGenerationNotAwaited)) {
      commits_.Persist({Redelivered{.subscription = subscription.id, .deliveries = next}}, nullptr, out);
      return subscription.OnGenerations(next), Dispatch(now, subscription, out);
    }
    commits_.Persist(
        {Redelivered{.subscription = subscription.id, .deliveries = next}},
        [this, id = subscription.id, next](Instant at, Actions& then) {
          Subscription* owner = catalog_.FindSubscription(id);
          if (owner == nullptr) return;
          owner->OnGenerations(next);
          Advance(at, *owner);
          Dispatch(at, *owner, then);
        },
        out);
  }
  const std::deque<Sequence>& waiting = subscription.awaiting_bound();
  SendBound& bound = subscription.bound;
  if (waiting.empty() || bound.raising() || subscription.ready() > bound.step() / 2) return;
  const auto prefix = static_cast<std::ptrdiff_t>(std::min(waiting.size(), options_.messages_per_response_max));
  const Sequence needed = *std::max_element(waiting.begin(), waiting.begin() + prefix) + 1;
  const Sequence raised = bound.Raise(needed, now);
  if (Has(Planted::kBoundNotRaised)) return subscription.OnBoundDurable(raised), Dispatch(now, subscription, out);
  commits_.Persist(
      {SendBoundRaised{.subscription = subscription.id, .bound = raised}},
      [this, id = subscription.id, raised](Instant at, Actions& then) {
        Subscription* owner = catalog_.FindSubscription(id);
        if (owner == nullptr) return;
        counters_.send_bound_waits += owner->OnBoundDurable(raised);
        Advance(at, *owner);
        Dispatch(at, *owner, then);
      },
      out);
}

// A pull that asked not to wait still gets what a commit under way sets free.
void Broker::Impl::AnswerPullsThatNeedNotWait(Subscription& subscription, Actions& out) {
  if (subscription.commit_under_way()) return;
  std::deque<WaitingPull>& pulls = subscription.pulls;
  for (const WaitingPull& pull : pulls) {
    if (!pull.immediately) continue;
    Reply(pull.call, pubsub::EncodePullResponse({}), out);
    --waiting_pulls_;
  }
  std::erase_if(pulls, [](const WaitingPull& pull) { return pull.immediately; });
  DropStalePullDeadlines();
}

// L: raised, once, before any lease is longer. Leases of that length start, and
// streams that grant them take part, when it is durable.
void Broker::Impl::EnsureCeiling(Subscription& subscription, Duration length, Actions& out) {
  if (!subscription.exactly_once() || length <= subscription.ceiling) return;
  const Duration raised = std::max(length, subscription.ceiling_floor);
  subscription.ceiling = raised;
  if (Has(Planted::kCeilingNotRaised)) return void(subscription.ceiling_durable = raised);
  commits_.Persist(
      {LeaseCeilingRaised{.subscription = subscription.id, .ceiling = raised}},
      [this, id = subscription.id, raised](Instant at, Actions& then) {
        Subscription* owner = catalog_.FindSubscription(id);
        if (owner == nullptr) return;
        owner->ceiling_durable = std::max(owner->ceiling_durable, raised);
        Advance(at, *owner);
        Dispatch(at, *owner, then);
      },
      out);
}

}  // namespace hopgap::broker
