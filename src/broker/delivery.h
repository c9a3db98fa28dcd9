#pragma once

#include <cstdint>
#include <optional>

#include "broker/broker.h"
#include "broker/journal_record.h"

namespace hopgap::broker {

struct KeyLine;

// What one subscription knows of one message that it has not finished with.
struct Delivery {
  enum class State : uint8_t {
    kUncommitted,  // published, on its way to the journal
    kDelayed,      // an added delay holds it
    kReady,
    kAwaitsBound,       // exactly-once: the send bound is not above it yet
    kAwaitsGeneration,  // exactly-once: its next generation is to be committed
    kCommitting,        // ... and is on its way to the journal
    kLeased,
    kAckPending,     // exactly-once: its ack is on its way; keeps its lease
    kAckedEarly,     // standard: acked before one of its ordering key that was sent earlier
    kReturning,      // its lease has just ended without an ack
    kDeadLettering,  // it is on its way to the dead-letter topic
  };
  State state = State::kUncommitted;
  bool generation_unsent = false;    // committed ahead, and not written yet
  bool receipt_seen = false;         // of this generation
  bool held_after_restart = false;   // leased to whoever had it before a crash
  bool returned = false;             // Returned knows more
  Generation generation = 0;         // of the newest delivery; 0: never sent
  Generation nacked = 0;             // the newest generation that was nacked; a checkpoint keeps it
  std::optional<StreamId> stream{};  // of the newest delivery
  uint64_t response = 0;
  uint32_t deliver_draws = 0, modack_draws = 0, ack_draws = 0;
  uint32_t bytes = 0;
  KeyLine* line = nullptr;  // of its ordering key, where that counts
};

// How a lease ended without an ack.
enum class LeaseEnd : uint8_t {
  kExpired,
  kNacked,
  kRevoked,    // one of its ordering key that was sent earlier came back
  kHoldEnded,  // of who had it before a restart
  kSought,     // a seek made its key start again
};

// What is remembered of a message that came back at least once.
struct Returned {
  uint32_t failures = 0;  // nacks and expired leases: delivery_attempt is one more
  LeaseEnd how = LeaseEnd::kExpired;
  Instant at{};  // when its newest lease ended
};

// A waiting unary Pull.
struct WaitingPull {
  CallId call{};
  size_t messages_max = 0;
  bool immediately = false;  // waits at most for a commit that is under way
};

}  // namespace hopgap::broker
