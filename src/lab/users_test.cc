#include "lab/users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <queue>
#include <vector>

namespace hopgap::lab {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct Played {
  std::vector<uint64_t> slots, numbers, dropped;
};

// A load in virtual time: each iteration lasts `length`, making a user takes `making`.
Played Play(Users& users, const Schedule& schedule, uint64_t slots, Duration length, Duration making) {
  Played out;
  std::priority_queue<Duration, std::vector<Duration>, std::greater<>> ends;
  Duration made = Duration::max();
  for (uint64_t slot = 0; slot < slots; ++slot) {
    const Duration now = schedule.DueAfter(slot);
    for (; !ends.empty() && ends.top() <= now; ends.pop()) users.Ended();
    if (made <= now) {
      users.Made();
      made = Duration::max();
    }
    if (const std::optional<uint64_t> number = users.Begin(slot)) {
      out.slots.push_back(slot);
      out.numbers.push_back(*number);
      ends.push(now + length);
    } else {
      out.dropped.push_back(slot);
    }
    if (users.MakesAnother()) made = now + making;
  }
  return out;
}

TEST(UsersTest, C47_ABusyUserDropsEverySecondTickAndNumbersHaveNoGaps) {
  Users users({.at_first = 1, .most = 1});
  const Schedule schedule(1000, 30);
  const Played played = Play(users, schedule, Schedule::SlotsIn(1000, 30s), 1900ms, 0ms);
  ASSERT_EQ(played.slots.size(), 15u);
  for (uint64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(played.slots[i], 2 * i);
    EXPECT_EQ(played.numbers[i], i);
  }
  EXPECT_EQ(users.dropped(), 15u);
  EXPECT_EQ(users.begun(), 15u);
  EXPECT_EQ(users.users(), 1u);
  EXPECT_THAT(users.Advice(schedule),
              HasSubstr("15 of 30 slots were not sent, the last 29.0 s after the first: 1 users"));
}

TEST(UsersTest, C49_UsersAreAddedOneAtATimeAndThenNothingIsDropped) {
  Users users({.at_first = 10, .most = 60});
  const Schedule schedule(50'000, 1000);
  const Played played = Play(users, schedule, Schedule::SlotsIn(50'000, 20s), 1s, 15ms);
  EXPECT_EQ(played.slots.size() + played.dropped.size(), 1000u);
  EXPECT_EQ(users.dropped(), played.dropped.size());
  ASSERT_FALSE(played.dropped.empty());
  EXPECT_EQ(played.dropped.front(), 10u);  // the eleventh tick finds ten busy
  EXPECT_EQ(played.dropped.size(), 40u);   // one for each user that was added
  EXPECT_LT(schedule.DueAfter(played.dropped.back()), 6s);
  for (size_t i = 0; i + 1 < played.dropped.size(); ++i) ASSERT_LT(played.dropped[i], played.dropped[i + 1]);
  EXPECT_NEAR(users.users(), 50, 5);
  EXPECT_THAT(users.Advice(schedule), HasSubstr("until then the rate was not the one asked for"));
  EXPECT_THAT(users.Advice(schedule), HasSubstr("begin with --users " + std::to_string(users.users())));
}

TEST(UsersTest, EnoughUsersDropNothingAndTheMostIsNeverExceeded) {
  const Schedule schedule(50'000, 1000);
  Users enough({.at_first = 50, .most = 60});
  EXPECT_TRUE(Play(enough, schedule, 1000, 1s, 15ms).dropped.empty());
  EXPECT_EQ(enough.users(), 50u);
  EXPECT_EQ(enough.Advice(schedule), "");
  Users few({.at_first = 1, .most = 20});
  Play(few, schedule, 1000, 1s, 15ms);
  EXPECT_EQ(few.users(), 20u);
  EXPECT_THAT(few.Advice(schedule), HasSubstr("20 users are too few"));
}

}  // namespace
}  // namespace hopgap::lab
