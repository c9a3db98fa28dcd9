#include "report/sweep.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "report/layout.h"

namespace hopgap::report {
namespace {

constexpr std::string_view kStandardKind = "std";

std::string RateText(double rate) { return absl::StrFormat("%.6g", rate); }

std::string ModackText(const SweepCell& cell) {
  return cell.modack ? absl::StrFormat("%g", ToMillis(*cell.modack)) : std::string("-");
}

std::string SaturatedText(double rate) { return absl::StrFormat("saturated at %.3g/s", rate); }

std::string MedianText(const SweepCell& cell) {
  if (cell.saturated_at) return SaturatedText(*cell.saturated_at);
  if (!cell.p50) return "nothing handled";
  std::string text = Millis(static_cast<double>(cell.p50->value));
  if (cell.p50->low && cell.p50->high && !stats::IsInfinite(*cell.p50->high)) {
    text += StrCat(" [", Millis(static_cast<double>(*cell.p50->low)), ", ",
                   Millis(static_cast<double>(*cell.p50->high)), "]");
  }
  return text;
}

std::string TailText(const SweepCell& cell) {
  if (cell.saturated_at) return "";
  return cell.p95 && cell.p95->supported ? Millis(static_cast<double>(cell.p95->value)) : "n too small";
}

const SweepCell* StandardOf(std::span<const SweepCell> cells, const SweepCell& cell) {
  for (const SweepCell& other : cells) {
    if (other.arm == kStandardKind && other.rate_per_second == cell.rate_per_second && other.streams == cell.streams &&
        other.client == cell.client) {
      return &other;
    }
  }
  return nullptr;
}

std::string ExtraText(const SweepPlan& plan, std::span<const SweepCell> cells, const SweepCell& cell) {
  if (cell.saturated_at) return SaturatedText(*cell.saturated_at);
  const SweepCell* standard = StandardOf(cells, cell);
  if (standard == nullptr || standard->saturated_at || !standard->p50 || !cell.p50) return "no standard cell";
  return StrCat(SignedMillis(static_cast<double>(cell.p50->value - standard->p50->value) / plan.hops), " ms a hop");
}

std::string CsvMs(const std::optional<int64_t>& nanoseconds) {
  return nanoseconds && !stats::IsInfinite(*nanoseconds)
             ? absl::StrFormat("%.6f", static_cast<double>(*nanoseconds) / 1e6)
             : std::string();
}

}  // namespace

std::string SweepCell::Key() const {
  return StrCat("rate=", RateText(rate_per_second), " streams=", streams, " arm=", arm, " client=", client,
                " policy=", policy, modack ? StrCat(" modack_ns=", modack->count()) : "");
}

void FillCell(const ArmRun& arm, Duration work, SweepCell& cell) {
  std::vector<int64_t> values;
  for (const trace::Path& path : arm.paths) values.push_back((path.until_handled - work).count());
  cell.handled = values.size();
  const stats::Sample sample(std::move(values), arm.sent - std::min<uint64_t>(arm.sent, arm.paths.size()));
  cell.p50 = stats::EstimateQuantile(sample, stats::kP50);
  cell.p95 = stats::EstimateQuantile(sample, stats::kP95);
  cell.saturated_at = arm.saturated_at;
  cell.messages_per_response =
      arm.responses == 0 ? 1 : static_cast<double>(arm.messages_received) / static_cast<double>(arm.responses);
}

std::string RenderSweep(const SweepPlan& plan, std::span<const SweepCell> cells) {
  std::string out = absl::StrFormat(
      "SWEEP     simulated (virtual time): profile %s, %d hops, seed %d\n"
      "          until handled, %s of work taken off; p50 [95 %% interval] and p95, ms\n",
      plan.profile, plan.hops, plan.seed, Length(plan.work * plan.hops));
  out += " rate/s str arm         client  policy modack      n p50                     p95\n";
  for (const SweepCell& cell : cells) {
    out += PadLeft(RateText(cell.rate_per_second), 7) + PadLeft(std::to_string(cell.streams), 4) + " " +
           PadRight(cell.arm, 12) + PadRight(cell.client, 8) + PadRight(cell.policy, 6) + PadLeft(ModackText(cell), 7) +
           PadLeft(std::to_string(cell.messages), 7) + " " + PadRight(MedianText(cell), 20) +
           PadLeft(TailText(cell), 7);
    while (out.back() == ' ') out.pop_back();
    out += "\n";
  }
  out += "\nMAP       what exactly-once adds a hop: difference of the medians to std at the same setting\n";
  for (const SweepCell& cell : cells) {
    if (cell.arm == kStandardKind) continue;
    out += absl::StrFormat("%8s/s, %2d streams, %-12s %-8s %-6s ", RateText(cell.rate_per_second), cell.streams,
                           cell.arm, cell.client, cell.policy);
    if (cell.modack) out += absl::StrFormat("modack %g ms: ", ToMillis(*cell.modack));
    out += ExtraText(plan, cells, cell) + "\n";
  }
  return out;
}

std::string SweepCsv(std::span<const SweepCell> cells) {
  std::string out =
      "rate_per_second,streams,arm,client,policy,modack_ms,messages,handled,p50_ms,p50_low_ms,p50_high_ms,p95_ms,"
      "saturated_at_per_second,messages_per_response\n";
  for (const SweepCell& cell : cells) {
    const bool shown = !cell.saturated_at;
    const auto value = [&](const std::optional<stats::Estimate>& estimate) {
      return shown && estimate && estimate->supported ? std::optional(estimate->value) : std::nullopt;
    };
    out +=
        StrCat(RateText(cell.rate_per_second), ",", cell.streams, ",", cell.arm, ",", cell.client, ",", cell.policy,
               ",", CsvMs(cell.modack ? std::optional(cell.modack->count()) : std::nullopt), ",", cell.messages, ",",
               cell.handled, ",", CsvMs(value(cell.p50)), ",", CsvMs(shown && cell.p50 ? cell.p50->low : std::nullopt),
               ",", CsvMs(shown && cell.p50 ? cell.p50->high : std::nullopt), ",", CsvMs(value(cell.p95)), ",",
               cell.saturated_at ? absl::StrFormat("%.4g", *cell.saturated_at) : "", ",",
               absl::StrFormat("%.4f", cell.messages_per_response), "\n");
  }
  return out;
}

}  // namespace hopgap::report
