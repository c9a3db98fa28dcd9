#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "report/fit.h"
#include "report/run.h"
#include "stats/interval.h"
#include "trace/path.h"

namespace hopgap::report {

// One stage, summed over a message's hops, as measured and as simulated.
struct PredictedStage {
  std::string stage;
  std::optional<stats::Estimate> measured, simulated;  // medians; unset without a message
  std::optional<Duration> formula;                     // by hand, of means; unset: there is none
  // Median over messages of measured − simulated, in nanoseconds; set where both had the same draws.
  std::optional<int64_t> pair_difference = std::nullopt;
  // Whether the two intervals have a value in common; unset where one has no end.
  std::optional<bool> agrees() const;
  // Whether the difference is at most 0.5 ms, or 3 % of the simulated median; unset without one.
  std::optional<bool> close() const;
};

struct PredictedArm {
  std::string arm;
  uint64_t measured_n = 0, simulated_n = 0;
  std::vector<PredictedStage> stages;  // path stages, until handled, ack
  std::optional<double> saturated_at;  // the simulation could not keep up: then its latencies mean nothing
  std::string note;                    // a sentence under the table, or empty
};

// `formula`: by stage; unset entries of a hand calculation are shown as none.
// `part`: which of the measured messages count. `paired`: a slot is the same
// message in both, with the same draws.
PredictedArm ComparePrediction(const ArmRun& measured, const ArmRun& simulated, FitOptions::Part part,
                               const std::array<Duration, trace::kStages>& formula, bool paired);

// A table an arm. `measured_word` heads the measured column: "measured", "held back".
std::string RenderPrediction(std::span<const PredictedArm> arms, const std::string& measured_word);

}  // namespace hopgap::report
