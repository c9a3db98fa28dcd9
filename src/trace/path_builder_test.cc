#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/hop_plan.h"
#include "trace/hop_writer.h"

namespace hopgap::trace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

Duration PartsSum(const DispatchParts& parts) {
  return parts.lease_wait + parts.lease_batching + parts.flow_control + parts.scheduler + parts.other;
}

// One message of one hop, delivered once.
class OneHopTest : public testing::Test {
 protected:
  std::vector<Path> Paths(const HopPlan& plan) {
    HopWriter writer(list_, places_, kKey);
    writer.Publish(plan, 0);
    writer.Deliver(plan, 21);
    return BuildPaths(MessageSpans(list_.events, list_.context), 1);
  }
  HopTimes Hop(const HopPlan& plan) {
    const std::vector<Path> paths = Paths(plan);
    EXPECT_THAT(paths, SizeIs(1));
    return paths.empty() ? HopTimes{} : paths.front().hops.front();
  }
  WallTime Wall(int64_t at) const { return list_.context.anchor.ToWall(InstantFromNanos(at)); }

  static constexpr MessageKey kKey{.trace_hi = 1, .trace_lo = 2, .create_span = 3};
  EventList list_;
  HopPlaces places_ = AddHop(list_, "eos", 1);
};

TEST_F(OneHopTest, StagesRunFromInstantToInstant) {
  HopPlan plan = WarmHop(5 * kMs);
  plan.scheduled = plan.call - 2 * kMs;
  plan.returned = plan.ack_called + 3 * kMs;
  const std::vector<Path> paths = Paths(plan);
  ASSERT_THAT(paths, SizeIs(1));
  const Path& path = paths.front();
  EXPECT_EQ(path.StageSum(Stage::kSendLateness), Ms(2));
  EXPECT_EQ(path.StageSum(Stage::kClientPublish), Ms(10));
  EXPECT_EQ(path.StageSum(Stage::kPublishRpc), Ms(30));
  EXPECT_EQ(path.StageSum(Stage::kDeliveryGap), Ms(21));
  EXPECT_EQ(path.StageSum(Stage::kDispatchGap), Ms(33));
  EXPECT_EQ(path.StageSum(Stage::kWork), Ms(203));
  EXPECT_EQ(path.StageSum(Stage::kAck), Ms(26));
  EXPECT_EQ(path.until_handled, Ms(299));
  EXPECT_EQ(path.until_acked, Ms(322));
  EXPECT_EQ(path.scheduled, Wall(plan.scheduled));
  EXPECT_EQ(path.arm, "eos");
  EXPECT_EQ(path.slot, 0u);
}

TEST_F(OneHopTest, WithoutScheduleThePathBeginsAtThePublishCall) {
  const std::vector<Path> paths = Paths(WarmHop(kMs));
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths.front().StageSum(Stage::kSendLateness), Ms(0));
  EXPECT_EQ(paths.front().until_handled, Ms(294));
}

TEST_F(OneHopTest, InstantsAreKeptForWaterfalls) {
  const HopPlan plan = WarmHop(kMs);
  const HopTimes hop = Hop(plan);
  EXPECT_EQ(hop.accepted, Wall(plan.accepted));
  EXPECT_EQ(hop.committed, Wall(plan.committed));
  EXPECT_EQ(hop.written, Wall(plan.written));
  EXPECT_EQ(hop.read_posted, Wall(plan.read_posted));
  EXPECT_EQ(hop.modack_start, Wall(plan.modack_start));
  EXPECT_EQ(hop.modack_end, Wall(plan.modack_end));
  EXPECT_EQ(hop.ack_end, Wall(plan.ack_end));
  EXPECT_EQ(hop.work_end, Wall(plan.returned));
  EXPECT_TRUE(hop.exactly_once);
  EXPECT_EQ(hop.stream, 2);
  EXPECT_EQ(hop.attempts, 1);
}

TEST_F(OneHopTest, AnOvertakenPublishAnswerMakesTheGapNegative) {
  HopPlan plan = WarmHop(kMs);
  plan.written = plan.committed + 1 * kMs;
  plan.received = plan.end - 9 * kMs;
  plan.modack_start = plan.received;
  plan.deliver_added = 1 * kMs;
  plan.after_added = 17 * kMs;
  const HopTimes hop = Hop(plan);
  EXPECT_EQ(LengthOf(hop, Stage::kDeliveryGap), Ms(-9));
  EXPECT_EQ(StageOf(hop, Stage::kDeliveryGap).added, Ms(1 - 17));
  EXPECT_EQ(StageOf(hop, Stage::kDeliveryGap).machine(), Ms(-9 + 16));
  EXPECT_EQ(StageOf(hop, Stage::kPublishRpc).added, Ms(17));
}

TEST_F(OneHopTest, DispatchPartsAreClaimedInOrder) {
  HopPlan plan = WarmHop(kMs);                  // received at 61
  plan.modack_start = plan.received + 2 * kMs;  // 63
  plan.modack_end = plan.received + 30 * kMs;   // 91
  plan.flow_start = plan.modack_end - 1 * kMs;  // overlaps the lease call by 1
  plan.flow_end = plan.modack_end + 10 * kMs;
  plan.scheduler_start = plan.flow_end - 2 * kMs;  // overlaps flow control by 2
  plan.callback = plan.flow_end + 4 * kMs;
  const HopTimes hop = Hop(plan);
  EXPECT_EQ(hop.dispatch.lease_wait, Ms(28));
  EXPECT_EQ(hop.dispatch.lease_batching, Ms(2));
  EXPECT_EQ(hop.dispatch.flow_control, Ms(10));
  EXPECT_EQ(hop.dispatch.scheduler, Ms(4));
  EXPECT_EQ(hop.dispatch.other, Ms(0));
  EXPECT_EQ(PartsSum(hop.dispatch), LengthOf(hop, Stage::kDispatchGap));
}

TEST_F(OneHopTest, FlowControlIsWaitedAndTheLeaseAdded) {
  HopPlan plan = WarmHop(kMs);
  plan.modack_added = 27 * kMs;
  plan.flow_end = plan.flow_start + 500 * kMs;
  plan.scheduler_start = plan.flow_end;
  plan.callback = plan.flow_end + 5 * kMs;
  plan.ack_called = plan.returned = plan.callback + 200 * kMs;
  plan.ack_start = plan.ack_called + 60 * kMs;
  plan.ack_end = plan.ack_start + 11 * kMs;
  plan.ack_added = 9 * kMs;
  const HopTimes hop = Hop(plan);
  const StageTime& dispatch = StageOf(hop, Stage::kDispatchGap);
  EXPECT_EQ(dispatch.length, Ms(31 + 500 + 5));
  EXPECT_EQ(dispatch.added, Ms(27));
  EXPECT_EQ(dispatch.waited, Ms(505));
  EXPECT_EQ(dispatch.machine(), Ms(4));
  EXPECT_EQ(hop.dispatch.other, Ms(1));
  const StageTime& ack = StageOf(hop, Stage::kAck);
  EXPECT_EQ(ack.length, Ms(71));
  EXPECT_EQ(ack.added, Ms(9));
  EXPECT_EQ(ack.waited, Ms(60));
}

// In virtual time the dispatch begins at the very instant of the answer.
TEST_F(OneHopTest, ALeaseWaitThatEndsInTheDispatchIsAdded) {
  for (const auto& [early, added] : {std::pair{int64_t{0}, Ms(28)}, std::pair{int64_t{1}, Ms(0)}}) {
    list_.events.clear();
    HopPlan plan = WarmHop(kMs);
    plan.modack_added = 28 * kMs;
    plan.flow_start = plan.flow_end = plan.scheduler_start = plan.callback = plan.modack_end - early;
    EXPECT_EQ(StageOf(Hop(plan), Stage::kDispatchGap).added, added) << early;
  }
}

// Of three lease calls the first has no delay; the third's is recorded before its request.
TEST_F(OneHopTest, ADelayBelongsToTheCallItStandsWith) {
  HopPlan plan = WarmHop(kMs);
  HopWriter writer(list_, places_, kKey);
  writer.Publish(plan, 0);
  writer.Deliver(plan, 21);
  Event event{.message = kKey, .delivery = 21, .place = places_.broker_subscription};
  for (int64_t call = 1; call <= 2; ++call) {
    const int64_t at = plan.callback + call * kMs;
    writer.Delay(call == 1 ? at : at - 1, call, DelayLeg::kModack, 21, places_.broker_subscription);
    for (const What what : {What::kLeaseRead, What::kLeaseReplied}) {
      event.what = what;
      event.at = InstantFromNanos(at);
      list_.Record(event);
    }
  }
  std::vector<int64_t> added;
  for (const Span& span : MessageSpans(list_.events, list_.context)) {
    if (span.name == "eos-s1 broker lease") added.push_back(span.Int("hopgap.added.modack_ns"));
  }
  EXPECT_THAT(added, testing::ElementsAre(0, 1, 2));
}

// The callback starts while the receipt modack is in flight.
TEST_F(OneHopTest, OverlapWaitsForNoLease) {
  HopPlan plan = WarmHop(kMs);
  plan.modack_added = 300 * kMs;
  plan.flow_start = plan.flow_end = plan.scheduler_start = plan.callback = plan.modack_start;
  plan.modack_end = plan.modack_start + 303 * kMs;
  plan.ack_called = plan.returned = plan.callback + 400 * kMs;
  plan.ack_start = plan.ack_end = 0;
  plan.abandoned = plan.ack_called + kMs;
  const HopTimes hop = Hop(plan);
  EXPECT_EQ(LengthOf(hop, Stage::kDispatchGap), Ms(0));
  EXPECT_EQ(hop.dispatch, DispatchParts{});
  EXPECT_EQ(StageOf(hop, Stage::kDispatchGap).added, Ms(0));
}

TEST_F(OneHopTest, AStandardStreamHasNoLeaseParts) {
  HopPlan plan = WarmHop(kMs);
  plan.exactly_once = false;
  plan.modack_added = 12 * kMs;
  plan.flow_start = plan.received;
  plan.flow_end = plan.callback = plan.scheduler_start = plan.received + 50 * kMs;
  const HopTimes hop = Hop(plan);
  EXPECT_EQ(hop.dispatch.lease_wait + hop.dispatch.lease_batching, Ms(0));
  EXPECT_EQ(hop.dispatch.flow_control, Ms(50));
  EXPECT_EQ(StageOf(hop, Stage::kDispatchGap).added, Ms(0));
}

TEST_F(OneHopTest, RetriedReceiptsAreAllAdded) {
  HopPlan plan = WarmHop(kMs);
  plan.modack_added = 5 * kMs;
  plan.flow_start = plan.flow_end = plan.scheduler_start = plan.callback = plan.received + 90 * kMs;
  HopWriter writer(list_, places_, kKey);
  writer.Client(plan.received + 40 * kMs, 21, What::kReceiptModackStart, 555, 60, plan);
  writer.Client(plan.received + 80 * kMs, 21, What::kReceiptModackEnd, 555, 0, plan);
  Event event{.message = kKey, .delivery = 21, .place = places_.broker_subscription};
  for (const What what : {What::kLeaseRead, What::kLeaseApplied, What::kLeaseReplied}) {
    event.what = what;
    event.at = InstantFromNanos(plan.received + 70 * kMs);
    list_.Record(event);
  }
  writer.Delay(plan.received + 70 * kMs, 6 * kMs, DelayLeg::kModack, 21, places_.broker_subscription);
  // An extension while the callback runs is nobody's wait.
  writer.Client(plan.callback + kMs, 21, What::kExtensionStart, 556, 60, plan);
  writer.Client(plan.callback + 2 * kMs, 21, What::kExtensionEnd, 556, 0, plan);
  const HopTimes hop = Hop(plan);
  EXPECT_EQ(hop.dispatch.lease_wait, Ms(30 + 40));
  EXPECT_EQ(hop.dispatch.other, Ms(20));
  EXPECT_EQ(StageOf(hop, Stage::kDispatchGap).added, Ms(11));
}

TEST_F(OneHopTest, ServerViewAddsUpToPublishStartUntilReceived) {
  struct Case {
    const char* name;
    int64_t read_posted, stream_wait, wire;  // ms; written at 60, received at 70
  };
  for (const Case& c :
       {Case{"asked long before", 10, 0, 10}, Case{"just before the write", 59, 0, 10}, Case{"at the write", 60, 0, 10},
        Case{"after it: busy stream", 66, 6, 4}, Case{"at the receipt", 70, 10, 0}, Case{"never said", 0, 0, 10}}) {
    SCOPED_TRACE(c.name);
    list_.events.clear();
    HopPlan plan = WarmHop(1);  // 1 ns: 0 would mean "not recorded"
    plan.received = plan.modack_start = 70 * kMs + 1;
    plan.read_posted = c.read_posted == 0 ? 0 : c.read_posted * kMs + 1;
    const HopTimes hop = Hop(plan);
    ASSERT_TRUE(hop.server.has_value());
    EXPECT_EQ(hop.server->accept, Ms(10));
    EXPECT_EQ(hop.server->commit, Ms(2));
    EXPECT_EQ(hop.server->queue, Ms(38));
    EXPECT_EQ(hop.server->stream_wait, Ms(c.stream_wait));
    EXPECT_EQ(hop.server->wire, Ms(c.wire));
    EXPECT_EQ(StageOf(hop, Stage::kDeliveryGap).waited, Ms(c.stream_wait));
  }
}

TEST_F(OneHopTest, WithoutTheBrokersHalfThereIsNoServerView) {
  HopPlan plan = WarmHop(kMs);
  plan.accepted = plan.committed = plan.replied = plan.written = 0;
  EXPECT_FALSE(Hop(plan).server.has_value());
}

TEST_F(OneHopTest, WhatATimerIsLateIsTheMachines) {
  HopPlan plan = WarmHop(kMs);
  plan.admitted = plan.call + 3 * kMs;  // publisher flow control
  plan.released = plan.batched - 1 * kMs;
  plan.start = plan.batched + 2 * kMs;
  plan.ack_due = plan.ack_start - 1 * kMs;
  const HopTimes hop = Hop(plan);
  EXPECT_EQ(StageOf(hop, Stage::kClientPublish).waited, Ms(9));
  EXPECT_EQ(StageOf(hop, Stage::kClientPublish).machine(), Ms(3));
  EXPECT_EQ(StageOf(hop, Stage::kAck).waited, Ms(5));
}

TEST_F(OneHopTest, TheHandlerWaitedForItsAckIfItReturnedAfterIt) {
  struct Case {
    const char* name;
    int64_t returned_after_ack_end;
    Duration ack_wait;
  };
  for (const Case& c : {Case{"just before", -1, Ms(0)}, Case{"with it", 0, Ms(26)}, Case{"after", kMs, Ms(26)}}) {
    SCOPED_TRACE(c.name);
    list_.events.clear();
    HopPlan plan = WarmHop(kMs);
    plan.ack_added = 18 * kMs;
    plan.returned = plan.ack_end + c.returned_after_ack_end;
    const HopTimes hop = Hop(plan);
    EXPECT_EQ(hop.work.ack_wait, c.ack_wait);
    EXPECT_EQ(hop.work.handler + hop.work.ack_wait, LengthOf(hop, Stage::kWork));
    EXPECT_EQ(StageOf(hop, Stage::kWork).added, c.ack_wait == Ms(0) ? Ms(0) : Ms(18));
  }
}

// The receipt that is not there, the publish that never ended, ...
TEST_F(OneHopTest, AMissingPieceYieldsNoPath) {
  for (int64_t HopPlan::*piece : {&HopPlan::call, &HopPlan::start, &HopPlan::end, &HopPlan::received,
                                  &HopPlan::callback, &HopPlan::ack_called, &HopPlan::ack_end}) {
    list_.events.clear();
    HopPlan plan = WarmHop(kMs);
    plan.*piece = 0;
    EXPECT_THAT(Paths(plan), IsEmpty());
  }
  for (int64_t HopPlan::*piece :
       {&HopPlan::admitted, &HopPlan::modack_start, &HopPlan::flow_end, &HopPlan::returned, &HopPlan::replied,
        &HopPlan::written, &HopPlan::ack_start, &HopPlan::scheduler_start}) {
    list_.events.clear();
    HopPlan plan = WarmHop(kMs);
    plan.*piece = 0;
    EXPECT_THAT(Paths(plan), SizeIs(1));
  }
}

TEST_F(OneHopTest, ANackedMessageWasNotHandled) {
  HopPlan plan = WarmHop(kMs);
  plan.nack_called = plan.ack_called;
  plan.nack_start = plan.ack_start;
  plan.nack_end = plan.ack_end;
  plan.ack_called = plan.ack_start = plan.ack_end = 0;
  EXPECT_THAT(Paths(plan), IsEmpty());
}

TEST_F(OneHopTest, ARedeliveryIsTheDelaysOfAllAttemptsAndTheLeaseThatRanOut) {
  HopPlan first = WarmHop(kMs);
  first.deliver_added = 4 * kMs;
  first.callback = first.ack_called = first.returned = first.ack_start = first.ack_end = 0;
  first.abandoned = first.received + 900 * kMs;
  HopPlan second = first;
  second.written = first.written + 1000 * kMs;
  second.read_posted = second.written + 1 * kMs;
  second.received = second.modack_start = second.written + 2 * kMs;
  second.modack_end = second.received + 30 * kMs;
  second.flow_start = second.flow_end = second.scheduler_start = second.callback = second.modack_end;
  second.ack_called = second.returned = second.callback + 200 * kMs;
  second.ack_start = second.ack_called + kMs;
  second.ack_end = second.ack_start + kMs;
  second.abandoned = 0;
  HopWriter writer(list_, places_, kKey);
  writer.Publish(first, 0);
  writer.Deliver(first, 21);
  // The second draw comes when the first lease has run out, before the ack id exists.
  writer.Delay(second.written - 7 * kMs, 7 * kMs, DelayLeg::kDeliver, 0, places_.broker_subscription);
  second.deliver_added = 0;
  writer.Deliver(second, 22);
  const std::vector<Path> paths = BuildPaths(MessageSpans(list_.events, list_.context), 1);
  ASSERT_THAT(paths, SizeIs(1));
  const HopTimes& hop = paths.front().hops.front();
  EXPECT_EQ(hop.attempts, 2);
  EXPECT_EQ(hop.redelivery_wait, Ms(1000));
  const StageTime& gap = StageOf(hop, Stage::kDeliveryGap);
  EXPECT_EQ(gap.length, Ms(20 + 1000 + 2));
  EXPECT_EQ(gap.added, Ms(4 + 7));
  EXPECT_EQ(gap.waited, Ms(1000 - 7 + 1));
  EXPECT_EQ(hop.received, Wall(second.received));
}

TEST_F(OneHopTest, ARedeliveryWithoutTheBrokersHalfIsTimedByReceipts) {
  HopPlan plan = WarmHop(kMs);
  plan.accepted = plan.committed = plan.replied = plan.written = 0;
  HopWriter writer(list_, places_, kKey);
  writer.Publish(plan, 0);
  HopPlan first = plan;
  first.received = plan.received - 15 * kMs;  // 6 ms after the publish end at 40
  first.callback = first.ack_called = first.returned = first.ack_start = first.ack_end = 0;
  first.abandoned = plan.received;
  writer.Deliver(first, 1);
  writer.Deliver(plan, 2);
  const std::vector<Path> paths = BuildPaths(MessageSpans(list_.events, list_.context), 1);
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths.front().hops.front().redelivery_wait, Ms(15));
  EXPECT_EQ(StageOf(paths.front().hops.front(), Stage::kDeliveryGap).waited, Ms(15));
}

TEST_F(OneHopTest, HandledTwiceCountsWhenItWasHandledFirst) {
  const HopPlan plan = WarmHop(kMs);
  HopPlan later = WarmHop(10 * kMs);
  HopWriter writer(list_, places_, kKey);
  writer.Publish(plan, 0);
  writer.Deliver(later, 9);
  writer.Deliver(plan, 21);
  const std::vector<Path> paths = BuildPaths(MessageSpans(list_.events, list_.context), 1);
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths.front().hops.front().callback_start, Wall(plan.callback));
  EXPECT_EQ(paths.front().hops.front().attempts, 2);
}

}  // namespace
}  // namespace hopgap::trace
