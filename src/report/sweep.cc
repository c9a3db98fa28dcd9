#include "report/sweep.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "report/layout.h"
#include "report/text.h"
#include "stats/quantile_difference.h"

namespace hopgap::report {
namespace {

constexpr std::string_view kStandardKind = "std";
constexpr std::string_view kNoPolicy = "-";

std::string RateText(double rate) { return absl::StrFormat("%.6g", rate); }
std::string RateOf(const SweepCell& cell) { return cell.cold ? "alone" : RateText(cell.rate_per_second); }

std::string ModackText(const SweepCell& cell) {
  return cell.modack ? absl::StrFormat("%g", ToMillis(*cell.modack)) : std::string("-");
}

std::string SaturatedText(double rate) { return StrCat("saturated at ", PerSecond(rate), "/s"); }

std::string WithLimits(const stats::Estimate& estimate) {
  std::string text = Millis(static_cast<double>(estimate.value));
  if (estimate.low && estimate.high && !stats::IsInfinite(*estimate.high)) {
    text += StrCat(" [", Millis(static_cast<double>(*estimate.low)), ", ", Millis(static_cast<double>(*estimate.high)),
                   "]");
  }
  return text;
}

std::string MedianText(const SweepCell& cell) {
  if (!cell.invalid.empty()) return "invalid run";
  if (cell.saturated_at) return SaturatedText(*cell.saturated_at);
  return cell.p50 ? WithLimits(*cell.p50) : "nothing handled";
}

// What a cell's setting has beside rate, streams and arm; such cells stand together.
bool SameSurroundings(const SweepCell& one, const SweepCell& other) {
  return one.round_trip == other.round_trip && one.idle_gap == other.idle_gap && one.cold == other.cold &&
         one.message_bytes == other.message_bytes && one.repeat == other.repeat;
}

std::string TailText(const SweepCell& cell) {
  if (cell.saturated_at || !cell.invalid.empty()) return "";
  return cell.p95 && cell.p95->supported ? Millis(static_cast<double>(cell.p95->value)) : "n too small";
}

const SweepCell* StandardOf(std::span<const SweepCell> cells, const SweepCell& cell) {
  for (const SweepCell& other : cells) {
    if (other.arm == kStandardKind && other.rate_per_second == cell.rate_per_second && other.streams == cell.streams &&
        other.client == cell.client && SameSurroundings(other, cell)) {
      return &other;
    }
  }
  return nullptr;
}

// What it adds a hop, in ms, or what it served instead.
std::string ExtraText(const SweepPlan& plan, std::span<const SweepCell> cells, const SweepCell& cell) {
  if (cell.saturated_at) return StrCat("sat ", PerSecond(*cell.saturated_at), "/s");
  if (!cell.invalid.empty()) return "invalid";
  const std::optional<SweepExtra> extra = ExtraPerHop(plan, cells, cell);
  return extra ? SignedMillis(extra->value) : std::string("no std");
}

std::string MapRowName(const SweepCell& cell) {
  return PadLeft(RateOf(cell), 7) + PadLeft(std::to_string(cell.streams), 4) + " " + PadRight(cell.arm, 12) +
         PadRight(cell.client, 10) + PadRight(cell.policy, 6);
}

std::string MapColumnName(const SweepCell& cell) {
  return cell.modack ? absl::StrFormat("%g ms", ToMillis(*cell.modack)) : std::string("profile's");
}

// A row a setting, a column a modack; an arm without lease confirmations has one figure, in the first.
std::string RenderMap(const SweepPlan& plan, std::span<const SweepCell> cells) {
  constexpr size_t kFigureWidth = 12;
  std::vector<std::string> columns;
  for (const SweepCell& cell : cells) {
    if (cell.policy == kNoPolicy) continue;
    const std::string name = MapColumnName(cell);
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  }
  std::string out = " rate/s str arm         client    policy";
  for (const std::string& name : columns) out += PadLeft(name, kFigureWidth);
  std::vector<std::string> rows;  // in order of first mention
  std::map<std::string, std::vector<std::string>> figures;
  for (const SweepCell& cell : cells) {
    if (cell.arm == kStandardKind) continue;
    const std::string row = MapRowName(cell);
    auto [found, added] = figures.try_emplace(row, std::max<size_t>(columns.size(), 1), "");
    if (added) rows.push_back(row);
    const auto at = std::find(columns.begin(), columns.end(), MapColumnName(cell));
    const bool own = cell.policy != kNoPolicy && at != columns.end();
    found->second[own ? static_cast<size_t>(at - columns.begin()) : 0] = ExtraText(plan, cells, cell);
  }
  for (const std::string& row : rows) {
    out += "\n" + row;
    for (const std::string& figure : figures[row]) out += PadLeft(figure, kFigureWidth);
    while (out.back() == ' ') out.pop_back();
  }
  return out + "\n";
}

// "round trip 40 ms, repeat 2:" where a sweep has several; before the first cell of each.
std::string Heading(const SweepPlan& plan, std::span<const SweepCell> cells, const SweepCell& cell) {
  const bool several =
      std::any_of(cells.begin(), cells.end(), [](const SweepCell& one) { return !SameSurroundings(one, SweepCell{}); });
  if (!several || (&cell != cells.data() && SameSurroundings(*(&cell - 1), cell))) return "";
  std::vector<std::string> parts;
  if (cell.round_trip) parts.push_back(StrCat("round trip ", Length(*cell.round_trip)));
  if (cell.message_bytes) parts.push_back(StrCat(*cell.message_bytes, " bytes a message"));
  if (cell.idle_gap) {
    parts.push_back(StrCat("first message after ", Length(*cell.idle_gap), " of silence, bursts of ", plan.burst));
  }
  if (cell.cold) {
    parts.push_back(plan.simulated ? "cold: each message alone, with a client and a broker of its own"
                                   : "cold: each message alone, on processes and connections of its own");
  }
  const bool repeated = std::any_of(cells.begin(), cells.end(), [](const SweepCell& one) { return one.repeat > 1; });
  if (repeated || parts.empty()) parts.push_back(repeated ? StrCat("repeat ", cell.repeat) : "as it is");
  std::string text;
  for (const std::string& part : parts) text += StrCat(text.empty() ? "" : ", ", part);
  return text + ":\n";
}

// A line of its own below the row of a cell with an idle gap.
std::string OthersLine(const SweepPlan& plan, const SweepCell& cell) {
  if (!cell.idle_gap || !cell.others_p50 || cell.saturated_at || !cell.invalid.empty()) return "";
  const std::string name = StrCat("the other ", plan.burst - 1, " of each burst");
  return PadLeft(name, 55) + " " + WithLimits(*cell.others_p50) + "\n";
}

std::string HereText(const SweepHere& here) {
  std::string arms;
  for (const std::string& arm : here.arms) arms += StrCat(arms.empty() ? "" : ", ", arm);
  return Wrap(StrCat(here.name, " is at ", RateText(here.rate_per_second), "/s, ",
                     Counted(static_cast<uint64_t>(here.streams), "stream"), ": ", arms, " (", here.client, ", ",
                     here.policy, ")"),
              kWidthMin, "\nHERE      ", "          ");
}

std::string CsvMs(const std::optional<int64_t>& nanoseconds) {
  return nanoseconds && !stats::IsInfinite(*nanoseconds)
             ? absl::StrFormat("%.6f", static_cast<double>(*nanoseconds) / 1e6)
             : std::string();
}

}  // namespace

std::string SweepCell::Key() const {
  return StrCat(
      cold ? std::string("cold") : StrCat("rate=", RateText(rate_per_second)), " streams=", streams, " arm=", arm,
      " client=", client, " policy=", policy, modack ? StrCat(" modack_ns=", modack->count()) : "",
      round_trip ? StrCat(" round_trip_ns=", round_trip->count()) : "",
      idle_gap ? StrCat(" idle_gap_ns=", idle_gap->count()) : "",
      message_bytes ? StrCat(" message_bytes=", *message_bytes) : "", repeat == 1 ? "" : StrCat(" repeat=", repeat));
}

void FillCell(const ArmRun& arm, Duration work, uint64_t burst, SweepCell& cell) {
  std::vector<int64_t> values, others;
  for (const trace::Path& path : arm.paths) {
    const bool first = !cell.idle_gap || path.slot % burst == 0;
    if (cell.idle_gap && path.slot == 0) continue;  // after no silence, but after the start
    (first ? values : others).push_back((path.until_handled - work).count());
  }
  cell.handled = arm.paths.size();
  // With an idle gap nobody knows which an unfinished one would be: it counts among the first.
  const uint64_t unfinished = arm.sent - std::min<uint64_t>(arm.sent, arm.paths.size());
  cell.n = values.size() + unfinished;
  const stats::Sample sample(std::move(values), unfinished);
  if (!others.empty()) cell.others_p50 = stats::EstimateQuantile(stats::Sample(std::move(others)), stats::kP50);
  cell.p50 = stats::EstimateQuantile(sample, stats::kP50);
  cell.p95 = stats::EstimateQuantile(sample, stats::kP95);
  cell.saturated_at = arm.saturated_at;
  // What saturates loses its drain too; its figures are not printed anyway.
  if (!arm.verdict.valid && !arm.saturated_at) cell.invalid = arm.verdict.reasons.front();
  cell.messages_per_response =
      arm.responses == 0 ? 1 : static_cast<double>(arm.messages_received) / static_cast<double>(arm.responses);
}

std::optional<SweepExtra> ExtraPerHop(const SweepPlan& plan, std::span<const SweepCell> cells, const SweepCell& cell) {
  if (cell.arm == kStandardKind || cell.saturated_at || !cell.invalid.empty() || !cell.p50) return std::nullopt;
  const SweepCell* standard = StandardOf(cells, cell);
  if (standard == nullptr || standard->saturated_at || !standard->invalid.empty() || !standard->p50)
    return std::nullopt;
  const auto difference = stats::CompareEstimates(*cell.p50, *standard->p50, stats::kP50);
  if (!difference || stats::IsInfinite(difference->value)) return std::nullopt;
  const auto per_hop = [&](const std::optional<int64_t>& nanoseconds) {
    return nanoseconds && !stats::IsInfinite(*nanoseconds)
               ? std::optional(static_cast<double>(*nanoseconds) / plan.hops)
               : std::nullopt;
  };
  return SweepExtra{
      .value = *per_hop(difference->value), .low = per_hop(difference->low), .high = per_hop(difference->high)};
}

std::vector<std::string> SweepAnswer(const SweepPlan& plan, std::span<const SweepCell> cells) {
  std::optional<double> least, most;
  const SweepCell* worst = nullptr;
  uint64_t compared = 0, eos = 0, saturated = 0;
  for (const SweepCell& cell : cells) {
    if (cell.arm == kStandardKind) continue;
    ++eos;
    saturated += cell.saturated_at ? 1 : 0;
    const std::optional<SweepExtra> extra = ExtraPerHop(plan, cells, cell);
    if (!extra) continue;
    ++compared;
    least = std::min(least.value_or(extra->value), extra->value);
    if (most && extra->value <= *most) continue;
    most = extra->value;
    worst = &cell;
  }
  std::vector<std::string> out;
  if (worst != nullptr) {
    out.push_back(StrCat("Exactly-once adds ", Length(*least), " to ", Length(*most), " a hop at the median, over ",
                         Counted(compared, "setting"), " that can be compared with standard; most at ",
                         worst->cold ? "one alone" : StrCat(RateText(worst->rate_per_second), "/s"), " with ",
                         Counted(static_cast<uint64_t>(worst->streams), "stream"), " (", worst->arm, ", ",
                         worst->client, ", ", worst->policy, ")."));
  }
  if (eos > 0) {
    out.push_back(saturated == 0
                      ? StrCat("None of the ", Counted(eos, "exactly-once setting"), " is saturated.")
                      : StrCat(saturated, " of ", Counted(eos, "exactly-once setting"), saturated == 1 ? " is" : " are",
                               " saturated: messages come faster than the chain can take them, and wait for ever."));
  }
  if (out.empty()) out.push_back(StrCat(Counted(cells.size(), "setting"), ", and no exactly-once one among them."));
  return out;
}

std::string RenderSweep(const SweepPlan& plan, std::span<const SweepCell> cells, const SweepHere* here) {
  std::string out = absl::StrFormat(
      "SWEEP     %s: profile %s, %d hops, seed %d\n"
      "          until handled, %s of work taken off; p50 [95 %% interval] and p95, ms\n",
      plan.simulated ? "simulated (virtual time)" : "measured (real gRPC, a broker of our own)", plan.profile,
      plan.hops, plan.seed, Length(plan.work * plan.hops));
  out += " rate/s str arm         client  policy modack      n p50                     p95\n";
  for (const SweepCell& cell : cells) {
    out += Heading(plan, cells, cell);
    out += PadLeft(RateOf(cell), 7) + PadLeft(std::to_string(cell.streams), 4) + " " + PadRight(cell.arm, 12) +
           PadRight(cell.client, 7) + " " + PadRight(cell.policy, 6) + PadLeft(ModackText(cell), 7) +
           PadLeft(std::to_string(cell.n), 7) + " " + PadRight(MedianText(cell), 20) + PadLeft(TailText(cell), 7);
    while (out.back() == ' ') out.pop_back();
    out += "\n" + OthersLine(plan, cell);
  }
  out +=
      "\nMAP       what an arm adds a hop, ms, by modack: difference of medians to std\n"
      "          at the same setting; sat: saturated, and what it served\n";
  for (size_t from = 0, to = 0; from < cells.size(); from = to) {
    while (to < cells.size() && (to == from || Heading(plan, cells, cells[to]).empty())) ++to;
    out += Heading(plan, cells, cells[from]) + RenderMap(plan, cells.subspan(from, to - from));
  }
  std::string answer;
  for (const std::string& sentence : SweepAnswer(plan, cells)) answer += StrCat(answer.empty() ? "" : " ", sentence);
  out += Wrap(answer, kWidthMin, "\nANSWER    ", "          ");
  for (const SweepCell& cell : cells) {
    if (!cell.invalid.empty())
      out += Wrap(StrCat(cell.Key(), ": ", cell.invalid), kWidthMin, "INVALID   ", "          ");
  }
  if (here != nullptr) out += HereText(*here);
  return out;
}

std::string SweepCsv(std::span<const SweepCell> cells) {
  std::string out =
      "rate_per_second,streams,arm,client,policy,modack_ms,round_trip_ms,idle_gap_ms,message_bytes,cold,repeat,"
      "messages,handled,n,p50_ms,p50_low_ms,p50_"
      "high_ms,p95_ms,others_p50_ms,"
      "saturated_at_per_second,messages_per_response,valid\n";
  for (const SweepCell& cell : cells) {
    const bool shown = !cell.saturated_at && cell.invalid.empty();
    const auto value = [&](const std::optional<stats::Estimate>& estimate) {
      return shown && estimate && estimate->supported ? std::optional(estimate->value) : std::nullopt;
    };
    out += StrCat(RateText(cell.rate_per_second), ",", cell.streams, ",", cell.arm, ",", cell.client, ",", cell.policy,
                  ",", CsvMs(cell.modack ? std::optional(cell.modack->count()) : std::nullopt), ",",
                  CsvMs(cell.round_trip ? std::optional(cell.round_trip->count()) : std::nullopt), ",",
                  CsvMs(cell.idle_gap ? std::optional(cell.idle_gap->count()) : std::nullopt), ",",
                  cell.message_bytes ? StrCat(*cell.message_bytes) : "", ",", cell.cold ? "yes" : "no", ",",
                  cell.repeat, ",", cell.messages, ",", cell.handled, ",", cell.n, ",", CsvMs(value(cell.p50)), ",",
                  CsvMs(shown && cell.p50 ? cell.p50->low : std::nullopt), ",",
                  CsvMs(shown && cell.p50 ? cell.p50->high : std::nullopt), ",", CsvMs(value(cell.p95)), ",",
                  CsvMs(value(cell.others_p50)), ",",
                  cell.saturated_at ? absl::StrFormat("%.4g", *cell.saturated_at) : "", ",",
                  absl::StrFormat("%.4f", cell.messages_per_response), ",", cell.invalid.empty() ? "yes" : "no", "\n");
  }
  return out;
}

}  // namespace hopgap::report
