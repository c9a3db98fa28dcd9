// Fit, prediction and sweep, on runs whose truth is known: they are simulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "cli/fitting.h"
#include "cli/prediction.h"
#include "cli/setup.h"
#include "cli/sweep.h"
#include "cli/what_if.h"
#include "formats/profile_file.h"
#include "scenario/virtual_run.h"

namespace hopgap::tests {
namespace {

using cli::VirtualChain;
using testing::HasSubstr;
using Part = report::FitOptions::Part;

constexpr uint64_t kFitMessages = 300;

broker::Profile Truth() { return cli::LoadProfile("cloud-replay").value(); }

VirtualChain Chain(const std::string& kind, uint64_t messages) {
  VirtualChain chain;
  chain.arm = lab::ParseArm(kind, "go").value();
  chain.profile = Truth();
  chain.work = std::chrono::milliseconds{200};
  chain.slots = messages;
  chain.seed = 5;
  return chain;
}

report::Run Simulated(uint64_t messages) {
  report::Run run;
  run.configuration.hops = 3;
  run.configuration.work = std::chrono::milliseconds{200};
  run.configuration.rate_per_second = 1;
  run.configuration.messages = messages;
  run.configuration.streams = 4;
  run.configuration.max_outstanding_messages = 1000;
  run.configuration.publish_mode = "await";
  run.configuration.response_policy = "eager";
  run.configuration.seed = 5;
  for (const char* kind : {"std", "eos"}) {
    absl::StatusOr<report::ArmRun> arm = cli::Predict(Chain(kind, messages), nullptr);
    EXPECT_TRUE(arm.ok()) << arm.status();
    run.arms.push_back(*std::move(arm));
  }
  return run;
}

const report::Run& SimulatedOnce() {
  static const report::Run run = Simulated(kFitMessages);
  return run;
}

// Every quantile of the truth lies inside the fit's interval for it.
void ExpectRecovered(const report::FittedLeg& leg, const broker::QuantileTable& truth) {
  SCOPED_TRACE(leg.name + " " + leg.kind);
  ASSERT_EQ(leg.missing, "");
  for (const uint32_t percent : {5U, 10U, 25U, 50U, 75U, 90U, 95U}) {
    const stats::Probability p{percent * 1000};
    const auto estimate = stats::EstimateQuantile(leg.delays, p);
    ASSERT_TRUE(estimate && estimate->low && estimate->high);
    const int64_t want = truth.At(kFractionOne / 100 * percent).count();
    EXPECT_LE(*estimate->low, want) << percent;
    EXPECT_GE(*estimate->high, want) << percent;
  }
}

TEST(FitTest, RecoversEveryLegOfTheProfileItWasSimulatedFrom) {
  const absl::StatusOr<cli::Fitted> fitted = cli::FitProfile(SimulatedOnce(), "", Part::kAll, "again", "a run");
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  ASSERT_EQ(fitted->fit.legs.size(), 8u);
  for (const report::FittedLeg& leg : fitted->fit.legs) {
    EXPECT_EQ(leg.delays.n(), 3 * kFitMessages) << leg.name;
    ExpectRecovered(leg, Truth().Table(leg.kind == "exactly_once", leg.leg));
  }
}

TEST(FitTest, TheProfileFileSaysWhatTheSampleSays) {
  const absl::StatusOr<cli::Fitted> fitted = cli::FitProfile(SimulatedOnce(), "", Part::kAll, "again", "a run");
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const auto file = formats::ParseProfile(fitted->json, "fitted");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->samples.at("modack exactly_once"), 3 * kFitMessages);
  EXPECT_EQ(file->messages_per_response.at("standard"), 1);
  const report::FittedLeg* modack = fitted->fit.Find(broker::Leg::kModack, true);
  const auto at = file->profile.Table(true, broker::Leg::kModack).At(kFractionOne / 2);
  EXPECT_NEAR(static_cast<double>(at.count()), static_cast<double>(modack->delays.Quantile(stats::kP50)), 2);
}

// A broker that is slow after disuse.
broker::Profile ColdProfile() {
  constexpr char kText[] = R"({"name": "cold", "cold_after_ms": 5000, "legs": {
    "deliver": {"both": {"quantiles": [[0, 10], [1, 20]], "cold": {"quantiles": [[0, 300], [1, 500]]}}},
    "modack": {"exactly_once": {"quantiles": [[0, 50], [1, 60]], "cold": {"quantiles": [[0, 1000], [1, 1200]]}}}}})";
  return formats::ParseProfile(kText, "cold").value().profile;
}

TEST(FitTest, ColdCallsGetTablesOfTheirOwn) {
  report::Run run;
  run.configuration.hops = 3;
  VirtualChain chain = Chain("eos", kFitMessages);
  chain.profile = ColdProfile();
  chain.arrival = lab::Arrival::Bursts(1000, 5, std::chrono::seconds{20});
  chain.millihertz = chain.arrival.MeanOfBursts();
  run.arms.push_back(*cli::Predict(chain, nullptr));
  const absl::StatusOr<cli::Fitted> fitted =
      cli::FitProfile(run, "", Part::kAll, "again", "a run", std::chrono::seconds{5});
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  for (const broker::Leg leg : {broker::Leg::kDeliver, broker::Leg::kModack}) {
    const report::FittedLeg* found = fitted->fit.Find(leg, true);
    EXPECT_EQ(found->delays.n() + found->cold.n(), 3 * kFitMessages);
    // One a burst and hop: a message that overtakes a cold one finds the leg cold in its place.
    EXPECT_EQ(found->cold.n(), 3 * kFitMessages / 5);
    EXPECT_GE(found->cold.At(1), ColdProfile().Table(true, leg, true).At(0).count() - 1000);
    ExpectRecovered(*found, ColdProfile().Table(true, leg));
  }
  EXPECT_EQ(fitted->profile.cold_after, std::chrono::seconds{5});
  EXPECT_TRUE(fitted->profile.HasCold());
  // Without the question all calls are alike.
  const absl::StatusOr<cli::Fitted> mixed = cli::FitProfile(run, "", Part::kAll, "again", "a run");
  EXPECT_FALSE(mixed->profile.HasCold());
  EXPECT_EQ(mixed->fit.Find(broker::Leg::kModack, true)->delays.n(), 3 * kFitMessages);
}

// A trace of the real service: the broker's side is not in it.
TEST(FitTest, WithoutTheBrokersSideTheWholePublishAndTheGapAreKept) {
  report::Run run = SimulatedOnce();
  std::vector<int64_t> gaps, calls;
  for (report::ArmRun& arm : run.arms) {
    for (trace::Path& path : arm.paths) {
      for (size_t i = 0; i < path.hops.size(); ++i) {
        trace::HopTimes hop = path.hops[i];
        hop.accepted = hop.committed = hop.written = std::nullopt;
        path.hops.Replace(i, hop);
        if (arm.name != "std") continue;
        gaps.push_back((hop.received - hop.publish_end).count());
        calls.push_back((hop.publish_end - hop.publish_start - 2 * cli::SimulatedOneWay()).count());
      }
    }
  }
  const absl::StatusOr<cli::Fitted> fitted = cli::FitProfile(run, "", Part::kAll, "again", "a trace");
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const auto* before = fitted->fit.Find(broker::Leg::kPublishBefore, false);
  const auto* after = fitted->fit.Find(broker::Leg::kPublishAfter, false);
  const auto* deliver = fitted->fit.Find(broker::Leg::kDeliver, false);
  const int64_t share = after->delays.At(1);
  EXPECT_GT(share, 0) << "gaps are negative here";
  EXPECT_EQ(after->delays.At(after->delays.n()), share);
  EXPECT_EQ(before->delays.Quantile(stats::kP50) + share, stats::Sample(calls).Quantile(stats::kP50));
  EXPECT_LE(std::abs(deliver->delays.Quantile(stats::kP50) - share - stats::Sample(gaps).Quantile(stats::kP50)), 1);
  EXPECT_THAT(fitted->fit.assumed.front(), HasSubstr("commit is not in these spans"));
}

TEST(FitTest, WhatWasNotObservedIsNamedAndNotZero) {
  report::Run run = SimulatedOnce();
  run.arms.erase(run.arms.begin());  // only exactly-once is left
  const absl::StatusOr<cli::Fitted> fitted = cli::FitProfile(run, "", Part::kAll, "again", "a run");
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  EXPECT_FALSE(fitted->fit.Observed(false));
  const auto file = formats::ParseProfile(fitted->json, "fitted");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->not_observed, testing::Contains(HasSubstr("modack standard: no standard one in these spans")));
  EXPECT_THAT(fitted->json, testing::Not(HasSubstr("\"standard\"")));
  EXPECT_FALSE(cli::FitProfile(run, "elsewhere", Part::kAll, "again", "a run").ok());
}

// One half predicts the other, stage by stage.
TEST(PredictionTest, AHalfPredictsTheHalfThatWasHeldBack) {
  const report::Run& run = SimulatedOnce();
  const absl::StatusOr<cli::Fitted> half = cli::FitProfile(run, "", Part::kEven, "half", "a run");
  const absl::StatusOr<cli::Plan> plan = cli::PlanOf(run, "", std::nullopt);
  ASSERT_TRUE(half.ok() && plan.ok()) << plan.status();
  ASSERT_EQ(plan->chains.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const absl::StatusOr<report::PredictedArm> arm =
        cli::HoldAgainst(*plan->arms[i], cli::WithFit(plan->chains[i], *half), 1, Part::kOdd);
    ASSERT_TRUE(arm.ok()) << arm.status();
    EXPECT_EQ(arm->measured_n, kFitMessages / 2);
    // Of so many intervals of 95 % one may miss.
    std::string misses;
    size_t missed = 0;
    for (const report::PredictedStage& stage : arm->stages) {
      ASSERT_TRUE(stage.agrees().has_value()) << arm->arm << " " << stage.stage;
      if (*stage.agrees()) continue;
      misses += " " + std::string(stage.stage);
      ++missed;
    }
    EXPECT_LE(missed, 1u) << arm->arm << misses;
  }
}

TEST(PredictionTest, AMessageIsHeldAgainstItselfWhereTheDrawsAreTheSame) {
  report::Run run = SimulatedOnce();
  const absl::StatusOr<cli::Plan> plan = cli::PlanOf(run, "", std::nullopt);
  ASSERT_TRUE(plan.ok()) << plan.status();
  VirtualChain chain = plan->chains[1];
  chain.profile = Truth();
  const auto stage = [](const report::PredictedArm& arm, std::string_view name) {
    return *std::find_if(arm.stages.begin(), arm.stages.end(), [&](const auto& one) { return one.stage == name; });
  };
  const absl::StatusOr<report::PredictedArm> same = cli::HoldAgainst(*plan->arms[1], chain, 1, Part::kAll);
  ASSERT_TRUE(same.ok()) << same.status();
  for (const report::PredictedStage& one : same->stages) EXPECT_EQ(one.pair_difference, 0) << one.stage;

  // 1 ms is more than 3 % of the 30 ms that three publishers wait, and less than 3 % of 600 ms of work.
  for (trace::Path& path : run.arms[1].paths) {
    for (const trace::Stage late : {trace::Stage::kClientPublish, trace::Stage::kWork}) {
      trace::HopTimes hop = path.hops[0];
      hop.stages[static_cast<size_t>(late)].length += std::chrono::milliseconds{1};
      path.hops.Replace(0, hop);
    }
  }
  const absl::StatusOr<report::PredictedArm> later = cli::HoldAgainst(run.arms[1], chain, 1, Part::kAll);
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_EQ(stage(*later, "client publish").pair_difference, 1'000'000);
  EXPECT_EQ(stage(*later, "client publish").close(), false);
  EXPECT_EQ(stage(*later, "work").close(), true);
  EXPECT_THAT(report::RenderPrediction({&*later, 1}, "measured"), HasSubstr("NO"));
}

// The hand calculation gives the order of magnitude, and knows the capacity.
TEST(PredictionTest, ByHandIsNearTheSimulation) {
  const report::ArmRun& eos = SimulatedOnce().arms[1];
  const cli::Formula formula = cli::ByHand(Chain("eos", kFitMessages), 1);
  double sum = 0, handled = 0;
  for (int i = 0; i < trace::kPathStages; ++i) sum += ToMillis(formula.stages[static_cast<size_t>(i)]);
  for (const trace::Path& path : eos.paths) handled += ToMillis(path.until_handled) / kFitMessages;
  EXPECT_NEAR(sum / handled, 1, 0.1);
  ASSERT_TRUE(formula.capacity);
  EXPECT_NEAR(*formula.capacity, 4 / (ToMillis(formula.modack) / 1e3), 1e-9);
  EXPECT_FALSE(cli::ByHand(Chain("std", 1), 1).capacity);
  EXPECT_FALSE(cli::ByHand(Chain("eos-overlap", 1), 1).capacity);
}

TEST(PredictionTest, TooFewStreamsAreSaturatedNearTheCapacityByHand) {
  VirtualChain chain = Chain("eos", 600);
  chain.millihertz = 30'000;
  const absl::StatusOr<report::ArmRun> arm = cli::Predict(chain, nullptr);
  ASSERT_TRUE(arm.ok()) << arm.status();
  ASSERT_TRUE(arm->saturated_at);
  // It is stopped after some hundred modacks of a heavy-tailed kind: their mean is known to a tenth or so.
  const double capacity = *cli::ByHand(chain, 1).capacity;
  EXPECT_NEAR(*arm->saturated_at / capacity, 1, 0.35);
  EXPECT_GT(cli::ByHand(chain, 1).streams_needed, 4u);
}

TEST(WhatIfTest, ChangesAreNamedAndEverythingElseIsRefused) {
  const auto change = cli::ParseChange({"rate=100,streams=10", "policy=gated"});
  ASSERT_TRUE(change.ok()) << change.status();
  const VirtualChain changed = cli::Changed(Chain("eos", 1), *change);
  EXPECT_EQ(changed.millihertz, 100'000u);
  EXPECT_EQ(changed.streams, 10u);
  EXPECT_TRUE(changed.gated);
  for (const char* bad : {"streams=0", "streams=101", "rate=x", "client=cobol", "policy=slow", "hops=3", "streams"}) {
    const auto refused = cli::ParseChange({bad});
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(bad));
  }
}

cli::Sweep SmallSweep(const std::string& out) {
  cli::Sweep sweep;
  sweep.profile = Truth();
  sweep.plan = {.version = "test", .profile = "cloud-replay", .profile_means_ms = {}, .hops = 1, .messages_min = 40};
  sweep.plan.seed = 5;
  for (const char* arm : {"std", "eos"}) {
    for (const double rate : {1.0, 50.0}) {
      report::SweepCell cell;
      cell.rate_per_second = rate;
      cell.streams = 1;
      cell.arm = arm;
      cell.client = "go";
      cell.policy = cell.arm == "std" ? "-" : "eager";
      cell.messages = rate > 1 ? 500 : 40;
      sweep.cells.push_back(cell);
    }
  }
  sweep.out = out;
  sweep.threads = 2;
  return sweep;
}

TEST(SweepTest, SaturatedCellsSaySoAndAKilledSweepGoesOn) {
  const std::string out = testing::TempDir() + "/hopgap-sweep-test";
  std::filesystem::remove_all(out);
  cli::Sweep sweep = SmallSweep(out);
  ASSERT_TRUE(cli::RunSweep(sweep).ok());
  EXPECT_TRUE(sweep.cells[3].saturated_at);
  EXPECT_FALSE(sweep.cells[1].saturated_at);
  const std::string text = report::RenderSweep(sweep.plan, sweep.cells);
  EXPECT_THAT(text, HasSubstr("saturated at "));
  EXPECT_THAT(text, HasSubstr("      1   1 eos         go        eager         +"));
  EXPECT_THAT(text, HasSubstr("     50   1 eos         go        eager   sat "));

  // The last line is torn, as by a kill: that cell alone is simulated again.
  const std::string file = out + "/" + cli::kSweepFile;
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 10);
  cli::Sweep again = SmallSweep(out);
  size_t simulated = 0;
  again.on_cell = [&](size_t done, const report::SweepCell&) {
    ++simulated;
    EXPECT_EQ(done, 4u);
  };
  ASSERT_TRUE(cli::RunSweep(again).ok());
  EXPECT_EQ(simulated, 1u);
  EXPECT_EQ(report::RenderSweep(again.plan, again.cells), text);
  EXPECT_EQ(report::SweepCsv(again.cells), report::SweepCsv(sweep.cells));

  cli::Sweep other = SmallSweep(out);
  other.plan.seed = 6;
  EXPECT_EQ(cli::RunSweep(other).status().code(), absl::StatusCode::kFailedPrecondition);
  std::filesystem::remove_all(out);
}

TEST(SweepTest, DistanceAndRepeatsAreAxesAndWhatIsAddedHasAnInterval) {
  const std::string out = testing::TempDir() + "/hopgap-sweep-axes-test";
  std::filesystem::remove_all(out);
  cli::Sweep sweep = SmallSweep(out);
  std::erase_if(sweep.cells, [](const report::SweepCell& cell) { return cell.rate_per_second > 1; });
  for (size_t i = 0; i < 2; ++i) {
    sweep.cells.push_back(sweep.cells[i]);
    sweep.cells.back().repeat = 2;
  }
  for (size_t i = 0; i < 2; ++i) {
    sweep.cells.push_back(sweep.cells[i]);
    sweep.cells.back().round_trip = std::chrono::milliseconds{40};
  }
  ASSERT_TRUE(cli::RunSweep(sweep).ok());
  const auto p50 = [&](size_t at) { return ToMillis(Duration{sweep.cells[at].p50->value}); };
  EXPECT_NE(p50(0), p50(2)) << "a repeat draws anew";
  // A message travels once to the broker and once from it.
  EXPECT_NEAR(p50(4) - p50(0), 40 - 0.2, 1);
  // Exactly-once also awaits its lease: one round trip more.
  const auto near = report::ExtraPerHop(sweep.plan, sweep.cells, sweep.cells[1]);
  const auto far = report::ExtraPerHop(sweep.plan, sweep.cells, sweep.cells[5]);
  ASSERT_TRUE(near && far && near->low && near->high);
  EXPECT_NEAR((far->value - near->value) / 1e6, 40 - 0.2, 5);
  EXPECT_LT(*near->low, near->value);
  EXPECT_GT(*near->high, near->value);
  EXPECT_FALSE(report::ExtraPerHop(sweep.plan, sweep.cells, sweep.cells[0])) << "it is the standard one";
  EXPECT_NEAR(near->value / 1e6, p50(1) - p50(0), 1e-6);

  const report::SweepHere here{"runs/x", 1, 4, {"std", "eos"}, "go", "eager"};
  const std::string text = report::RenderSweep(sweep.plan, sweep.cells, &here);
  EXPECT_THAT(text, HasSubstr("round trip 40.0 ms, repeat 1:\n"));
  EXPECT_THAT(text, HasSubstr("HERE      runs/x is at 1/s, 4 streams: std, eos (go, eager)\n"));
  EXPECT_THAT(text, HasSubstr("ANSWER    Exactly-once adds "));
  for (const std::string_view line : Split(text, '\n')) EXPECT_LE(line.size(), 80u) << line;

  // The folder gives the same cells again, in the order of their settings.
  const absl::StatusOr<cli::KeptSweep> kept = cli::ReadSweep(out);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->plan, sweep.plan);
  ASSERT_EQ(kept->cells.size(), 6u);
  EXPECT_EQ(kept->cells[0].Key(), sweep.cells[0].Key());
  EXPECT_EQ(kept->cells[5].Key(), sweep.cells[5].Key());
  EXPECT_EQ(kept->cells[5].p50->value, sweep.cells[5].p50->value);
  std::filesystem::remove_all(out);
  EXPECT_THAT(std::string(cli::ReadSweep(out).status().message()), HasSubstr("`hopgap sweep --out` writes one"));
}

TEST(SweepTest, SilencesAndColdMessagesAreAxes) {
  const std::string out = testing::TempDir() + "/hopgap-sweep-cold-test";
  std::filesystem::remove_all(out);
  cli::Sweep sweep = SmallSweep(out);
  sweep.profile = ColdProfile();
  sweep.plan.burst = 4;
  std::erase_if(sweep.cells, [](const report::SweepCell& cell) { return cell.rate_per_second > 1; });
  for (const Duration gap : {Duration{std::chrono::seconds{2}}, Duration{std::chrono::seconds{20}}}) {
    for (size_t i = 0; i < 2; ++i) {
      sweep.cells.push_back(sweep.cells[i]);
      sweep.cells.back().idle_gap = gap;
      sweep.cells.back().messages = 41 * 4;
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    sweep.cells.push_back(sweep.cells[i]);
    sweep.cells.back().cold = true;
    sweep.cells.back().rate_per_second = 0;
  }
  ASSERT_TRUE(cli::RunSweep(sweep).ok());
  const auto p50 = [&](size_t at) { return ToMillis(Duration{sweep.cells[at].p50->value}); };
  const auto others = [&](size_t at) { return ToMillis(Duration{sweep.cells[at].others_p50->value}); };
  EXPECT_EQ(sweep.cells[0].n, 40u);
  EXPECT_FALSE(sweep.cells[0].others_p50);
  for (size_t at = 2; at < 6; ++at) {
    EXPECT_EQ(sweep.cells[at].n, 40u) << "the first of the first burst comes after the start, not after a silence";
    EXPECT_EQ(sweep.cells[at].handled, 41u * 4);
    EXPECT_NEAR(others(at), p50(at % 2), 15);
  }
  EXPECT_NEAR(p50(2), p50(0), 5) << "2 s are no disuse";
  EXPECT_NEAR(p50(4) - p50(0), 400 - 15, 40) << "a cold delivery";
  EXPECT_NEAR(p50(5) - p50(1), 400 - 15 + 1100 - 55, 100) << "and a cold modack";
  EXPECT_NEAR(p50(6), p50(4), 40) << "alone everything is cold";
  EXPECT_NEAR(p50(7), p50(5), 100);
  EXPECT_EQ(sweep.cells[7].handled, 40u);
  EXPECT_NE(sweep.cells[7].p50->low, sweep.cells[7].p50->high) << "each draws its own delays";

  const std::string text = report::RenderSweep(sweep.plan, sweep.cells);
  EXPECT_THAT(text, HasSubstr("\nas it is:\n"));
  EXPECT_THAT(text, HasSubstr("\nfirst message after 20.0 s of silence, bursts of 4:\n"));
  EXPECT_THAT(text, HasSubstr("the other 3 of each burst "));
  EXPECT_THAT(text, HasSubstr("\ncold: each message alone, with a client and a broker of its own:\n  alone   1 std"));
  for (const std::string_view line : Split(text, '\n')) EXPECT_LE(line.size(), 80u) << line;
  ASSERT_TRUE(report::ExtraPerHop(sweep.plan, sweep.cells, sweep.cells[7]));
  EXPECT_NEAR(report::ExtraPerHop(sweep.plan, sweep.cells, sweep.cells[7])->value / 1e6, p50(7) - p50(6), 1e-6);

  const absl::StatusOr<cli::KeptSweep> kept = cli::ReadSweep(out);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->plan, sweep.plan);
  EXPECT_EQ(report::RenderSweep(kept->plan, kept->cells), text);
  EXPECT_EQ(report::SweepCsv(kept->cells), report::SweepCsv(sweep.cells));
  std::filesystem::remove_all(out);
}

TEST(SweepTest, ARunKnowsWhereItIsOnTheMap) {
  const absl::StatusOr<report::SweepHere> here = cli::HereOf(SimulatedOnce(), "runs/x");
  ASSERT_TRUE(here.ok()) << here.status();
  EXPECT_EQ(here->rate_per_second, 1);
  EXPECT_EQ(here->streams, 4);
  EXPECT_EQ(here->arms, (std::vector<std::string>{"std", "eos"}));
  EXPECT_EQ(here->client, "go");
  EXPECT_EQ(here->policy, "eager");
}

TEST(SweepTest, AStopEndsItWithItsReason) {
  cli::Sweep sweep = SmallSweep("");
  for (report::SweepCell& cell : sweep.cells) cell.messages = 20'000;
  sweep.stop_asked = [] { return std::string("SIGINT (Ctrl-C)"); };
  const absl::StatusOr<std::string> ended = cli::RunSweep(sweep);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(*ended, "SIGINT (Ctrl-C)");
}

}  // namespace
}  // namespace hopgap::tests
