#pragma once

#include <absl/status/status.h>

#include "base/time.h"
#include "pubsub/resources.h"

// What a resource may say, whoever says it: create, update, a file of seeds. Only
// what can be told from the value itself; names and what they name are the
// caller's. Errors are InvalidArgument in the service's words and name field,
// value and limit.
namespace hopgap::broker {

absl::Status CheckTopic(const pubsub::Topic& topic);

// Also fills in what 0 stands for: the ack deadline (by kind of delivery) and
// the delivery attempts.
absl::Status CheckSubscription(pubsub::Subscription& subscription);

// An expiry that was asked for: later than `now`, by no more than a snapshot's
// lifetime.
absl::Status CheckSnapshot(const pubsub::Snapshot& snapshot, WallTime now);

}  // namespace hopgap::broker
