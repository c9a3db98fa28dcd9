#pragma once

#include <algorithm>
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
  Generation journaled = 0;          // the newest generation that the journal's records name
  Generation nacked = 0;             // ... and the newest that they call nacked
  std::optional<StreamId> stream{};  // of the newest delivery
  uint64_t response = 0;
  uint32_t deliver_draws = 0, modack_draws = 0, ack_draws = 0;
  uint32_t bytes = 0;
  KeyLine* line = nullptr;  // of its ordering key, where that counts

  // Of what was sent: the journal never names a first delivery.
  Generation NewestJournaled() const { return std::max(Generation{1}, journaled); }
  // The journal has, or gets, a record of this nack.
  void NoteNack(Generation which) {
    nacked = which;
    journaled = std::max(journaled, which);
  }
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
  uint32_t failures = 0;   // nacks and expired leases: delivery_attempt is one more
  uint32_t journaled = 0;  // how many of them the journal's records name
  Generation failed = 0;   // ... and what they name as the newest one that had failed by then
  LeaseEnd how = LeaseEnd::kExpired;
  Instant at{};  // when its newest lease ended
};

// Acks or modacks that are to fail because the admin API asked for it.
struct PlannedFailures {
  uint32_t times = 0;
  bool permanent = false;
};

// The generation that a finished message had: what its next one has to be above,
// if it comes back to life. Two, as the journal does not hear of every standard delivery.
struct Won {
  Generation generation = 1;
  Generation journaled = 1;
};

// The end of a message that is on its way to the journal, and will be there
// before whatever else is said of it.
struct UnderWay {
  Generation generation = 0;
  bool acked = false;
  bool kept = false;  // for a seek, by what held when its record was made and holds since
};

// A waiting unary Pull.
struct WaitingPull {
  CallId call{};
  size_t messages_max = 0;
  bool immediately = false;  // waits at most for a commit that is under way
};

}  // namespace hopgap::broker
