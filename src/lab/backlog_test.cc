#include "lab/backlog.h"

#include <gtest/gtest.h>

#include <vector>

#include "lab/schedule.h"

namespace hopgap::lab {
namespace {

constexpr uint64_t kTenASecond = 10'000, kSlots = 400;  // 40 s, four windows of 10 s
constexpr WallTime kStart{std::chrono::hours{1}};

// Messages that leave one after the other, `between` apart, none before its due.
std::vector<trace::Path> Served(Duration between) {
  const Schedule schedule(kTenASecond, kSlots);
  std::vector<trace::Path> paths;
  WallTime free = kStart;
  for (uint64_t slot = 0; slot < kSlots; ++slot) {
    trace::Path path;
    path.slot = slot;
    path.scheduled = kStart + schedule.DueAfter(slot);
    free = std::max(free, path.scheduled) + between;
    path.until_handled = free - path.scheduled;
    paths.push_back(path);
  }
  return paths;
}

TEST(BacklogTest, AChainThatKeepsUpIsNotSaturatedHoweverSlowItsMessages) {
  EXPECT_EQ(SaturatedAt(Served(std::chrono::milliseconds{99}), kTenASecond, kSlots), std::nullopt);
  std::vector<trace::Path> slow = Served(std::chrono::milliseconds{1});
  for (trace::Path& path : slow) path.until_handled += std::chrono::seconds{9};
  EXPECT_EQ(SaturatedAt(slow, kTenASecond, kSlots), std::nullopt);
}

// Everything that came in nine seconds goes on together: at the ends of the four windows 10, 20, 30 and 40 messages wait.
TEST(BacklogTest, WhoWorksInBatchesIsNotSaturated) {
  const Schedule schedule(kTenASecond, kSlots);
  std::vector<trace::Path> paths;
  for (uint64_t slot = 0; slot < kSlots; ++slot) {
    constexpr Duration kEvery = std::chrono::seconds{9};
    trace::Path path;
    path.slot = slot;
    const Duration due = schedule.DueAfter(slot);
    path.scheduled = kStart + due;
    path.until_handled = kEvery * (due / kEvery + 1) - due;
    paths.push_back(path);
  }
  EXPECT_EQ(SaturatedAt(paths, kTenASecond, kSlots), std::nullopt);
}

// The backlog has to grow by more than 3 messages in each of the last three windows.
TEST(BacklogTest, AGrowingBacklogGivesTheRateThatWasServed) {
  EXPECT_EQ(SaturatedAt(Served(std::chrono::microseconds{102'000}), kTenASecond, kSlots), std::nullopt);
  const std::optional<double> rate = SaturatedAt(Served(std::chrono::milliseconds{200}), kTenASecond, kSlots);
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(*rate, 5.0);
}

// Of 400 messages the first 300 are served at once, the others never.
TEST(BacklogTest, OneBurstIsNoSaturationAndNothingHandledIsNoRate) {
  std::vector<trace::Path> paths = Served(std::chrono::milliseconds{1});
  paths.resize(300);
  EXPECT_EQ(SaturatedAt(paths, kTenASecond, kSlots), std::nullopt);
  EXPECT_EQ(SaturatedAt({}, kTenASecond, kSlots), std::nullopt);
}

}  // namespace
}  // namespace hopgap::lab
