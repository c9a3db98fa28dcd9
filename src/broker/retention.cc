// What time alone does: messages that are too old go, and subscriptions that
// nobody uses. Looked at by a timer per topic and subscription ("chore") that
// may fire early and is then set again, so that the way of a message does not
// have to keep it exact.

#include <algorithm>

#include "broker/impl.h"

namespace hopgap::broker {
namespace {

// A snapshot lives for days at most, and nobody tells when it goes.
constexpr Duration kLookAgain = std::chrono::minutes{1};

}  // namespace

template <typename Owner>
void Broker::Impl::ArmChore(Owner& owner, Instant due) {
  if (owner.chore && *owner.chore <= due) return;
  DisarmChore(owner);
  owner.chore = due;
  chores_.emplace(due, owner.id);
}

template <typename Owner>
void Broker::Impl::DisarmChore(Owner& owner) {
  if (owner.chore) chores_.erase({*owner.chore, owner.id});
  owner.chore.reset();
}

void Broker::Impl::LookSoon(Topic& topic, Instant now) { ArmChore(topic, now); }
void Broker::Impl::LookSoon(Subscription& subscription, Instant now) { ArmChore(subscription, now); }

void Broker::Impl::Watch(Subscription& subscription, Instant now) {
  subscription.last_use = now;
  if (const auto ttl = pubsub::ExpirationOf(subscription.value)) ArmChore(subscription, now + *ttl);
}

// It is on its way out.
void Broker::Impl::ForgetTimers(Subscription& subscription) {
  if (subscription.wake) wakes_.erase({*subscription.wake, subscription.id});
  subscription.wake.reset();
  DisarmChore(subscription);
}

void Broker::Impl::ForgetTimers(Topic& topic) { DisarmChore(topic); }

// New messages: the first of them is the first that can be too old, if nothing was there.
void Broker::Impl::ArmRetention(Topic& topic, Sequence first) {
  const auto arm = [&](auto& owner, Duration retention) {
    topic.log.VisitFrom(first, [&](Sequence, const LoggedMessage& message) {
      ArmChore(owner, options_.anchor.ToSteady(message.message.publish_time().value_or(WallTime{})) + retention);
      return false;
    });
  };
  if (topic.keeps() && !topic.chore) arm(topic, *topic.value.message_retention_duration);
  for (Subscription* subscription : topic.subscriptions) {
    if (subscription->retention_armed) continue;
    subscription->retention_armed = true;
    arm(*subscription, RetentionFor(*subscription));
  }
}

// How long an unacked message lives: what the topic keeps is there for all.
Duration Broker::Impl::RetentionFor(const Subscription& subscription) {
  const Duration own = pubsub::RetentionOf(subscription.value);
  if (!subscription.topic.keeps()) return own;
  return std::max(own, *subscription.topic.value.message_retention_duration);
}

void Broker::Impl::DoChore(Instant now, Actions& out) {
  const Incarnation id = chores_.begin()->second;
  chores_.erase(chores_.begin());
  if (Topic* topic = catalog_.FindTopic(id)) {
    topic->chore.reset();
    return DropFromTopic(now, *topic, out);
  }
  Subscription& subscription = *catalog_.FindSubscription(id);
  subscription.chore.reset();
  if (!Expire(now, subscription, out)) DropFromSubscription(now, subscription, out);
}

// The first message from `from` on that is not too old, and when it will be. A
// message that a snapshot wants is not.
Broker::Impl::Young Broker::Impl::FirstYoung(Instant now, Topic& topic, Sequence from, Duration retention) const {
  Young young{.sequence = topic.log.next(), .due = {}};
  topic.log.VisitFrom(from, [&](Sequence sequence, const LoggedMessage& message) {
    const WallTime published = message.message.publish_time().value_or(options_.anchor.ToWall(now));
    const Instant due = options_.anchor.ToSteady(published) + retention;
    const bool wanted = std::any_of(topic.snapshots.begin(), topic.snapshots.end(),
                                    [&](const Snapshot* snapshot) { return snapshot->Wants(sequence); });
    if (due <= now && !wanted) return true;
    young = {.sequence = sequence, .due = std::max(due, wanted ? now + kLookAgain : now)};
    return false;
  });
  return young;
}

void Broker::Impl::DropFromTopic(Instant now, Topic& topic, Actions& out) {
  if (!topic.keeps()) return;
  const Young young = FirstYoung(now, topic, topic.kept_from, *topic.value.message_retention_duration);
  if (young.sequence > topic.kept_from) {
    topic.DropBefore(young.sequence);
    commits_.Persist({RetentionPassed{.owner = topic.id, .before = young.sequence}}, nullptr, out);
  }
  if (young.due) ArmChore(topic, *young.due);
}

void Broker::Impl::DropFromSubscription(Instant now, Subscription& subscription, Actions& out) {
  const std::optional<Sequence> oldest = subscription.Oldest();
  subscription.retention_armed = oldest.has_value();
  if (!oldest) return;
  const Young young = FirstYoung(now, subscription.topic, *oldest, RetentionFor(subscription));
  if (young.due) ArmChore(subscription, *young.due);
  subscription.retention_armed = young.due.has_value();
  Advance(now, subscription);
  Acked early{.subscription = subscription.id, .deliveries = {}};
  if (!subscription.DropBefore(young.sequence, early.deliveries)) return Dispatch(now, subscription, out);
  std::vector<Record> records{RetentionPassed{.owner = subscription.id, .before = young.sequence}};
  if (!early.deliveries.empty()) records.emplace_back(std::move(early));
  commits_.Persist(records, nullptr, out);
  Dispatch(now, subscription, out);
}

// True if nobody used the subscription for so long that it is deleted. An open
// stream and a waiting pull are use; so is every call that names it. A restart
// counts as one, as the journal does not say who came when.
bool Broker::Impl::Expire(Instant now, Subscription& subscription, Actions& out) {
  const std::optional<Duration> ttl = pubsub::ExpirationOf(subscription.value);
  if (!ttl) return false;
  if (!subscription.streams.empty() || !subscription.pulls.empty()) subscription.last_use = now;
  const Instant due = subscription.last_use + *ttl;
  if (due > now) {
    ArmChore(subscription, due);
    return false;
  }
  ForgetTimers(subscription);
  const SubscriptionDeleted record{.subscription = subscription.id};
  catalog_.DeleteSubscription(subscription);
  commits_.Persist({record}, nullptr, out);
  return true;
}

}  // namespace hopgap::broker
