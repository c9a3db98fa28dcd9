#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"

namespace hopgap::broker {

enum class ResponsePolicy : uint8_t;

// What a test may ask of a broker that no client of Pub/Sub can: docs/admin.md.

// Ends the lease of one message, or of all, as if its deadline were now.
struct ExpireLeases {
  std::string subscription;
  std::string message_id;  // empty: all
};
// The next `times` acks or modacks (by call, or in one request of a stream) fail
// and change nothing. 0: none any more.
struct FailNext {
  static constexpr uint32_t kTimesMax = 1'000'000;
  std::string subscription;
  bool ack = true;  // else modacks, nacks included
  bool permanent = false;
  uint32_t times = 1;
};
// Nothing is written to the subscription's streams for so long. 0: go on.
struct PauseStreams {
  static constexpr Duration kLengthMax = std::chrono::hours{1};
  std::string subscription;
  Duration length{0};
};
// Ends the subscription's streams with UNAVAILABLE, as the service does now and then.
struct RecycleStreams {
  std::string subscription;
};
// For all subscriptions, from the next response on.
struct SetResponses {
  static constexpr size_t kMessagesMax = 1000;
  std::optional<size_t> messages_max;
  std::optional<ResponsePolicy> policy;
};
using AdminRequest = std::variant<ExpireLeases, FailNext, PauseStreams, RecycleStreams, SetResponses>;

// Who has what, and who waits for it.
struct LeaseReport {
  static constexpr size_t kLeasesMax = 10'000;
  static constexpr size_t kKeysMax = 1'000;
  struct Lease {
    std::string message_id, ordering_key, ack_id;
    uint32_t generation = 0;  // which delivery of the message this is, from 1
    Duration remaining{0};
    std::optional<uint64_t> stream;   // unset: pulled, or held since a restart
    bool held_after_restart = false;  // leased to whoever had it before
  };
  // The earliest unacked message of an ordering key, where others wait for it.
  struct BlockedKey {
    std::string ordering_key, message_id;
    std::string state;  // of that message: "leased", "ready", ...
    size_t waiting = 0;
  };
  std::string subscription;
  size_t unacked = 0, ready = 0, streams = 0;
  std::vector<Lease> leases;  // in the order of publishing
  std::vector<BlockedKey> blocked;
  bool truncated = false;  // by one of the limits above
};

}  // namespace hopgap::broker
