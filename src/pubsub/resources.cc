#include "pubsub/resources.h"

#include <array>
#include <span>

#include "base/text.h"
#include "pubsub/codec.h"
#include "pubsub/limits.h"
#include "pubsub/timestamp.h"

namespace hopgap::pubsub {
namespace {

using codec::AsBytes;
using codec::AsVarint;
using codec::ForEachField;
using codec::Malformed;
using codec::ReadMapEntry;
using codec::ReadText;
using codec::TagOf;

namespace topic_field {
constexpr uint32_t kName = 1, kLabels = 2;
}
namespace subscription_field {
constexpr uint32_t kName = 1, kTopic = 2, kPushConfig = 4, kAckDeadlineSeconds = 5, kRetention = 8, kLabels = 9,
                   kExpirationPolicy = 11, kExactlyOnce = 16, kState = 19;
}
constexpr uint32_t kTtl = 1;          // of ExpirationPolicy
constexpr uint64_t kStateActive = 1;  // of Subscription.State

// What a request may ask of a field that is not served.
enum class Ask : uint8_t {
  kDefault,    // nothing: its type's default value
  kAbsent,     // nothing: a message counts as set by being there, even when empty
  kEmptyPush,  // nothing: an empty PushConfig, which makes a pull subscription
  kRetention,  // at most what every subscription has
  kExpiration,
};

struct UnservedField {
  uint32_t number;
  WireType type;
  std::string_view name;
  Ask allowed;
};

// Fields that only the service writes (state and the like) are in no table:
// clients send them back as they got them, and the service ignores them.
constexpr std::array kUnservedOfTopic = {
    UnservedField{3, WireType::kBytes, "message_storage_policy", Ask::kAbsent},
    UnservedField{5, WireType::kBytes, "kms_key_name", Ask::kDefault},
    UnservedField{6, WireType::kBytes, "schema_settings", Ask::kAbsent},
    UnservedField{8, WireType::kBytes, "message_retention_duration", Ask::kAbsent},
    UnservedField{10, WireType::kBytes, "ingestion_data_source_settings", Ask::kAbsent},
    UnservedField{13, WireType::kBytes, "message_transforms", Ask::kAbsent},
    UnservedField{14, WireType::kBytes, "tags", Ask::kAbsent},
};
constexpr std::array kUnservedOfSubscription = {
    UnservedField{4, WireType::kBytes, "push_config", Ask::kEmptyPush},
    UnservedField{7, WireType::kVarint, "retain_acked_messages", Ask::kDefault},
    UnservedField{8, WireType::kBytes, "message_retention_duration", Ask::kRetention},
    UnservedField{10, WireType::kVarint, "enable_message_ordering", Ask::kDefault},
    UnservedField{11, WireType::kBytes, "expiration_policy", Ask::kExpiration},
    UnservedField{12, WireType::kBytes, "filter", Ask::kDefault},
    UnservedField{13, WireType::kBytes, "dead_letter_policy", Ask::kAbsent},
    UnservedField{14, WireType::kBytes, "retry_policy", Ask::kAbsent},
    UnservedField{15, WireType::kVarint, "detached", Ask::kDefault},
    UnservedField{18, WireType::kBytes, "bigquery_config", Ask::kAbsent},
    UnservedField{22, WireType::kBytes, "cloud_storage_config", Ask::kAbsent},
    UnservedField{25, WireType::kBytes, "message_transforms", Ask::kAbsent},
    UnservedField{26, WireType::kBytes, "tags", Ask::kAbsent},
    UnservedField{27, WireType::kBytes, "bigtable_config", Ask::kAbsent},
};

absl::Status NotSupported(std::string_view type, std::string_view field) {
  return absl::UnimplementedError(StrCat(type, ".", field, " is not supported yet"));
}

absl::Status CheckEmptyPush(const UnservedField& known, std::string_view type, std::string_view wire) {
  constexpr uint32_t kEndpoint = 1, kLastOfPushConfig = 5;
  return ForEachField(type, wire, [&](const WireField& field) {
    const bool default_endpoint = field.Is(kEndpoint, WireType::kBytes) && field.bytes.empty();
    return field.number > kLastOfPushConfig || default_endpoint ? absl::OkStatus() : NotSupported(type, known.name);
  });
}

absl::Status CheckDuration(const UnservedField& known, std::string_view type, std::string_view wire,
                           std::chrono::seconds served) {
  TimeParts parts;
  if (!ReadTimeParts(wire, parts)) return Malformed(type, known.name);
  return parts == TimeParts{served.count(), 0} ? absl::OkStatus() : NotSupported(type, known.name);
}

// A policy without a ttl means "never", which is another wish than the default.
absl::Status CheckExpiration(const UnservedField& known, std::string_view type, std::string_view wire) {
  std::string_view ttl;
  absl::Status status = ForEachField(type, wire, [&](const WireField& field) {
    if (field.Is(kTtl, WireType::kBytes)) ttl = field.bytes;
    return absl::OkStatus();
  });
  return status.ok() ? CheckDuration(known, type, ttl, kExpirationDefault) : status;
}

absl::Status CheckAsk(const UnservedField& known, std::string_view type, const WireField& field) {
  switch (known.allowed) {
    case Ask::kDefault:
      return field.value == 0 && field.bytes.empty() ? absl::OkStatus() : NotSupported(type, known.name);
    case Ask::kAbsent: break;
    case Ask::kEmptyPush: return CheckEmptyPush(known, type, field.bytes);
    case Ask::kRetention: return CheckDuration(known, type, field.bytes, kRetentionDefault);
    case Ask::kExpiration: return CheckExpiration(known, type, field.bytes);
  }
  return NotSupported(type, known.name);
}

// `unknown` holds the fields that the reader of `type` did not take.
absl::Status CheckUnserved(std::span<const UnservedField> table, std::string_view type, std::string_view unknown) {
  return ForEachField(type, unknown, [&](const WireField& field) {
    for (const UnservedField& known : table) {
      if (field.Is(known.number, known.type)) return CheckAsk(known, type, field);
    }
    return absl::OkStatus();
  });
}

constexpr std::string_view kTopicType = "Topic", kSubscriptionType = "Subscription";

}  // namespace

absl::StatusOr<Topic> DecodeTopic(std::string_view wire) {
  using namespace topic_field;
  Topic topic;
  absl::Status status = ForEachField(kTopicType, wire, [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kName): return ReadText(kTopicType, field, topic.name);
      case AsBytes(kLabels): return ReadMapEntry(kTopicType, field, topic.labels);
    }
    topic.unknown.append(field.whole);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return topic;
}

absl::StatusOr<Subscription> DecodeSubscription(std::string_view wire) {
  using namespace subscription_field;
  Subscription out;
  absl::Status status = ForEachField(kSubscriptionType, wire, [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kName): return ReadText(kSubscriptionType, field, out.name);
      case AsBytes(kTopic): return ReadText(kSubscriptionType, field, out.topic);
      case AsVarint(kAckDeadlineSeconds): out.ack_deadline_seconds = field.AsInt32(); return absl::OkStatus();
      case AsBytes(kLabels): return ReadMapEntry(kSubscriptionType, field, out.labels);
      case AsVarint(kExactlyOnce): out.enable_exactly_once_delivery = field.AsBool(); return absl::OkStatus();
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
  if (absl::Status status = CheckUnserved(kUnservedOfTopic, kTopicType, topic->unknown); !status.ok()) return status;
  topic->unknown.clear();
  return topic;
}

absl::StatusOr<Subscription> SubscriptionFromRequest(std::string_view wire) {
  absl::StatusOr<Subscription> subscription = DecodeSubscription(wire);
  if (!subscription.ok()) return subscription;
  absl::Status status = CheckUnserved(kUnservedOfSubscription, kSubscriptionType, subscription->unknown);
  if (!status.ok()) return status;
  subscription->unknown.clear();
  return subscription;
}

std::string Encode(const Topic& topic) {
  using namespace topic_field;
  std::string out;
  codec::WriteText(out, kName, topic.name);
  codec::WriteMap(out, kLabels, topic.labels);
  out.append(topic.unknown);
  return out;
}

std::string Encode(const Subscription& subscription) {
  using namespace subscription_field;
  std::string out;
  codec::WriteText(out, kName, subscription.name);
  codec::WriteText(out, kTopic, subscription.topic);
  codec::WriteSigned(out, kAckDeadlineSeconds, subscription.ack_deadline_seconds);
  codec::WriteMap(out, kLabels, subscription.labels);
  codec::WriteBool(out, kExactlyOnce, subscription.enable_exactly_once_delivery);
  out.append(subscription.unknown);
  return out;
}

std::string EncodeForDisplay(const Subscription& subscription) {
  using namespace subscription_field;
  int32_t deadline = subscription.ack_deadline_seconds;
  if (deadline == 0) {
    deadline =
        subscription.enable_exactly_once_delivery ? kAckDeadlineSecondsDefaultExactlyOnce : kAckDeadlineSecondsDefault;
  }
  std::string expiration;
  codec::WriteText(expiration, kTtl, EncodeTimeParts({kExpirationDefault.count(), 0}));

  std::string out;
  WireWriter writer(out);
  codec::WriteText(out, kName, subscription.name);
  codec::WriteText(out, kTopic, subscription.topic);
  writer.Text(kPushConfig, "");
  writer.Signed(kAckDeadlineSeconds, deadline);
  writer.Text(kRetention, EncodeTimeParts({kRetentionDefault.count(), 0}));
  codec::WriteMap(out, kLabels, subscription.labels);
  writer.Text(kExpirationPolicy, expiration);
  codec::WriteBool(out, kExactlyOnce, subscription.enable_exactly_once_delivery);
  writer.Varint(kState, kStateActive);
  return out;
}

}  // namespace hopgap::pubsub
