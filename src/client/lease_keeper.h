#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "client/distribution.h"
#include "client/model.h"

namespace hopgap::client {

// The leases of one stream's messages and how long they are asked for.
//
// The library's lease timer ticks on, whether or not there is something to
// extend: first 5 s after the start, then 5 s before the deadline it just
// asked for. Here a tick without leases is reckoned, not waited for. Other
// models tick at random parts of a deadline, or for each message (LeaseTimer).
class LeaseKeeper {
 public:
  // `model` outlives it; `seed` is for LeaseTimer::kRandom.
  LeaseKeeper(const Model& model, Instant start, uint64_t seed = 0);

  // True if this changed it.
  bool SetExactlyOnce(Instant now, bool exactly_once);
  bool exactly_once() const { return exactly_once_; }

  void Add(Instant now, uint64_t delivery, Instant end);
  void Remove(uint64_t delivery);
  bool empty() const { return ends_.empty(); }

  void AddAckTime(Duration taken);
  // What the next modack asks for: the percentile of the ack times, at least
  // the minimum of the subscription's kind.
  int32_t deadline_seconds() const;

  struct Tick {
    std::vector<uint64_t> extend;     // in order of receipt; kEachMessage: of what is due
    std::vector<uint64_t> abandoned;  // beyond max_extension; forgotten here
  };
  // Nullopt before the tick and when there are no leases.
  std::optional<Tick> TakeTick(Instant now);
  std::optional<Instant> NextTick() const;

 private:
  Duration Period() const;
  Duration RandomPart();
  void SkipIdleTicks(Instant now);
  Tick TakeEach(Instant now);
  void SetDue(uint64_t delivery, Instant due);

  const Model& model_;
  uint64_t seed_;
  uint64_t drawn_ = 0;
  AckTimeDistribution ack_times_;
  int32_t percentile_seconds_ = 0;
  bool exactly_once_ = false;
  Instant tick_;
  std::map<uint64_t, Instant> ends_;  // ordered: the order of ids in a call is an action
  // kEachMessage: when each lease is extended. Both hold the same.
  std::map<uint64_t, Instant> due_;
  std::set<std::pair<Instant, uint64_t>> by_due_;
};

}  // namespace hopgap::client
