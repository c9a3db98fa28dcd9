#include "broker/resource_checks.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "broker/errors.h"
#include "broker/labels.h"
#include "pubsub/filter.h"
#include "pubsub/limits.h"

namespace hopgap::broker {
namespace {

absl::Status CheckAckDeadline(pubsub::Subscription& subscription) {
  int32_t& seconds = subscription.ack_deadline_seconds;
  if (seconds == 0) {
    seconds = subscription.enable_exactly_once_delivery ? pubsub::kAckDeadlineSecondsDefaultExactlyOnce
                                                        : pubsub::kAckDeadlineSecondsDefault;
  }
  if (seconds < pubsub::kAckDeadlineSecondsMin || seconds > pubsub::kAckDeadlineSecondsMax) {
    return BadAckDeadline(seconds, pubsub::kAckDeadlineSecondsMin, pubsub::kAckDeadlineSecondsMax);
  }
  return absl::OkStatus();
}

absl::Status CheckRetention(const std::optional<Duration>& retention) {
  if (!retention || (*retention >= pubsub::kRetentionMin && *retention <= pubsub::kRetentionMax)) {
    return absl::OkStatus();
  }
  return OutOfBounds("message retention duration", *retention, pubsub::kRetentionMin, pubsub::kRetentionMax);
}

// Never shorter than what is kept, or messages would go with their subscription.
absl::Status CheckExpiration(const pubsub::Subscription& subscription) {
  const std::optional<Duration> ttl = pubsub::ExpirationOf(subscription);
  if (!ttl) return absl::OkStatus();
  const Duration minimum = std::max<Duration>(pubsub::kExpirationMin, pubsub::RetentionOf(subscription));
  return *ttl < minimum ? TooShort("expiration duration", *ttl, minimum) : absl::OkStatus();
}

absl::Status CheckDeadLetterPolicy(std::optional<pubsub::DeadLetterPolicy>& policy) {
  if (!policy) return absl::OkStatus();
  int32_t& attempts = policy->max_delivery_attempts;
  if (attempts == 0) attempts = pubsub::kDeliveryAttemptsDefault;
  if (attempts < pubsub::kDeliveryAttemptsMin) {
    return TooSmall("max_delivery_attempts", attempts, pubsub::kDeliveryAttemptsMin);
  }
  if (attempts > pubsub::kDeliveryAttemptsMax) {
    return TooLarge("max_delivery_attempts", attempts, pubsub::kDeliveryAttemptsMax);
  }
  if (policy->dead_letter_topic.empty()) {
    return absl::InvalidArgumentError("dead_letter_policy.dead_letter_topic must be set, and name a topic.");
  }
  return absl::OkStatus();
}

absl::Status CheckRetryPolicy(const std::optional<pubsub::RetryPolicy>& policy) {
  if (!policy) return absl::OkStatus();
  const auto check = [](std::string_view name, Duration value) {
    if (value >= pubsub::kBackoffMin && value <= pubsub::kBackoffMax) return absl::OkStatus();
    return OutOfBounds(name, value, pubsub::kBackoffMin, pubsub::kBackoffMax);
  };
  if (absl::Status status = check("minimum backoff", policy->minimum_backoff); !status.ok()) return status;
  if (absl::Status status = check("maximum backoff", policy->maximum_backoff); !status.ok()) return status;
  return policy->maximum_backoff < policy->minimum_backoff
             ? TooShort("maximum backoff", policy->maximum_backoff, policy->minimum_backoff)
             : absl::OkStatus();
}

}  // namespace

absl::Status CheckTopic(const pubsub::Topic& topic) {
  if (absl::Status status = CheckLabels(topic.labels); !status.ok()) return status;
  return CheckRetention(topic.message_retention_duration);
}

absl::Status CheckSubscription(pubsub::Subscription& subscription) {
  if (absl::Status status = CheckLabels(subscription.labels); !status.ok()) return status;
  if (absl::Status status = CheckAckDeadline(subscription); !status.ok()) return status;
  if (absl::Status status = CheckRetention(subscription.message_retention_duration); !status.ok()) return status;
  if (absl::Status status = CheckExpiration(subscription); !status.ok()) return status;
  if (absl::Status status = CheckDeadLetterPolicy(subscription.dead_letter_policy); !status.ok()) return status;
  if (absl::Status status = CheckRetryPolicy(subscription.retry_policy); !status.ok()) return status;
  return pubsub::Filter::Parse(subscription.filter).status();
}

absl::Status CheckSnapshot(const pubsub::Snapshot& snapshot, WallTime now) {
  if (absl::Status status = CheckLabels(snapshot.labels); !status.ok()) return status;
  if (!snapshot.expire_time) return absl::InvalidArgumentError("expire_time must be set: a snapshot does not live on.");
  // (A difference could be more than fits.)
  if (*snapshot.expire_time > now && *snapshot.expire_time <= now + pubsub::kSnapshotLifetime) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("expire_time must lie in the future, by no more than ", DurationText(pubsub::kSnapshotLifetime), "."));
}

}  // namespace hopgap::broker
