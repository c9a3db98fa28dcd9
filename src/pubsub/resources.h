#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "pubsub/bytes.h"

namespace hopgap::pubsub {

// Resource values with their wire form, which is the same on the wire and in
// the journal. Fields that a later version of hopgap (or of the service) wrote
// are kept in `unknown` as they stood, so that a journal survives a downgrade
// (inside a policy they are not: there they would change what the policy means).

using Labels = std::map<std::string, std::string>;

struct Topic {
  std::string name;
  Labels labels;
  // Any subscription may get a message back for so long, acked or not. Absent:
  // a message is gone once every subscription has finished with it.
  std::optional<Duration> message_retention_duration{};
  std::string unknown;
};

// How long a message that was nacked, or whose lease expired, is kept back:
// from the minimum, doubling with each failure, up to the maximum.
struct RetryPolicy {
  Duration minimum_backoff = std::chrono::seconds{10};  // what an absent field stands for
  Duration maximum_backoff = std::chrono::seconds{600};
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};
struct DeadLetterPolicy {
  std::string dead_letter_topic;
  int32_t max_delivery_attempts = 0;  // 0 asks for the default
  friend bool operator==(const DeadLetterPolicy&, const DeadLetterPolicy&) = default;
};
struct ExpirationPolicy {
  std::optional<Duration> ttl;  // absent: never
  friend bool operator==(const ExpirationPolicy&, const ExpirationPolicy&) = default;
};

struct Subscription {
  std::string name;
  std::string topic;                 // "_deleted-topic_" once it is gone
  int32_t ack_deadline_seconds = 0;  // 0 asks for the default
  Labels labels;
  bool enable_exactly_once_delivery = false;
  bool enable_message_ordering = false;
  bool retain_acked_messages = false;
  bool detached = false;
  std::string filter{};
  std::optional<Duration> message_retention_duration{};  // see RetentionOf
  std::optional<ExpirationPolicy> expiration_policy{};   // see ExpirationOf
  std::optional<DeadLetterPolicy> dead_letter_policy{};
  std::optional<RetryPolicy> retry_policy{};  // absent: back at once
  // The topic's; only in what is shown, never taken from a request.
  std::optional<Duration> topic_message_retention_duration{};
  std::string unknown;
};

struct Snapshot {
  std::string name;
  std::string topic;
  std::optional<WallTime> expire_time;
  Labels labels;
  std::string unknown;
};

// What holds for a subscription, defaults included: how long messages are kept
// from their publish time on, and without how much activity it is deleted
// (nullopt: it never is).
Duration RetentionOf(const Subscription& subscription);
std::optional<Duration> ExpirationOf(const Subscription& subscription);

std::string Encode(const Topic& topic);
std::string Encode(const Subscription& subscription);
std::string Encode(const Snapshot& snapshot);
// As the service shows it: with the defaults a plain pull subscription has
// (retention 7 d, expiration 31 d, empty push_config, state ACTIVE, and 10 or,
// exactly-once, 60 for an ack deadline of 0); without `unknown`, which has no
// effect here.
std::string EncodeForDisplay(const Subscription& subscription);

// From a request. InvalidArgument for malformed bytes. Unimplemented
// "Subscription.push_config is not supported yet" for a known field that is set
// to anything but its default and is not served. Dropped without a word, as the
// service does: what only the service sets (state, satisfies_pzs, ...) and
// numbers of no known field. Ranges and names are the broker's to check.
absl::StatusOr<Topic> TopicFromRequest(std::string_view wire);
absl::StatusOr<Subscription> SubscriptionFromRequest(std::string_view wire);

// From the journal, or from the body of an update, of which only what the mask
// names counts: unknown fields are kept. InvalidArgument for malformed bytes.
absl::StatusOr<Topic> DecodeTopic(std::string_view wire);
absl::StatusOr<Subscription> DecodeSubscription(std::string_view wire);
absl::StatusOr<Snapshot> DecodeSnapshot(std::string_view wire);

}  // namespace hopgap::pubsub
