#include "base/system_clock.h"

#include <ctime>

namespace hopgap {
inline namespace base {
namespace {

Duration Read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

}  // namespace

Instant SteadyNow() { return Instant{Read(CLOCK_MONOTONIC)}; }
WallTime WallNow() { return WallTime{Read(CLOCK_REALTIME)}; }

ClockAnchor ReadAnchor() { return {.steady = SteadyNow(), .wall = WallNow()}; }

}  // namespace base
}  // namespace hopgap
