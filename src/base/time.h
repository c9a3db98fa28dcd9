#pragma once

#include <chrono>
#include <cstdint>

namespace hopgap {
inline namespace base {

// Tags without now(), so that logic cannot read a clock through these types,
// and so that steady minus wall does not compile.
struct SteadyTimeline {};
struct WallTimeline {};

using Duration = std::chrono::nanoseconds;
using Instant = std::chrono::time_point<SteadyTimeline, Duration>;  // leases, latencies
using WallTime = std::chrono::time_point<WallTimeline, Duration>;   // publish_time, spans

inline constexpr Instant kNever{Duration::max()};

// One reading of both clocks, taken once per process. Every wall time that
// leaves the process is anchor + steady difference, so that a step of the wall
// clock can never bend a stage.
struct ClockAnchor {
  Instant steady;
  WallTime wall;

  WallTime ToWall(Instant at) const { return wall + (at - steady); }
  Instant ToSteady(WallTime at) const { return steady + (at - wall); }
};

constexpr int64_t ToNanos(Instant at) { return at.time_since_epoch().count(); }
constexpr int64_t ToNanos(WallTime at) { return at.time_since_epoch().count(); }
constexpr Instant InstantFromNanos(int64_t ns) { return Instant{Duration{ns}}; }

// Milliseconds with a fraction, for text and JSON only: logic stays integer.
constexpr double ToMillis(Duration d) { return static_cast<double>(d.count()) / 1e6; }

}  // namespace base
}  // namespace hopgap
