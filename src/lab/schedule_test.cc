#include "lab/schedule.h"

#include <gtest/gtest.h>

namespace hopgap::lab {
namespace {

using namespace std::chrono_literals;

// 30 a second for 30 s are 900 slots, evenly spread; the tick at exactly 30 s is
// outside.
TEST(ScheduleTest, C48_SlotsAreEvenlySpreadFromOneStart) {
  const Schedule schedule(30'000, Schedule::SlotsIn(30'000, 30s));
  EXPECT_EQ(schedule.slots(), 900u);
  EXPECT_EQ(schedule.DueAfter(0), 0ns);
  EXPECT_EQ(schedule.DueAfter(1), 33'333'333ns);
  EXPECT_EQ(schedule.DueAfter(3), 100ms);  // no rounding adds up
  EXPECT_EQ(schedule.DueAfter(899), 29'966'666'666ns);
}

TEST(ScheduleTest, ADurationTakesTheSlotsBeforeItsEnd) {
  struct Case {
    uint64_t millihertz;
    Duration length;
    uint64_t want;
  };
  for (const Case& c : {Case{1000, 0ns, 0}, Case{1000, 1ns, 1}, Case{1000, 1s, 1}, Case{1000, 1s + 1ns, 2},
                        Case{1000, 30s, 30}, Case{500, 30s, 15}, Case{1, 1000s, 1}, Case{100'000'000, 1ms, 100}}) {
    SCOPED_TRACE(c.millihertz);
    SCOPED_TRACE(c.length.count());
    EXPECT_EQ(Schedule::SlotsIn(c.millihertz, c.length), c.want);
  }
}

TEST(ScheduleTest, LongSchedulesStayExact) {
  const Schedule schedule(3000, 10'000'000);
  EXPECT_EQ(schedule.DueAfter(9'000'000), std::chrono::seconds{3'000'000});
}

}  // namespace
}  // namespace hopgap::lab
