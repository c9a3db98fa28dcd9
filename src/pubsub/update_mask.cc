#include "pubsub/update_mask.h"

#include <array>
#include <span>

#include "base/text.h"
#include "pubsub/served_fields.h"

namespace hopgap::pubsub {
namespace {

template <typename Resource>
struct Path {
  std::string_view name;
  void (*apply)(const Resource& from, Resource& to);  // null: not mutable
};

constexpr std::array kTopicPaths = {
    Path<Topic>{"name", nullptr},
    Path<Topic>{"labels", [](const Topic& from, Topic& to) { to.labels = from.labels; }},
    Path<Topic>{"kms_key_name", nullptr},
    Path<Topic>{"satisfies_pzs", nullptr},
    Path<Topic>{"message_retention_duration",
                [](const Topic& from, Topic& to) { to.message_retention_duration = from.message_retention_duration; }},
    Path<Topic>{"state", nullptr},
    Path<Topic>{"tags", nullptr},
};

// A part of a policy: with none in the body it gets its default; with none to
// change either there is nothing to reset.
template <typename Policy, typename Part>
void ApplyPart(const std::optional<Policy>& from, std::optional<Policy>& to, Part Policy::*part) {
  if (!from && !to) return;
  if (!to) to.emplace();
  to.value().*part = from.value_or(Policy()).*part;
}

using From = const Subscription&;
using To = Subscription&;
constexpr std::array kSubscriptionPaths = {
    Path<Subscription>{"name", nullptr},
    Path<Subscription>{"topic", nullptr},
    Path<Subscription>{"ack_deadline_seconds",
                       [](From from, To to) { to.ack_deadline_seconds = from.ack_deadline_seconds; }},
    Path<Subscription>{"retain_acked_messages",
                       [](From from, To to) { to.retain_acked_messages = from.retain_acked_messages; }},
    Path<Subscription>{"message_retention_duration",
                       [](From from, To to) { to.message_retention_duration = from.message_retention_duration; }},
    Path<Subscription>{"labels", [](From from, To to) { to.labels = from.labels; }},
    Path<Subscription>{"enable_message_ordering", nullptr},
    Path<Subscription>{"expiration_policy", [](From from, To to) { to.expiration_policy = from.expiration_policy; }},
    Path<Subscription>{
        "expiration_policy.ttl",
        [](From from, To to) { ApplyPart(from.expiration_policy, to.expiration_policy, &ExpirationPolicy::ttl); }},
    Path<Subscription>{"filter", nullptr},
    Path<Subscription>{"dead_letter_policy", [](From from, To to) { to.dead_letter_policy = from.dead_letter_policy; }},
    Path<Subscription>{"dead_letter_policy.dead_letter_topic",
                       [](From from, To to) {
                         ApplyPart(from.dead_letter_policy, to.dead_letter_policy,
                                   &DeadLetterPolicy::dead_letter_topic);
                       }},
    Path<Subscription>{"dead_letter_policy.max_delivery_attempts",
                       [](From from, To to) {
                         ApplyPart(from.dead_letter_policy, to.dead_letter_policy,
                                   &DeadLetterPolicy::max_delivery_attempts);
                       }},
    Path<Subscription>{"retry_policy", [](From from, To to) { to.retry_policy = from.retry_policy; }},
    Path<Subscription>{
        "retry_policy.minimum_backoff",
        [](From from, To to) { ApplyPart(from.retry_policy, to.retry_policy, &RetryPolicy::minimum_backoff); }},
    Path<Subscription>{
        "retry_policy.maximum_backoff",
        [](From from, To to) { ApplyPart(from.retry_policy, to.retry_policy, &RetryPolicy::maximum_backoff); }},
    Path<Subscription>{"detached", nullptr},
    Path<Subscription>{"enable_exactly_once_delivery",
                       [](From from, To to) { to.enable_exactly_once_delivery = from.enable_exactly_once_delivery; }},
    Path<Subscription>{"topic_message_retention_duration", nullptr},
    Path<Subscription>{"state", nullptr},
    Path<Subscription>{"analytics_hub_subscription_info", nullptr},
    Path<Subscription>{"tags", nullptr},
};

constexpr std::array kSnapshotPaths = {
    Path<Snapshot>{"name", nullptr},
    Path<Snapshot>{"topic", nullptr},
    Path<Snapshot>{"expire_time", [](const Snapshot& from, Snapshot& to) { to.expire_time = from.expire_time; }},
    Path<Snapshot>{"labels", [](const Snapshot& from, Snapshot& to) { to.labels = from.labels; }},
};

// What differs between the three, for the texts.
struct Kind {
  std::string_view type;          // "Topic"
  std::string_view snake, camel;  // an example of how a path is written and how not
  bool (*unserved)(std::string_view path);
  absl::Status (*check)(std::string_view unknown, std::optional<std::string_view> path);
};

bool NoneUnserved(std::string_view) { return false; }
absl::Status NothingToCheck(std::string_view, std::optional<std::string_view>) { return absl::OkStatus(); }

constexpr Kind kTopic{"Topic", "schema_settings", "schemaSettings", IsUnservedTopicField, CheckTopicFields};
constexpr Kind kSubscription{"Subscription", "push_config", "pushConfig", IsUnservedSubscriptionField,
                             CheckSubscriptionFields};
constexpr Kind kSnapshot{"Snapshot", "expire_time", "expireTime", NoneUnserved, NothingToCheck};

absl::Status BadPath(const Kind& kind, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("Invalid update_mask provided in the Update", kind.type, "Request: ", why));
}

template <typename Resource>
absl::Status ApplyPath(const Kind& kind, std::span<const Path<Resource>> table, std::string_view path,
                       const Resource& from, Resource& to) {
  for (const Path<Resource>& known : table) {
    if (known.name != path) continue;
    if (known.apply == nullptr) {
      return BadPath(kind, StrCat("the '", path, "' field in the ", kind.type, " is not mutable."));
    }
    known.apply(from, to);
    return absl::OkStatus();
  }
  if (kind.unserved(path)) {
    // Cleared, it is what it is already. What lies below it is not looked at.
    if (path.find('.') == std::string_view::npos) return kind.check(from.unknown, path);
    return absl::UnimplementedError(StrCat(kind.type, ".", path, " is not supported yet"));
  }
  return BadPath(
      kind, StrCat("'", path, "' is not a known ", kind.type, " field. Note that field paths must be of the form '",
                   kind.snake, "' rather than '", kind.camel, "'."));
}

template <typename Resource>
absl::Status Apply(const Kind& kind, std::span<const Path<Resource>> table, const UpdateMask& mask,
                   const Resource& from, Resource& to) {
  if (mask.empty()) {
    return absl::InvalidArgumentError(StrCat("The update_mask in the Update", kind.type,
                                             "Request must be set, and must contain a non-empty paths list."));
  }
  for (const std::string& path : mask) {
    if (absl::Status status = ApplyPath(kind, table, path, from, to); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyUpdate(const UpdateTopicRequest& request, Topic& to) {
  return Apply<Topic>(kTopic, kTopicPaths, request.update_mask, request.topic, to);
}

absl::Status ApplyUpdate(const UpdateSubscriptionRequest& request, Subscription& to) {
  return Apply<Subscription>(kSubscription, kSubscriptionPaths, request.update_mask, request.subscription, to);
}

absl::Status ApplyUpdate(const UpdateSnapshotRequest& request, Snapshot& to) {
  return Apply<Snapshot>(kSnapshot, kSnapshotPaths, request.update_mask, request.snapshot, to);
}

}  // namespace hopgap::pubsub
