#pragma once

#include <cstdint>
#include <map>

#include "base/time.h"

// What the checkers write down of seeks and snapshots.
namespace hopgap::sim {

using MessageId = uint64_t;

// What a seek makes of a message, if it is done.
struct SeekEffect {
  enum class What : uint8_t { kNothing, kPast, kBack, kUnclear };
  What what = What::kUnclear;
  uint32_t deliveries = 0, touches = 0;  // when it came
};

struct SnapshotBook {
  Instant made = kNever;               // when its creation was answered
  bool leaving = false, gone = false;  // as of a subscription
  Instant left_at = kNever;            // its deletion was answered
  std::map<MessageId, bool> unacked;   // of what is known for certain
};

}  // namespace hopgap::sim
