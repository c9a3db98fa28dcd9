#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "report/run.h"
#include "stats/interval.h"

namespace hopgap::report {

// What a sweep keeps the same in every cell.
struct SweepPlan {
  std::string version;
  bool simulated = true;                 // else each cell was run, on real gRPC and a broker of our own
  std::string profile;                   // name, or "none"
  std::vector<double> profile_means_ms;  // by kind and leg: tells profiles of one name apart
  int hops = 3;
  Duration work{0}, length{0};  // per handler; of each cell's schedule
  uint64_t messages_min = 0;    // of a cell, however slow
  uint64_t seed = 0;
  uint64_t burst = 0;  // messages between two silences, where cells have an idle gap
  friend bool operator==(const SweepPlan&, const SweepPlan&) = default;
};

// One chain at one setting. Latencies are until handled, work taken off.
struct SweepCell {
  double rate_per_second = 0;
  int streams = 0;
  std::string arm, client, policy;  // "eos", "go", "eager"; a standard arm knows no policy: "-"
  // The exactly-once modack's added delay, always the same; unset: the profile's.
  std::optional<Duration> modack;
  // What the modelled network takes there and back; unset: what sim models.
  std::optional<Duration> round_trip;
  // The messages come in bursts, with so much silence between. Unset: none.
  std::optional<Duration> idle_gap;
  std::optional<uint64_t> message_bytes;  // of data; unset: a few
  // Every message alone, on processes (of a cell that is run), connections and a
  // broker that were started for it; it has no rate.
  bool cold = false;
  int repeat = 1;  // each draws its delays anew
  uint64_t messages = 0, handled = 0;
  uint64_t n = 0;  // of the figures: with an idle gap the first messages after each silence
  std::optional<stats::Estimate> p50, p95;
  std::optional<stats::Estimate> others_p50;  // with an idle gap: of the other messages of the bursts
  std::optional<double> saturated_at;         // then the latencies say nothing, and are not printed
  double messages_per_response = 1;
  std::string invalid;  // of a cell that was run: why its run proves nothing; empty: valid

  std::string Key() const;  // names the setting; unique in a sweep
};

// `arm` as it came out. A measured arm that is invalid for another reason than saturation
// is marked. `work`: of the whole chain; `burst`: of the plan.
void FillCell(const ArmRun& arm, Duration work, uint64_t burst, SweepCell& cell);

// What exactly-once adds to a hop: the difference of medians to the standard
// cell of the same setting, over the hops, nanoseconds. nullopt: it is that cell,
// there is none, or one of the two is saturated.
struct SweepExtra {
  double value = 0;
  std::optional<double> low, high;  // 95 %; unset: n has no such limit
};
std::optional<SweepExtra> ExtraPerHop(const SweepPlan& plan, std::span<const SweepCell> cells, const SweepCell& cell);

// Where a run or a trace stands on the map.
struct SweepHere {
  std::string name;  // the run's, for people
  double rate_per_second = 0;
  int streams = 0;
  std::vector<std::string> arms;  // kinds: "std", "eos"
  std::string client, policy;
};

// The table in order of settings, below it what exactly-once adds, and where `here` is.
std::string RenderSweep(const SweepPlan& plan, std::span<const SweepCell> cells, const SweepHere* here = nullptr);
// One or two sentences: what exactly-once adds, from where to where, and what is saturated.
std::vector<std::string> SweepAnswer(const SweepPlan& plan, std::span<const SweepCell> cells);
// A header line, then a line a cell; empty where there is no number.
std::string SweepCsv(std::span<const SweepCell> cells);

}  // namespace hopgap::report
