#include "report/page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "report/arm_paths.h"
#include "report/layout.h"
#include "report/sections.h"

namespace hopgap::report {
namespace {

using stats::Probability;
using trace::Path;

struct Quantile {
  const char* label;
  Probability p;
};
constexpr Quantile kCompositions[] = {{"p50", stats::kP50}, {"p90", stats::kP90}, {"p99", stats::kP99}};
constexpr double kNear = 0.025;  // of n, to either side

Duration Less(const Path& path, const AskedWork& work) { return path.until_handled - work.Of(path); }

// 0-based index of the message at a quantile: the lower neighbour, one that happened.
size_t IndexOf(size_t n, Probability p) {
  return static_cast<size_t>((n - 1) * uint64_t{p.parts} / Probability::kWhole);
}

// Whether a quantile says more than the largest value does.
bool Supported(size_t n, Probability p) {
  return p <= stats::kP50 || n * uint64_t{Probability::kWhole - p.parts} >= Probability::kWhole;
}

Curve MakeCurve(const Paths& by_length, uint64_t unfinished, const AskedWork& work) {
  Curve out;
  out.unfinished = unfinished;
  out.n = by_length.size() + unfinished;
  if (out.n == 0) return out;
  out.band = stats::DistributionBand(out.n);
  const size_t n = by_length.size(), count = std::min(n, kCurvePointsMax);
  for (size_t i = 0; i < count; ++i) {
    // The first, the last, and evenly between them: no extreme is thinned away.
    const size_t at = count == 1 ? 0 : i * (n - 1) / (count - 1);
    const Duration value = Less(*by_length[at], work);
    if (!out.points.empty() && out.points.back().value == value) {
      out.points.back().up_to = at + 1;
    } else {
      out.points.push_back({value, at + 1});
    }
  }
  return out;
}

Composition MakeComposition(const Paths& by_length, const Quantile& quantile, const AskedWork& work) {
  const size_t n = by_length.size(), middle = IndexOf(n, quantile.p);
  const auto reach = std::max<size_t>(1, static_cast<size_t>(kNear * static_cast<double>(n)));
  Composition out;
  out.quantile = quantile.label;
  for (size_t i = middle > reach ? middle - reach : 0; i <= std::min(n - 1, middle + reach); ++i) {
    const Path& path = *by_length[i];
    ++out.n;
    out.whole += Less(path, work);
    out.asked += work.Of(path);
    for (size_t s = 0; s < trace::kStages; ++s) out.stages[s] += path.StageSum(static_cast<trace::Stage>(s));
    for (const trace::HopTimes& hop : path.hops) {
      out.dispatch.lease_wait += hop.dispatch.lease_wait;
      out.dispatch.lease_batching += hop.dispatch.lease_batching;
      out.dispatch.flow_control += hop.dispatch.flow_control;
      out.dispatch.scheduler += hop.dispatch.scheduler;
      out.dispatch.other += hop.dispatch.other;
    }
  }
  return out;
}

std::vector<Mark> MakeMarks(const Paths& by_length) {
  std::map<size_t, std::string> labels;
  const size_t n = by_length.size();
  if (n == 0) return {};
  if (n <= kEveryMessageUpTo) {
    for (size_t i = 0; i < n; ++i) labels[i] = StrCat(i + 1, " of ", n);
  }
  for (uint32_t percent = 5; percent <= 95; percent += 5) {
    const Probability p{percent * (Probability::kWhole / 100)};
    if (n > kEveryMessageUpTo || percent == 50 || percent == 90) labels[IndexOf(n, p)] = StrCat("p", percent);
  }
  if (Supported(n, stats::kP99)) labels[IndexOf(n, stats::kP99)] = "p99";
  labels[n - 1] = "worst";
  labels[IndexOf(n, stats::kP50)] = "p50";  // of one message, the median has the name
  std::vector<Mark> out;
  for (const auto& [index, label] : labels) out.push_back({label, index + 1, by_length[index]->slot});
  return out;
}

size_t BinOf(Duration at, Duration span) {
  if (span <= Duration{0}) return 0;
  const double share = static_cast<double>(at.count()) / static_cast<double>(span.count());
  return std::min(kTimeBins - 1, static_cast<size_t>(std::max(0.0, share) * kTimeBins));
}

size_t HeightOf(Duration value, const Page& page) {
  if (value <= page.low || page.high <= page.low) return 0;
  const double share = std::log(static_cast<double>(value.count()) / static_cast<double>(page.low.count())) /
                       std::log(static_cast<double>(page.high.count()) / static_cast<double>(page.low.count()));
  return std::min(kHeightBins - 1, static_cast<size_t>(share * kHeightBins));
}

OverTime MakeOverTime(const Paths& paths, WallTime start, const AskedWork& work, const Page& page) {
  OverTime out;
  out.heat.resize(kTimeBins);
  out.late_max.resize(kTimeBins);
  for (const Path* path : paths) {
    const Duration at = path->scheduled - start, value = Less(*path, work);
    const size_t bin = BinOf(at, page.span);
    ++out.heat[bin][HeightOf(value, page)];
    const Duration late = path->StageSum(trace::Stage::kSendLateness);
    out.late_max[bin] = std::max(out.late_max[bin].value_or(late), late);
    if (paths.size() <= kOverTimeMax) out.points.push_back({at, value, path->slot});
  }
  return out;
}

std::optional<FirstMessage> MakeFirst(const Paths& paths, const Paths& by_length, const AskedWork& work) {
  if (paths.size() < 2) return std::nullopt;
  const auto first = std::min_element(paths.begin(), paths.end(),
                                      [](const Path* a, const Path* b) { return a->scheduled < b->scheduled; });
  const auto rank = std::find(by_length.begin(), by_length.end(), *first) - by_length.begin();
  return FirstMessage{Less(**first, work), static_cast<uint64_t>(rank) + 1};
}

// Axes that all arms share, and every group's own start.
std::map<std::string, WallTime> SetAxes(const Run& run, const std::vector<ArmPaths>& counted, const AskedWork& work,
                                        Page& page) {
  std::map<std::string, WallTime> starts;
  for (size_t i = 0; i < counted.size(); ++i) {
    for (const Path* path : counted[i].paths) {
      const auto [start, added] = starts.emplace(run.arms[i].group, path->scheduled);
      if (!added) start->second = std::min(start->second, path->scheduled);
    }
  }
  Duration low = Duration::max();
  for (size_t i = 0; i < counted.size(); ++i) {
    for (const Path* path : counted[i].paths) {
      page.span = std::max(page.span, path->scheduled - starts[run.arms[i].group]);
      const Duration value = Less(*path, work);
      if (value > Duration{0}) low = std::min(low, value);
      page.high = std::max(page.high, value);
    }
  }
  page.low = low == Duration::max() ? Duration{1} : low;
  return starts;
}

PageComparison Compare(const Summary& summary, const Difference& whole, const ArmPaths& arm, const ArmPaths& baseline) {
  PageComparison out;
  out.arm = whole.arm;
  out.baseline = whole.baseline;
  const Metric handled;
  const AskedWork work(summary.configuration);
  out.shift = stats::ShiftFunction(SampleOf(arm, handled, work), SampleOf(baseline, handled, work));
  std::map<uint64_t, const Path*> by_slot;
  for (const Path* path : baseline.paths) by_slot[path->slot] = path;
  std::vector<int64_t> differences;
  for (const Path* path : arm.paths) {
    const auto other = by_slot.find(path->slot);
    if (other != by_slot.end()) differences.push_back((path->until_handled - other->second->until_handled).count());
  }
  out.detectable = stats::SmallestDetectablePaired(stats::Sample(std::move(differences)));
  return out;
}

void SetComparisons(const Summary& summary, const std::vector<ArmPaths>& counted, Page& page) {
  const AskedWork work(summary.configuration);
  for (size_t i = 0; i < summary.arms.size(); ++i) {
    const ArmSummary& arm = summary.arms[i];
    const ArmSummary* baseline = summary.Baseline(arm.run.group);
    if (baseline == &arm) continue;
    const auto b = static_cast<size_t>(baseline - summary.arms.data());
    if (const Difference* whole = summary.Find(arm.run.name, "until_handled")) {
      page.comparisons.push_back(Compare(summary, *whole, counted[i], counted[b]));
      continue;
    }
    const stats::Sample first = SampleOf(counted[i], {}, work), second = SampleOf(counted[b], {}, work);
    PageComparison& out = page.comparisons.emplace_back();
    out.arm = arm.run.name;
    out.baseline = baseline->run.name;
    out.shift = stats::ShiftFunction(first, second);
    out.unpaired = stats::CompareShift(first, second);
  }
}

// The messages of all marks, the most asked for first, each with the messages of
// the group's other arms at the same slot, as long as there is room.
class Messages {
 public:
  Messages(const Run& run, const Summary& summary, const std::vector<ArmPaths>& counted)
      : run_(run), paired_(!summary.spans_only || summary.spans_only->paired) {
    for (const ArmPaths& arm : counted) {
      std::map<uint64_t, const Path*>& slots = by_slot_.emplace_back();
      for (const Path* path : arm.paths) slots.emplace(path->slot, path);
    }
    chosen_.resize(counted.size());
  }

  void AddAll(Page& page) {
    for (const auto wanted :
         {+[](const Mark& m) { return m.label == "p50" || m.label == "worst"; },
          +[](const Mark& m) { return m.label == "p90" || m.label == "p99"; }, +[](const Mark&) { return true; }}) {
      for (size_t arm = 0; arm < page.arms.size(); ++arm) {
        for (const Mark& mark : page.arms[arm].marks) {
          if (wanted(mark)) AddSlot(arm, mark.slot);
        }
      }
    }
    for (size_t arm = 0; arm < page.arms.size(); ++arm) {
      for (const auto& [slot, path] : chosen_[arm]) page.messages.push_back(*path);
      std::erase_if(page.arms[arm].marks, [&](const Mark& mark) { return !chosen_[arm].contains(mark.slot); });
    }
    page.messages_cut = cut_;
  }

 private:
  void AddSlot(size_t arm, uint64_t slot) {
    Add(arm, slot);
    for (size_t other = 0; paired_ && other < run_.arms.size(); ++other) {
      if (run_.arms[other].group == run_.arms[arm].group) Add(other, slot);
    }
  }
  void Add(size_t arm, uint64_t slot) {
    const auto found = by_slot_[arm].find(slot);
    if (found == by_slot_[arm].end() || chosen_[arm].contains(slot)) return;
    const size_t hops = found->second->hops.size();
    if (hops_ + hops > kMessageHopsMax) {
      cut_ = true;
      return;
    }
    hops_ += hops;
    chosen_[arm].emplace(slot, found->second);
  }

  const Run& run_;
  bool paired_;
  std::vector<std::map<uint64_t, const Path*>> by_slot_, chosen_;
  size_t hops_ = 0;
  bool cut_ = false;
};

std::optional<stats::SerialDependence> Serial(const Paths& paths) {
  std::vector<int64_t> in_order;
  for (const Path* path : paths) in_order.push_back(path->until_handled.count());
  return stats::SerialDependenceOf(in_order);
}

}  // namespace

Page MakePage(const Run& run, const Summary& summary) {
  Page page;
  page.answer = Answer(summary);
  page.words = Paragraphs(summary);
  std::vector<ArmPaths> counted;
  for (const ArmRun& arm : run.arms) counted.push_back(Count(arm, run));
  const AskedWork work(run.configuration);
  const std::map<std::string, WallTime> starts = SetAxes(run, counted, work, page);
  for (size_t i = 0; i < counted.size(); ++i) {
    const Paths& paths = counted[i].paths;
    const Paths by_length = ByLength(paths, work);
    PageArm& arm = page.arms.emplace_back();
    arm.name = run.arms[i].name;
    arm.curve = MakeCurve(by_length, counted[i].unfinished, work);
    for (const Quantile& q : kCompositions) {
      if (!paths.empty() && Supported(paths.size(), q.p)) {
        arm.compositions.push_back(MakeComposition(by_length, q, work));
      }
    }
    arm.marks = MakeMarks(by_length);
    if (!paths.empty()) arm.over_time = MakeOverTime(paths, starts.at(run.arms[i].group), work, page);
    arm.first = MakeFirst(paths, by_length, work);
    arm.serial = Serial(paths);
  }
  SetComparisons(summary, counted, page);
  Messages(run, summary, counted).AddAll(page);
  return page;
}

}  // namespace hopgap::report
