// Topics and subscriptions. State changes when the request arrives; the answer
// to a change waits until it is durable.

#include <algorithm>

#include "base/text.h"
#include "broker/errors.h"
#include "broker/impl.h"
#include "broker/labels.h"
#include "pubsub/limits.h"
#include "pubsub/names.h"

namespace hopgap::broker {
namespace {

using pubsub::Bytes;
using pubsub::Slices;

// L of a new subscription: what any lease of a client with default settings
// stays below, so that no receipt modack has to raise it.
constexpr Duration kLeaseCeilingDefault = std::chrono::seconds{60};

absl::StatusOr<int32_t> AckDeadlineFor(const pubsub::Subscription& subscription) {
  const int32_t seconds = subscription.ack_deadline_seconds;
  if (seconds == 0) {
    return subscription.enable_exactly_once_delivery ? pubsub::kAckDeadlineSecondsDefaultExactlyOnce
                                                     : pubsub::kAckDeadlineSecondsDefault;
  }
  if (seconds < pubsub::kAckDeadlineSecondsMin || seconds > pubsub::kAckDeadlineSecondsMax) {
    return BadAckDeadline(seconds, pubsub::kAckDeadlineSecondsMin, pubsub::kAckDeadlineSecondsMax);
  }
  return seconds;
}

// What is decoded and not served yet: each line goes with the code that serves it.
absl::Status CheckServed(const pubsub::Topic& topic) {
  if (topic.message_retention_duration)
    return absl::UnimplementedError("Topic.message_retention_duration is not supported yet");
  return absl::OkStatus();
}

absl::Status CheckServed(const pubsub::Subscription& value) {
  const auto no = [](std::string_view field) {
    return absl::UnimplementedError(StrCat("Subscription.", field, " is not supported yet"));
  };
  if (value.enable_message_ordering) return no("enable_message_ordering");
  if (value.retain_acked_messages) return no("retain_acked_messages");
  if (value.detached) return no("detached");
  if (!value.filter.empty()) return no("filter");
  if (pubsub::RetentionOf(value) != pubsub::kRetentionDefault) return no("message_retention_duration");
  if (pubsub::ExpirationOf(value) != pubsub::kExpirationDefault) return no("expiration_policy");
  if (value.dead_letter_policy) return no("dead_letter_policy");
  if (value.retry_policy) return no("retry_policy");
  return absl::OkStatus();
}

Slices Whole(std::string text) { return Slices{Bytes(std::move(text))}; }

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
  return subscription;
}

void Broker::Impl::CreateTopic(CallId call, pubsub::Topic topic, Actions& out) {
  if (const auto parsed = pubsub::ParseName(topic.name, "topics"); !parsed.ok())
    return Reply(call, parsed.status(), out);
  if (absl::Status status = CheckLabels(topic.labels); !status.ok()) return Reply(call, std::move(status), out);
  if (absl::Status status = CheckServed(topic); !status.ok()) return Reply(call, std::move(status), out);
  if (catalog_.FindTopic(topic.name) != nullptr) return Reply(call, ResourceExists(topic.name), out);
  const Incarnation id = catalog_.NextIncarnation();
  if (absl::Status status = catalog_.AddTopic(id, topic); !status.ok()) return Reply(call, std::move(status), out);
  std::string answer = pubsub::Encode(topic);
  commits_.Persist(
      {TopicCreated{.topic = id, .value = std::move(topic)}},
      [this, call, answer](Instant, Actions& then) { Reply(call, Whole(answer), then); }, out);
}

void Broker::Impl::CreateSubscription(CallId call, pubsub::Subscription value, Actions& out) {
  if (const auto parsed = pubsub::ParseName(value.name, "subscriptions"); !parsed.ok()) {
    return Reply(call, parsed.status(), out);
  }
  if (absl::Status status = CheckLabels(value.labels); !status.ok()) return Reply(call, std::move(status), out);
  if (absl::Status status = CheckServed(value); !status.ok()) return Reply(call, std::move(status), out);
  const absl::StatusOr<int32_t> ack_deadline = AckDeadlineFor(value);
  if (!ack_deadline.ok()) return Reply(call, ack_deadline.status(), out);
  value.ack_deadline_seconds = *ack_deadline;
  const absl::StatusOr<Topic*> topic = TopicNamed(value.topic);
  if (!topic.ok()) return Reply(call, topic.status(), out);
  if (catalog_.FindSubscription(value.name) != nullptr) return Reply(call, ResourceExists(value.name), out);

  const Sequence first = (*topic)->log.next();
  const Duration ceiling = std::max<Duration>(kLeaseCeilingDefault, std::chrono::seconds{value.ack_deadline_seconds});
  const Incarnation id = catalog_.NextIncarnation();
  const SubscriptionCreated record{.subscription = id,
                                   .topic = (*topic)->id,
                                   .first = first,
                                   .send_bound = first,
                                   .lease_ceiling = ceiling,
                                   .value = value};
  std::string answer = pubsub::EncodeForDisplay(value);
  absl::Status added = catalog_.AddSubscription(id, std::move(value), **topic, first, first, ceiling);
  if (!added.ok()) return Reply(call, std::move(added), out);
  commits_.Persist(
      {record}, [this, call, answer](Instant, Actions& then) { Reply(call, Whole(answer), then); }, out);
}

void Broker::Impl::GetTopic(CallId call, const std::string& name, Actions& out) {
  const absl::StatusOr<Topic*> topic = TopicNamed(name);
  if (!topic.ok()) return Reply(call, topic.status(), out);
  Reply(call, Whole(pubsub::Encode((*topic)->value)), out);
}

void Broker::Impl::GetSubscription(CallId call, const std::string& name, Actions& out) {
  const absl::StatusOr<Subscription*> subscription = SubscriptionNamed(name);
  if (!subscription.ok()) return Reply(call, subscription.status(), out);
  Reply(call, Whole(pubsub::EncodeForDisplay((*subscription)->value)), out);
}

void Broker::Impl::DeleteTopic(CallId call, const std::string& name, Actions& out) {
  const absl::StatusOr<Topic*> topic = TopicNamed(name);
  if (!topic.ok()) return Reply(call, topic.status(), out);
  const TopicDeleted record{.topic = (*topic)->id};
  catalog_.DeleteTopic(**topic);
  commits_.Persist(
      {record}, [this, call](Instant, Actions& then) { Reply(call, Slices{}, then); }, out);
}

void Broker::Impl::DeleteSubscription(CallId call, const std::string& name, Actions& out) {
  const absl::StatusOr<Subscription*> found = SubscriptionNamed(name);
  if (!found.ok()) return Reply(call, found.status(), out);
  Subscription& subscription = **found;
  const absl::Status gone = ResourceNotFound(name);
  for (const WaitingPull& pull : subscription.pulls) Reply(pull.call, gone, out);
  waiting_pulls_ -= subscription.pulls.size();
  DropStalePullDeadlines();
  CloseAllStreams(subscription, gone, out);
  if (subscription.wake) wakes_.erase({*subscription.wake, subscription.id});
  const SubscriptionDeleted record{.subscription = subscription.id};
  catalog_.DeleteSubscription(subscription);
  commits_.Persist(
      {record}, [this, call](Instant, Actions& then) { Reply(call, Slices{}, then); }, out);
}

void Broker::Impl::ListTopics(CallId call, const pubsub::ListRequest& request, Actions& out) {
  const absl::StatusOr<std::string_view> project = pubsub::ParseProject(request.parent);
  if (!project.ok()) return Reply(call, project.status(), out);
  const absl::StatusOr<Page> page = catalog_.ListTopics(*project, request.page_size, request.page_token);
  if (!page.ok()) return Reply(call, page.status(), out);
  std::vector<pubsub::Topic> topics;
  for (const std::string& name : page->names) topics.push_back(catalog_.FindTopic(name)->value);
  Reply(call, Slices{pubsub::EncodeTopics(topics, page->next_page_token)}, out);
}

void Broker::Impl::ListSubscriptions(CallId call, const pubsub::ListRequest& request, Actions& out) {
  const absl::StatusOr<std::string_view> project = pubsub::ParseProject(request.parent);
  if (!project.ok()) return Reply(call, project.status(), out);
  const absl::StatusOr<Page> page = catalog_.ListSubscriptions(*project, request.page_size, request.page_token);
  if (!page.ok()) return Reply(call, page.status(), out);
  std::vector<pubsub::Subscription> subscriptions;
  for (const std::string& name : page->names) subscriptions.push_back(catalog_.FindSubscription(name)->value);
  Reply(call, Slices{pubsub::EncodeSubscriptions(subscriptions, page->next_page_token)}, out);
}

void Broker::Impl::ListTopicSubscriptions(CallId call, const pubsub::ListRequest& request, Actions& out) {
  const absl::StatusOr<Topic*> topic = TopicNamed(request.parent);
  if (!topic.ok()) return Reply(call, topic.status(), out);
  const absl::StatusOr<Page> page = catalog_.ListTopicSubscriptions(**topic, request.page_size, request.page_token);
  if (!page.ok()) return Reply(call, page.status(), out);
  Reply(call, Slices{pubsub::EncodeNames(page->names, page->next_page_token)}, out);
}

}  // namespace hopgap::broker
