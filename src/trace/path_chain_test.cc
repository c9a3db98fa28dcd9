#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/hop_plan.h"
#include "trace/hop_writer.h"

namespace hopgap::trace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Chains: each hop's publish is a child of the callback before it.
class ChainTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int hop = 1; hop <= 3; ++hop) places_.push_back(AddHop(list_, "std", hop));
  }
  // Writes hop `hop` (1-based) of trace 1; returns its callback's span.
  uint64_t Write(int hop, const HopPlan& plan, uint64_t parent, uint64_t create, uint64_t delivery = 1) {
    const MessageKey key = KeyOf(1, create);
    HopWriter writer(list_, places_[static_cast<size_t>(hop - 1)], key);
    writer.Publish(plan, parent, 12);
    writer.Deliver(plan, delivery);
    return SpanId(SpanRole::kProcess, key, delivery);
  }
  std::vector<Path> Paths(int hops) { return BuildPaths(MessageSpans(list_.events, list_.context), hops); }

  EventList list_;
  std::vector<HopPlaces> places_;
};

TEST_F(ChainTest, WorkEndsAtTheNextPublishCallAndStagesAddUp) {
  HopPlan first = WarmHop(10 * kMs);
  first.scheduled = 7 * kMs;
  const uint64_t root = Write(1, first, 0, 100);
  const HopPlan second = WarmHop(first.callback + 201 * kMs);
  const uint64_t middle = Write(2, second, root, 200);
  const HopPlan third = WarmHop(second.callback + 202 * kMs);
  Write(3, third, middle, 300);

  const std::vector<Path> paths = Paths(3);
  ASSERT_THAT(paths, SizeIs(1));
  const Path& path = paths.front();
  EXPECT_EQ(path.slot, 11u);
  ASSERT_THAT(path.hops, SizeIs(3));
  EXPECT_EQ(LengthOf(path.hops[0], Stage::kSendLateness), Ms(3));
  EXPECT_EQ(LengthOf(path.hops[0], Stage::kWork), Ms(201));
  EXPECT_EQ(LengthOf(path.hops[1], Stage::kWork), Ms(202));
  EXPECT_EQ(LengthOf(path.hops[2], Stage::kWork), Ms(200));
  EXPECT_EQ(path.until_handled, Duration{third.returned - first.scheduled});
  Duration sum{0};
  for (int stage = 0; stage < kPathStages; ++stage) sum += path.StageSum(static_cast<Stage>(stage));
  EXPECT_EQ(sum, path.until_handled);
}

TEST_F(ChainTest, UntilAckedEndsWithTheLastAckOfThePath) {
  HopPlan first = WarmHop(kMs);
  const HopPlan second = WarmHop(first.callback + 200 * kMs);
  first.ack_end = second.ack_end + 500 * kMs;  // a slow ack two hops up
  const uint64_t root = Write(1, first, 0, 100);
  Write(2, second, root, 200);
  const std::vector<Path> paths = Paths(2);
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths.front().until_acked, Duration{first.ack_end - first.call});
}

TEST_F(ChainTest, APathHasExactlyTheHopsAskedFor) {
  const uint64_t root = Write(1, WarmHop(kMs), 0, 100);
  Write(2, WarmHop(300 * kMs), root, 200);
  EXPECT_THAT(Paths(1), IsEmpty());
  EXPECT_THAT(Paths(2), SizeIs(1));
  EXPECT_THAT(Paths(3), IsEmpty());
}

TEST_F(ChainTest, TheAttemptThatPublishedIsThePaths) {
  HopPlan first = WarmHop(kMs);
  Write(1, first, 0, 100, /*delivery=*/1);
  HopPlan again = WarmHop(kMs);
  again.written += 700 * kMs;
  again.received = again.modack_start = again.written + kMs;
  again.modack_end = again.flow_start = again.flow_end = again.scheduler_start = again.callback =
      again.received + 5 * kMs;
  again.ack_called = again.returned = again.callback + 300 * kMs;
  again.ack_start = again.ack_called + 1;
  again.ack_end = again.ack_start + 1;
  HopWriter(list_, places_[0], KeyOf(1, 100)).Deliver(again, 2);
  const uint64_t published_on = SpanId(SpanRole::kProcess, KeyOf(1, 100), 2);
  Write(2, WarmHop(again.callback + 200 * kMs), published_on, 200);
  const std::vector<Path> paths = Paths(2);
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths.front().hops[0].attempts, 2);
  EXPECT_EQ(paths.front().hops[0].received, list_.context.anchor.ToWall(InstantFromNanos(again.received)));
}

// Fan-out: one path for each leaf (C71: subscriptions are told apart, no redelivery).
TEST_F(ChainTest, FanOutGivesOnePathForEachLeaf) {
  const uint64_t root = Write(1, WarmHop(kMs), 0, 100);
  Write(2, WarmHop(300 * kMs), root, 200);
  Write(2, WarmHop(310 * kMs), root, 201);            // a second publish of the same callback
  const HopPlaces other = AddHop(list_, "other", 2);  // a second subscription of the same topic
  HopPlan plan = WarmHop(300 * kMs);
  plan.callback += 5 * kMs;
  HopWriter(list_, other, KeyOf(1, 200)).Deliver(plan, 77);
  const std::vector<Path> paths = Paths(2);
  ASSERT_THAT(paths, SizeIs(3));
  for (const Path& path : paths) EXPECT_EQ(path.hops[1].attempts, 1);
  EXPECT_LT(paths[0].hops[1].callback_start, paths[1].hops[1].callback_start);
}

TEST_F(ChainTest, TwoMessagesOfOneResponseAreTwoPaths) {
  HopPlan plan = WarmHop(kMs);
  plan.count = 2;
  Write(1, plan, 0, 100, 1);
  HopPlan second = plan;
  second.flow_start = second.flow_end = second.scheduler_start = plan.callback;  // the first one's turn is over
  second.callback += 2 * kMs;
  Write(1, second, 0, 101, 2);
  const std::vector<Path> paths = Paths(1);
  ASSERT_THAT(paths, SizeIs(2));
  EXPECT_EQ(paths[1].hops[0].messages_in_response, 2);
  EXPECT_EQ(paths[0].hops[0].dispatch.other, Ms(2));
  EXPECT_EQ(paths[1].hops[0].dispatch.other, Ms(3));
  EXPECT_EQ(paths[1].hops[0].dispatch.scheduler, Ms(2));
}

TEST_F(ChainTest, ACycleOfParentsEnds) {
  const uint64_t one = SpanId(SpanRole::kProcess, KeyOf(1, 100), 1);
  Write(1, WarmHop(kMs), SpanId(SpanRole::kProcess, KeyOf(1, 200), 1), 100);
  Write(2, WarmHop(300 * kMs), one, 200);
  HopWriter(list_, places_[0], KeyOf(1, 100)).Deliver(WarmHop(2 * kMs), 2);  // a leaf that leads into it
  EXPECT_THAT(Paths(2), IsEmpty());
}

}  // namespace
}  // namespace hopgap::trace
