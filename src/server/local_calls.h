#pragma once

#include <absl/status/statusor.h>

#include <utility>
#include <vector>

#include "pubsub/api.h"
#include "pubsub/bytes.h"

namespace hopgap::server {

struct LocalRequest {
  pubsub::Method method{};
  pubsub::Request request;
};

// Calls the broker as a client does, from inside the process: the same checks,
// the same errors, the same waiting for the journal.
class LocalCalls {
 public:
  virtual ~LocalCalls() = default;

  // The response's bytes once the broker has answered, or its error. Requires:
  // a unary method; not called on the broker's strand.
  absl::StatusOr<pubsub::Bytes> Ask(pubsub::Method method, pubsub::Request request) {
    std::vector<LocalRequest> requests;
    requests.push_back({method, std::move(request)});
    return std::move(AskAll(std::move(requests)).front());
  }
  // All at once, in this order: they wait for the journal together.
  virtual std::vector<absl::StatusOr<pubsub::Bytes>> AskAll(std::vector<LocalRequest> requests) = 0;
};

}  // namespace hopgap::server
