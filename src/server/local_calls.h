#pragma once

#include <absl/status/statusor.h>

#include "pubsub/api.h"
#include "pubsub/bytes.h"

namespace hopgap::server {

// Calls the broker as a client does, from inside the process: the same checks,
// the same errors, the same waiting for the journal.
class LocalCalls {
 public:
  virtual ~LocalCalls() = default;

  // The response's bytes once the broker has answered, or its error. Requires:
  // a unary method; not called on the broker's strand.
  virtual absl::StatusOr<pubsub::Bytes> Ask(pubsub::Method method, pubsub::Request request) = 0;
};

}  // namespace hopgap::server
