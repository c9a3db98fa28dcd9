#include "report/threshold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/compare.h"
#include "report/paste.h"
#include "report/run_builder_testing.h"

namespace hopgap::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace hopgap::report::testing;  // NOLINT(google-build-using-namespace): the builder
using Outcome = Judgement::Outcome;
using Word = MetricComparison::Word;

// One hop without work; until handled is 1 ms, 2 ms, … `messages` ms, plus `offset`.
ArmRun RisingArm(const std::string& kind, uint64_t messages, Duration offset) {
  ArmRun arm = MakeArm("here", kind, messages);
  for (uint64_t slot = 0; slot < messages; ++slot) {
    HopPlan plan;
    plan.client_publish = plan.work = Duration{0};
    plan.delivery_gap = milliseconds{static_cast<int64_t>(slot) + 1} + offset;
    AddPath(arm, MakePath(kind, slot, Duration{0}, {plan}));
  }
  return arm;
}

report::Run RisingRun(uint64_t messages, Duration offset) {
  report::Run run;
  run.configuration = DefaultConfiguration(messages);
  run.configuration.hops = 1;
  run.configuration.work = Duration{0};
  run.arms = {RisingArm("std", messages, Duration{0}), RisingArm("eos", messages, offset)};
  return run;
}

Outcome OutcomeOf(const std::string& text, const report::Run& run) {
  const absl::StatusOr<Threshold> threshold = ParseThreshold(text);
  EXPECT_TRUE(threshold.ok()) << threshold.status();
  EXPECT_TRUE(CheckThreshold(*threshold, {"std", "eos"}).ok());
  return Judge(*threshold, run).outcome;
}

TEST(ThresholdTest, ReadsItsParts) {
  const Threshold t = *ParseThreshold("ratio(replay.eos, replay.std).until_handled.p99.9 >= 2.5");
  EXPECT_EQ(t.of, Threshold::Of::kRatio);
  EXPECT_EQ(t.arm, "replay.eos");
  EXPECT_EQ(t.baseline, "replay.std");
  EXPECT_EQ(t.quantile, stats::kP999);
  EXPECT_FALSE(t.below);
  EXPECT_TRUE(t.inclusive);
  EXPECT_EQ(t.limit, 2.5);
  const Threshold arm = *ParseThreshold("replay.eos-overlap.dispatch_gap.p50<1.5s");
  EXPECT_EQ(arm.arm, "replay.eos-overlap");
  EXPECT_EQ(MetricKey(arm.metric), "dispatch_gap");
  EXPECT_EQ(arm.limit, 1.5e9);
}

TEST(ThresholdTest, RefusesByName) {
  struct Case {
    const char *text, *says;
  };
  for (const Case& c :
       {Case{"eos.until_handled.p95", "no < or >"}, Case{"eos.latency.p95<5ms", "'latency' is no metric"},
        Case{"eos.until_handled.p100<5ms", "'p100' is no quantile"},
        Case{"eos.until_handled.p95<5", "'5' is no length"},
        Case{"ratio(eos,std).until_handled.p50<5ms", "a ratio has no unit"},
        Case{"ratio(eos).until_handled.p50<5", "two arms"}, Case{"difference(eos,std)until_handled.p50<5", "two arms"},
        Case{"p95<5ms", "it is ARM.METRIC"}, Case{"eos.until_handled.p99.9999<5ms", "is no quantile"},
        Case{"", "no < or >"}}) {
    SCOPED_TRACE(c.text);
    const absl::StatusOr<Threshold> t = ParseThreshold(c.text);
    ASSERT_EQ(t.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(t.status().message()), HasSubstr(c.says));
  }
  EXPECT_THAT(std::string(CheckThreshold(*ParseThreshold("ratio(eos,x).work.p50<2"), {"std", "eos"}).message()),
              HasSubstr("no arm 'x'; there are std, eos"));
}

// Of 1..31 ms the median is 16 with [10, 22]: just before, at and after each end.
TEST(ThresholdTest, IsJudgedOnTheInterval) {
  const report::Run run = RisingRun(31, milliseconds{100});
  EXPECT_EQ(OutcomeOf("std.until_handled.p50<22ms", run), Outcome::kInconclusive);
  EXPECT_EQ(OutcomeOf("std.until_handled.p50<=22ms", run), Outcome::kPass);
  EXPECT_EQ(OutcomeOf("std.until_handled.p50<22.1ms", run), Outcome::kPass);
  EXPECT_EQ(OutcomeOf("std.until_handled.p50<10ms", run), Outcome::kFail);
  EXPECT_EQ(OutcomeOf("std.until_handled.p50<=10ms", run), Outcome::kInconclusive);
  EXPECT_EQ(OutcomeOf("std.until_handled.p50>9.9ms", run), Outcome::kPass);
  EXPECT_EQ(OutcomeOf("std.until_handled.p50>22ms", run), Outcome::kFail);
}

TEST(ThresholdTest, WhatTheSampleCannotSayIsInconclusive) {
  const report::Run run = RisingRun(31, milliseconds{100});
  const Judgement j = Judge(*ParseThreshold("std.until_handled.p95<100s"), run);
  EXPECT_EQ(j.outcome, Outcome::kInconclusive);
  EXPECT_EQ(j.why, "n = 31 gives no upper limit");
  EXPECT_EQ(OutcomeOf("std.until_handled.p95<20ms", run), Outcome::kFail);
  EXPECT_THAT(RenderJudgement(j),
              HasSubstr("INCONCLUSIVE std.until_handled.p95<100s: 29.5 ms [27.0 ms, no upper limit]"));
}

TEST(ThresholdTest, TwoArmsAreJudgedByTheirDifferenceOrRatio) {
  const report::Run run = RisingRun(31, milliseconds{100});  // medians 16 and 116, difference [92, 108]
  EXPECT_EQ(OutcomeOf("difference(eos,std).until_handled.p50<109ms", run), Outcome::kPass);
  EXPECT_EQ(OutcomeOf("difference(eos,std).until_handled.p50<100ms", run), Outcome::kInconclusive);
  EXPECT_EQ(OutcomeOf("difference(eos,std).until_handled.p50<50ms", run), Outcome::kFail);
  EXPECT_EQ(OutcomeOf("ratio(eos,std).until_handled.p50<2.5", run), Outcome::kFail);
  EXPECT_EQ(OutcomeOf("ratio(eos,std).until_handled.p50>2.5", run), Outcome::kPass);
}

TEST(ThresholdTest, AMessageThatNeverFinishedBreaksAnUpperLimit) {
  report::Run run = RisingRun(31, milliseconds{100});
  run.arms[0].sent += 20;  // the upper limit's rank is 33 of 51
  EXPECT_EQ(OutcomeOf("std.until_handled.p50<1000s", run), Outcome::kInconclusive);
  run.arms[0].sent += 100;
  EXPECT_EQ(OutcomeOf("std.until_handled.p50<1000s", run), Outcome::kFail);
}

TEST(CompareRunsTest, FindsTheArmThatChanged) {
  const report::Run first = RisingRun(100, milliseconds{10}), second = RisingRun(100, milliseconds{200});
  const RunComparison c = CompareRuns(first, "a", second, "b");
  ASSERT_EQ(c.arms.size(), 2u);
  EXPECT_EQ(c.arms[0].metrics[0].word, Word::kUnresolved);
  EXPECT_EQ(c.arms[0].metrics[0].quantiles[0].value, 0);
  const MetricComparison& eos = c.arms[1].metrics[0];
  EXPECT_EQ(eos.word, Word::kSlower);
  EXPECT_EQ(eos.quantiles[0].value, 190'000'000);
  EXPECT_EQ(eos.shift->value, 190'000'000);
  EXPECT_GT(*eos.shift->low, 0);
  EXPECT_TRUE(eos.detectable);
  EXPECT_EQ(CompareRuns(second, "b", first, "a").arms[1].metrics[0].word, Word::kFaster);
  EXPECT_THAT(c.answer[1], HasSubstr("eos is slower in the second run, +190 ms"));
  EXPECT_THAT(c.differing, IsEmpty());
  EXPECT_THAT(RenderMarkdown(c), HasSubstr("| until_handled | 100 | 100 | +190"));
  EXPECT_THAT(RenderCsv(c), HasSubstr("\neos,until_handled,100,100,"));
  EXPECT_THAT(RenderCsv(c), HasSubstr(",190.000000,"));
  EXPECT_THAT(RenderCsv(c), HasSubstr(",slower\n"));
}

TEST(CompareRunsTest, SaysWhatDoesNotCompare) {
  report::Run first = RisingRun(31, Duration{0}), second = RisingRun(31, Duration{0});
  second.configuration.streams = 9;
  second.arms[1].name = "new";
  second.arms[0].verdict = {.valid = false, .reasons = {"late"}};
  second.arms[0].paths.clear();
  second.arms[0].completed = second.arms[0].sent = 0;
  const RunComparison c = CompareRuns(first, "a", second, "b");
  EXPECT_THAT(c.only_first, ElementsAre("eos"));
  EXPECT_THAT(c.only_second, ElementsAre("new"));
  EXPECT_THAT(c.differing, ElementsAre("streams: 4, 9"));
  EXPECT_THAT(c.warnings, ElementsAre("the second run is invalid: std: late"));
  EXPECT_EQ(c.arms[0].metrics[0].word, Word::kNotComparable);
  const std::string text = RenderComparison(c);
  EXPECT_THAT(text, HasSubstr("streams: 4, 9"));
  EXPECT_THAT(text, HasSubstr("only in the second: new"));
  const std::string markdown = RenderMarkdown(c);
  EXPECT_THAT(markdown, HasSubstr("- **Warning:** the second run is invalid: std: late\n"));
  EXPECT_THAT(markdown, HasSubstr("- Asked for differently (first, second): streams: 4, 9\n"));
  EXPECT_THAT(markdown, HasSubstr("- Only in the first: eos\n- Only in the second: new\n"));
  EXPECT_THAT(markdown, HasSubstr("| until_handled | 31 | 0 | – | – | – | – | – | not comparable |\n"));
}

}  // namespace
}  // namespace hopgap::report
