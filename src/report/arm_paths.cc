#include "report/arm_paths.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hopgap::report {
namespace {

using trace::Path;

WallTime WhenHandled(const Path& path) { return path.scheduled + path.until_handled; }

bool InWarmUp(const Path& path, const Configuration& c) {
  if (c.warm_up <= Duration{0} || c.rate_per_second <= 0) return false;
  const double seconds = static_cast<double>(path.slot) / c.rate_per_second;
  return seconds * 1e9 < static_cast<double>(c.warm_up.count());
}

// Of a sample the unfinished ones are thinned alike, rounded up: a run that lost
// one may not look whole.
uint64_t Unfinished(const ArmRun& arm, const Run& run) {
  if (run.ended_early || arm.sent <= arm.completed) return 0;
  const uint64_t missing = arm.sent - arm.completed;
  const Configuration& c = run.configuration;
  if (!run.is_sample || c.spans_of >= c.spans_total) return missing;
  return (missing * c.spans_of + c.spans_total - 1) / c.spans_total;
}

}  // namespace

ArmPaths Count(const ArmRun& arm, const Run& run) {
  ArmPaths out;
  out.unfinished = Unfinished(arm, run);
  out.acks_may_lack = run.spans_only.has_value();
  Paths& paths = out.paths;
  for (const Path& path : arm.paths) paths.push_back(&path);
  std::stable_sort(paths.begin(), paths.end(), [](const Path* a, const Path* b) {
    return std::tuple(a->slot, a->trace_hi, a->trace_lo, WhenHandled(*a)) <
           std::tuple(b->slot, b->trace_hi, b->trace_lo, WhenHandled(*b));
  });
  const auto same = [](const Path* a, const Path* b) {
    return a->slot == b->slot && a->trace_hi == b->trace_hi && a->trace_lo == b->trace_lo;
  };
  paths.erase(std::unique(paths.begin(), paths.end(), same), paths.end());
  const size_t before = paths.size();
  std::erase_if(paths, [&run](const Path* path) { return InWarmUp(*path, run.configuration); });
  out.warm_up = before - paths.size();
  return out;
}

Paths ByLength(const Paths& paths, const AskedWork& work) {
  std::vector<std::pair<Duration, const Path*>> order;
  order.reserve(paths.size());
  for (const Path* path : paths) order.emplace_back(path->until_handled - work.Of(*path), path);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Paths out;
  out.reserve(order.size());
  for (const auto& [length, path] : order) out.push_back(path);
  return out;
}

std::string MetricKey(const Metric& metric) {
  switch (metric.kind) {
    case Metric::Kind::kUntilHandled: return "until_handled";
    case Metric::Kind::kUntilAcked: return "until_acked";
    case Metric::Kind::kStage: break;
  }
  return std::string(trace::StageKey(metric.stage));
}

std::vector<Metric> AllMetrics() {
  std::vector<Metric> out = {{Metric::Kind::kUntilHandled}, {Metric::Kind::kUntilAcked}};
  for (int i = 0; i < trace::kStages; ++i) out.push_back({Metric::Kind::kStage, static_cast<trace::Stage>(i)});
  return out;
}

int64_t ValueOf(const Path& path, const Metric& metric, const AskedWork& work) {
  switch (metric.kind) {
    case Metric::Kind::kUntilHandled: return (path.until_handled - work.Of(path)).count();
    case Metric::Kind::kUntilAcked:
      return path.until_acked ? (*path.until_acked - work.Of(path)).count() : stats::kInfinite;
    case Metric::Kind::kStage: break;
  }
  return path.StageSum(metric.stage).count();
}

stats::Sample SampleOf(const ArmPaths& counted, const Metric& metric, const AskedWork& work) {
  std::vector<int64_t> values;
  values.reserve(counted.paths.size());
  for (const Path* path : counted.paths) {
    if (metric.kind == Metric::Kind::kUntilAcked && !path->until_acked && counted.acks_may_lack) continue;
    values.push_back(ValueOf(*path, metric, work));
  }
  return stats::Sample(std::move(values), metric.kind == Metric::Kind::kStage ? 0 : counted.unfinished);
}

}  // namespace hopgap::report
