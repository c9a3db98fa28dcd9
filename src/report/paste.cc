#include "report/paste.h"

#include <absl/strings/str_format.h>

#include "base/text.h"
#include "report/layout.h"
#include "report/page.h"
#include "report/text.h"

namespace hopgap::report {
namespace {

using EstimateOr = std::optional<stats::Estimate>;

// A cell of a table: what others named must not end it.
std::string CellText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '<') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string TableRow(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += StrCat(" ", cell, " |");
  return out + "\n";
}

// The first column to the left, numbers to the right.
std::string TableHead(const std::vector<std::string>& columns) {
  std::string rule = "|---|";
  for (size_t i = 1; i < columns.size(); ++i) rule += "---:|";
  return StrCat(TableRow(columns), rule, "\n");
}

std::string MsOrInf(int64_t nanoseconds) {
  if (nanoseconds == stats::kMinusInfinite) return "−∞";
  return stats::IsInfinite(nanoseconds) ? "∞" : Millis(static_cast<double>(nanoseconds));
}

std::string EstimateCell(const EstimateOr& e) {
  if (!e) return "–";
  if (!e->supported) return StrCat("needs n = ", e->needed);
  if (e->low && !e->high) return StrCat(MsOrInf(e->value), " ≥ ", MsOrInf(*e->low));
  return StrCat(MsOrInf(e->value), " [", e->low ? MsOrInf(*e->low) : "none", ", ", e->high ? MsOrInf(*e->high) : "none",
                "]");
}

std::string TitleLine(const Summary& summary) {
  const Configuration& c = summary.configuration;
  std::string out = StrCat("**hopgap ", c.command.empty() ? "analyze" : c.command, "**");
  if (!summary.spans_only) {
    out += StrCat(": ", absl::StrFormat("%.6g", c.rate_per_second), "/s", ArrivalText(c), ", ",
                  Counted(c.messages, "message"), " an arm, ", Counted(static_cast<uint64_t>(c.streams), "stream"),
                  ", ", Counted(static_cast<uint64_t>(c.hops), "hop"), " × ", WorkText(c), " of work, profile ",
                  CellText(c.profile), ", seed ", c.seed, ". ", c.simulated ? "**Simulated**, not measured. " : "",
                  summary.verdict.valid ? "Valid run." : "**Invalid run.**");
    for (const std::string& reason : summary.verdict.reasons) out += StrCat("\n- ", CellText(reason));
  } else {
    out += StrCat(": ", CellText(summary.spans_only->source), ", spans alone.");
  }
  return out + "\n\n";
}

std::string MarkdownEndToEnd(const Summary& summary) {
  std::string out =
      StrCat("Until handled", summary.work > Duration{0} ? StrCat(", less ", TakenOffText(summary), " of work") : "",
             ", ms [95 % interval]; ≥: lower limit alone\n\n");
  out += TableHead({"arm", "n", "unfinished", "p50", "p90", "p95", "p99", "max"});
  for (const ArmSummary& arm : summary.arms) {
    const EndToEnd& e = arm.until_handled;
    out += TableRow({CellText(arm.run.name), StrCat(e.n), StrCat(e.unfinished), EstimateCell(e.p50),
                     EstimateCell(e.p90), EstimateCell(e.p95), EstimateCell(e.p99), e.max ? MsOrInf(*e.max) : "–"});
  }
  return out + "\n";
}

std::string MarkdownStages(const Summary& summary) {
  std::vector<std::string> columns = {"arm", "n"};
  for (int i = 0; i < trace::kStages; ++i) columns.emplace_back(trace::StageName(static_cast<trace::Stage>(i)));
  std::string out =
      StrCat("Mean stages, summed over the hops, ms; up to work they add up to until handled\n\n", TableHead(columns));
  for (const ArmSummary& arm : summary.arms) {
    std::vector<std::string> cells = {CellText(arm.run.name), StrCat(arm.n)};
    for (const StageSummary& stage : arm.stages) {
      cells.push_back(arm.n == 0 ? "–" : Millis(static_cast<double>(stage.total.count()) / static_cast<double>(arm.n)));
    }
    out += TableRow(cells);
  }
  return out + "\n";
}

std::string CsvText(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string CsvNumber(const std::optional<int64_t>& nanoseconds) {
  if (!nanoseconds) return "";
  if (*nanoseconds == stats::kMinusInfinite) return "-inf";
  return stats::IsInfinite(*nanoseconds) ? "inf" : absl::StrFormat("%.6f", static_cast<double>(*nanoseconds) / 1e6);
}

// How much more the second is: a sign, and what has no limit on one side says so.
std::string SignedOrInf(int64_t nanoseconds) {
  return stats::IsInfinite(nanoseconds) ? MsOrInf(nanoseconds) : SignedMillis(static_cast<double>(nanoseconds));
}

std::string DifferenceOf(int64_t value, const std::optional<int64_t>& low, const std::optional<int64_t>& high) {
  return StrCat(SignedOrInf(value), " [", low ? SignedOrInf(*low) : "none", ", ", high ? SignedOrInf(*high) : "none",
                "]");
}

const stats::QuantileDifference* QuantileOf(const MetricComparison& metric, stats::Probability p) {
  for (const stats::QuantileDifference& difference : metric.quantiles) {
    if (difference.p == p) return &difference;
  }
  return nullptr;
}

constexpr stats::Probability kComparedQuantiles[] = {stats::kP50, stats::kP90, stats::kP95, stats::kP99};

std::string MarkdownArm(const ArmComparison& arm) {
  std::string out =
      StrCat("**", CellText(arm.arm), "**: second less first, ms [95 % interval]\n\n",
             TableHead({"measure", "n first", "n second", "p50", "p90", "p95", "p99", "shift", "second is"}));
  for (const MetricComparison& metric : arm.metrics) {
    std::vector<std::string> cells = {CellText(metric.metric), StrCat(metric.n_first), StrCat(metric.n_second)};
    for (const stats::Probability p : kComparedQuantiles) {
      const stats::QuantileDifference* d = QuantileOf(metric, p);
      cells.push_back(d == nullptr ? "–" : DifferenceOf(d->value, d->low, d->high));
    }
    cells.push_back(metric.shift ? DifferenceOf(metric.shift->value, metric.shift->low, metric.shift->high) : "–");
    cells.emplace_back(WordName(metric.word));
    out += TableRow(cells);
  }
  return out + "\n";
}

std::string MarkdownList(std::string_view head, const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += StrCat("- ", head, CellText(line), "\n");
  return out;
}

// "value,low,high" after a comma.
std::string CsvEstimate(const EstimateOr& e) {
  if (!e) return ",,,";
  return StrCat(",", CsvNumber(e->supported ? std::optional(e->value) : std::nullopt), ",", CsvNumber(e->low), ",",
                CsvNumber(e->high));
}

std::string CsvEndToEnd(const ArmSummary& arm, std::string_view name, const EndToEnd& e) {
  return StrCat(CsvText(arm.run.name), ",", name, ",", e.n, ",", e.unfinished, ",", CsvEstimate(e.p50),
                CsvEstimate(e.p90), CsvEstimate(e.p95), CsvEstimate(e.p99), ",", CsvNumber(e.max), "\n");
}

}  // namespace

std::string RenderMarkdown(const Summary& summary) {
  std::string out = TitleLine(summary);
  for (const std::string& sentence : Answer(summary)) out += StrCat(CellText(sentence), "\n\n");
  out += StrCat(MarkdownEndToEnd(summary), MarkdownStages(summary));
  for (const Judgement& judgement : summary.judgements) out += StrCat("- ", CellText(RenderJudgement(judgement)), "\n");
  return out;
}

std::string RenderCsv(const Summary& summary) {
  std::string out = "arm,measure,n,unfinished,mean_ms";
  for (const char* quantile : {"p50", "p90", "p95", "p99"}) {
    out += StrCat(",", quantile, "_ms,", quantile, "_low_ms,", quantile, "_high_ms");
  }
  out += ",max_ms\n";
  for (const ArmSummary& arm : summary.arms) {
    out += CsvEndToEnd(arm, "until_handled_less_work", arm.until_handled);
    out += CsvEndToEnd(arm, "until_acked_less_work", arm.until_acked);
    for (int i = 0; i < trace::kStages; ++i) {
      const StageSummary& stage = arm.stages[static_cast<size_t>(i)];
      const std::string mean =
          arm.n == 0 ? "" : absl::StrFormat("%.6f", ToMillis(stage.total) / static_cast<double>(arm.n));
      out += StrCat(CsvText(arm.run.name), ",", trace::StageKey(static_cast<trace::Stage>(i)), ",", arm.n, ",,", mean,
                    CsvEstimate(stage.p50), ",,,", CsvEstimate(stage.p95), ",,,,\n");
    }
  }
  return out;
}

std::string RenderMarkdown(const RunComparison& c) {
  std::string out = StrCat("**hopgap compare**: first ", CellText(c.first), ", second ", CellText(c.second), "\n\n");
  const std::string notes = StrCat(
      MarkdownList("**Warning:** ", c.warnings), MarkdownList("Asked for differently (first, second): ", c.differing),
      MarkdownList("Only in the first: ", c.only_first), MarkdownList("Only in the second: ", c.only_second));
  if (!notes.empty()) out += notes + "\n";
  for (const std::string& sentence : c.answer) out += StrCat(CellText(sentence), "\n\n");
  for (const ArmComparison& arm : c.arms) out += MarkdownArm(arm);
  return StrCat(out,
                "Unpaired, less the configured work. Shift: Hodges-Lehmann. Intervals take messages to be independent, "
                "and are not corrected for how many there are.\n");
}

std::string RenderCsv(const RunComparison& c) {
  std::string out = "arm,measure,n_first,n_second,p50_first_ms,p50_second_ms";
  for (const char* figure : {"p50", "p90", "p95", "p99", "shift"}) {
    out += StrCat(",", figure, "_difference_ms,", figure, "_difference_low_ms,", figure, "_difference_high_ms");
  }
  out += ",second_is\n";
  for (const ArmComparison& arm : c.arms) {
    for (const MetricComparison& metric : arm.metrics) {
      out += StrCat(CsvText(arm.arm), ",", metric.metric, ",", metric.n_first, ",", metric.n_second, ",",
                    CsvNumber(metric.p50_first), ",", CsvNumber(metric.p50_second));
      for (const stats::Probability p : kComparedQuantiles) {
        const stats::QuantileDifference* d = QuantileOf(metric, p);
        out += d == nullptr ? ",,," : StrCat(",", CsvNumber(d->value), ",", CsvNumber(d->low), ",", CsvNumber(d->high));
      }
      out += metric.shift ? StrCat(",", CsvNumber(metric.shift->value), ",", CsvNumber(metric.shift->low), ",",
                                   CsvNumber(metric.shift->high))
                          : ",,,";
      out += StrCat(",", WordName(metric.word), "\n");
    }
  }
  return out;
}

}  // namespace hopgap::report
