#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"
#include "trace/path.h"

namespace hopgap::lab {

// Whether a chain could keep up: its backlog (messages due and not yet handled at
// the last hop), as its mean over each of four equal windows of the schedule: at
// an instant it would say where between two batches that instant lies.
//
// Returns the rate at which messages were handled in the last three windows if
// the backlog grew from each to the next by more than kGrowthShare of what arrived
// (and by 3 messages at least): then a latency of this run says how long it ran,
// and nothing of the chain. `paths`: of the messages that were handled, one each.
// Requires: millihertz > 0, slots > 0.
std::optional<double> SaturatedAt(std::span<const trace::Path> paths, uint64_t millihertz, uint64_t slots);

inline constexpr double kGrowthShare = 0.02;
inline constexpr double kGrowthMessagesMin = 3;

}  // namespace hopgap::lab
