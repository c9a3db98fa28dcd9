#include "report/compare.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "report/arm_paths.h"
#include "report/layout.h"

namespace hopgap::report {
namespace {

using Word = MetricComparison::Word;

const ArmRun* ArmNamed(const Run& run, const std::string& name) {
  const auto found = std::find_if(run.arms.begin(), run.arms.end(), [&](const ArmRun& a) { return a.name == name; });
  return found == run.arms.end() ? nullptr : &*found;
}

Word WordOf(const stats::QuantileDifference& d) {
  if (d.low && *d.low > 0) return Word::kSlower;
  if (d.high && *d.high < 0) return Word::kFaster;
  return Word::kUnresolved;
}

MetricComparison CompareMetric(const Metric& metric, const stats::Sample& first, const stats::Sample& second) {
  MetricComparison out;
  out.metric = MetricKey(metric);
  out.n_first = first.n();
  out.n_second = second.n();
  if (!first.empty()) out.p50_first = first.Quantile(stats::kP50);
  if (!second.empty()) out.p50_second = second.Quantile(stats::kP50);
  for (const stats::Probability p : {stats::kP50, stats::kP90, stats::kP95, stats::kP99}) {
    const auto d = stats::CompareQuantile(second, first, p);
    if (!d) continue;
    if (p == stats::kP50) out.word = WordOf(*d);
    if (d->supported) out.quantiles.push_back(*d);
  }
  out.shift = stats::CompareShift(second, first);
  out.detectable = stats::SmallestDetectableShift(first, std::min(first.n(), second.n()));
  return out;
}

ArmComparison CompareArm(const ArmRun& first, const Run& first_run, const ArmRun& second, const Run& second_run) {
  ArmComparison out;
  out.arm = first.name;
  const ArmPaths a = Count(first, first_run), b = Count(second, second_run);
  for (const Metric& metric : AllMetrics()) {
    const stats::Sample one = SampleOf(a, metric, AskedWork(first_run.configuration)),
                        two = SampleOf(b, metric, AskedWork(second_run.configuration));
    out.metrics.push_back(CompareMetric(metric, one, two));
    if (metric == Metric{}) out.deciles = stats::ShiftFunction(two, one);
  }
  return out;
}

// Settings in which the runs differ, as "name: first, second".
std::vector<std::string> Differing(const Configuration& a, const Configuration& b) {
  std::vector<std::string> out;
  const auto add = [&out](std::string_view name, const auto& one, const auto& two) {
    if (one != two) out.push_back(StrCat(name, ": ", one, ", ", two));
  };
  const auto yes = [](bool value) { return std::string(value ? "yes" : "no"); };
  add("command", a.command, b.command);
  add("simulated", yes(a.simulated), yes(b.simulated));
  add("processes", yes(a.processes), yes(b.processes));
  add("hops", a.hops, b.hops);
  add("message bytes", StrCat(a.message_bytes), StrCat(b.message_bytes));
  add("handler failures", StrCat(a.handler_failures), StrCat(b.handler_failures));
  add("work", WorkText(a), WorkText(b));
  add("rate per second", a.rate_per_second, b.rate_per_second);
  const auto arrival = [](const Configuration& c) { return c.arrival.empty() ? std::string("constant") : c.arrival; };
  add("arrival", arrival(a), arrival(b));
  add("messages an arm", a.messages, b.messages);
  add("streams", a.streams, b.streams);
  add("max outstanding messages", a.max_outstanding_messages, b.max_outstanding_messages);
  add("publish", a.publish_mode, b.publish_mode);
  add("response policy", a.response_policy, b.response_policy);
  add("target", a.target, b.target);
  add("profile", a.profile, b.profile);
  add("seed", a.seed, b.seed);
  add("warm-up", Length(a.warm_up), Length(b.warm_up));
  return out;
}

std::vector<std::string> Warnings(const Run& run, const std::string& name) {
  std::vector<std::string> out;
  if (run.ended_early) out.push_back(StrCat(name, " ended early (", run.ended_early_why, ")"));
  if (run.is_sample) {
    out.push_back(StrCat(name, " has spans of ", run.configuration.spans_of, " of ", run.configuration.spans_total,
                         " messages only: its figures are of those"));
  }
  if (run.spans_only) return out;  // it has no verdicts
  for (const ArmRun& arm : run.arms) {
    for (const std::string& reason : arm.verdict.reasons)
      out.push_back(StrCat(name, " is invalid: ", arm.name, ": ", reason));
  }
  return out;
}

std::string IntervalCell(const std::optional<int64_t>& low, const std::optional<int64_t>& high) {
  const auto end = [](const std::optional<int64_t>& v, std::string_view none) {
    if (!v) return std::string(none);
    return stats::IsInfinite(*v) ? std::string(*v > 0 ? "inf" : "−inf") : SignedMillis(static_cast<double>(*v));
  };
  return StrCat("[", end(low, "none"), ", ", end(high, "none"), "]");
}

std::string ValueCell(int64_t v) {
  return stats::IsInfinite(v) ? std::string(v > 0 ? "inf" : "−inf") : SignedMillis(static_cast<double>(v));
}

std::string Sentence(const ArmComparison& arm) {
  const MetricComparison& whole = arm.metrics[0];
  if (whole.word == Word::kNotComparable) return StrCat(arm.arm, ": nothing completed in one of the runs.");
  const stats::QuantileDifference& p50 = whole.quantiles[0];
  std::string out = StrCat(arm.arm,
                           whole.word == Word::kUnresolved ? ": no difference is resolved, "
                           : whole.word == Word::kSlower   ? " is slower in the second run, "
                                                           : " is faster in the second run, ",
                           ValueCell(p50.value), " ms ", IntervalCell(p50.low, p50.high),
                           " at the median until handled (n = ", whole.n_first, " and ", whole.n_second, ")");
  if (whole.word == Word::kUnresolved && whole.detectable.value_or(0) > 0) {
    out += StrCat("; so many messages show a shift of ", Length(static_cast<double>(*whole.detectable)),
                  " in 8 of 10 comparisons");
  }
  return out + ".";
}

std::string DifferenceCell(const stats::QuantileDifference& d) {
  return StrCat(ValueCell(d.value), " ", IntervalCell(d.low, d.high));
}

std::string ArmText(const ArmComparison& arm) {
  std::string out = StrCat("\n", arm.arm, ": second less first, ms [95 % interval; none: n has no such limit]\n");
  out += StrCat("  ", PadRight("", 15), PadLeft("p50", 25), PadLeft("shift", 25), "  second is\n");
  for (const MetricComparison& m : arm.metrics) {
    const std::string p50 = m.quantiles.empty() ? "no figure" : DifferenceCell(m.quantiles[0]);
    const std::string shift =
        m.shift ? StrCat(ValueCell(m.shift->value), " ", IntervalCell(m.shift->low, m.shift->high)) : "unfinished";
    std::string name = m.metric;
    std::replace(name.begin(), name.end(), '_', ' ');
    if (name == "publish rpc") name = trace::StageName(trace::Stage::kPublishRpc);
    out += StrCat("  ", PadRight(name, 15), PadLeft(p50, 25), PadLeft(shift, 25), "  ", WordName(m.word), "\n");
  }
  std::string tail;
  for (const stats::QuantileDifference& d : arm.metrics[0].quantiles) {
    if (d.p == stats::kP50) continue;
    tail += StrCat(tail.empty() ? "" : "; ", "p", Fixed(d.p.AsDouble() * 100, 0), " ", DifferenceCell(d));
  }
  if (!tail.empty()) out += Wrap(StrCat("until handled at ", tail), 80, "  ", "    ");
  return out;
}

}  // namespace

std::string_view WordName(Word word) {
  switch (word) {
    case Word::kSlower: return "slower";
    case Word::kFaster: return "faster";
    case Word::kUnresolved: return "not resolved";
    case Word::kNotComparable: break;
  }
  return "not comparable";
}

RunComparison CompareRuns(const Run& first, const std::string& first_name, const Run& second,
                          const std::string& second_name) {
  RunComparison out;
  out.first = first_name;
  out.second = second_name;
  for (const ArmRun& arm : first.arms) {
    if (const ArmRun* other = ArmNamed(second, arm.name)) {
      out.arms.push_back(CompareArm(arm, first, *other, second));
      out.answer.push_back(Sentence(out.arms.back()));
    } else {
      out.only_first.push_back(arm.name);
    }
  }
  for (const ArmRun& arm : second.arms) {
    if (!ArmNamed(first, arm.name)) out.only_second.push_back(arm.name);
  }
  out.differing = Differing(first.configuration, second.configuration);
  out.warnings = Warnings(first, "the first run");
  const std::vector<std::string> more = Warnings(second, "the second run");
  out.warnings.insert(out.warnings.end(), more.begin(), more.end());
  return out;
}

std::string RenderComparison(const RunComparison& c) {
  std::string out = StrCat("first   ", c.first, "\nsecond  ", c.second, "\n");
  for (const std::string& warning : c.warnings) out += Wrap(StrCat("warning: ", warning), 80, "", "  ");
  if (c.differing.empty()) {
    out += "They were asked for the same; figures are less the configured work, unpaired.\n";
  } else {
    std::string text;
    for (const std::string& line : c.differing) text += StrCat(text.empty() ? "" : "; ", line);
    out += Wrap(StrCat("They were asked for different things (first, second): ", text), 80, "", "  ");
  }
  for (const std::string& sentence : c.answer) out += Wrap(sentence, 80, "", "  ");
  for (const ArmComparison& arm : c.arms) out += ArmText(arm);
  const auto only = [&out](const std::vector<std::string>& arms, std::string_view where) {
    if (arms.empty()) return;
    std::string text;
    for (const std::string& arm : arms) text += StrCat(text.empty() ? "" : ", ", arm);
    out += Wrap(StrCat("only in the ", where, ": ", text), 80, "", "  ");
  };
  only(c.only_first, "first");
  only(c.only_second, "second");
  if (!c.arms.empty()) {
    out += Wrap(
        "p50: difference of the medians. shift: Hodges-Lehmann, the median of all differences between a message "
        "of the second run and one of the first. Intervals take messages to be independent, and are not "
        "corrected for how many there are.",
        80, "\n", "");
  }
  return out;
}

}  // namespace hopgap::report
