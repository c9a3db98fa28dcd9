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

TEST(ScheduleTest, PoissonGapsAreExponentialAndTheSeedsOwn) {
  constexpr uint64_t kDrawnSlots = 20'000;
  const Arrival arrival{.kind = Arrival::Kind::kPoisson, .seed = 7};
  const Schedule schedule(50'000, kDrawnSlots, arrival), again(50'000, 100, arrival);
  const Schedule other(50'000, 100, {.kind = Arrival::Kind::kPoisson, .seed = 8});
  EXPECT_EQ(schedule.DueAfter(0), 0ns);
  EXPECT_EQ(schedule.DueAfter(99), again.DueAfter(99));  // how many come later moves none
  EXPECT_NE(schedule.DueAfter(99), other.DueAfter(99));
  // Mean and standard deviation are 20 ms; e^-1 of the gaps are longer than the mean. Limits: 4 standard errors.
  double sum = 0, squares = 0, long_gaps = 0;
  for (uint64_t slot = 0; slot < kDrawnSlots; ++slot) {
    const double gap = ToMillis(schedule.DueAfter(slot + 1) - schedule.DueAfter(slot));
    EXPECT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
    long_gaps += gap > 20 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDrawnSlots, 20, 0.57);
  EXPECT_NEAR(squares / kDrawnSlots, 800, 51);
  EXPECT_NEAR(long_gaps / kDrawnSlots, 0.36788, 0.0137);
}

TEST(ScheduleTest, ARampsRateGrowsLinearlyFromFirstToLast) {
  // 10/s to 50/s in 10 s: 300 slots; 0.1 s apart at first, 0.02 s at the end, and
  // 10 t + 2 t^2 of them until t.
  const Arrival up{.kind = Arrival::Kind::kRamp, .from_millihertz = 10'000, .to_millihertz = 50'000};
  EXPECT_EQ(Schedule::SlotsIn(30'000, up, 10s, 1000), 300u);
  EXPECT_EQ(Schedule::SlotsIn(30'000, up, 10s + 1ns, 1000), 300u);  // 301 would take longer than that
  EXPECT_EQ(Schedule::SlotsIn(30'000, up, 10s, 100), 101u);         // more than may be
  const Schedule schedule(30'000, 300, up);
  EXPECT_EQ(schedule.DueAfter(0), 0ns);
  EXPECT_EQ(schedule.DueAfter(100), 5s);
  EXPECT_EQ(schedule.DueAfter(300), 10s);
  EXPECT_NEAR(ToMillis(schedule.DueAfter(1)), 98.1, 0.1);
  EXPECT_NEAR(ToMillis(schedule.DueAfter(300) - schedule.DueAfter(299)), 20.0, 0.1);
  // Downwards it is the same, seen from its end.
  const Schedule down(30'000, 300, {.kind = Arrival::Kind::kRamp, .from_millihertz = 50'000, .to_millihertz = 10'000});
  for (const uint64_t slot : {0u, 1u, 150u, 299u, 300u}) {
    EXPECT_NEAR(ToMillis(down.DueAfter(slot)), 1e4 - ToMillis(schedule.DueAfter(300 - slot)), 1e-3);
  }
}

TEST(ScheduleTest, EveryRunsFirstSlotLiesAlikeToTheTickersGrid) {
  const auto at = [](Duration since) { return Instant{since}; };
  EXPECT_EQ(FirstSlotFrom(at(2s + 200us)), at(2s + 200us)) << "where the simulation begins";
  EXPECT_EQ(FirstSlotFrom(at(2s)), at(2s + 200us));
  EXPECT_EQ(FirstSlotFrom(at(2s + 201us)), at(2s + 100ms + 200us));
  EXPECT_EQ(FirstSlotFrom(at(12345678987654ns)), at(12345700200000ns));
}

TEST(ScheduleTest, ADurationTakesPoissonsSlotsBeforeItsEnd) {
  const Arrival arrival{.kind = Arrival::Kind::kPoisson, .seed = 3};
  const uint64_t slots = Schedule::SlotsIn(5000, arrival, 30s, 1000);
  const Schedule schedule(5000, slots, arrival);
  EXPECT_LT(schedule.DueAfter(slots - 1), 30s);
  EXPECT_GE(schedule.DueAfter(slots), 30s);
  EXPECT_NEAR(static_cast<double>(slots), 150, 49);  // 4 standard deviations
  EXPECT_EQ(Schedule::SlotsIn(5000, arrival, 30s, 10), 11u);
  EXPECT_EQ(Schedule::SlotsIn(5000, arrival, 0s, 10), 0u);
}

TEST(ScheduleTest, BurstsAndSilencesTakeTurns) {
  const Arrival arrival = Arrival::Bursts(2000, 3, 10s);
  const Schedule schedule(arrival.MeanOfBursts(), 100, arrival);
  const std::vector<Duration> want = {0s, 500ms, 1s, 11s, 11500ms, 12s, 22s};
  for (size_t slot = 0; slot < want.size(); ++slot) EXPECT_EQ(schedule.DueAfter(slot), want[slot]) << slot;
  EXPECT_EQ(schedule.DueAfter(3'000'000), 1'000'000 * 11s) << "no rounding adds up";
  EXPECT_EQ(arrival.MeanOfBursts(), 273u) << "3 in 11 s";
  EXPECT_EQ(arrival.Highest(arrival.MeanOfBursts()), 2000u);
  EXPECT_FALSE(arrival.AfterSilence(0));
  EXPECT_FALSE(arrival.AfterSilence(2));
  EXPECT_TRUE(arrival.AfterSilence(3));
  const auto inside = [&](Duration length) { return Schedule::SlotsIn(273, arrival, length, 1000); };
  EXPECT_EQ(inside(0s), 0u);
  EXPECT_EQ(inside(1ns), 1u);
  EXPECT_EQ(inside(11s), 3u);
  EXPECT_EQ(inside(11s + 1ns), 4u);
  EXPECT_EQ(inside(22s + 1ns), 7u);
  EXPECT_EQ(inside(1'000'000s), 1001u) << "at most one more than asked for is counted";
}

TEST(ScheduleTest, SingleMessagesBetweenSilences) {
  const Arrival arrival = Arrival::Bursts(1000, 1, 2500ms);
  EXPECT_EQ(arrival.MeanOfBursts(), 400u);
  EXPECT_EQ(Schedule(400, 9, arrival).DueAfter(3), 7500ms);
  EXPECT_TRUE(arrival.AfterSilence(1));
}

}  // namespace
}  // namespace hopgap::lab
