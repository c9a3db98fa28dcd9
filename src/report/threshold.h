#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/arm_paths.h"
#include "report/run.h"
#include "stats/sample.h"

namespace hopgap::report {

// A promise that a run is held to: a quantile of one arm, or the difference or
// ratio of two arms' quantiles, against a limit.
//
//   eos.until_handled.p95<50ms
//   difference(eos,std).dispatch_gap.p50<=200ms
//   ratio(replay.eos,replay.std).until_handled.p50<2.5
struct Threshold {
  enum class Of : uint8_t { kArm, kDifference, kRatio };
  std::string text;  // as given
  Of of = Of::kArm;
  std::string arm, baseline;  // baseline: of two arms
  Metric metric;              // until_handled and until_acked less the configured work, as in every table
  stats::Probability quantile;
  bool below = true;       // the promise is "less than"
  bool inclusive = false;  // "or equal"
  double limit = 0;        // nanoseconds; of a ratio a plain number
};

// InvalidArgument says which part of `text` is wrong and what it may be.
absl::StatusOr<Threshold> ParseThreshold(std::string_view text);
// InvalidArgument if the run has no such arm, naming those it has.
absl::Status CheckThreshold(const Threshold& threshold, const std::vector<std::string>& arms);

// Judged on the interval and not on the value: it passes when the whole interval
// keeps the promise, fails when none of it does, and is inconclusive otherwise,
// as it is where n gives no limit on that side.
struct Judgement {
  enum class Outcome : uint8_t { kPass, kFail, kInconclusive };
  Threshold threshold;
  Outcome outcome = Outcome::kInconclusive;
  std::optional<double> value, low, high;  // in the unit of the limit; may be infinite
  uint64_t n = 0;                          // messages, of two arms the fewer
  std::string why;                         // of an inconclusive one
};
// Requires: CheckThreshold() was ok.
Judgement Judge(const Threshold& threshold, const Run& run);

std::string_view OutcomeName(Judgement::Outcome outcome);  // "pass", "fail", "inconclusive"
// "PASS  eos.until_handled.p95<50ms: 34.4 ms [33.9 ms, no upper limit], n = 31".
std::string RenderJudgement(const Judgement& judgement);

}  // namespace hopgap::report
