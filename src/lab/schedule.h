#pragma once

#include <cstdint>

#include "base/time.h"

namespace hopgap::lab {

// A constant arrival rate, as k6 spreads it: slot k is due at start + k / rate,
// evenly, from one start, so that no rounding adds up. Every latency runs from
// the slot's due instant, however late the sender is.
class Schedule {
 public:
  // Requires: 0 < millihertz (1/s is 1,000).
  Schedule(uint64_t millihertz, uint64_t slots) : millihertz_(millihertz), slots_(slots) {}

  // The number of slots due in [0, length): one at exactly `length` is not.
  static uint64_t SlotsIn(uint64_t millihertz, Duration length);

  uint64_t slots() const { return slots_; }
  Duration period() const { return DueAfter(1); }
  // Since the start. Exact to the nanosecond (rounded down).
  Duration DueAfter(uint64_t slot) const;

 private:
  uint64_t millihertz_;
  uint64_t slots_;
};

}  // namespace hopgap::lab
