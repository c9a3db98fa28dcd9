#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/layout.h"
#include "report/page.h"
#include "report/sections.h"

namespace hopgap::report {
namespace {

using Sign = stats::PairedDifference::Sign;
using trace::Stage;

std::string LowerFirst(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

std::string IntervalWords(const stats::Estimate& e) {
  if (!e.low && !e.high) return "no 95 % interval from so few";
  const auto end = [](const std::optional<int64_t>& v, std::string_view none) {
    if (!v || stats::IsInfinite(*v)) return std::string(none);
    return SignedMillis(static_cast<double>(*v));
  };
  return StrCat("95 % interval ", end(e.low, "without lower limit"), " to ", end(e.high, "no upper limit"), " ms");
}

// The arm that a group is about, with what it is compared with; nullptr: nothing.
const Difference* Comparison(const Summary& summary, const std::string& group) {
  const ArmSummary* focus = FocusArm(summary, group);
  const Difference* found = focus ? summary.Find(focus->run.name, "until_handled") : nullptr;
  if (found && found->pairs.n > 0) return found;
  for (const Difference& d : summary.differences) {
    if (d.group == group && d.stage == "until_handled" && d.pairs.n > 0) return &d;
  }
  return nullptr;
}

// "eos takes 1480 ms longer than std (95 % interval +1300 to +1710 ms, median of 31 pairs, slower in 31 of them)".
std::string Clause(const Summary& summary, const Difference& d) {
  const stats::Estimate& median = *d.pairs.median;
  const std::string arm = summary.Find(d.arm)->label, base = summary.Find(d.baseline)->label;
  const bool faster = d.pairs.sign() == Sign::kFaster;
  const std::string support =
      StrCat(" (", IntervalWords(median), ", median of ", Counted(d.pairs.n, "pair"), ", ",
             faster ? "faster" : "slower", " in ", faster ? d.pairs.faster : d.pairs.slower, " of them)");
  if (stats::IsInfinite(median.value)) {
    return StrCat("most messages of ", median.value > 0 ? arm : base, " never finished, those of ",
                  median.value > 0 ? base : arm, " did", support);
  }
  const auto value = static_cast<double>(median.value);
  if (d.pairs.sign() == Sign::kUnresolved) {
    return StrCat("no difference between ", arm, " and ", base, " is resolved: ", SignedMillis(value), " ms", support);
  }
  return StrCat(arm, " takes ", Length(std::fabs(value)), faster ? " less" : " longer", " than ", base, support);
}

// The path stage with the largest part in the difference.
std::optional<Stage> Carrier(const Summary& summary, const Difference& whole) {
  std::optional<Stage> out;
  double most = 0;
  for (int i = 0; i < trace::kPathStages; ++i) {
    const Difference* d = summary.Find(whole.arm, trace::StageKey(static_cast<Stage>(i)));
    const double part = std::fabs(static_cast<double>(d->pairs.mean_sum));
    if (d->pairs.mean_n == 0 || part <= most) continue;
    most = part;
    out = static_cast<Stage>(i);
  }
  return out;
}

std::string Blame(const Summary& summary, const Difference& whole) {
  const std::optional<Stage> stage = Carrier(summary, whole);
  if (!stage) return "";
  const Difference& d = *summary.Find(whole.arm, trace::StageKey(*stage));
  const auto n = static_cast<double>(d.pairs.mean_n);
  const double share = static_cast<double>(d.pairs.mean_sum) / static_cast<double>(whole.pairs.mean_sum);
  std::string out = StrCat("The stage that makes the difference ", LowerFirst(WhereOf(whole.group)), " is the ",
                           trace::StageName(*stage), ", ", SignedMillis(static_cast<double>(d.pairs.mean_sum) / n),
                           " ms of ", SignedMillis(static_cast<double>(whole.pairs.mean_sum) / n), " ms in the mean");
  if (share > 0 && share <= 1) out += StrCat(" (", Fixed(100 * share, 0), " %)");
  return StrCat(out, CauseOf(*summary.Find(whole.arm), *stage), "; ",
                OriginOf(d, *stage, summary.spans_only.has_value()), " (ms).");
}

// Of arms that nothing is compared with.
std::string Alone(const Summary& summary) {
  std::string out;
  for (const ArmSummary& arm : summary.arms) {
    if (arm.n == 0 || !arm.until_handled.p50) continue;
    const stats::Estimate& p50 = *arm.until_handled.p50;
    const std::string value = stats::IsInfinite(p50.value) ? "no end" : Length(static_cast<double>(p50.value));
    out += StrCat(out.empty() ? "" : "; ", arm.run.name, " takes ", value, " (", IntervalWords(p50), ", median of ",
                  Counted(arm.until_handled.n, "message"), ")");
  }
  if (out.empty()) return "Nothing completed: no figure can be given.";
  return StrCat(out, summary.spans_only ? ", its handlers' work included." : " beyond its handlers' work.");
}

std::string LargestStage(const Summary& summary) {
  const auto largest = std::max_element(summary.arms.begin(), summary.arms.end(), [](const auto& a, const auto& b) {
    return MeanOf(a.handled, a.n) < MeanOf(b.handled, b.n);
  });
  if (largest == summary.arms.end() || largest->n == 0) return "";
  size_t most = 0;
  for (size_t i = 1; i < trace::kPathStages; ++i) {
    if (i == static_cast<size_t>(Stage::kWork)) continue;
    if (largest->stages[i].total > largest->stages[most].total) most = i;
  }
  const auto stage = static_cast<Stage>(most);
  return StrCat("Beside work most of ", largest->run.name, "'s time is ", trace::StageName(stage), ", ",
                Length(MeanOf(largest->stages[most].total, largest->n)), " of ",
                Length(MeanOf(largest->handled, largest->n)), " until handled (means, n = ", largest->n, ")",
                CauseOf(*largest, stage), ".");
}

}  // namespace

std::vector<std::string> Answer(const Summary& summary) {
  std::string first;
  const Difference* last = nullptr;
  for (const std::string& group : summary.groups) {
    const Difference* d = Comparison(summary, group);
    if (!d) continue;
    first += first.empty() ? StrCat(WhereOf(group), " ", Clause(summary, *d))
                           : StrCat("; ", LowerFirst(WhereOf(group)), " ", Clause(summary, *d));
    if (d->pairs.mean_n > 0 && d->pairs.mean_sum != 0) last = d;
  }
  if (first.empty()) {
    std::vector<std::string> out = {Alone(summary)};
    if (std::string stage = LargestStage(summary); !stage.empty()) out.push_back(std::move(stage));
    return out;
  }
  std::vector<std::string> out = {first + "."};
  if (last) out.push_back(Blame(summary, *last));
  return out;
}

}  // namespace hopgap::report
