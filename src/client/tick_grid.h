#pragma once

#include "base/check.h"
#include "base/time.h"

namespace hopgap::client {

// The instants origin + k * tick. A ticker is this arithmetic and no timer: an
// idle one costs no wake-up.
class TickGrid {
 public:
  // Requires: tick > 0.
  TickGrid(Instant origin, Duration tick) : origin_(origin), tick_(tick) {
    HOPGAP_CHECK(tick.count() > 0, "a ticker without a period");
  }

  Instant AtOrBefore(Instant at) const {
    const int64_t distance = (at - origin_).count();
    int64_t k = distance / tick_.count();
    if (distance % tick_.count() < 0) --k;
    return origin_ + k * tick_;
  }
  Instant After(Instant at) const { return AtOrBefore(at) + tick_; }
  Instant AtOrAfter(Instant at) const { return After(at - Duration{1}); }

 private:
  Instant origin_;
  Duration tick_;
};

}  // namespace hopgap::client
