// Topics and subscriptions changed while they are in use.

#include <algorithm>

#include "base/text.h"
#include "broker/admin_calls.h"
#include "broker/chores.h"
#include "broker/errors.h"
#include "broker/resource_checks.h"
#include "pubsub/names.h"
#include "pubsub/update_mask.h"

namespace hopgap::broker {

void Broker::Impl::Admin::UpdateTopic(const pubsub::UpdateTopicRequest& request) {
  const std::string& name = request.topic.name;
  if (const auto parsed = pubsub::ParseName(name, "topics"); !parsed.ok()) return Answer(parsed.status());
  Topic* topic = impl_.catalog_.FindTopic(name);
  // A bad mask is an error of the request, whether its topic is there or not.
  pubsub::Topic value = topic == nullptr ? pubsub::Topic() : topic->value;
  if (absl::Status status = pubsub::ApplyUpdate(request, value); !status.ok()) return Answer(std::move(status));
  if (topic == nullptr) return Answer(ResourceNotFound(name));
  if (absl::Status status = CheckTopic(value); !status.ok()) return Answer(std::move(status));
  topic->SetValue(value);
  Chores(impl_).LookSoon(*topic, now_);
  for (Subscription* subscription : topic->subscriptions) Chores(impl_).LookSoon(*subscription, now_);
  std::string answer = pubsub::Encode(value);
  Persist({TopicUpdated{.topic = topic->id, .value = std::move(value)}}, std::move(answer));
}

// What the journal has to know before a message may be sent under exactly-once
// delivery: which generations were sent so far, and that anything may have been.
// Each record is harmless without the update that follows them.
std::vector<Record> Broker::Impl::Admin::SwitchToExactlyOnce(Subscription& subscription) {
  std::vector<Record> records;
  std::vector<AckedDelivery> sent = subscription.StartExactlyOnce();
  Duration longest = subscription.ack_deadline();
  subscription.ForEachLease(now_, [&](const AckedDelivery&, Duration left) { longest = std::max(longest, left); });
  for (const auto& stream : subscription.streams.all()) longest = std::max(longest, stream->lease);
  impl_.EnsureCeiling(subscription, longest, out_);
  if (!sent.empty()) records.push_back(Redelivered{.subscription = subscription.id, .deliveries = std::move(sent)});
  // Which of those had failed the journal would not know: it has just heard of them.
  std::vector<AckedDelivery> failed = subscription.NoteFailuresOfNewest();
  if (!failed.empty()) records.push_back(DeliveriesFailed{.subscription = subscription.id, .deliveries = failed});
  const Sequence end = subscription.topic.log.next();
  SendBound& bound = subscription.bound;
  const Sequence raised = bound.requested() < end ? bound.Raise(end, now_) : bound.requested();
  if (impl_.Has(Planted::kSwitchWithoutBound)) return records;
  records.push_back(SendBoundRaised{.subscription = subscription.id, .bound = raised});
  return records;
}

void Broker::Impl::Admin::UpdateSubscription(const pubsub::UpdateSubscriptionRequest& request) {
  const std::string& name = request.subscription.name;
  if (const auto parsed = pubsub::ParseName(name, "subscriptions"); !parsed.ok()) return Answer(parsed.status());
  Subscription* subscription = impl_.catalog_.FindSubscription(name);
  pubsub::Subscription value = subscription == nullptr ? pubsub::Subscription() : subscription->value;
  if (absl::Status status = pubsub::ApplyUpdate(request, value); !status.ok()) return Answer(std::move(status));
  if (subscription == nullptr) return Answer(ResourceNotFound(name));
  if (absl::Status status = CheckSubscription(value); !status.ok()) return Answer(std::move(status));
  // A topic that is gone since is no reason to refuse another change.
  if (value.dead_letter_policy != subscription->value.dead_letter_policy) {
    if (absl::Status status = CheckDeadLetterTopic(value); !status.ok()) return Answer(std::move(status));
  }

  const bool on = value.enable_exactly_once_delivery;
  subscription->SetValue(value);
  subscription->last_use = now_;
  Chores(impl_).LookSoon(*subscription, now_);
  impl_.Advance(now_, *subscription);
  std::vector<Record> records;
  if (on && !subscription->exactly_once()) records = SwitchToExactlyOnce(*subscription);
  impl_.EnsureCeiling(*subscription, subscription->ack_deadline(), out_);
  const Sequence bound = subscription->bound.requested();
  records.push_back(SubscriptionUpdated{.subscription = subscription->id, .value = std::move(value)});
  impl_.commits_.Persist(
      records,
      [&impl = impl_, call = call_, id = subscription->id, bound, answer = Shown(*subscription)](Instant at,
                                                                                                 Actions& then) {
        impl.Reply(call, pubsub::Slices{pubsub::Bytes(answer)}, then);
        Subscription* owner = impl.catalog_.FindSubscription(id);
        if (owner != nullptr) OnUpdated(impl, at, *owner, bound, then);
      },
      out_);
  impl_.Dispatch(now_, *subscription, out_);
}

// The journal has an update; another may be on its way.
void Broker::Impl::Admin::OnUpdated(Impl& impl, Instant now, Subscription& subscription, Sequence bound, Actions& out) {
  if (subscription.exactly_once()) {
    subscription.OnBoundDurable(bound);
    if (!subscription.value.enable_exactly_once_delivery) subscription.StopExactlyOnce();
  }
  for (const auto& stream : subscription.streams.all()) {
    stream->owes_response |= stream->told_exactly_once != subscription.exactly_once();
  }
  impl.Advance(now, subscription);
  impl.Dispatch(now, subscription, out);
  impl.FlushAll(subscription, out);
}

void Broker::Impl::Admin::DetachSubscription(const std::string& name) {
  const absl::StatusOr<Subscription*> found = impl_.SubscriptionNamed(name);
  if (!found.ok()) return Answer(found.status());
  Subscription& subscription = **found;
  // Again: nothing to do, but the first time may be on its way to the journal.
  if (subscription.value.detached) {
    return impl_.commits_.AfterAwaited(
        now_, [&impl = impl_, call = call_](Instant, Actions& then) { impl.Reply(call, pubsub::Slices{}, then); },
        out_);
  }
  if (impl_.Has(Planted::kDetachedStillServed)) return Answer(pubsub::Bytes());
  TurnAway(subscription, DetachedSubscription());
  const broker::SubscriptionDetached record{.subscription = subscription.id, .as = impl_.catalog_.NextIncarnation()};
  impl_.catalog_.DetachSubscription(subscription, record.as);
  Chores(impl_).Watch(*impl_.catalog_.FindSubscription(record.as), now_);
  Persist({record}, "");
}

}  // namespace hopgap::broker
