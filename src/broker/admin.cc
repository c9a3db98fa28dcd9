// Topics and subscriptions: made, shown, listed, deleted.

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "broker/admin_calls.h"
#include "broker/chores.h"
#include "broker/errors.h"
#include "broker/resource_checks.h"
#include "pubsub/limits.h"
#include "pubsub/names.h"

namespace hopgap::broker {
namespace {

using pubsub::Bytes;
using pubsub::Slices;

// L of a new subscription: what any lease of a client with default settings
// stays below, so that no receipt modack has to raise it.
constexpr Duration kLeaseCeilingDefault = std::chrono::seconds{60};

}  // namespace

absl::StatusOr<Topic*> Broker::Impl::TopicNamed(const std::string& name) {
  if (const auto parsed = pubsub::ParseName(name, "topics"); !parsed.ok()) return parsed.status();
  Topic* topic = catalog_.FindTopic(name);
  if (topic == nullptr) return ResourceNotFound(name);
  return topic;
}

absl::StatusOr<Subscription*> Broker::Impl::SubscriptionNamed(const std::string& name) {
  if (const auto parsed = pubsub::ParseName(name, "subscriptions"); !parsed.ok()) return parsed.status();
  Subscription* subscription = catalog_.FindSubscription(name);
  if (subscription == nullptr) return ResourceNotFound(name);
  subscription->last_use = std::max(subscription->last_use, read_at_);
  return subscription;
}

absl::StatusOr<Subscription*> Broker::Impl::AttachedNamed(const std::string& name) {
  absl::StatusOr<Subscription*> subscription = SubscriptionNamed(name);
  if (subscription.ok() && (*subscription)->value.detached) return DetachedSubscription();
  return subscription;
}

void Broker::Impl::Admin::Run(pubsub::Method method, pubsub::Request request) {
  using pubsub::Method;
  const auto name = [&]() -> const std::string& { return std::get<pubsub::NameRequest>(request).name; };
  const auto list = [&]() -> const pubsub::ListRequest& { return std::get<pubsub::ListRequest>(request); };
  switch (method) {
    case Method::kCreateTopic: return CreateTopic(std::move(std::get<pubsub::CreateTopicRequest>(request).topic));
    case Method::kGetTopic: return GetTopic(name());
    case Method::kListTopics: return ListTopics(list());
    case Method::kListTopicSubscriptions: return ListTopicSubscriptions(list());
    case Method::kListTopicSnapshots: return ListTopicSnapshots(list());
    case Method::kDeleteTopic: return DeleteTopic(name());
    case Method::kUpdateTopic: return UpdateTopic(std::get<pubsub::UpdateTopicRequest>(request));
    case Method::kDetachSubscription: return DetachSubscription(name());
    case Method::kCreateSubscription:
      return CreateSubscription(std::move(std::get<pubsub::CreateSubscriptionRequest>(request).subscription));
    case Method::kGetSubscription: return GetSubscription(name());
    case Method::kListSubscriptions: return ListSubscriptions(list());
    case Method::kDeleteSubscription: return DeleteSubscription(name());
    case Method::kUpdateSubscription: return UpdateSubscription(std::get<pubsub::UpdateSubscriptionRequest>(request));
    case Method::kCreateSnapshot: return CreateSnapshot(std::get<pubsub::CreateSnapshotRequest>(std::move(request)));
    case Method::kGetSnapshot: return GetSnapshot(name());
    case Method::kListSnapshots: return ListSnapshots(list());
    case Method::kUpdateSnapshot: return UpdateSnapshot(std::get<pubsub::UpdateSnapshotRequest>(request));
    case Method::kDeleteSnapshot: return DeleteSnapshot(name());
    default: HOPGAP_CHECK(false, "no call about resources");
  }
}

void Broker::Impl::Admin::Persist(std::vector<Record> records, std::string answer) {
  Impl& impl = impl_;
  if (impl.Has(Planted::kChangeAnsweredBeforeCommit)) impl.Reply(call_, Slices{Bytes(answer)}, out_);
  impl.commits_.Persist(
      records,
      [&impl, call = call_, answer = std::move(answer)](Instant, Actions& then) {
        impl.Reply(call, Slices{Bytes(answer)}, then);
      },
      out_);
}

pubsub::Subscription Broker::Impl::Admin::ShownValue(const Subscription& subscription) const {
  pubsub::Subscription value = subscription.value;
  if (!value.detached && !subscription.topic.deleted) {
    value.topic_message_retention_duration = subscription.topic.value.message_retention_duration;
  }
  return value;
}

std::string Broker::Impl::Admin::Shown(const Subscription& subscription) const {
  return pubsub::EncodeForDisplay(ShownValue(subscription));
}

void Broker::Impl::Admin::CreateTopic(pubsub::Topic topic) {
  if (const auto parsed = pubsub::ParseName(topic.name, "topics"); !parsed.ok()) return Answer(parsed.status());
  if (absl::Status status = CheckTopic(topic); !status.ok()) return Answer(std::move(status));
  if (impl_.catalog_.FindTopic(topic.name) != nullptr) return Answer(ResourceExists(topic.name));
  const Incarnation id = impl_.catalog_.NextIncarnation();
  if (absl::Status status = impl_.catalog_.AddTopic(id, topic); !status.ok()) return Answer(std::move(status));
  std::string answer = pubsub::Encode(topic);
  Persist({TopicCreated{.topic = id, .value = std::move(topic)}}, std::move(answer));
}

absl::Status Broker::Impl::Admin::CheckDeadLetterTopic(const pubsub::Subscription& value) const {
  return value.dead_letter_policy ? impl_.TopicNamed(value.dead_letter_policy->dead_letter_topic).status()
                                  : absl::OkStatus();
}

void Broker::Impl::Admin::CreateSubscription(pubsub::Subscription value) {
  if (const auto parsed = pubsub::ParseName(value.name, "subscriptions"); !parsed.ok()) return Answer(parsed.status());
  if (value.detached) return Answer(BadArgument("detached: it is set by DetachSubscription only"));
  if (absl::Status status = CheckSubscription(value); !status.ok()) return Answer(std::move(status));
  const absl::StatusOr<Topic*> topic = impl_.TopicNamed(value.topic);
  if (!topic.ok()) return Answer(topic.status());
  if (absl::Status status = CheckDeadLetterTopic(value); !status.ok()) return Answer(std::move(status));
  if (impl_.catalog_.FindSubscription(value.name) != nullptr) return Answer(ResourceExists(value.name));

  const Sequence first = (*topic)->log.next();
  const Duration ceiling = std::max<Duration>(kLeaseCeilingDefault, std::chrono::seconds{value.ack_deadline_seconds});
  const Incarnation id = impl_.catalog_.NextIncarnation();
  const SubscriptionCreated record{.subscription = id,
                                   .topic = (*topic)->id,
                                   .first = first,
                                   .send_bound = first,
                                   .lease_ceiling = ceiling,
                                   .value = value};
  absl::Status added = impl_.catalog_.AddSubscription(id, std::move(value), **topic, first, first, ceiling);
  if (!added.ok()) return Answer(std::move(added));
  Chores(impl_).Watch(*impl_.catalog_.FindSubscription(id), now_);
  Persist({record}, Shown(*impl_.catalog_.FindSubscription(id)));
}

void Broker::Impl::Admin::GetTopic(const std::string& name) {
  const absl::StatusOr<Topic*> topic = impl_.TopicNamed(name);
  if (!topic.ok()) return Answer(topic.status());
  Answer(Bytes(pubsub::Encode((*topic)->value)));
}

void Broker::Impl::Admin::GetSubscription(const std::string& name) {
  const absl::StatusOr<Subscription*> subscription = impl_.SubscriptionNamed(name);
  if (!subscription.ok()) return Answer(subscription.status());
  Answer(Bytes(Shown(**subscription)));
}

void Broker::Impl::Admin::DeleteTopic(const std::string& name) {
  const absl::StatusOr<Topic*> topic = impl_.TopicNamed(name);
  if (!topic.ok()) return Answer(topic.status());
  const TopicDeleted record{.topic = (*topic)->id};
  Chores(impl_).Forget(**topic);
  impl_.catalog_.DeleteTopic(**topic);
  Persist({record}, "");
}

void Broker::Impl::Admin::TurnAway(Subscription& subscription, const absl::Status& status) {
  for (const WaitingPull& pull : subscription.pulls) impl_.Reply(pull.call, status, out_);
  impl_.waiting_pulls_ -= subscription.pulls.size();
  subscription.pulls.clear();
  impl_.DropStalePullDeadlines();
  impl_.CloseAllStreams(subscription, status, out_);
  Chores(impl_).Forget(subscription);
}

void Broker::Impl::Admin::DeleteSubscription(const std::string& name) {
  const absl::StatusOr<Subscription*> found = impl_.SubscriptionNamed(name);
  if (!found.ok()) return Answer(found.status());
  TurnAway(**found, ResourceNotFound(name));
  const SubscriptionDeleted record{.subscription = (*found)->id};
  impl_.catalog_.DeleteSubscription(**found);
  Persist({record}, "");
}

void Broker::Impl::Admin::ListTopics(const pubsub::ListRequest& request) {
  const absl::StatusOr<std::string_view> project = pubsub::ParseProject(request.parent);
  if (!project.ok()) return Answer(project.status());
  const absl::StatusOr<Page> page = impl_.catalog_.ListTopics(*project, request.page_size, request.page_token);
  if (!page.ok()) return Answer(page.status());
  std::vector<pubsub::Topic> topics;
  for (const std::string& name : page->names) topics.push_back(impl_.catalog_.FindTopic(name)->value);
  Answer(pubsub::EncodeTopics(topics, page->next_page_token));
}

void Broker::Impl::Admin::ListSubscriptions(const pubsub::ListRequest& request) {
  const absl::StatusOr<std::string_view> project = pubsub::ParseProject(request.parent);
  if (!project.ok()) return Answer(project.status());
  const absl::StatusOr<Page> page = impl_.catalog_.ListSubscriptions(*project, request.page_size, request.page_token);
  if (!page.ok()) return Answer(page.status());
  std::vector<pubsub::Subscription> subscriptions;
  for (const std::string& name : page->names) {
    subscriptions.push_back(ShownValue(*impl_.catalog_.FindSubscription(name)));
  }
  Answer(pubsub::EncodeSubscriptions(subscriptions, page->next_page_token));
}

void Broker::Impl::Admin::ListTopicSubscriptions(const pubsub::ListRequest& request) {
  const absl::StatusOr<Topic*> topic = impl_.TopicNamed(request.parent);
  if (!topic.ok()) return Answer(topic.status());
  const absl::StatusOr<Page> page =
      impl_.catalog_.ListTopicSubscriptions(**topic, request.page_size, request.page_token);
  if (!page.ok()) return Answer(page.status());
  Answer(pubsub::EncodeNames(page->names, page->next_page_token));
}

}  // namespace hopgap::broker
