#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace hopgap::lab {

// How a schedule's slots lie in time. Equal values and seeds give equal slots on
// every machine.
struct Arrival {
  enum class Kind : uint8_t {
    kConstant,  // evenly spread, as k6's constant-arrival-rate
    kPoisson,   // independent, exponentially distributed gaps
    kRamp,      // the rate rises or falls linearly, as k6's ramping-arrival-rate
    kBursts,    // so many slots at one rate, then silence, and again
  };
  Kind kind = Kind::kConstant;
  // Of a ramp: its rates at the first slot and at the end. Of bursts: both the rate within one.
  uint64_t from_millihertz = 0, to_millihertz = 0;
  uint64_t seed = 0;   // of the gaps of kPoisson
  uint64_t burst = 0;  // of kBursts: slots of each
  Duration gap{0};     // of kBursts: from the last slot of one to the first of the next

  // Requires: millihertz > 0, burst > 0, gap > 0.
  static Arrival Bursts(uint64_t millihertz, uint64_t burst, Duration gap);
  // The mean rate of bursts, at least 1 (0.001/s).
  uint64_t MeanOfBursts() const;
  // The highest rate of a schedule with this mean rate.
  uint64_t Highest(uint64_t millihertz) const { return std::max({millihertz, from_millihertz, to_millihertz}); }
  // Whether the slot is the first after a silence; slot 0 has none before it.
  bool AfterSilence(uint64_t slot) const { return burst > 0 && slot > 0 && slot % burst == 0; }
};

// When each slot is due. At a constant rate slot k is due at start + k / rate,
// evenly, from one start, so that no rounding adds up; a Poisson process is seen
// from one of its arrivals: slot 0 is due at the start. Every latency runs from
// the slot's due instant, however late the sender is.
class Schedule {
 public:
  // Requires: 0 < millihertz (1/s is 1,000), the mean rate; both rates of a ramp
  // > 0, and millihertz their mean; of bursts MeanOfBursts(). Poisson's slots are a table: 8 bytes each.
  Schedule(uint64_t millihertz, uint64_t slots, const Arrival& arrival = {});

  // The number of slots due in [0, length): one at exactly `length` is not. At
  // most `most` + 1 are counted.
  static uint64_t SlotsIn(uint64_t millihertz, Duration length);
  static uint64_t SlotsIn(uint64_t millihertz, const Arrival& arrival, Duration length, uint64_t most);

  uint64_t slots() const { return slots_; }
  Duration period() const { return DueAfter(1); }
  // Since the start. Exact to the nanosecond (rounded down) at a constant rate and in bursts.
  // Requires: slot <= slots() unless the rate is constant or comes in bursts.
  Duration DueAfter(uint64_t slot) const;

 private:
  uint64_t millihertz_;
  uint64_t slots_;
  Arrival arrival_;
  std::vector<Duration> drawn_;  // of kPoisson, by slot
};

// The first instant from `earliest` on at which slot 0 of a run may be due. All of
// them lie alike to the 100 ms grid of the clients' tickers, so that a message
// meets the same part of a tick whether it is run or simulated.
Instant FirstSlotFrom(Instant earliest);

}  // namespace hopgap::lab
