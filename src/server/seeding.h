#pragma once

#include <absl/status/statusor.h>

#include "formats/seed_file.h"
#include "server/local_calls.h"

namespace hopgap::server {

struct Seeded {
  size_t topics = 0, subscriptions = 0, messages = 0;  // made now
  size_t found = 0;                                    // topics and subscriptions that were there already
};

// Creates what the seed holds, as a client would: first all topics, then all
// subscriptions, then the messages of those topics that it created itself.
//
// What exists already must have the values that the seed gives; other fields may
// differ. The first entry that fails ends it, and what came before stays. The
// error is the broker's, with the line and the entry in front; FailedPrecondition
// for what exists and differs. Requires: not called on the broker's strand.
absl::StatusOr<Seeded> ApplySeed(const formats::Seed& seed, LocalCalls& broker);

}  // namespace hopgap::server
