#include "pubsub/resources.h"

#include <algorithm>

#include "base/text.h"
#include "pubsub/codec.h"
#include "pubsub/limits.h"
#include "pubsub/served_fields.h"
#include "pubsub/timestamp.h"

namespace hopgap::pubsub {
namespace {

using codec::AsBytes;
using codec::AsVarint;
using codec::ForEachField;
using codec::Malformed;
using codec::ReadDuration;
using codec::ReadMapEntry;
using codec::ReadText;
using codec::TagOf;
using codec::WriteDuration;

namespace topic_field {
constexpr uint32_t kName = 1, kLabels = 2, kRetention = 8;
}
namespace subscription_field {
constexpr uint32_t kName = 1, kTopic = 2, kPushConfig = 4, kAckDeadlineSeconds = 5, kRetainAcked = 7, kRetention = 8,
                   kLabels = 9, kOrdering = 10, kExpirationPolicy = 11, kFilter = 12, kDeadLetterPolicy = 13,
                   kRetryPolicy = 14, kDetached = 15, kExactlyOnce = 16, kTopicRetention = 17, kState = 19;
}
namespace snapshot_field {
constexpr uint32_t kName = 1, kTopic = 2, kExpireTime = 3, kLabels = 4;
}
constexpr uint32_t kTtl = 1;                                  // of ExpirationPolicy
constexpr uint32_t kMinimumBackoff = 1, kMaximumBackoff = 2;  // of RetryPolicy
constexpr uint32_t kDeadLetterTopic = 1, kMaxAttempts = 2;    // of DeadLetterPolicy
constexpr uint64_t kStateActive = 1;                          // of Subscription.State
constexpr std::string_view kTopicType = "Topic", kSubscriptionType = "Subscription", kSnapshotType = "Snapshot";

// Each reads one occurrence of a message field; protobuf merges several.
absl::Status Read(const WireField& field, std::optional<ExpirationPolicy>& out) {
  if (!out) out.emplace();
  return ForEachField(kSubscriptionType, field.bytes, [&](const WireField& part) {
    return TagOf(part) == AsBytes(kTtl) ? ReadDuration(kSubscriptionType, "expiration_policy.ttl", part, out->ttl)
                                        : absl::OkStatus();
  });
}

absl::Status Read(const WireField& field, std::optional<DeadLetterPolicy>& out) {
  if (!out) out.emplace();
  return ForEachField(kSubscriptionType, field.bytes, [&](const WireField& part) {
    switch (TagOf(part)) {
      case AsBytes(kDeadLetterTopic): return ReadText("DeadLetterPolicy", part, out->dead_letter_topic);
      case AsVarint(kMaxAttempts): out->max_delivery_attempts = part.AsInt32(); break;
    }
    return absl::OkStatus();
  });
}

absl::Status ReadBackoff(std::string_view name, const WireField& field, Duration& out) {
  std::optional<Duration> read;
  absl::Status status = ReadDuration(kSubscriptionType, name, field, read);
  if (status.ok()) out = *read;
  return status;
}

absl::Status Read(const WireField& field, std::optional<RetryPolicy>& out) {
  if (!out) out.emplace();
  return ForEachField(kSubscriptionType, field.bytes, [&](const WireField& part) {
    switch (TagOf(part)) {
      case AsBytes(kMinimumBackoff): return ReadBackoff("retry_policy.minimum_backoff", part, out->minimum_backoff);
      case AsBytes(kMaximumBackoff): return ReadBackoff("retry_policy.maximum_backoff", part, out->maximum_backoff);
    }
    return absl::OkStatus();
  });
}

std::string Encoded(const ExpirationPolicy& policy) {
  std::string out;
  WriteDuration(out, kTtl, policy.ttl);
  return out;
}

std::string Encoded(const DeadLetterPolicy& policy) {
  std::string out;
  codec::WriteText(out, kDeadLetterTopic, policy.dead_letter_topic);
  codec::WriteSigned(out, kMaxAttempts, policy.max_delivery_attempts);
  return out;
}

std::string Encoded(const RetryPolicy& policy) {
  std::string out;
  WriteDuration(out, kMinimumBackoff, policy.minimum_backoff);
  WriteDuration(out, kMaximumBackoff, policy.maximum_backoff);
  return out;
}

// An empty message counts as there, so it is written.
template <typename Policy>
void WritePolicy(std::string& out, uint32_t number, const std::optional<Policy>& policy) {
  if (policy) WireWriter(out).Text(number, Encoded(*policy));
}

absl::Status ReadSubscriptionField(const WireField& field, Subscription& out) {
  using namespace subscription_field;
  constexpr std::string_view kType = kSubscriptionType;
  switch (TagOf(field)) {
    case AsBytes(kName): return ReadText(kType, field, out.name);
    case AsBytes(kTopic): return ReadText(kType, field, out.topic);
    case AsVarint(kAckDeadlineSeconds): out.ack_deadline_seconds = field.AsInt32(); return absl::OkStatus();
    case AsVarint(kRetainAcked): out.retain_acked_messages = field.AsBool(); return absl::OkStatus();
    case AsBytes(kRetention):
      return ReadDuration(kType, "message_retention_duration", field, out.message_retention_duration);
    case AsBytes(kLabels): return ReadMapEntry(kType, field, out.labels);
    case AsVarint(kOrdering): out.enable_message_ordering = field.AsBool(); return absl::OkStatus();
    case AsBytes(kExpirationPolicy): return Read(field, out.expiration_policy);
    case AsBytes(kFilter): return ReadText(kType, field, out.filter);
    case AsBytes(kDeadLetterPolicy): return Read(field, out.dead_letter_policy);
    case AsBytes(kRetryPolicy): return Read(field, out.retry_policy);
    case AsVarint(kDetached): out.detached = field.AsBool(); return absl::OkStatus();
    case AsVarint(kExactlyOnce): out.enable_exactly_once_delivery = field.AsBool(); return absl::OkStatus();
    case AsBytes(kTopicRetention):
      return ReadDuration(kType, "topic_message_retention_duration", field, out.topic_message_retention_duration);
  }
  out.unknown.append(field.whole);
  return absl::OkStatus();
}

}  // namespace

Duration RetentionOf(const Subscription& subscription) {
  if (subscription.message_retention_duration) return *subscription.message_retention_duration;
  // No longer than the subscription itself may last.
  return std::min<Duration>(kRetentionDefault, ExpirationOf(subscription).value_or(kRetentionDefault));
}

std::optional<Duration> ExpirationOf(const Subscription& subscription) {
  return subscription.expiration_policy ? subscription.expiration_policy->ttl : kExpirationDefault;
}

absl::StatusOr<Topic> DecodeTopic(std::string_view wire) {
  using namespace topic_field;
  Topic topic;
  absl::Status status = ForEachField(kTopicType, wire, [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kName): return ReadText(kTopicType, field, topic.name);
      case AsBytes(kLabels): return ReadMapEntry(kTopicType, field, topic.labels);
      case AsBytes(kRetention):
        return ReadDuration(kTopicType, "message_retention_duration", field, topic.message_retention_duration);
    }
    topic.unknown.append(field.whole);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return topic;
}

absl::StatusOr<Subscription> DecodeSubscription(std::string_view wire) {
  Subscription out;
  absl::Status status =
      ForEachField(kSubscriptionType, wire, [&](const WireField& field) { return ReadSubscriptionField(field, out); });
  if (!status.ok()) return status;
  return out;
}

absl::StatusOr<Snapshot> DecodeSnapshot(std::string_view wire) {
  using namespace snapshot_field;
  Snapshot out;
  absl::Status status = ForEachField(kSnapshotType, wire, [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kName): return ReadText(kSnapshotType, field, out.name);
      case AsBytes(kTopic): return ReadText(kSnapshotType, field, out.topic);
      case AsBytes(kExpireTime): return codec::ReadTimestamp(kSnapshotType, "expire_time", field, out.expire_time);
      case AsBytes(kLabels): return ReadMapEntry(kSnapshotType, field, out.labels);
    }
    out.unknown.append(field.whole);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return out;
}

absl::StatusOr<Topic> TopicFromRequest(std::string_view wire) {
  absl::StatusOr<Topic> topic = DecodeTopic(wire);
  if (!topic.ok()) return topic;
  if (absl::Status status = CheckTopicFields(topic->unknown); !status.ok()) return status;
  topic->unknown.clear();
  return topic;
}

absl::StatusOr<Subscription> SubscriptionFromRequest(std::string_view wire) {
  absl::StatusOr<Subscription> subscription = DecodeSubscription(wire);
  if (!subscription.ok()) return subscription;
  if (absl::Status status = CheckSubscriptionFields(subscription->unknown); !status.ok()) return status;
  subscription->topic_message_retention_duration.reset();
  subscription->unknown.clear();
  return subscription;
}

std::string Encode(const Topic& topic) {
  using namespace topic_field;
  std::string out;
  codec::WriteText(out, kName, topic.name);
  codec::WriteMap(out, kLabels, topic.labels);
  WriteDuration(out, kRetention, topic.message_retention_duration);
  out.append(topic.unknown);
  return out;
}

namespace {

// `push_config` and `state` are in what is shown only.
std::string EncodeSubscription(const Subscription& value, bool shown) {
  using namespace subscription_field;
  std::string out;
  WireWriter writer(out);
  codec::WriteText(out, kName, value.name);
  codec::WriteText(out, kTopic, value.topic);
  if (shown) writer.Text(kPushConfig, "");
  codec::WriteSigned(out, kAckDeadlineSeconds, value.ack_deadline_seconds);
  codec::WriteBool(out, kRetainAcked, value.retain_acked_messages);
  WriteDuration(out, kRetention, value.message_retention_duration);
  codec::WriteMap(out, kLabels, value.labels);
  codec::WriteBool(out, kOrdering, value.enable_message_ordering);
  WritePolicy(out, kExpirationPolicy, value.expiration_policy);
  codec::WriteText(out, kFilter, value.filter);
  WritePolicy(out, kDeadLetterPolicy, value.dead_letter_policy);
  WritePolicy(out, kRetryPolicy, value.retry_policy);
  codec::WriteBool(out, kDetached, value.detached);
  codec::WriteBool(out, kExactlyOnce, value.enable_exactly_once_delivery);
  WriteDuration(out, kTopicRetention, value.topic_message_retention_duration);
  if (shown) writer.Varint(kState, kStateActive);
  if (!shown) out.append(value.unknown);
  return out;
}

}  // namespace

std::string Encode(const Subscription& subscription) { return EncodeSubscription(subscription, /*shown=*/false); }

std::string EncodeForDisplay(const Subscription& subscription) {
  Subscription shown = subscription;
  if (shown.ack_deadline_seconds == 0) {
    shown.ack_deadline_seconds =
        shown.enable_exactly_once_delivery ? kAckDeadlineSecondsDefaultExactlyOnce : kAckDeadlineSecondsDefault;
  }
  shown.message_retention_duration = RetentionOf(subscription);
  shown.expiration_policy = ExpirationPolicy{ExpirationOf(subscription)};
  return EncodeSubscription(shown, /*shown=*/true);
}

std::string Encode(const Snapshot& snapshot) {
  using namespace snapshot_field;
  std::string out;
  codec::WriteText(out, kName, snapshot.name);
  codec::WriteText(out, kTopic, snapshot.topic);
  codec::WriteTimestamp(out, kExpireTime, snapshot.expire_time);
  codec::WriteMap(out, kLabels, snapshot.labels);
  out.append(snapshot.unknown);
  return out;
}

}  // namespace hopgap::pubsub
