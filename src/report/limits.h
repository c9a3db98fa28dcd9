#pragma once

#include <chrono>

#include "base/time.h"

namespace hopgap::report {

// What makes a run invalid, beside any loss, any duplicate, an overflow of the
// recording ring and exactly-once that the stream did not confirm. Documented
// in docs/json.md and printed in the document.
inline constexpr Duration kLateFrom{std::chrono::milliseconds{5}};  // a slot sent later than this is late
inline constexpr double kLateShareMax = 0.01;                       // of all slots
inline constexpr Duration kLoopStallMax{std::chrono::milliseconds{50}};

}  // namespace hopgap::report
