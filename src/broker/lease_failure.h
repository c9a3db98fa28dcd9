#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"

namespace hopgap::broker {

// Why an id of an exactly-once ack or modack failed. A value; the numbers of Why
// are in trace events (`count` of kAckCommitted and kLeaseApplied), 0 for none.
struct LeaseFailure {
  enum class Why : uint16_t {
    kMalformed = 1,      // not an id that this broker made
    kOtherSubscription,  // of another subscription, or an earlier one of this name
    kExpired,            // the newest delivery's, and its lease had run out
    kNacked,             // ... had been nacked
    kRevoked,            // ... ended because one of its ordering key that was sent earlier came back
    kHoldEnded,          // ... was held for its receiver after a restart, long enough
    kSought,             // ... was void after a seek, or its end was forgotten in a restart
    kSuperseded,         // the message has been delivered again since
    kFinished,           // acked by another delivery, dead-lettered, sought past, or too old
    kUnordered,          // acked before one of its ordering key that was sent earlier; may be tried again
    kPlanned = 100,      // the admin API asked for it
  };
  Why why = Why::kMalformed;
  bool ack = true;  // else a modack
  std::string ack_id;
  std::string subscription;     // its name
  std::string message_id;       // empty once the message is gone
  uint32_t generation = 0;      // which delivery of the message the id names, from 1; 0: none
  uint32_t newest = 0;          // the newest delivery of the message; 0: it is gone
  std::optional<Duration> ago;  // since its lease ended, where that is known
};

// One sentence: "ack id X of message 17: its lease expired 2.000 s ago".
std::string Describe(const LeaseFailure& failure);

}  // namespace hopgap::broker
