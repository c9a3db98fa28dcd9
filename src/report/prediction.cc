#include "report/prediction.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/text.h"
#include "report/layout.h"

namespace hopgap::report {
namespace {

using trace::Path;
using trace::Stage;

template <typename Measure>
std::optional<stats::Estimate> MedianOf(const ArmRun& arm, FitOptions::Part part, const Measure& measure) {
  std::vector<int64_t> values;
  for (const Path& path : arm.paths) {
    if (InPart(part, path.slot)) values.push_back(measure(path).count());
  }
  return stats::EstimateQuantile(stats::Sample(std::move(values)), stats::kP50);
}

// Of messages that both handled.
template <typename Measure>
std::optional<int64_t> PairDifferenceOf(const ArmRun& measured, const ArmRun& simulated, const Measure& measure) {
  std::map<uint64_t, int64_t> by_slot;
  for (const Path& path : simulated.paths) by_slot[path.slot] = measure(path).count();
  std::vector<int64_t> differences;
  for (const Path& path : measured.paths) {
    const auto found = by_slot.find(path.slot);
    if (found != by_slot.end()) differences.push_back(measure(path).count() - found->second);
  }
  if (differences.empty()) return std::nullopt;
  return stats::Sample(std::move(differences)).Quantile(stats::kP50);
}

std::string PairText(const PredictedStage& stage) {
  if (!stage.pair_difference) return "?";
  return StrCat(SignedMillis(static_cast<double>(*stage.pair_difference)), *stage.close() ? " ok" : " NO");
}

std::string LimitText(const std::optional<int64_t>& limit) {
  return limit ? Millis(static_cast<double>(*limit)) : "none";
}

std::string EstimateText(const std::optional<stats::Estimate>& estimate) {
  if (!estimate) return "none";
  return StrCat(Millis(static_cast<double>(estimate->value)), " [", LimitText(estimate->low), ", ",
                LimitText(estimate->high), "]");
}

std::string AgreesText(const PredictedStage& stage) {
  const std::optional<bool> agrees = stage.agrees();
  return !agrees ? "?" : *agrees ? "yes" : "no";
}

}  // namespace

std::optional<bool> PredictedStage::agrees() const {
  if (!measured || !simulated || !measured->low || !measured->high || !simulated->low || !simulated->high) {
    return std::nullopt;
  }
  return *measured->low <= *simulated->high && *simulated->low <= *measured->high;
}

std::optional<bool> PredictedStage::close() const {
  if (!pair_difference || !simulated) return std::nullopt;
  const int64_t limit = std::max<int64_t>(500'000, std::abs(simulated->value) / 100 * 3);
  return std::abs(*pair_difference) <= limit;
}

PredictedArm ComparePrediction(const ArmRun& measured, const ArmRun& simulated, FitOptions::Part part,
                               const std::array<Duration, trace::kStages>& formula, bool paired) {
  PredictedArm compared{.arm = measured.name,
                        .simulated_n = simulated.paths.size(),
                        .stages = {},
                        .saturated_at = simulated.saturated_at,
                        .note = {}};
  for (const Path& path : measured.paths) compared.measured_n += InPart(part, path.slot) ? 1 : 0;

  const auto add = [&](std::string name, const auto& measure, std::optional<Duration> by_hand) {
    compared.stages.push_back({.stage = std::move(name),
                               .measured = MedianOf(measured, part, measure),
                               .simulated = MedianOf(simulated, FitOptions::Part::kAll, measure),
                               .formula = by_hand});
    if (paired) compared.stages.back().pair_difference = PairDifferenceOf(measured, simulated, measure);
  };
  Duration sum{0};
  for (int i = 0; i < trace::kPathStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    const Duration by_hand = formula[static_cast<size_t>(i)];
    sum += by_hand;
    add(
        std::string(trace::StageName(stage)), [stage](const Path& path) { return path.StageSum(stage); }, by_hand);
  }
  add(
      "until handled", [](const Path& path) { return path.until_handled; }, sum);
  add(
      "ack (beside)", [](const Path& path) { return path.StageSum(Stage::kAck); },
      formula[static_cast<size_t>(Stage::kAck)]);
  return compared;
}

std::string RenderPrediction(std::span<const PredictedArm> arms, const std::string& measured_word) {
  std::string out;
  for (const PredictedArm& arm : arms) {
    out += StrCat("PREDICTED ", arm.arm, ": ", Counted(arm.measured_n, "message"), " ", measured_word, ", ",
                  arm.simulated_n, " simulated; p50 [95 % interval], ms\n");
    const bool paired = std::any_of(arm.stages.begin(), arm.stages.end(),
                                    [](const PredictedStage& stage) { return stage.pair_difference.has_value(); });
    out += PadRight("stage", 15) + PadLeft(measured_word, 23) + PadLeft("simulated", 23) +
           PadLeft(paired ? "pairs" : "agree", paired ? 10 : 7) + PadLeft("formula", 9) + "\n";
    for (const PredictedStage& stage : arm.stages) {
      out += PadRight(stage.stage, 15) + PadLeft(EstimateText(stage.measured), 23) +
             PadLeft(EstimateText(stage.simulated), 23) +
             PadLeft(paired ? PairText(stage) : AgreesText(stage), paired ? 10 : 7) +
             PadLeft(stage.formula ? Millis(static_cast<double>(stage.formula->count())) : "none", 9) + "\n";
    }
    if (arm.saturated_at) {
      out += absl::StrFormat("          the simulation is saturated at %s/s: its latencies say how long it ran\n",
                             PerSecond(*arm.saturated_at));
    }
    if (!arm.note.empty()) out += Wrap(arm.note, 80, "          ", "          ");
    out += "\n";
  }
  return out;
}

}  // namespace hopgap::report
