#pragma once

#include <chrono>

#include "base/time.h"

namespace hopgap::report {

// What makes a run invalid, beside any loss, any duplicate, an overflow of the
// recording ring and exactly-once that the stream did not confirm. Documented
// in docs/json.md and printed in the document.
inline constexpr Duration kLateFrom{std::chrono::milliseconds{5}};  // a slot sent later than this is late
inline constexpr double kLateShareMax = 0.01;                       // of all slots
// What the wall clock may move, against the steady one, in a run whose spans
// others wrote: only ours are free of it.
inline constexpr Duration kClockDriftMax{std::chrono::milliseconds{5}};
inline constexpr Duration kLoopStallMax{std::chrono::milliseconds{50}};

}  // namespace hopgap::report
