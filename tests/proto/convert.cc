#include "convert.h"

#include <google/protobuf/repeated_ptr_field.h>

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
  return out;
}

wire::Subscription ToGenerated(const pubsub::Subscription& subscription) {
  wire::Subscription out;
  out.set_name(subscription.name);
  out.set_topic(subscription.topic);
  out.set_ack_deadline_seconds(subscription.ack_deadline_seconds);
  out.mutable_labels()->insert(subscription.labels.begin(), subscription.labels.end());
  out.set_enable_exactly_once_delivery(subscription.enable_exactly_once_delivery);
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
  return {.name = topic.name(), .labels = {topic.labels().begin(), topic.labels().end()}, .unknown = {}};
}

pubsub::Subscription FromGenerated(const wire::Subscription& subscription) {
  return {.name = subscription.name(),
          .topic = subscription.topic(),
          .ack_deadline_seconds = subscription.ack_deadline_seconds(),
          .labels = {subscription.labels().begin(), subscription.labels().end()},
          .enable_exactly_once_delivery = subscription.enable_exactly_once_delivery(),
          .unknown = {}};
}

}  // namespace hopgap::tests
