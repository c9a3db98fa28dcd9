#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <vector>

#include "broker/delays.h"
#include "report/sweep.h"

namespace hopgap::cli {

inline constexpr size_t kSweepCellsMax = 10'000;
inline constexpr uint64_t kSweepCellMessagesMax = 1'000'000;
inline constexpr int kSweepRepeatsMax = 100;
inline constexpr char kSweepFile[] = "sweep.jsonl";

struct Sweep {
  report::SweepPlan plan;
  broker::Profile profile;
  std::vector<report::SweepCell> cells;  // settings; results are filled in
  std::string out;                       // a folder whose kSweepFile keeps every cell as it is done; empty: none
  unsigned threads = 1;
  std::function<std::string()> stop_asked;
  // Called under a lock, as each cell is done.
  std::function<void(size_t done, const report::SweepCell& cell)> on_cell;
};

// About how long the cells of a live sweep take, one after the other.
// InvalidArgument, naming the cell, if one is too large to be run.
absl::StatusOr<Duration> LiveLength(const Sweep& sweep);

// Simulates (or runs, one after the other) every cell that the folder does not have
// yet, in an order drawn from the seed; simulated ones a thread each. Returns why it ended early, or empty.
// FailedPrecondition if the folder holds a sweep of another plan.
absl::StatusOr<std::string> RunSweep(Sweep& sweep);

// What `folder` holds of a sweep, its cells in the order of their settings.
// NotFound or InvalidArgument, naming the file and what writes one.
struct KeptSweep {
  report::SweepPlan plan;
  std::vector<report::SweepCell> cells;
};
absl::StatusOr<KeptSweep> ReadSweep(const std::string& folder);

// Where `run` stands on a map. InvalidArgument if nothing tells.
absl::StatusOr<report::SweepHere> HereOf(const report::Run& run, const std::string& name);

}  // namespace hopgap::cli
