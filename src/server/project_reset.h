#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

#include "server/local_calls.h"

namespace hopgap::server {

// Deletes all subscriptions, snapshots and topics of a project, as a client
// would that lists them; answers how many, once that is durable. What clients
// create meanwhile may stay. Requires: not called on the broker's strand.
absl::StatusOr<uint64_t> ResetProject(const std::string& project, LocalCalls& broker);

}  // namespace hopgap::server
