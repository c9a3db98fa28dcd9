#include "report/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/placements.h"
#include "report/run_builder_testing.h"

namespace hopgap::report {
namespace {

using namespace testing;  // report::testing: the builders
using std::chrono::seconds;
using trace::Stage;

constexpr size_t Index(Stage stage) { return static_cast<size_t>(stage); }

// A run of one group whose arms have the given dispatch gaps, one hop, no work.
Run OneHopRun(const std::vector<std::pair<std::string, std::vector<Duration>>>& arms) {
  report::Run run;
  run.configuration.hops = 1;
  run.configuration.rate_per_second = 1;
  for (const auto& [kind, gaps] : arms) {
    ArmRun arm = MakeArm("here", kind, gaps.size());
    for (uint64_t slot = 0; slot < gaps.size(); ++slot) {
      HopPlan plan;
      plan.client_publish = plan.work = Duration{0};
      plan.dispatch_gap = gaps[slot];
      AddPath(arm, MakePath(arm.name, slot, Duration{0}, {plan}));
    }
    run.arms.push_back(std::move(arm));
  }
  return run;
}

TEST(SummarizeTest, StagesAddUpExactly) {
  const Summary summary = Summarize(DefaultRun());
  ASSERT_EQ(summary.arms.size(), 5u);
  for (const ArmSummary& arm : summary.arms) {
    SCOPED_TRACE(arm.run.name);
    EXPECT_EQ(arm.n, 31u);
    EXPECT_EQ(arm.remainder, Duration{0});
    Duration hops{0};
    for (const auto& hop : arm.hops) {
      for (size_t i = 0; i < trace::kPathStages; ++i) hops += hop[i].total;
    }
    EXPECT_EQ(hops, arm.handled);
    EXPECT_EQ(arm.dispatch.lease_wait + arm.dispatch.other, arm.stages[Index(Stage::kDispatchGap)].total);
    EXPECT_EQ(arm.work.handler, arm.stages[Index(Stage::kWork)].total);
  }
}

// A path whose stages do not make its whole shows in the remainder, signed.
TEST(SummarizeTest, WhatDoesNotAddUpIsTheRemainder) {
  report::Run run = OneHopRun({{"std", {milliseconds{1}, milliseconds{2}}}});
  run.arms[0].paths[1].until_handled += Duration{7};
  EXPECT_EQ(Summarize(run).arms[0].remainder, Duration{7});
  run.arms[0].paths[1].until_handled -= Duration{10};
  EXPECT_EQ(Summarize(run).arms[0].remainder, Duration{-3});
}

TEST(SummarizeTest, EndToEndIsLessTheConfiguredWork) {
  report::Run run = DefaultRun(1);
  const trace::Path& path = run.arms[0].paths[0];
  const Summary summary = Summarize(run);
  EXPECT_EQ(summary.work, milliseconds{600});
  EXPECT_EQ(summary.arms[0].until_handled.p50->value, (path.until_handled - milliseconds{600}).count());
  EXPECT_EQ(summary.arms[0].until_acked.p50->value, (*path.until_acked - milliseconds{600}).count());
}

TEST(SummarizeTest, UnfinishedMessagesAreInfinite) {
  report::Run run = OneHopRun({{"std", std::vector<Duration>(10, milliseconds{1})}});
  run.arms[0].sent = run.arms[0].planned = 12;
  const ArmSummary arm = Summarize(run).arms[0];
  EXPECT_EQ(arm.unfinished, 2u);
  EXPECT_EQ(arm.n, 10u);  // stages: the finished ones
  EXPECT_EQ(arm.until_handled.n, 12u);
  EXPECT_EQ(arm.until_handled.p50->value, 1'000'000);
  EXPECT_EQ(arm.until_handled.p95->value, stats::kInfinite);
  EXPECT_EQ(arm.until_handled.max, stats::kInfinite);
}

// What was on its way when Ctrl-C came is unknown, not infinitely late.
TEST(SummarizeTest, AnEarlyEndLeavesOutWhatWasOnItsWay) {
  report::Run run = OneHopRun({{"std", std::vector<Duration>(10, milliseconds{1})}});
  run.arms[0].sent = 12;
  run.ended_early = true;
  const ArmSummary arm = Summarize(run).arms[0];
  EXPECT_EQ(arm.unfinished, 0u);
  EXPECT_EQ(arm.until_handled.n, 10u);
}

TEST(SummarizeTest, AnUnansweredAckIsInfiniteUntilAckedOnly) {
  report::Run run = OneHopRun({{"std", {milliseconds{1}, milliseconds{1}}}});
  run.arms[0].paths[1].until_acked.reset();
  const ArmSummary arm = Summarize(run).arms[0];
  EXPECT_EQ(arm.until_handled.unfinished, 0u);
  EXPECT_EQ(arm.until_acked.unfinished, 1u);
  EXPECT_EQ(arm.until_acked.max, stats::kInfinite);
}

TEST(SummarizeTest, SampledSpansThinTheUnfinishedAlike) {
  report::Run run = OneHopRun({{"std", {milliseconds{1}}}});
  run.arms[0].sent = 100;
  run.arms[0].completed = 95;
  run.is_sample = true;
  run.configuration.spans_of = 10;
  run.configuration.spans_total = 100;
  EXPECT_EQ(Summarize(run).arms[0].unfinished, 1u);  // 0.5, rounded up
  run.is_sample = false;                             // it wrote the spans of some, and has the paths of all
  EXPECT_EQ(Summarize(run).arms[0].unfinished, 5u);
}

TEST(SummarizeTest, WarmUpEndsAtItsSlot) {
  report::Run run = OneHopRun({{"std", {milliseconds{9}, milliseconds{8}, milliseconds{1}, milliseconds{1}}}});
  run.configuration.rate_per_second = 2;
  run.configuration.warm_up = seconds{1};  // slots 0 and 1; slot 2 is due at exactly 1 s
  const ArmSummary arm = Summarize(run).arms[0];
  EXPECT_EQ(arm.warm_up, 2u);
  EXPECT_EQ(arm.n, 2u);
  EXPECT_EQ(arm.until_handled.max, 1'000'000);
}

TEST(SummarizeTest, TheFirstAfterASilenceIsSetApart) {
  std::vector<Duration> gaps(40, milliseconds{2});
  for (size_t slot = 0; slot < gaps.size(); slot += 4) gaps[slot] = milliseconds{30};
  report::Run run = OneHopRun({{"std", gaps}});
  EXPECT_FALSE(Summarize(run).arms[0].after_silence);
  run.configuration.burst = 4;
  const ArmSummary arm = Summarize(run).arms[0];
  ASSERT_TRUE(arm.after_silence);
  EXPECT_EQ(arm.after_silence->first.n, 9u) << "slot 0 comes after no silence";
  EXPECT_EQ(arm.after_silence->others.n, 30u);
  EXPECT_EQ(arm.after_silence->first.p50->value - arm.after_silence->others.p50->value, 28'000'000);
}

TEST(SummarizeTest, OfAMessageHandledTwiceTheFirstCounts) {
  report::Run run = OneHopRun({{"std", {milliseconds{5}}}});
  trace::Path again = run.arms[0].paths[0];
  again.until_handled = milliseconds{3};
  trace::HopTimes hop = again.hops[0];
  hop.stages[Index(Stage::kDispatchGap)].length = milliseconds{3};
  again.hops.Replace(0, hop);
  run.arms[0].paths.push_back(again);
  const ArmSummary arm = Summarize(run).arms[0];
  EXPECT_EQ(arm.n, 1u);
  EXPECT_EQ(arm.until_handled.max, 3'000'000);
}

TEST(SummarizeTest, DifferencesArePairedBySlot) {
  report::Run run = OneHopRun(
      {{"std", std::vector<Duration>(6, milliseconds{10})},
       {"eos",
        {milliseconds{11}, milliseconds{12}, milliseconds{13}, milliseconds{14}, milliseconds{15}, milliseconds{16}}}});
  std::swap(run.arms[1].paths[0], run.arms[1].paths[5]);  // the order of the paths is no matter
  const Summary summary = Summarize(run);
  const Difference& whole = *summary.Find("eos", "until_handled");
  EXPECT_EQ(whole.baseline, "std");
  EXPECT_EQ(whole.pairs.n, 6u);
  EXPECT_EQ(whole.pairs.median->value, 3'500'000);
  EXPECT_EQ(whole.pairs.median->low, 1'000'000);
  EXPECT_EQ(whole.pairs.median->high, 6'000'000);
  EXPECT_EQ(whole.pairs.mean_sum, 21'000'000);
  Duration stages{0};
  for (int i = 0; i < trace::kPathStages; ++i) {
    stages += Duration{summary.Find("eos", trace::StageKey(static_cast<Stage>(i)))->pairs.mean_sum};
  }
  EXPECT_EQ(stages.count(), whole.pairs.mean_sum);
  EXPECT_EQ(summary.Find("std", "until_handled"), nullptr);
}

TEST(SummarizeTest, AnUnfinishedSlotIsAnInfiniteDifferenceOfTheWhole) {
  report::Run run =
      OneHopRun({{"std", {milliseconds{1}, milliseconds{1}}}, {"eos", {milliseconds{2}, milliseconds{2}}}});
  run.arms[1].paths.pop_back();
  run.arms[1].completed = 1;
  const Summary summary = Summarize(run);
  EXPECT_EQ(summary.Find("eos", "until_handled")->pairs.slower, 2u);
  EXPECT_EQ(summary.Find("eos", "until_handled")->pairs.median->value, stats::kInfinite);
  EXPECT_EQ(summary.Find("eos", "dispatch_gap")->pairs.n, 1u);
}

TEST(SummarizeTest, AnUnfinishedBaselineIsInfiniteTheOtherWay) {
  report::Run run =
      OneHopRun({{"std", {milliseconds{1}, milliseconds{1}}}, {"eos", {milliseconds{2}, milliseconds{2}}}});
  run.arms[0].paths.pop_back();
  run.arms[0].completed = 1;
  const Summary summary = Summarize(run);
  EXPECT_EQ(summary.Find("eos", "until_handled")->pairs.slower, 1u);
  EXPECT_EQ(summary.Find("eos", "until_handled")->pairs.faster, 1u);
  EXPECT_EQ(summary.Find("eos", "until_handled")->pairs.median->value, stats::kMinusInfinite);
}

TEST(SummarizeTest, TheBaselineIsTheGroupsStandardArm) {
  const Summary summary = Summarize(OneHopRun({{"eos", {milliseconds{1}}}, {"std", {milliseconds{1}}}}));
  EXPECT_EQ(summary.Baseline("here")->run.name, "std");
  const Summary none = Summarize(OneHopRun({{"eos", {milliseconds{1}}}, {"eos-overlap", {milliseconds{1}}}}));
  EXPECT_EQ(none.Baseline("here")->run.name, "eos");
  EXPECT_EQ(none.Baseline("replay"), nullptr);
}

TEST(SummarizeTest, NegativeGapsAreExplainedByTheWrite) {
  HopPlan overtaking, late, blind;
  overtaking.delivery_gap = late.delivery_gap = blind.delivery_gap = -milliseconds{5};
  overtaking.publish_rpc = late.publish_rpc = blind.publish_rpc = milliseconds{20};
  blind.broker_spans = false;
  report::Run run;
  run.configuration.hops = 4;
  ArmRun arm = MakeArm("here", "std", 1);
  trace::Path path = MakePath("std", 0, Duration{0}, {overtaking, late, blind, HopPlan{}});
  trace::HopTimes second = path.hops[1];
  second.written = second.publish_end;  // not before the answer
  path.hops.Replace(1, second);
  AddPath(arm, std::move(path));
  run.arms.push_back(std::move(arm));
  const NegativeGaps gaps = Summarize(run).arms[0].gaps;
  EXPECT_EQ(gaps.gaps, 4u);
  EXPECT_EQ(gaps.negative, 3u);
  EXPECT_EQ(gaps.overtook, 1u);
  EXPECT_EQ(gaps.unexplained, 2u);
}

TEST(SummarizeTest, QueuedDeliveriesAreThoseAboveTheLimit) {
  report::Run run;
  run.configuration.hops = 1;
  ArmRun arm = MakeArm("here", "eos", 3);
  for (Duration wait : {Duration{0}, kQueuedFrom, kQueuedFrom + Duration{1}}) {
    HopPlan plan;
    plan.stream_wait = wait;
    plan.delivery_gap = wait + milliseconds{1};
    AddPath(arm, MakePath("eos", arm.paths.size(), Duration{0}, {plan}));
  }
  run.arms.push_back(std::move(arm));
  const ServerSummary server = Summarize(run).arms[0].server;
  EXPECT_EQ(server.deliveries, 3u);
  EXPECT_EQ(server.queued, 1u);
  EXPECT_EQ(server.stream_wait_max, kQueuedFrom + Duration{1});
}

TEST(SummarizeTest, TheMedianMessageIsOneThatHappened) {
  const Summary summary =
      Summarize(OneHopRun({{"std", {milliseconds{4}, milliseconds{1}, milliseconds{3}, milliseconds{2}}}}));
  EXPECT_EQ(summary.arms[0].median->until_handled, milliseconds{2});
}

TEST(SummarizeTest, AnInvalidArmMakesTheRunInvalid) {
  report::Run run = DefaultRun(2);
  run.arms[3].verdict = {.valid = false, .reasons = {"1 message lost"}};
  const Summary summary = Summarize(run);
  EXPECT_FALSE(summary.verdict.valid);
  EXPECT_THAT(summary.verdict.reasons, ::testing::ElementsAre("replay.eos: 1 message lost"));
}

TEST(SummarizeTest, AnEmptyRunHasNoFigures) {
  report::Run run = DefaultRun(0);
  const Summary summary = Summarize(run);
  EXPECT_FALSE(summary.arms[0].until_handled.p50);
  EXPECT_FALSE(summary.arms[0].stages[0].p50);
  EXPECT_FALSE(summary.arms[0].median);
  EXPECT_TRUE(summary.placements.empty());
  EXPECT_TRUE(Summarize(report::Run{}).arms.empty());
}

TEST(PlacementsTest, ReadingsChangeAtTheirBounds) {
  EXPECT_EQ(ReadPlace(4, 100), "outside: below p5");
  EXPECT_EQ(ReadPlace(5, 100), "inside");
  EXPECT_EQ(ReadPlace(75, 100), "inside");
  EXPECT_EQ(ReadPlace(76, 100), "inside, but the source says warm: about 1 s stays unexplained");
  EXPECT_EQ(ReadPlace(95, 100), "inside, but the source says warm: about 1 s stays unexplained");
  EXPECT_EQ(ReadPlace(96, 100), "outside: above p95");
}

TEST(PlacementsTest, FiguresArePlacedInTheReplayOnly) {
  const report::Run run = DefaultRun();
  const Summary summary = Summarize(run);
  ASSERT_EQ(summary.placements.size(), 4u);
  const Placement& whole = summary.placements[0];
  EXPECT_EQ(whole.arm, "replay.eos");
  EXPECT_EQ(whole.n, 31u);
  EXPECT_FALSE(whole.fitted);
  uint64_t below = 0;
  for (const trace::Path& path : run.arms[3].paths) {
    if (*path.until_acked <= milliseconds{3212}) ++below;
  }
  EXPECT_EQ(whole.below, below);
  EXPECT_EQ(summary.placements[2].arm, "replay.std");
  EXPECT_TRUE(summary.placements[2].fitted);
}

TEST(PlacementsTest, OtherShapesAreNotPlaced) {
  report::Run run = DefaultRun(2);
  run.configuration.work = milliseconds{100};
  EXPECT_TRUE(Summarize(run).placements.empty());
  EXPECT_FALSE(Summarize(run).no_placements_why.empty());
  run.configuration.profile_is_builtin_replay = false;
  EXPECT_TRUE(Summarize(run).no_placements_why.empty());
}

}  // namespace
}  // namespace hopgap::report
