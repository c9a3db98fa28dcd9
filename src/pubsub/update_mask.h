#pragma once

#include <absl/status/status.h>

#include "pubsub/requests.h"

namespace hopgap::pubsub {

// Takes over into `to` what the request's update_mask names, and nothing else: a
// path whose value is unset in the body resets the field, a map or message is
// replaced as a whole, a path into a policy changes that part of it only.
//
// InvalidArgument, in the service's words, for a mask that is missing or empty,
// a field that may not change, and a path that names no field (camelCase names
// none). Unimplemented for a value of a field that is not served. `to` is
// unspecified then: update a copy. Ranges are the broker's to check.
absl::Status ApplyUpdate(const UpdateTopicRequest& request, Topic& to);
absl::Status ApplyUpdate(const UpdateSubscriptionRequest& request, Subscription& to);
absl::Status ApplyUpdate(const UpdateSnapshotRequest& request, Snapshot& to);

}  // namespace hopgap::pubsub
