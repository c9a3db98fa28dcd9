#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <string>

#include "base/time.h"
#include "cli/prediction.h"
#include "report/run.h"

namespace hopgap::cli {

// How many events a chain that is run may record, 64 bytes each.
inline constexpr uint64_t kMeasuredEventsMax = 20'000'000;

// ResourceExhausted if `chain` would record more than that.
absl::Status CheckMeasurable(const VirtualChain& chain);

// About how long Measure() takes: the schedule, and what opening and draining take.
Duration LengthToMeasure(const VirtualChain& chain);

// The chain, really run: real gRPC on loopback, and a broker in this process that
// adds the profile's delays. `saturated_at` as Predict() sets it, and a verdict.
// A chain that is `alone` runs as processes, which are started for each message.
// `stop_asked` may be empty; what it returns ends the run, which is Cancelled.
// One at a time: chains that run side by side disturb each other.
absl::StatusOr<report::ArmRun> Measure(const VirtualChain& chain, const std::function<std::string()>& stop_asked);

}  // namespace hopgap::cli
