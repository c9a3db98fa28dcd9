// Cases of load generators that every latency figure rests on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lab/schedule.h"
#include "lab/verdict.h"
#include "scenario/virtual_run.h"
#include "stats/sample.h"

namespace hopgap::tests {
namespace {

using namespace std::chrono_literals;
using trace::Path;
using trace::Stage;

// Thirty a second for thirty seconds is 900, every time: the slot at exactly 30 s is not in [0, 30 s).
TEST(LoadCasesTest, C48SlotsAreEvenlySpacedAndCountedByOneRule) {
  for (int run = 0; run < 20; ++run) {
    const uint64_t slots = lab::Schedule::SlotsIn(30'000, 30s);
    ASSERT_EQ(slots, 900u);
    const lab::Schedule schedule(30'000, slots);
    for (uint64_t slot = 0; slot + 1 < slots; ++slot) {
      const Duration gap = schedule.DueAfter(slot + 1) - schedule.DueAfter(slot);
      ASSERT_GE(gap, 33'333'333ns);
      ASSERT_LE(gap, 33'333'334ns);
    }
    EXPECT_LT(schedule.DueAfter(slots - 1), 30s);
  }
}

// The broker stands still for half of the schedule. Counted from the schedule, the messages that were due meanwhile have
// waited for its end: 7.5 s on average, a half of all. A mean near the service time would say that they were left out.
TEST(LoadCasesTest, C50AFrozenServerIsInTheLatenciesOfAllThatWereDue) {
  VirtualRun run;
  run.messages = lab::Schedule::SlotsIn(100'000, 30s);
  run.millihertz = 100'000;
  run.hops = 1;
  run.work = 50ms;
  run.streams = 10;
  run.arms = {VirtualRun::Arm("std", false, "go")};
  sim::Options options = run.ToOptions();
  options.lab.max_outstanding_messages = 5'000;  // no limit on how many are worked on at once
  options.planted_freeze_from = 7s;
  options.planted_freeze_until = 22s;
  absl::StatusOr<sim::Result> result = sim::Run(std::move(options));
  ASSERT_TRUE(result.ok()) << result.status();
  std::vector<int64_t> handled;
  Duration sum{0};
  for (const Path& path : result->outcome.paths[0]) {
    handled.push_back(path.until_handled.count());
    sum += path.until_handled;
  }
  ASSERT_EQ(handled.size(), 3000u);
  const stats::Sample sample(std::move(handled));
  EXPECT_NEAR(ToMillis(sum) / 3000, 3'800, 100);
  EXPECT_LE(Duration{sample.Quantile(stats::kP50)}, 110ms);
  EXPECT_GE(Duration{sample.Quantile(stats::kP99)}, 14'500ms);
  EXPECT_LE(Duration{sample.Quantile(stats::kP99)}, 15'100ms);
}

// The generator stalls for 100 ms just before a slot. Counted from the schedule, the messages that waited for it form
// a falling staircase; counted from the send they are like all others; and the run is marked.
TEST(LoadCasesTest, C51AStallOfTheGeneratorIsLatenessAndMarksTheRun) {
  VirtualRun run;
  run.messages = 400;
  run.millihertz = 100'000;
  run.hops = 1;
  run.work = 3ms;
  run.streams = 10;
  run.arms = {VirtualRun::Arm("std", false, "go")};
  run.planted.generator_stall = 100ms;
  absl::StatusOr<sim::Result> result = sim::Run(run.ToOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  std::vector<Path> paths = result->outcome.paths[0];
  ASSERT_EQ(paths.size(), 400u);
  std::sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) { return a.slot < b.slot; });

  const auto from_send = [](const Path& path) { return path.until_handled - path.StageSum(Stage::kSendLateness); };
  Duration late_max{0};
  for (const Path& path : paths) {
    const Duration late = path.StageSum(Stage::kSendLateness);
    late_max = std::max(late_max, late);
    const auto behind = static_cast<int64_t>(path.slot) - 200;
    const Duration stair = behind >= 0 && behind < 10 ? 100ms - behind * 10ms : 0ms;
    EXPECT_EQ(late, stair) << path.slot;
    EXPECT_EQ(path.until_handled, from_send(path) + stair) << path.slot;
    // All of a batch leave together at the latest 10 ms after the first; nothing else differs.
    EXPECT_LE(std::chrono::abs(from_send(path) - from_send(paths[0])), 10ms) << path.slot;
  }
  EXPECT_EQ(late_max, 100ms);
  const lab::ArmOutcome judged = lab::Judge(result->outcome, 0);
  EXPECT_FALSE(judged.valid);  // 9 of 400 slots more than 5 ms late is more than 1 %
  ASSERT_FALSE(judged.reasons.empty());
  EXPECT_THAT(judged.reasons[0], testing::HasSubstr("sent over 5 ms late"));
}

// Drawn arrivals are the same for every arm, and lateness runs from the drawn slot.
TEST(LoadCasesTest, DrawnArrivalsAreTheSameForEveryArm) {
  VirtualRun run;
  run.messages = 50;
  run.work = 3ms;
  sim::Options options = run.ToOptions();
  options.lab.arrival = {.kind = lab::Arrival::Kind::kPoisson, .seed = run.seed};
  const lab::Schedule schedule(run.millihertz, run.messages, options.lab.arrival);
  absl::StatusOr<sim::Result> result = sim::Run(std::move(options));
  ASSERT_TRUE(result.ok()) << result.status();
  for (size_t arm = 0; arm < 3; ++arm) {
    EXPECT_TRUE(lab::Judge(result->outcome, arm).valid);
    ASSERT_EQ(result->outcome.paths[arm].size(), 50u);
    for (const Path& path : result->outcome.paths[arm]) {
      EXPECT_EQ(result->outcome.ledger.At(arm, path.slot, 1).due - result->outcome.first, schedule.DueAfter(path.slot));
      EXPECT_EQ(path.StageSum(Stage::kSendLateness), 0ns);
    }
  }
}

// What a handler works is the draw of its hop and message, in every arm and at every attempt; and failures are drawn
// alike, cost a redelivery, and are no loss.
TEST(LoadCasesTest, DrawnWorkAndFailuresAreTheSameForEveryArm) {
  VirtualRun run;
  run.messages = 300;
  sim::Options options = run.ToOptions();
  options.lab.work = 20ms;
  options.lab.work.kind = WorkLaw::Kind::kLognormal;
  options.lab.work.p99 = 90ms;
  options.lab.work.seed = run.seed;
  options.lab.failures = {.share = 0.1, .seed = run.seed};
  const WorkLaw law = options.lab.work;
  const lab::HandlerFailures failures = options.lab.failures;
  absl::StatusOr<sim::Result> result = sim::Run(std::move(options));
  ASSERT_TRUE(result.ok()) << result.status();
  for (size_t arm = 0; arm < 3; ++arm) {
    EXPECT_TRUE(lab::Judge(result->outcome, arm).valid);
    ASSERT_EQ(result->outcome.paths[arm].size(), 300u);
    uint64_t failed = 0;
    for (const Path& path : result->outcome.paths[arm]) {
      for (uint64_t hop = 1; hop <= 3; ++hop) {
        const trace::HopTimes& times = path.hops[hop - 1];
        EXPECT_EQ(times.stages[static_cast<size_t>(Stage::kWork)].length, law.Of(hop, path.slot));
        uint64_t attempt = 0;
        while (failures.Of(hop, path.slot, attempt)) ++attempt;
        EXPECT_EQ(times.attempts, static_cast<int>(attempt) + 1);
        EXPECT_EQ(times.redelivery_wait > 0ns, attempt > 0);
        failed += attempt;
      }
    }
    EXPECT_EQ(result->outcome.arms[arm].counts.handler_failures, failed);
    EXPECT_EQ(result->outcome.arms[arm].counts.duplicates, 0u);
    EXPECT_NEAR(static_cast<double>(failed), 100, 30);  // 900 handlings that succeed, and a tenth of all fails
  }
}

}  // namespace
}  // namespace hopgap::tests
