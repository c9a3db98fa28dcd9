#include "report/differences.h"

#include <map>
#include <string>
#include <utility>

namespace hopgap::report {
namespace {

using trace::Path;
using trace::Stage;

struct Pair {
  const Path* arm = nullptr;  // nullptr: not finished there
  const Path* baseline = nullptr;
};

// Every slot that either arm finished, by slot.
std::map<uint64_t, Pair> PairBySlot(const Paths& arm, const Paths& baseline) {
  std::map<uint64_t, Pair> pairs;
  for (const Path* path : arm) pairs[path->slot].arm = path;
  for (const Path* path : baseline) pairs[path->slot].baseline = path;
  return pairs;
}

int64_t Handled(const Path& path) { return path.until_handled.count(); }
int64_t Acked(const Path& path) { return path.until_acked ? path.until_acked->count() : stats::kInfinite; }

struct Sides {
  const ArmSummary& arm;
  const ArmSummary& baseline;
  bool sampled;  // then a missing path is unknown, not unfinished
};

Difference Named(const Sides& sides, std::string stage) {
  Difference out;
  out.group = sides.arm.run.group;
  out.arm = sides.arm.run.name;
  out.baseline = sides.baseline.run.name;
  out.stage = std::move(stage);
  return out;
}

Difference CompareWhole(const std::map<uint64_t, Pair>& by_slot, const Sides& sides, std::string stage,
                        int64_t (*of)(const Path&)) {
  Difference out = Named(sides, std::move(stage));
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const auto& [slot, pair] : by_slot) {
    if (!pair.arm && (sides.sampled || sides.arm.unfinished == 0)) continue;
    if (!pair.baseline && (sides.sampled || sides.baseline.unfinished == 0)) continue;
    pairs.emplace_back(pair.arm ? of(*pair.arm) : stats::kInfinite,
                       pair.baseline ? of(*pair.baseline) : stats::kInfinite);
  }
  out.pairs = stats::ComparePairs(pairs);
  return out;
}

Difference CompareStage(const std::map<uint64_t, Pair>& by_slot, const Sides& sides, Stage stage) {
  Difference out = Named(sides, std::string(trace::StageKey(stage)));
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const auto& [slot, pair] : by_slot) {
    if (!pair.arm || !pair.baseline) continue;
    const trace::StageTime arm = pair.arm->StageTimeSum(stage);
    const trace::StageTime baseline = pair.baseline->StageTimeSum(stage);
    pairs.emplace_back(arm.length.count(), baseline.length.count());
    out.added += arm.added - baseline.added;
    out.waited += arm.waited - baseline.waited;
  }
  out.pairs = stats::ComparePairs(pairs);
  return out;
}

}  // namespace

void SetDifferences(const std::vector<Paths>& paths, Summary& summary) {
  if (summary.spans_only && !summary.spans_only->paired) return;
  for (size_t i = 0; i < summary.arms.size(); ++i) {
    const ArmSummary& arm = summary.arms[i];
    const ArmSummary* baseline = summary.Baseline(arm.run.group);
    if (baseline == &arm) continue;
    const auto b = static_cast<size_t>(baseline - summary.arms.data());
    const Sides sides{arm, *baseline, summary.is_sample};
    const std::map<uint64_t, Pair> by_slot = PairBySlot(paths[i], paths[b]);
    summary.differences.push_back(CompareWhole(by_slot, sides, "until_handled", Handled));
    summary.differences.push_back(CompareWhole(by_slot, sides, "until_acked", Acked));
    for (int stage = 0; stage < trace::kStages; ++stage) {
      summary.differences.push_back(CompareStage(by_slot, sides, static_cast<Stage>(stage)));
    }
  }
}

}  // namespace hopgap::report
