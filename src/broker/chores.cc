// What is too old, and who is too idle.

#include <algorithm>

#include "broker/chores.h"

namespace hopgap::broker {
namespace {

// A snapshot lives for days at most, and nobody tells when it goes.
constexpr Duration kLookAgain = std::chrono::minutes{1};

}  // namespace

template <typename Owner>
void Broker::Impl::Chores::Arm(Owner& owner, Instant due) {
  if (owner.chore && *owner.chore <= due) return;
  Disarm(owner);
  owner.chore = due;
  impl_.chores_.emplace(due, owner.id);
}

template <typename Owner>
void Broker::Impl::Chores::Disarm(Owner& owner) {
  if (owner.chore) impl_.chores_.erase({*owner.chore, owner.id});
  owner.chore.reset();
}

void Broker::Impl::Chores::LookSoon(Topic& topic, Instant now) { Arm(topic, now); }
void Broker::Impl::Chores::LookSoon(Subscription& subscription, Instant now) { Arm(subscription, now); }

void Broker::Impl::Chores::Watch(Subscription& subscription, Instant now) {
  subscription.last_use = now;
  if (const auto ttl = pubsub::ExpirationOf(subscription.value)) Arm(subscription, now + *ttl);
}

// It is on its way out.
void Broker::Impl::Chores::Forget(Subscription& subscription) {
  if (subscription.wake) impl_.wakes_.erase({*subscription.wake, subscription.id});
  subscription.wake.reset();
  Disarm(subscription);
}

void Broker::Impl::Chores::Forget(Topic& topic) { Disarm(topic); }

// New messages: the first of them is the first that can be too old, if nothing was there.
void Broker::Impl::Chores::OnLogged(Topic& topic, Sequence first) {
  const auto arm = [&](auto& owner, Duration retention) {
    topic.log.VisitFrom(first, [&](Sequence, const LoggedMessage& message) {
      Arm(owner, impl_.options_.anchor.ToSteady(message.message.publish_time().value_or(WallTime{})) + retention);
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
Duration Broker::Impl::Chores::RetentionFor(const Subscription& subscription) {
  const Duration own = pubsub::RetentionOf(subscription.value);
  if (!subscription.topic.keeps()) return own;
  return std::max(own, *subscription.topic.value.message_retention_duration);
}

void Broker::Impl::Chores::Do(Instant now, Actions& out) {
  const Incarnation id = impl_.chores_.begin()->second;
  impl_.chores_.erase(impl_.chores_.begin());
  if (Topic* topic = impl_.catalog_.FindTopic(id)) {
    topic->chore.reset();
    return DropFrom(now, *topic, out);
  }
  Subscription& subscription = *impl_.catalog_.FindSubscription(id);
  subscription.chore.reset();
  if (!Expire(now, subscription, out)) DropFrom(now, subscription, out);
}

// The first message from `from` on that is not too old, and when it will be. A
// message that a snapshot wants is not.
Broker::Impl::Chores::Young Broker::Impl::Chores::FirstYoung(Instant now, Topic& topic, Sequence from,
                                                             Duration retention) const {
  Young young{.sequence = topic.log.next(), .due = {}};
  topic.log.VisitFrom(from, [&](Sequence sequence, const LoggedMessage& message) {
    const WallTime published = message.message.publish_time().value_or(impl_.options_.anchor.ToWall(now));
    const Instant due = impl_.options_.anchor.ToSteady(published) + retention;
    const bool wanted = std::any_of(topic.snapshots.begin(), topic.snapshots.end(),
                                    [&](const Snapshot* snapshot) { return snapshot->Wants(sequence); });
    if (due <= now && !wanted) return true;
    young = {.sequence = sequence, .due = std::max(due, wanted ? now + kLookAgain : now)};
    return false;
  });
  return young;
}

void Broker::Impl::Chores::DropFrom(Instant now, Topic& topic, Actions& out) {
  if (!topic.keeps()) return;
  const Young young = FirstYoung(now, topic, topic.kept_from, *topic.value.message_retention_duration);
  if (young.sequence > topic.kept_from) {
    topic.DropBefore(young.sequence);
    impl_.commits_.Persist({RetentionPassed{.owner = topic.id, .before = young.sequence}}, nullptr, out);
  }
  if (young.due) Arm(topic, *young.due);
}

void Broker::Impl::Chores::DropFrom(Instant now, Subscription& subscription, Actions& out) {
  const std::optional<Sequence> oldest = subscription.Oldest();
  subscription.retention_armed = oldest.has_value();
  if (!oldest) return;
  const Young young = FirstYoung(now, subscription.topic, *oldest, RetentionFor(subscription));
  if (young.due) Arm(subscription, *young.due);
  subscription.retention_armed = young.due.has_value();
  impl_.Advance(now, subscription);
  Acked early{.subscription = subscription.id, .deliveries = {}};
  if (!subscription.DropBefore(young.sequence, early.deliveries)) return impl_.Dispatch(now, subscription, out);
  std::vector<Record> records{RetentionPassed{.owner = subscription.id, .before = young.sequence}};
  if (!early.deliveries.empty()) records.emplace_back(std::move(early));
  impl_.commits_.Persist(records, nullptr, out);
  impl_.Dispatch(now, subscription, out);
}

// True if nobody used the subscription for so long that it is deleted. An open
// stream and a waiting pull are use; so is every call that names it. A restart
// counts as one, as the journal does not say who came when.
bool Broker::Impl::Chores::Expire(Instant now, Subscription& subscription, Actions& out) {
  const std::optional<Duration> ttl = pubsub::ExpirationOf(subscription.value);
  if (!ttl) return false;
  if (!subscription.streams.empty() || !subscription.pulls.empty()) subscription.last_use = now;
  const Instant due = subscription.last_use + *ttl;
  if (due > now) {
    Arm(subscription, due);
    return false;
  }
  Forget(subscription);
  const SubscriptionDeleted record{.subscription = subscription.id};
  impl_.catalog_.DeleteSubscription(subscription);
  impl_.commits_.Persist({record}, nullptr, out);
  return true;
}

std::optional<Instant> Broker::Impl::Chores::NextSnapshotExpiry(const Impl& impl) {
  const Snapshot* first = impl.catalog_.FirstSnapshotToExpire();
  return first == nullptr ? std::nullopt : std::optional(impl.options_.anchor.ToSteady(*first->value.expire_time));
}

void Broker::Impl::Chores::ExpireSnapshots(Instant now, Actions& out) {
  std::vector<Record> records;
  for (Snapshot* first = impl_.catalog_.FirstSnapshotToExpire();
       first != nullptr && *first->value.expire_time <= impl_.options_.anchor.ToWall(now);
       first = impl_.catalog_.FirstSnapshotToExpire()) {
    records.push_back(SnapshotDeleted{.snapshot = first->id});
    impl_.catalog_.DeleteSnapshot(*first);
  }
  if (!records.empty()) impl_.commits_.Persist(records, nullptr, out);
}

}  // namespace hopgap::broker
