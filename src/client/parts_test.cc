// The parts whose rules the subscriber's tests do not show at their boundaries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/backoff.h"
#include "client/distribution.h"
#include "client/flow_control.h"
#include "client/lease_keeper.h"
#include "client/model.h"
#include "client/retry.h"
#include "client/scheduler.h"
#include "client/sender.h"
#include "client/test_parts.h"
#include "client/tick_grid.h"

namespace hopgap::client {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(ModelTest, OursDifferFromGoInWhatWaitsAlone) {
  const Model go = *FindModel("go");
  EXPECT_EQ(go.exactly_once.wait, ReceiptWait::kResponse);
  for (const auto& [name, wait] : {std::pair{"overlap", ReceiptWait::kNothing}, {"pipelined", ReceiptWait::kOwn}}) {
    const Model ours = *FindModel(name);
    EXPECT_EQ(ours.name, name);
    EXPECT_EQ(ours.exactly_once.wait, wait);
    EXPECT_EQ(ours.exactly_once.sending, go.exactly_once.sending);
    EXPECT_EQ(ours.tick, go.tick);
    EXPECT_EQ(ours.publish_delay, go.publish_delay);
  }
}

TEST(ModelTest, NamesFindThemAndAnUnknownOneListsThem) {
  EXPECT_THAT(ModelNames(), ElementsAre("go", "go-v1", "java", "python", "node", "cpp", "pipelined", "overlap"));
  for (const std::string& name : ModelNames()) EXPECT_EQ(FindModel(name)->name, name);
  const absl::Status unknown = FindModel("rust").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()),
              testing::HasSubstr("go, go-v1, java, python, node, cpp, pipelined, overlap"));
}

TEST(RetryTest, WhatAnErrorSaysOfIdsItDoesNotName) {
  const absl::Status invalid = absl::InvalidArgumentError("some ids");
  const std::map<std::string, std::string> named = {{"a", "PERMANENT_FAILURE_INVALID_ACK_ID"}, {"b", "PERMANENT_NEW"}};
  EXPECT_EQ(Judge(invalid, named, "a"), Verdict::kInvalidId);
  EXPECT_EQ(Judge(invalid, named, "b"), Verdict::kFailed);
  EXPECT_EQ(Judge(invalid, named, "c"), Verdict::kFailed);
  EXPECT_EQ(Judge(invalid, named, "c", UnlistedIds::kSucceeded), Verdict::kSuccess);
  EXPECT_EQ(Judge(invalid, {}, "c", UnlistedIds::kSucceeded), Verdict::kFailed);  // it names nobody
}

TEST(RetryTest, EachModelReopensAfterItsOwnCodes) {
  struct Case {
    absl::Status status;
    bool go, java, python, node, cpp;
  };
  for (const Case& c : {Case{absl::OkStatus(), true, true, true, true, true},
                        Case{absl::UnavailableError("gone"), true, true, true, true, true},
                        Case{absl::UnavailableError("Server shutdownNow invoked"), false, false, true, true, true},
                        Case{absl::ResourceExhaustedError("much"), false, true, true, true, true},
                        Case{absl::CancelledError("stop"), false, true, false, true, false},
                        Case{absl::UnknownError("what"), false, true, true, false, false},
                        Case{absl::UnknownError("received prior goaway: code: NO_ERROR"), true, true, true, true, true},
                        Case{absl::NotFoundError("none"), false, false, false, false, false}}) {
    SCOPED_TRACE(c.status.ToString());
    EXPECT_EQ(ReopensStream(c.status, *FindModel("go")), c.go);
    EXPECT_EQ(ReopensStream(c.status, *FindModel("java")), c.java);
    EXPECT_EQ(ReopensStream(c.status, *FindModel("python")), c.python);
    EXPECT_EQ(ReopensStream(c.status, *FindModel("node")), c.node);
    EXPECT_EQ(ReopensStream(c.status, *FindModel("cpp")), c.cpp);
  }
}

TEST(BackoffTest, PausesLieAboveZeroAndUpToTheirLimit) {
  const BackoffShape shape{100ms, 40, 1s};
  const std::vector<Duration> limits = {100ms, 400ms, 1s, 1s};
  std::vector<Duration> longest(limits.size());
  for (uint64_t key = 0; key < 2000; ++key) {
    Backoff backoff(shape, key);
    for (size_t i = 0; i < limits.size(); ++i) {
      const Duration pause = backoff.Pause();
      ASSERT_GT(pause, 0ns);
      ASSERT_LE(pause, limits[i]);
      longest[i] = std::max(longest[i], pause);
    }
  }
  for (size_t i = 0; i < limits.size(); ++i) EXPECT_GT(longest[i], limits[i] * 99 / 100);  // full jitter
}

TEST(BackoffTest, ResetShrinksTheLimitAndNotTheJitter) {
  Backoff backoff({1s, 20, 64s}, 3);
  const Duration first = backoff.Pause();
  backoff.Pause();
  backoff.Reset();
  const Duration again = backoff.Pause();
  EXPECT_LE(again, 1s);
  EXPECT_NE(again, first);
}

TEST(TickGridTest, TicksAtBeforeAndAfter) {
  const TickGrid grid(kStart + 30ms, 100ms);
  EXPECT_EQ(grid.AtOrAfter(kStart + 30ms), kStart + 30ms);
  EXPECT_EQ(grid.AtOrAfter(kStart + 30ms + 1ns), kStart + 130ms);
  EXPECT_EQ(grid.After(kStart + 30ms), kStart + 130ms);
  EXPECT_EQ(grid.AtOrAfter(kStart), kStart + 30ms);
  EXPECT_EQ(grid.AtOrBefore(kStart), kStart - 70ms);
  EXPECT_EQ(grid.AtOrBefore(kStart - 70ms), kStart - 70ms);
  EXPECT_EQ(grid.AtOrBefore(kStart - 70ms - 1ns), kStart - 170ms);
}

TEST(AckTimeDistributionTest, NearestRankInWholeSeconds) {
  AckTimeDistribution times(10s, 600s);
  EXPECT_EQ(times.Percentile(0.99), 0);
  for (int i = 0; i < 99; ++i) times.Add(1s);
  EXPECT_EQ(times.Percentile(0.99), 10);
  times.Add(700s);
  EXPECT_EQ(times.Percentile(0.99), 10);  // rank 99 of 100
  times.Add(20s + 999ms);
  EXPECT_EQ(times.Percentile(0.99), 20);  // rank 100 of 101
  EXPECT_EQ(times.Percentile(1.0), 600);
}

TEST(FlowControlTest, ZeroMeansTheDefaultAndNegativeNone) {
  FlowControl standard(0, 0), unlimited(-1, -1);
  int granted = 0;
  for (int i = 0; i < 1001; ++i) granted += standard.Acquire(0, 1);
  EXPECT_EQ(granted, 1000);
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(unlimited.Acquire(0, 1'000'000'000));
}

TEST(FlowControlTest, CountComesBeforeBytes) {
  FlowControl flow(2, 10);
  std::vector<uint32_t> admitted;
  EXPECT_TRUE(flow.Acquire(0, 10));
  EXPECT_FALSE(flow.Acquire(1, 5));  // has its count, waits for bytes
  EXPECT_FALSE(flow.Acquire(2, 0));  // waits for a count
  EXPECT_EQ(flow.messages_held(), 2);
  flow.Release(10, admitted);
  EXPECT_THAT(admitted, ElementsAre(1, 2));
}

// A small message that would fit must not overtake a big one that waits.
TEST(FlowControlTest, WhoeverWaitsForBytesKeepsLaterOnesWaiting) {
  FlowControl flow(10, 10);
  std::vector<uint32_t> admitted;
  EXPECT_TRUE(flow.Acquire(0, 6));
  EXPECT_FALSE(flow.Acquire(1, 8));
  EXPECT_FALSE(flow.Acquire(2, 1));
  flow.Release(6, admitted);
  EXPECT_THAT(admitted, ElementsAre(1, 2));
}

TEST(SchedulerTest, SlotsAreServedInOrder) {
  Scheduler scheduler(1);
  std::vector<Scheduler::Started> started;
  EXPECT_EQ(scheduler.Add(1, ""), Scheduler::Added::kRuns);
  EXPECT_EQ(scheduler.Add(2, ""), Scheduler::Added::kWaits);
  EXPECT_EQ(scheduler.Add(3, "k"), Scheduler::Added::kWaits);
  EXPECT_EQ(scheduler.Add(4, "k"), Scheduler::Added::kQueued);
  scheduler.Returned("", started);
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].delivery, 2u);
  EXPECT_TRUE(started[0].adder_waited);
  scheduler.Returned("", started);
  EXPECT_EQ(started.back().delivery, 3u);
  scheduler.Returned("k", started);
  EXPECT_EQ(started.back().delivery, 4u);
  EXPECT_FALSE(started.back().adder_waited);
  scheduler.Returned("k", started);
  EXPECT_EQ(started.size(), 3u);
  EXPECT_EQ(scheduler.Add(5, "k"), Scheduler::Added::kRuns);
  EXPECT_EQ(scheduler.Add(6, "k"), Scheduler::Added::kQueued);
  EXPECT_EQ(scheduler.Add(7, ""), Scheduler::Added::kWaits);
  EXPECT_THAT(scheduler.TakeWaiting(), ElementsAre(7, 6));
}

TEST(SchedulerTest, WhereAddersGoOnMessagesQueueForASlot) {
  Scheduler scheduler(1, false);
  std::vector<Scheduler::Started> started;
  EXPECT_EQ(scheduler.Add(1, ""), Scheduler::Added::kRuns);
  EXPECT_EQ(scheduler.Add(2, ""), Scheduler::Added::kQueued);
  EXPECT_EQ(scheduler.Add(3, ""), Scheduler::Added::kQueued);
  scheduler.Returned("", started);
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].delivery, 2u);
  EXPECT_FALSE(started[0].adder_waited);
  EXPECT_THAT(scheduler.TakeWaiting(), ElementsAre(3));
}

TEST(LeaseKeeperTest, ARandomTimerTicksWithinNineTenthsOfTheDeadline) {
  Model model;
  model.lease_timer = LeaseTimer::kRandom;
  Duration shortest{1h}, longest{0};
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    LeaseKeeper leases(model, kStart, seed);
    leases.Add(kStart + 3s, 1, kStart + 1h);
    const Duration part = *leases.NextTick() - (kStart + 3s);
    EXPECT_GE(part, 10ms);
    EXPECT_LE(part, 9s);
    shortest = std::min(shortest, part);
    longest = std::max(longest, part);
    EXPECT_THAT(leases.TakeTick(*leases.NextTick())->extend, ElementsAre(1));
    EXPECT_LE(*leases.NextTick(), kStart + 3s + part + 9s);
  }
  EXPECT_LT(shortest, 100ms);
  EXPECT_GT(longest, 8900ms);
}

TEST(LeaseKeeperTest, EachMessageIsExtendedBeforeItsOwnLeaseEnds) {
  const Model model = *FindModel("cpp");
  LeaseKeeper leases(model, kStart);
  leases.Add(kStart, 1, kStart + 1h);
  leases.Add(kStart + 1s, 2, kStart + 20s);  // its extensions end soon
  leases.Add(kStart + 2s, 3, kStart + 1h);
  EXPECT_EQ(leases.NextTick(), kStart + 8s);  // of the stream's 10 s
  EXPECT_FALSE(leases.TakeTick(kStart + 8s - 1ns).has_value());
  EXPECT_THAT(leases.TakeTick(kStart + 8s)->extend, ElementsAre(1));
  leases.Remove(3);
  EXPECT_THAT(leases.TakeTick(kStart + 9s)->extend, ElementsAre(2));
  EXPECT_EQ(leases.deadline_seconds(), 600);
  EXPECT_EQ(leases.NextTick(), kStart + 8s + 598s);
  EXPECT_THAT(leases.TakeTick(kStart + 606s)->extend, ElementsAre(1));
  EXPECT_THAT(leases.TakeTick(kStart + 607s)->abandoned, ElementsAre(2));
}

TEST(LeaseKeeperTest, PeriodsFollowTheDeadline) {
  const Model model;
  LeaseKeeper leases(model, kStart);
  EXPECT_EQ(leases.deadline_seconds(), 10);
  EXPECT_TRUE(leases.SetExactlyOnce(kStart, true));
  EXPECT_FALSE(leases.SetExactlyOnce(kStart, true));
  EXPECT_EQ(leases.deadline_seconds(), 60);
  EXPECT_EQ(leases.NextTick(), std::nullopt);
  leases.Add(kStart + 5s, 1, kStart + 1h);  // at the tick itself: not spent yet
  EXPECT_EQ(leases.NextTick(), kStart + 5s);
  EXPECT_FALSE(leases.TakeTick(kStart + 5s - 1ns).has_value());
  EXPECT_THAT(leases.TakeTick(kStart + 5s)->extend, ElementsAre(1));
  EXPECT_EQ(leases.NextTick(), kStart + 60s);
  leases.AddAckTime(100s);
  EXPECT_EQ(leases.deadline_seconds(), 100);
  leases.TakeTick(kStart + 60s);
  EXPECT_EQ(leases.NextTick(), kStart + 60s + 95s);
}

Target Named(const char* id) {
  Target target;
  target.ack_id = id;
  return target;
}

TEST(SenderTest, ATickDuringABusyTimeIsKeptOncePerTicker) {
  Sender sender(Model{}, kStart, kStart);
  sender.Add(kStart + 10ms, Purpose::kAck, Named("a"));
  EXPECT_EQ(sender.NextDeadline(), kStart + 100ms);
  EXPECT_FALSE(sender.Take(kStart + 100ms - 1ns).has_value());
  EXPECT_EQ(sender.Take(kStart + 100ms)->purpose, Purpose::kAck);
  sender.SetBusy(kStart + 100ms, true);
  sender.Add(kStart + 110ms, Purpose::kAck, Named("b"));
  sender.Add(kStart + 110ms, Purpose::kNack, Named("n"));
  EXPECT_EQ(sender.NextDeadline(), std::nullopt);
  EXPECT_TRUE(sender.HasPendingNack("n"));
  sender.SetBusy(kStart + 120ms, false);
  // The nack's tick of 100 ms came while the ack was sent; the ack's own is spent.
  EXPECT_EQ(sender.Take(kStart + 120ms)->purpose, Purpose::kNack);
  EXPECT_FALSE(sender.HasPendingNack("n"));
  EXPECT_FALSE(sender.Take(kStart + 120ms).has_value());
  EXPECT_EQ(sender.NextDeadline(), kStart + 200ms);
}

TEST(SenderTest, FlushingDropsReceiptsAndNeedsNoTick) {
  Sender sender(Model{}, kStart, kStart);
  sender.Add(kStart + 1ms, Purpose::kReceipt, Named("r"));
  sender.Add(kStart + 1ms, Purpose::kNack, Named("n"));
  sender.Flush();
  EXPECT_EQ(sender.Take(kStart + 2ms)->purpose, Purpose::kNack);
  sender.Add(kStart + 2ms, Purpose::kReceipt, Named("r"));
  EXPECT_TRUE(sender.empty());
}

TEST(SenderTest, ABatchByFirstItemLeavesOneTickLaterOrWhenItIsFull) {
  Model model = *FindModel("node");
  model.tick = 10ms;
  model.batch_ids_max = 3;
  Sender sender(model, kStart, kStart);
  sender.Add(kStart + 7ms, Purpose::kAck, Named("a"));
  sender.Add(kStart + 9ms, Purpose::kAck, Named("b"));
  EXPECT_EQ(sender.NextDeadline(), kStart + 17ms);
  EXPECT_FALSE(sender.Take(kStart + 17ms - 1ns).has_value());
  EXPECT_EQ(sender.Take(kStart + 17ms)->targets.size(), 2u);
  sender.SetBusy(kStart + 17ms, true);
  for (const char* id : {"c", "d"}) sender.Add(kStart + 20ms, Purpose::kNack, Named(id));
  sender.SetBusy(kStart + 50ms, false);  // it gathers anew from here
  EXPECT_EQ(sender.NextDeadline(), kStart + 60ms);
  for (const char* id : {"e", "f"}) sender.Add(kStart + 51ms, Purpose::kNack, Named(id));
  EXPECT_EQ(sender.NextDeadline(), kStart + 50ms);  // full
  EXPECT_EQ(sender.Take(kStart + 51ms)->targets.size(), 3u);
  EXPECT_FALSE(sender.HasPendingNack("e"));
  EXPECT_TRUE(sender.HasPendingNack("f"));
  EXPECT_EQ(sender.NextDeadline(), kStart + 61ms);
}

TEST(SenderTest, ABatchByItsSendersFreeTimeHoldsUpNothingThatComesLater) {
  Sender sender(*FindModel("python"), kStart, kStart);  // 10 ms
  sender.Add(kStart + 4ms, Purpose::kAck, Named("a"));
  sender.Add(kStart + 9ms, Purpose::kAck, Named("b"));
  EXPECT_EQ(sender.NextDeadline(), kStart + 10ms);
  EXPECT_FALSE(sender.Take(kStart + 10ms - 1ns).has_value());
  EXPECT_EQ(sender.Take(kStart + 10ms)->targets.size(), 2u);
  sender.SetBusy(kStart + 10ms, true);
  sender.Add(kStart + 20ms, Purpose::kNack, Named("c"));
  sender.SetBusy(kStart + 50ms, false);
  EXPECT_EQ(sender.NextDeadline(), kStart + 60ms);
  EXPECT_EQ(sender.Take(kStart + 60ms)->targets.size(), 1u);
  sender.SetBusy(kStart + 60ms, true);
  sender.SetBusy(kStart + 70ms, false);
  sender.Add(kStart + 80ms - 1ns, Purpose::kAck, Named("d"));
  EXPECT_EQ(sender.NextDeadline(), kStart + 80ms);
  EXPECT_EQ(sender.Take(kStart + 80ms)->targets.size(), 1u);
  sender.Add(kStart + 95ms, Purpose::kAck, Named("e"));
  EXPECT_EQ(sender.NextDeadline(), kStart + 95ms);
}

}  // namespace
}  // namespace hopgap::client
