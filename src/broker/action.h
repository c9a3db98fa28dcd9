#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "broker/journal.h"
#include "pubsub/bytes.h"

namespace hopgap::broker {

enum class CallId : uint64_t {};    // a unary call in flight, named by the adapter, never reused
enum class StreamId : uint64_t {};  // an open StreamingPull, likewise

// What the adapter has to do, in order. A call that was cancelled gets no reply.
struct Action {
  enum class Kind : uint8_t {
    kReply,        // finish `call` with `status`, `details` (google.rpc.Status bytes) or `payload`
    kWrite,        // write `payload` to `stream`; answer with OnWriteDone() when the transport took it
    kCloseStream,  // finish `stream` with `status`; never comes while a write is in flight
    kPersist,      // append `records`; answer with OnPersisted(token) when they are durable
  };
  Kind kind = Kind::kReply;
  CallId call{};
  StreamId stream{};
  absl::Status status{};
  std::string details{};
  pubsub::Slices payload{};
  PersistToken token = 0;
  bool awaited = false;
  std::vector<pubsub::Slices> records{};
};
using Actions = std::vector<Action>;

}  // namespace hopgap::broker
