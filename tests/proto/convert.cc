#include "convert.h"

#include <google/protobuf/repeated_ptr_field.h>

#include <chrono>
#include <variant>

namespace hopgap::tests {
namespace {

using Texts = google::protobuf::RepeatedPtrField<std::string>;

Texts ToTexts(const std::vector<std::string>& texts) { return Texts(texts.begin(), texts.end()); }

// Floors, so that nanos are never negative.
google::protobuf::Timestamp ToTimestamp(WallTime at) {
  constexpr int64_t kNanosPerSecond = 1'000'000'000;
  int64_t seconds = ToNanos(at) / kNanosPerSecond;
  if (seconds * kNanosPerSecond > ToNanos(at)) --seconds;
  google::protobuf::Timestamp time;
  time.set_seconds(seconds);
  time.set_nanos(static_cast<int32_t>(ToNanos(at) - seconds * kNanosPerSecond));
  return time;
}

google::protobuf::Duration ToGeneratedDuration(Duration length) {
  constexpr int64_t kNanosPerSecond = 1'000'000'000;
  google::protobuf::Duration out;
  out.set_seconds(length.count() / kNanosPerSecond);
  out.set_nanos(static_cast<int32_t>(length.count() % kNanosPerSecond));
  return out;
}

Duration FromGeneratedDuration(const google::protobuf::Duration& length) {
  return std::chrono::seconds{length.seconds()} + Duration{length.nanos()};
}

wire::ReceivedMessage ToGenerated(const pubsub::ReceivedMessage& received) {
  wire::ReceivedMessage out;
  out.set_ack_id(received.ack_id);
  *out.mutable_message() = tests::ToGenerated(received.message);
  out.set_delivery_attempt(received.delivery_attempt);
  return out;
}

}  // namespace

wire::PubsubMessage ToGenerated(const pubsub::Message& message) {
  wire::PubsubMessage out;
  out.set_data(std::string(message.data()));
  for (const auto& [key, value] : message.Attributes()) (*out.mutable_attributes())[std::string(key)] = value;
  out.set_message_id(std::string(message.message_id()));
  if (message.publish_time()) *out.mutable_publish_time() = ToTimestamp(*message.publish_time());
  out.set_ordering_key(std::string(message.ordering_key()));
  return out;
}

wire::Topic ToGenerated(const pubsub::Topic& topic) {
  wire::Topic out;
  out.set_name(topic.name);
  out.mutable_labels()->insert(topic.labels.begin(), topic.labels.end());
  if (topic.message_retention_duration) {
    *out.mutable_message_retention_duration() = ToGeneratedDuration(*topic.message_retention_duration);
  }
  return out;
}

wire::Subscription ToGenerated(const pubsub::Subscription& subscription) {
  wire::Subscription out;
  out.set_name(subscription.name);
  out.set_topic(subscription.topic);
  out.set_ack_deadline_seconds(subscription.ack_deadline_seconds);
  out.mutable_labels()->insert(subscription.labels.begin(), subscription.labels.end());
  out.set_enable_exactly_once_delivery(subscription.enable_exactly_once_delivery);
  out.set_enable_message_ordering(subscription.enable_message_ordering);
  out.set_retain_acked_messages(subscription.retain_acked_messages);
  out.set_detached(subscription.detached);
  out.set_filter(subscription.filter);
  if (subscription.message_retention_duration) {
    *out.mutable_message_retention_duration() = ToGeneratedDuration(*subscription.message_retention_duration);
  }
  if (const auto& policy = subscription.expiration_policy) {
    out.mutable_expiration_policy();
    if (policy->ttl) *out.mutable_expiration_policy()->mutable_ttl() = ToGeneratedDuration(*policy->ttl);
  }
  if (const auto& policy = subscription.dead_letter_policy) {
    out.mutable_dead_letter_policy()->set_dead_letter_topic(policy->dead_letter_topic);
    out.mutable_dead_letter_policy()->set_max_delivery_attempts(policy->max_delivery_attempts);
  }
  if (const auto& policy = subscription.retry_policy) {
    *out.mutable_retry_policy()->mutable_minimum_backoff() = ToGeneratedDuration(policy->minimum_backoff);
    *out.mutable_retry_policy()->mutable_maximum_backoff() = ToGeneratedDuration(policy->maximum_backoff);
  }
  return out;
}

wire::Snapshot ToGenerated(const pubsub::Snapshot& snapshot) {
  wire::Snapshot out;
  out.set_name(snapshot.name);
  out.set_topic(snapshot.topic);
  if (snapshot.expire_time) *out.mutable_expire_time() = ToTimestamp(*snapshot.expire_time);
  out.mutable_labels()->insert(snapshot.labels.begin(), snapshot.labels.end());
  return out;
}

wire::CreateSnapshotRequest ToGenerated(const pubsub::CreateSnapshotRequest& request) {
  wire::CreateSnapshotRequest out;
  out.set_name(request.name);
  out.set_subscription(request.subscription);
  out.mutable_labels()->insert(request.labels.begin(), request.labels.end());
  return out;
}

wire::SeekRequest ToGenerated(const pubsub::SeekRequest& request) {
  wire::SeekRequest out;
  out.set_subscription(request.subscription);
  if (const auto* time = std::get_if<WallTime>(&request.target)) *out.mutable_time() = ToTimestamp(*time);
  if (const auto* name = std::get_if<std::string>(&request.target)) out.set_snapshot(*name);
  return out;
}

wire::UpdateTopicRequest ToGenerated(const pubsub::UpdateTopicRequest& request) {
  wire::UpdateTopicRequest out;
  *out.mutable_topic() = ToGenerated(request.topic);
  *out.mutable_update_mask()->mutable_paths() = ToTexts(request.update_mask);
  return out;
}

wire::UpdateSubscriptionRequest ToGenerated(const pubsub::UpdateSubscriptionRequest& request) {
  wire::UpdateSubscriptionRequest out;
  *out.mutable_subscription() = ToGenerated(request.subscription);
  *out.mutable_update_mask()->mutable_paths() = ToTexts(request.update_mask);
  return out;
}

wire::UpdateSnapshotRequest ToGenerated(const pubsub::UpdateSnapshotRequest& request) {
  wire::UpdateSnapshotRequest out;
  *out.mutable_snapshot() = ToGenerated(request.snapshot);
  *out.mutable_update_mask()->mutable_paths() = ToTexts(request.update_mask);
  return out;
}

wire::PublishRequest ToGenerated(const pubsub::PublishRequest& request) {
  wire::PublishRequest out;
  out.set_topic(request.topic);
  for (const pubsub::Message& message : request.messages) *out.add_messages() = ToGenerated(message);
  return out;
}

wire::PullRequest ToGenerated(const pubsub::PullRequest& request) {
  wire::PullRequest out;
  out.set_subscription(request.subscription);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // deprecated, and still sent
  out.set_return_immediately(request.return_immediately);
#pragma GCC diagnostic pop
  out.set_max_messages(request.max_messages);
  return out;
}

wire::AcknowledgeRequest ToGenerated(const pubsub::AcknowledgeRequest& request) {
  wire::AcknowledgeRequest out;
  out.set_subscription(request.subscription);
  *out.mutable_ack_ids() = ToTexts(request.ack_ids);
  return out;
}

wire::ModifyAckDeadlineRequest ToGenerated(const pubsub::ModifyAckDeadlineRequest& request) {
  wire::ModifyAckDeadlineRequest out;
  out.set_subscription(request.subscription);
  *out.mutable_ack_ids() = ToTexts(request.ack_ids);
  out.set_ack_deadline_seconds(request.ack_deadline_seconds);
  return out;
}

wire::StreamingPullRequest ToGenerated(const pubsub::StreamingPullRequest& request) {
  wire::StreamingPullRequest out;
  out.set_subscription(request.subscription);
  *out.mutable_ack_ids() = ToTexts(request.ack_ids);
  for (const int32_t seconds : request.modify_deadline_seconds) out.add_modify_deadline_seconds(seconds);
  *out.mutable_modify_deadline_ack_ids() = ToTexts(request.modify_deadline_ack_ids);
  out.set_stream_ack_deadline_seconds(request.stream_ack_deadline_seconds);
  out.set_client_id(request.client_id);
  out.set_max_outstanding_messages(request.max_outstanding_messages);
  out.set_max_outstanding_bytes(request.max_outstanding_bytes);
  out.set_protocol_version(request.protocol_version);
  return out;
}

wire::StreamingPullResponse ToGenerated(const pubsub::StreamingPullResponse& response) {
  wire::StreamingPullResponse out;
  for (const pubsub::ReceivedMessage& received : response.received_messages) {
    *out.add_received_messages() = ToGenerated(received);
  }
  if (const pubsub::Confirmation& acks = response.acknowledge_confirmation; !acks.empty()) {
    auto& confirmation = *out.mutable_acknowledge_confirmation();
    *confirmation.mutable_ack_ids() = ToTexts(acks.ack_ids);
    *confirmation.mutable_invalid_ack_ids() = ToTexts(acks.invalid_ack_ids);
    *confirmation.mutable_unordered_ack_ids() = ToTexts(acks.unordered_ack_ids);
    *confirmation.mutable_temporary_failed_ack_ids() = ToTexts(acks.temporary_failed_ack_ids);
  }
  if (const pubsub::Confirmation& modacks = response.modify_ack_deadline_confirmation; !modacks.empty()) {
    auto& confirmation = *out.mutable_modify_ack_deadline_confirmation();
    *confirmation.mutable_ack_ids() = ToTexts(modacks.ack_ids);
    *confirmation.mutable_invalid_ack_ids() = ToTexts(modacks.invalid_ack_ids);
    *confirmation.mutable_temporary_failed_ack_ids() = ToTexts(modacks.temporary_failed_ack_ids);
  }
  if (response.has_properties) {
    auto& properties = *out.mutable_subscription_properties();
    properties.set_exactly_once_delivery_enabled(response.properties.exactly_once_delivery_enabled);
    properties.set_message_ordering_enabled(response.properties.message_ordering_enabled);
  }
  return out;
}

wire::PullResponse ToGenerated(const std::vector<pubsub::ReceivedMessage>& messages) {
  wire::PullResponse out;
  for (const pubsub::ReceivedMessage& received : messages) *out.add_received_messages() = ToGenerated(received);
  return out;
}

wire::PublishResponse ToGenerated(const std::vector<std::string>& message_ids) {
  wire::PublishResponse out;
  *out.mutable_message_ids() = ToTexts(message_ids);
  return out;
}

pubsub::Topic FromGenerated(const wire::Topic& topic) {
  pubsub::Topic out;
  out.name = topic.name();
  out.labels = {topic.labels().begin(), topic.labels().end()};
  if (topic.has_message_retention_duration()) {
    out.message_retention_duration = FromGeneratedDuration(topic.message_retention_duration());
  }
  return out;
}

pubsub::Subscription FromGenerated(const wire::Subscription& subscription) {
  pubsub::Subscription out;
  out.name = subscription.name();
  out.topic = subscription.topic();
  out.ack_deadline_seconds = subscription.ack_deadline_seconds();
  out.labels = {subscription.labels().begin(), subscription.labels().end()};
  out.enable_exactly_once_delivery = subscription.enable_exactly_once_delivery();
  out.enable_message_ordering = subscription.enable_message_ordering();
  out.retain_acked_messages = subscription.retain_acked_messages();
  out.detached = subscription.detached();
  out.filter = subscription.filter();
  if (subscription.has_message_retention_duration()) {
    out.message_retention_duration = FromGeneratedDuration(subscription.message_retention_duration());
  }
  if (subscription.has_expiration_policy()) {
    out.expiration_policy.emplace();
    if (subscription.expiration_policy().has_ttl()) {
      out.expiration_policy->ttl = FromGeneratedDuration(subscription.expiration_policy().ttl());
    }
  }
  if (subscription.has_dead_letter_policy()) {
    out.dead_letter_policy = pubsub::DeadLetterPolicy{subscription.dead_letter_policy().dead_letter_topic(),
                                                      subscription.dead_letter_policy().max_delivery_attempts()};
  }
  if (subscription.has_retry_policy()) {
    const wire::RetryPolicy& policy = subscription.retry_policy();
    out.retry_policy.emplace();
    if (policy.has_minimum_backoff()) {
      out.retry_policy->minimum_backoff = FromGeneratedDuration(policy.minimum_backoff());
    }
    if (policy.has_maximum_backoff()) {
      out.retry_policy->maximum_backoff = FromGeneratedDuration(policy.maximum_backoff());
    }
  }
  return out;
}

}  // namespace hopgap::tests
