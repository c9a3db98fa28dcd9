#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/run_builder_testing.h"

namespace hopgap::report {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace hopgap::report::testing;  // NOLINT(google-build-using-namespace): the builder

Page PageOf(const report::Run& run) { return MakePage(run, Summarize(run)); }

const PageArm& ArmOf(const Page& page, const std::string& name) {
  return *std::find_if(page.arms.begin(), page.arms.end(), [&](const PageArm& arm) { return arm.name == name; });
}

const Mark* MarkOf(const PageArm& arm, const std::string& label) {
  const auto found =
      std::find_if(arm.marks.begin(), arm.marks.end(), [&](const Mark& mark) { return mark.label == label; });
  return found == arm.marks.end() ? nullptr : &*found;
}

TEST(PageTest, AnswersInTwoSentences) {
  const Page page = PageOf(DefaultRun());
  ASSERT_THAT(page.answer, SizeIs(2));
  EXPECT_THAT(page.answer[0],
              AllOf(HasSubstr("Here eos takes"), HasSubstr("; in the replay eos takes"), HasSubstr("longer than std"),
                    HasSubstr("median of 31 pairs, slower in 31 of them")));
  EXPECT_THAT(page.answer[1], AllOf(HasSubstr("in the replay is the dispatch gap"),
                                    HasSubstr("the handler waiting for its lease"), HasSubstr("put in")));
}

// A server that is frozen from 7 s to 22 s of 30 s, at 100/s: what was due meanwhile waits, and the wait is in every
// figure, since a latency runs from the schedule.
TEST(PageTest, C50WaitingForAFrozenServerIsNotOmitted) {
  report::Run run;
  run.configuration = DefaultConfiguration(3'000);
  run.configuration.hops = 1;
  run.configuration.rate_per_second = 100;
  run.configuration.work = Duration{0};
  ArmRun arm = MakeArm("here", "std", 3'000);
  for (uint64_t slot = 0; slot < 3'000; ++slot) {
    const milliseconds due{static_cast<int64_t>(slot) * 10};
    HopPlan plan;
    plan.client_publish = Duration{0};
    plan.work = milliseconds{50};
    if (due >= seconds{7} && due < seconds{22}) plan.delivery_gap = seconds{22} - due;
    AddPath(arm, MakePath("std", slot, Duration{0}, {plan}));
  }
  run.arms.push_back(std::move(arm));
  const Summary summary = Summarize(run);
  const EndToEnd& e = summary.arms[0].until_handled;
  EXPECT_EQ(e.n, 3'000u);
  EXPECT_LE(e.p50->value, 110'000'000);
  EXPECT_GE(e.p99->value, 14'500'000'000);
  EXPECT_LE(e.p99->value, 15'100'000'000);
  EXPECT_NEAR(static_cast<double>(summary.arms[0].handled.count()) / 3'000, 3.8e9, 0.03e9);
  EXPECT_EQ(MakePage(run, summary).arms[0].curve.points.back().value, milliseconds{15'050});
}

TEST(PageTest, OneArmHasAnAnswerToo) {
  report::Run run = DefaultRun();
  run.arms.resize(1);
  const Page page = PageOf(run);
  EXPECT_THAT(page.answer[0], AllOf(HasSubstr("std takes"), HasSubstr("median of 31 messages")));
  EXPECT_THAT(page.answer[1], HasSubstr("most of std's time is"));
  run.arms[0].paths.clear();
  EXPECT_EQ(PageOf(run).answer[0], "Nothing completed: no figure can be given.");
}

// The curve's ends are the sample's; the band is the one of n = 31.
TEST(PageTest, CurveKeepsTheExtremes) {
  const report::Run run = DefaultRun(5'000);
  const Summary summary = Summarize(run);
  const Page page = MakePage(run, summary);
  for (size_t i = 0; i < page.arms.size(); ++i) {
    const Curve& curve = page.arms[i].curve;
    ASSERT_FALSE(curve.points.empty());
    EXPECT_LE(curve.points.size(), kCurvePointsMax);
    EXPECT_EQ(curve.n, 5'000u);
    EXPECT_EQ(curve.points.back().up_to, 5'000u);
    EXPECT_EQ(curve.points.back().value.count(), summary.arms[i].until_handled.max);
    EXPECT_THAT(page.arms[i].over_time.points, IsEmpty());  // more than kOverTimeMax: the heat map alone
    uint64_t messages = 0;
    for (const auto& bin : page.arms[i].over_time.heat) {
      for (uint32_t count : bin) messages += count;
    }
    EXPECT_EQ(messages, 5'000u);
  }
}

TEST(PageTest, EveryMessageOfASmallRunCanBeDrawn) {
  const report::Run run = DefaultRun();
  const Summary summary = Summarize(run);
  const Page page = MakePage(run, summary);
  EXPECT_FALSE(page.messages_cut);
  EXPECT_THAT(page.messages, SizeIs(5 * 31));
  const PageArm& eos = ArmOf(page, "replay.eos");
  EXPECT_THAT(eos.marks, SizeIs(31));
  EXPECT_EQ(MarkOf(eos, "p50")->slot, summary.Find("replay.eos")->median->slot);
  EXPECT_EQ(MarkOf(eos, "p99"), nullptr);  // 31 messages have no p99
  EXPECT_EQ(MarkOf(eos, "worst")->rank, 31u);
}

TEST(PageTest, MessagesAreLimitedAndSaidToBe) {
  report::Run run;
  run.configuration = DefaultConfiguration(200);
  run.configuration.hops = 20;
  for (const char* kind : {"std", "eos", "eos-overlap"}) {
    ArmRun arm = MakeArm("here", kind, 200);
    for (uint64_t slot = 0; slot < 200; ++slot) {
      HopPlan plan;
      // Each arm has its own order, so that slots are not shared by their ranks.
      plan.dispatch_gap = milliseconds{static_cast<int64_t>((slot * (7 + 12 * run.arms.size())) % 199)};
      AddPath(arm, MakePath(arm.name, slot, microseconds{100}, std::vector<HopPlan>(20, plan)));
    }
    run.arms.push_back(std::move(arm));
  }
  const Page page = PageOf(run);
  size_t hops = 0;
  for (const trace::Path& path : page.messages) hops += path.hops.size();
  EXPECT_LE(hops, kMessageHopsMax);
  EXPECT_TRUE(page.messages_cut);
  for (const PageArm& arm : page.arms) {
    EXPECT_NE(MarkOf(arm, "p50"), nullptr);  // the most asked for come first
    EXPECT_NE(MarkOf(arm, "worst"), nullptr);
    EXPECT_NE(MarkOf(arm, "p99"), nullptr);
  }
}

// Near a quantile the mean stages still add up to the mean whole.
TEST(PageTest, CompositionsAddUp) {
  const report::Run run = DefaultRun(400);
  const Page page = PageOf(run);
  for (const PageArm& arm : page.arms) {
    ASSERT_THAT(arm.compositions, SizeIs(3));
    for (const Composition& c : arm.compositions) {
      Duration sum{0};
      for (size_t i = 0; i < trace::kPathStages; ++i) sum += c.stages[i];
      EXPECT_EQ(sum - milliseconds{600} * static_cast<int64_t>(c.n), c.whole) << arm.name << c.quantile;
    }
    EXPECT_EQ(arm.compositions[0].n, 21u);  // 10 ranks either side of the median
    EXPECT_EQ(arm.compositions[2].n, 15u);  // the largest end at rank 400
  }
  EXPECT_THAT(ArmOf(PageOf(DefaultRun()), "std").compositions, SizeIs(2));  // 31 messages have no p99
}

TEST(PageTest, ComparesEveryDecile) {
  const Page page = PageOf(DefaultRun());
  ASSERT_THAT(page.comparisons, SizeIs(3));
  EXPECT_EQ(page.comparisons[1].arm, "replay.eos");
  EXPECT_EQ(page.comparisons[1].baseline, "replay.std");
  ASSERT_THAT(page.comparisons[1].shift, SizeIs(10));
  EXPECT_GT(*page.comparisons[1].shift[4].low, 0);
  EXPECT_TRUE(page.comparisons[1].detectable);
}

TEST(PageTest, FirstMessageAndLatenessAreSeen) {
  report::Run run;
  run.configuration = DefaultConfiguration(20);
  run.configuration.hops = 1;
  ArmRun arm = MakeArm("here", "std", 20);
  for (uint64_t slot = 0; slot < 20; ++slot) {
    HopPlan plan;
    plan.delivery_gap = slot == 0 ? milliseconds{900} : milliseconds{static_cast<int64_t>(slot)};
    AddPath(arm, MakePath("std", slot, slot == 19 ? milliseconds{70} : microseconds{50}, {plan}));
  }
  run.arms.push_back(arm);
  const Page page = PageOf(run);
  ASSERT_TRUE(page.arms[0].first);
  EXPECT_EQ(page.arms[0].first->rank, 20u);  // the slowest: a cold start
  EXPECT_EQ(page.span, seconds{19});
  EXPECT_EQ(page.arms[0].over_time.late_max[kTimeBins - 1], milliseconds{70});
  EXPECT_EQ(page.arms[0].over_time.late_max[0], microseconds{50});
  EXPECT_TRUE(page.arms[0].serial);
}

}  // namespace
}  // namespace hopgap::report
