#include "trace/hop_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace hopgap::trace {
namespace {

using testing::ElementsAre;

WallTime AnyInstant(std::mt19937_64& random) {
  const uint64_t kind = random() % 4;
  if (kind == 0) return WallTime{};
  if (kind == 1) return random() % 2 == 0 ? WallTime::min() : WallTime::max();
  return WallTime{Duration{1'700'000'000'000'000'000 + static_cast<int64_t>(random() % 1'000'000'000)}};
}
Duration AnyLength(std::mt19937_64& random) {
  const uint64_t kind = random() % 4;
  if (kind == 0) return Duration{0};
  if (kind == 1) return random() % 2 == 0 ? Duration::min() : Duration::max();
  return Duration{static_cast<int64_t>(random() % 2'000'000) - 1'000'000};
}

// Every field, with values that make no sense together too.
HopTimes AnyHop(std::mt19937_64& random) {
  HopTimes hop;
  for (StageTime& stage : hop.stages) stage = {AnyLength(random), AnyLength(random), AnyLength(random)};
  for (Duration* length :
       {&hop.dispatch.lease_wait, &hop.dispatch.lease_batching, &hop.dispatch.flow_control, &hop.dispatch.scheduler,
        &hop.dispatch.other, &hop.work.handler, &hop.work.ack_wait, &hop.work.store, &hop.redelivery_wait}) {
    *length = AnyLength(random);
  }
  if (random() % 2 == 0) {
    hop.server =
        ServerView{AnyLength(random), AnyLength(random), AnyLength(random), AnyLength(random), AnyLength(random)};
  }
  hop.exactly_once = random() % 2 == 0;
  for (int* number : {&hop.attempts, &hop.messages_in_response, &hop.stream}) *number = static_cast<int>(random());
  hop.missing = static_cast<uint8_t>(random());
  for (WallTime* at :
       {&hop.publish_call, &hop.publish_start, &hop.publish_end, &hop.received, &hop.callback_start, &hop.work_end}) {
    *at = AnyInstant(random);
  }
  for (auto* at : {&hop.accepted, &hop.committed, &hop.written, &hop.read_posted, &hop.modack_start, &hop.modack_end,
                   &hop.ack_called, &hop.ack_start, &hop.ack_end}) {
    if (random() % 2 == 0) *at = AnyInstant(random);
  }
  return hop;
}

TEST(HopListTest, EveryFieldOfEveryHopComesBack) {
  constexpr uint64_t kHopSeed = 20240611;
  SCOPED_TRACE(kHopSeed);
  std::mt19937_64 random(kHopSeed);
  for (int i = 0; i < 3'000; ++i) {
    const HopTimes hop = AnyHop(random);
    std::string bytes;
    PackHop(hop, bytes);
    ASSERT_EQ(UnpackHop(bytes), hop) << i;
  }
  EXPECT_EQ(HopList({HopTimes{}}).front(), HopTimes{});
}

// Of a hop as clients tell it, in whole microseconds.
TEST(HopListTest, AnOrdinaryHopIsASmallPartOfItsValues) {
  HopTimes hop;
  hop.publish_call = WallTime{std::chrono::seconds{1'700'000'000}};
  hop.publish_start = hop.publish_call + std::chrono::milliseconds{10};
  hop.publish_end = hop.publish_start + std::chrono::milliseconds{19};
  hop.received = hop.publish_end + std::chrono::milliseconds{21};
  hop.callback_start = hop.received + std::chrono::milliseconds{66};
  hop.work_end = hop.callback_start + std::chrono::milliseconds{200};
  hop.stages[static_cast<size_t>(Stage::kClientPublish)].length = hop.publish_start - hop.publish_call;
  hop.stages[static_cast<size_t>(Stage::kPublishRpc)].length = hop.publish_end - hop.publish_start;
  hop.stages[static_cast<size_t>(Stage::kDeliveryGap)].length = hop.received - hop.publish_end;
  hop.stages[static_cast<size_t>(Stage::kDispatchGap)].length = hop.callback_start - hop.received;
  hop.stages[static_cast<size_t>(Stage::kWork)].length = hop.work_end - hop.callback_start;
  hop.dispatch.other = hop.callback_start - hop.received;
  hop.work.handler = hop.work_end - hop.callback_start;
  std::string bytes;
  PackHop(hop, bytes);
  EXPECT_LT(bytes.size(), sizeof(HopTimes) / 10);
}

TEST(HopListTest, ElementsAreInOrderAndReplacedOneByOne) {
  HopTimes one, two, three;
  one.attempts = 1;
  two.attempts = 2'000'000;
  three.attempts = 3;
  HopList list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.begin(), list.end());
  for (const HopTimes& hop : {one, two, three}) list.push_back(hop);
  EXPECT_THAT(list, ElementsAre(one, two, three));
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(list.back(), three);
  HopList copy = list;
  copy.Replace(1, three);
  EXPECT_THAT(copy, ElementsAre(one, three, three));
  EXPECT_THAT(list, ElementsAre(one, two, three));
  EXPECT_FALSE(copy == list);
  copy.Replace(1, two);
  EXPECT_TRUE(copy == list);
  const HopList moved = std::move(copy);
  EXPECT_TRUE(moved == list);
  EXPECT_THAT(std::vector<HopTimes>(moved.begin(), moved.end()), ElementsAre(one, two, three));
}

TEST(HopListDeathTest, AnIndexIsOfAHop) {
  HopList list;
  EXPECT_DEATH(static_cast<void>(list[0]), "no such hop");
  EXPECT_DEATH(list.Replace(0, {}), "no such hop");
}

}  // namespace
}  // namespace hopgap::trace
