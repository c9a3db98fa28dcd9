#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/layout.h"
#include "report/sections.h"
#include "stats/sample.h"

namespace hopgap::report {
namespace {

using stats::Estimate;
using Which = EndToEnd ArmSummary::*;

constexpr std::string_view kTooSmall = "n too small";
constexpr std::string_view kNoValue = "–";

// Columns of the two layouts; both lines are exactly 80 wide.
constexpr size_t kNarrowLabel = 21, kNarrowCount = 3, kNarrowInterval = 14, kNarrowCell = 7;
constexpr size_t kWideLabel = 20, kWideCount = 6, kWideCell = 12, kWideMax = 6;

bool HasUpper(const std::optional<Estimate>& e) { return e && e->high.has_value(); }

// Two-sided intervals beyond the median need a line of their own.
bool NeedsWide(const Summary& summary, Which which) {
  return std::any_of(summary.arms.begin(), summary.arms.end(), [which](const ArmSummary& arm) {
    const EndToEnd& e = arm.*which;
    return HasUpper(e.p90) || HasUpper(e.p95) || HasUpper(e.p99);
  });
}

Scale ScaleOf(const Summary& summary, Which which) {
  int64_t largest = 0;
  for (const ArmSummary& arm : summary.arms) {
    const EndToEnd& e = arm.*which;
    for (const std::optional<Estimate>* q : {&e.p50, &e.p90, &e.p95, &e.p99}) {
      if (*q && !stats::IsInfinite((*q)->value)) largest = std::max(largest, (*q)->value);
    }
    if (e.max && !stats::IsInfinite(*e.max)) largest = std::max(largest, *e.max);
  }
  return Scale(largest);
}

std::string Value(const std::optional<Estimate>& e, const Scale& scale) {
  return e && e->supported ? scale.Format(e->value) : std::string(kNoValue);
}

std::string LowerLimit(const std::optional<Estimate>& e, const Scale& scale) {
  return e && e->low ? "≥" + scale.Format(*e->low) : "";
}

std::string Interval(const std::optional<Estimate>& e, const Scale& scale, std::string_view comma) {
  if (!e) return "";
  if (e->low && e->high) return StrCat("[", scale.Format(*e->low), comma, scale.Format(*e->high), "]");
  return e->low ? LowerLimit(e, scale) : std::string(kTooSmall);
}

// "  replay  eos": the group's name once.
std::string Label(const Summary& summary, const ArmSummary& arm, size_t columns) {
  const bool first = summary.Group(arm.run.group).front() == &arm;
  const std::string group = first ? Cut(arm.run.group, 6) : "";
  return PadRight(Cut(StrCat("  ", PadRight(group, 6), " ", arm.label), columns), columns);
}

std::string NarrowTable(const Summary& summary, Which which, const Scale& scale) {
  std::string out = StrCat(PadRight("", kNarrowLabel), PadLeft("n", kNarrowCount), PadLeft("p50", kNarrowCell),
                           PadLeft("[95 %]", kNarrowInterval), PadLeft("p90", kNarrowCell), PadLeft("≥", kNarrowCell),
                           PadLeft("p95", kNarrowCell), PadLeft("≥", kNarrowCell), PadLeft("max", kNarrowCell), "\n");
  for (const ArmSummary& arm : summary.arms) {
    const EndToEnd& e = arm.*which;
    out += Label(summary, arm, kNarrowLabel) + PadLeft(StrCat(e.n), kNarrowCount);
    if (arm.n == 0) {
      out += "   nothing completed\n";
      continue;
    }
    if (e.n == 0) {
      out += "   not available\n";
      continue;
    }
    out += PadLeft(Value(e.p50, scale), kNarrowCell) + PadLeft(Interval(e.p50, scale, ", "), kNarrowInterval);
    out += PadLeft(Value(e.p90, scale), kNarrowCell) + PadLeft(LowerLimit(e.p90, scale), kNarrowCell);
    out += PadLeft(Value(e.p95, scale), kNarrowCell) + PadLeft(LowerLimit(e.p95, scale), kNarrowCell);
    out += PadLeft(scale.Format(*e.max), kNarrowCell) + "\n";
  }
  return out;
}

std::string WideTable(const Summary& summary, Which which, const Scale& scale) {
  std::string out = PadRight("", kWideLabel) + PadLeft("n", kWideCount);
  for (std::string_view name : {"p50", "p90", "p95", "p99"}) out += PadLeft(name, kWideCell);
  out += PadLeft("max", kWideMax) + "\n";
  for (const ArmSummary& arm : summary.arms) {
    const EndToEnd& e = arm.*which;
    out += Label(summary, arm, kWideLabel) + PadLeft(StrCat(e.n), kWideCount);
    if (arm.n == 0) {
      out += "   nothing completed\n";
      continue;
    }
    if (e.n == 0) {
      out += "   not available\n";
      continue;
    }
    std::string intervals = PadRight("", kWideLabel + kWideCount);
    for (const std::optional<Estimate>* q : {&e.p50, &e.p90, &e.p95, &e.p99}) {
      out += PadLeft(Value(*q, scale), kWideCell);
      intervals += PadLeft(Interval(*q, scale, ","), kWideCell);
    }
    out += PadLeft(scale.Format(*e.max), kWideMax) + "\n" + intervals + "\n";
  }
  return out;
}

std::string Title(const Summary& summary, std::string_view until, const Scale& scale) {
  const Configuration& c = summary.configuration;
  std::string out = StrCat("End to end until ", until);
  if (summary.work > Duration{0}) {
    out += StrCat(", less ", TakenOffText(summary), " of work (", c.hops, " hops)");
  }
  return StrCat(out, c.simulated ? ", SIMULATED" : "", ", ", scale.unit(), "\n");
}

std::string EndToEndTable(const Summary& summary, Which which, std::string_view until) {
  const Scale scale = ScaleOf(summary, which);
  return Title(summary, until, scale) +
         (NeedsWide(summary, which) ? WideTable(summary, which, scale) : NarrowTable(summary, which, scale));
}

// What the tables cannot promise, for the smallest arm.
std::string SupportNote(const Summary& summary) {
  uint64_t n = 0;
  for (const ArmSummary& arm : summary.arms) {
    const uint64_t own = arm.until_handled.n;
    if (arm.n > 0 && (n == 0 || own < n)) n = own;
  }
  if (n == 0) return "";
  struct Named {
    std::string_view name;
    stats::Probability p;
  };
  std::string out, none;
  for (const Named& q : {Named{"p90", stats::kP90}, Named{"p95", stats::kP95}, Named{"p99", stats::kP99}}) {
    const size_t beyond = n * (stats::Probability::kWhole - q.p.parts);
    if (n < stats::NeededForUpperLimit(q.p)) none += StrCat(none.empty() ? "" : ", ", q.name);
    if (beyond >= stats::Probability::kWhole) continue;
    out += StrCat(" ", q.name, ": n too small; the largest of ", n, " reaches it with probability ",
                  Fixed(stats::ReachedBy(n, q.p), 2), " (0.95 needs n = ", stats::NeededToReach(q.p), ").");
  }
  if (!none.empty()) out = StrCat(" ≥ lower limit (97.5 %): no upper one for ", none, " at n = ", n, ".") + out;
  return Wrap("Linear quantiles (type 7), exact order-statistic intervals (95 %)." + out, kWidthMin, "  ", "  ");
}

std::string UnfinishedNote(const Summary& summary) {
  std::string out;
  for (const ArmSummary& arm : summary.arms) {
    if (arm.n == 0) continue;
    const uint64_t unacked = arm.until_acked.unfinished - arm.unfinished;
    if (arm.unfinished > 0) {
      out +=
          Wrap(StrCat("inf: ", arm.run.name, " left ", arm.unfinished, " of ", Counted(arm.until_handled.n, "message"),
                      " unfinished; they count as +infinity. Stages below are of the finished ones."),
               kWidthMin, "  ", "  ");
    }
    if (unacked > 0) {
      out += Wrap(StrCat(arm.run.name, ": ", unacked, " of ", Counted(arm.n, "handled message"),
                         " had no answer to an ack; they count as +infinity until acked."),
                  kWidthMin, "  ", "  ");
    }
  }
  return out;
}

std::string PairInterval(const stats::PairedDifference& pairs) {
  const Estimate& median = *pairs.median;
  const auto show = [](int64_t value) {
    return stats::IsInfinite(value) ? std::string(value > 0 ? "inf" : "−inf")
                                    : SignedMillis(static_cast<double>(value));
  };
  std::string out = StrCat(show(median.value), " ms ");
  if (!median.low || !median.high) return StrCat(out, "(n too small for an interval: needs 6)");
  return StrCat(out, "[", show(*median.low), ", ", show(*median.high), "]");
}

std::string PairLine(const Difference& d, const Summary& summary) {
  const stats::PairedDifference& pairs = d.pairs;
  const std::string arm = summary.Find(d.arm)->label, baseline = summary.Find(d.baseline)->label;
  if (pairs.n == 0) return Wrap(StrCat(arm, " − ", baseline, ": no slot finished in both"), kWidthMin, "  ", "    ");
  std::string text =
      StrCat(arm, " − ", baseline, ", ", Counted(pairs.n, "pair"), " (", d.group, "): median ", PairInterval(pairs));
  if (pairs.mean_n > 0) {
    text +=
        StrCat(", mean ", SignedMillis(static_cast<double>(pairs.mean_sum) / static_cast<double>(pairs.mean_n)), " ms");
  }
  if (pairs.mean_low) text += StrCat(" [", SignedMillis(*pairs.mean_low), ", ", SignedMillis(*pairs.mean_high), "]");
  text += StrCat("; slower in ", pairs.slower, " of ", pairs.n);
  if (pairs.undefined > 0) text += StrCat("; ", pairs.undefined, " unfinished in both");
  return Wrap(text, kWidthMin, "  ", "    ");
}

std::string PairLines(const Summary& summary) {
  std::string out;
  for (const Difference& d : summary.differences) {
    if (d.stage == "until_handled" && summary.Find(d.arm)->n > 0) out += PairLine(d, summary);
  }
  if (out.empty()) return "";
  return "Pairs of the same slot, until handled (median exact, mean by Student's t; 95 %)\n" + out;
}

}  // namespace

std::string EndToEndText(const Summary& summary) {
  std::string out = EndToEndTable(summary, &ArmSummary::until_handled, "handled");
  out += EndToEndTable(summary, &ArmSummary::until_acked, "acked");
  out += SupportNote(summary) + UnfinishedNote(summary);
  return out + PairLines(summary);
}

}  // namespace hopgap::report
