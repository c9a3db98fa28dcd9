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
  // Whether the two intervals have a value in common; unset where one has no end.
  std::optional<bool> agrees() const;
};

struct PredictedArm {
  std::string arm;
  uint64_t measured_n = 0, simulated_n = 0;
  std::vector<PredictedStage> stages;  // path stages, until handled, ack
  std::optional<double> saturated_at;  // the simulation could not keep up: then its latencies mean nothing
  std::string note;                    // a sentence under the table, or empty
};

// `formula`: by stage; unset entries of a hand calculation are shown as none.
// `part`: which of the measured messages count.
PredictedArm ComparePrediction(const ArmRun& measured, const ArmRun& simulated, FitOptions::Part part,
                               const std::array<Duration, trace::kStages>& formula);

// A table an arm. `measured_word` heads the measured column: "measured", "held back".
std::string RenderPrediction(std::span<const PredictedArm> arms, const std::string& measured_word);

}  // namespace hopgap::report
