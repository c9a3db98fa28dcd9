#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "pubsub/bytes.h"

namespace hopgap::pubsub {

// Resource values with their wire form, which is the same on the wire and in
// the journal. Fields that a later version of hopgap (or of the service) wrote
// are kept in `unknown` as they stood, so that a journal survives a downgrade.

struct Topic {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string unknown;
};

struct Subscription {
  std::string name;
  std::string topic;                 // "_deleted-topic_" once it is gone
  int32_t ack_deadline_seconds = 0;  // 0 asks for the default
  std::map<std::string, std::string> labels;
  bool enable_exactly_once_delivery = false;
  std::string unknown;
};

std::string Encode(const Topic& topic);
// As the service shows it: with the defaults a plain pull subscription has
// (retention 7 d, expiration 31 d, empty push_config, state ACTIVE, and 10 or,
// exactly-once, 60 for an ack deadline of 0); without `unknown`, which has no
// effect here.
std::string EncodeForDisplay(const Subscription& subscription);
std::string Encode(const Subscription& subscription);

// From a request. InvalidArgument for malformed bytes. Unimplemented
// "Subscription.filter is not supported yet" for a known field that is set to
// anything but its default and is not served. Dropped without a word, as the
// service does: what only the service sets (state, satisfies_pzs, ...) and
// numbers of no known field. Ranges and names are the broker's to check.
absl::StatusOr<Topic> TopicFromRequest(std::string_view wire);
absl::StatusOr<Subscription> SubscriptionFromRequest(std::string_view wire);

// From the journal: unknown fields are kept. InvalidArgument for malformed
// bytes.
absl::StatusOr<Topic> DecodeTopic(std::string_view wire);
absl::StatusOr<Subscription> DecodeSubscription(std::string_view wire);

}  // namespace hopgap::pubsub
