#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/asked_work.h"
#include "report/run.h"
#include "stats/sample.h"
#include "trace/path.h"

namespace hopgap::report {

// The paths of one arm that count, by slot; the run outlives them.
using Paths = std::vector<const trace::Path*>;

// What every figure of an arm is made of.
struct ArmPaths {
  Paths paths;                 // one a message (the one handled first), without the warm-up
  uint64_t warm_up = 0;        // messages that the warm-up rule leaves out
  uint64_t unfinished = 0;     // sent, not handled at the last hop: +infinity in both wholes
  bool acks_may_lack = false;  // of spans alone nobody knows whether an ack that is not there ever came
};
ArmPaths Count(const ArmRun& arm, const Run& run);

// By until handled less the work that was asked for; equals by slot.
Paths ByLength(const Paths& paths, const AskedWork& work);

// What can be asked of a message: a whole, less the configured work of all
// hops, or a stage summed over the hops.
struct Metric {
  enum class Kind : uint8_t { kUntilHandled, kUntilAcked, kStage };
  Kind kind = Kind::kUntilHandled;
  trace::Stage stage = trace::Stage::kSendLateness;  // of kStage

  friend bool operator==(const Metric&, const Metric&) = default;
};
std::string MetricKey(const Metric& metric);  // "until_handled", "dispatch_gap"
std::vector<Metric> AllMetrics();             // the wholes, then the stages
int64_t ValueOf(const trace::Path& path, const Metric& metric, const AskedWork& work);  // may be stats::kInfinite
stats::Sample SampleOf(const ArmPaths& counted, const Metric& metric, const AskedWork& work);

}  // namespace hopgap::report
