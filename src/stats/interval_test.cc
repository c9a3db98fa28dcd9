#include "stats/interval.h"

#include <gtest/gtest.h>

#include <numeric>

namespace hopgap::stats {
namespace {

constexpr std::optional<size_t> kNone;

Sample OneTo(int64_t n, size_t unfinished = 0) {
  std::vector<int64_t> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1);
  return Sample(values, unfinished);
}

// The ranks of reference/tool-anchors.md §4.2, which were made elsewhere.
TEST(IntervalTest, RanksAreTheBinomialOnes) {
  struct Case {
    size_t n;
    Probability p;
    std::optional<size_t> low, high;
  };
  for (const Case& c :
       {Case{31, kP50, 10, 22}, Case{31, kP90, 24, kNone}, Case{31, kP95, 27, kNone}, Case{31, kP99, 29, kNone},
        Case{100, kP50, 40, 61}, Case{100, kP90, 84, 96}, Case{100, kP95, 90, 100}, Case{100, kP99, 97, kNone},
        Case{300, kP95, 277, 293}, Case{300, kP99, 293, kNone}, Case{1000, kP99, 983, 997}}) {
    SCOPED_TRACE(testing::Message() << "n " << c.n << " p " << c.p.AsDouble());
    const Ranks ranks = IntervalRanks(c.n, c.p);
    EXPECT_EQ(ranks.low, c.low);
    EXPECT_EQ(ranks.high, c.high);
  }
}

// Just before and at the size from which a limit exists.
TEST(IntervalTest, LimitsAppearAtTheStatedSizes) {
  struct Case {
    Probability p;
    size_t upper, reach;
  };
  for (const Case& c : {Case{kP90, 36, 29}, Case{kP95, 72, 59}, Case{kP99, 368, 299}, Case{kP999, 3688, 2995}}) {
    SCOPED_TRACE(c.p.AsDouble());
    EXPECT_EQ(NeededForUpperLimit(c.p), c.upper);
    EXPECT_EQ(NeededToReach(c.p), c.reach);
    EXPECT_FALSE(IntervalRanks(c.upper - 1, c.p).high);
    EXPECT_EQ(IntervalRanks(c.upper, c.p).high, c.upper);
  }
  EXPECT_FALSE(IntervalRanks(5, kP50).low);
  EXPECT_FALSE(IntervalRanks(5, kP50).high);
  EXPECT_EQ(IntervalRanks(6, kP50).low, 1u);
  EXPECT_EQ(IntervalRanks(6, kP50).high, 6u);
  EXPECT_FALSE(IntervalRanks(0, kP50).low);
}

TEST(IntervalTest, LargeSamplesDoNotUnderflow) {
  // Normal approximation: 50,000 -/+ 1.96 * sqrt(25,000) = 49,690.1 / 50,309.9.
  const Ranks ranks = IntervalRanks(100'000, kP50);
  ASSERT_TRUE(ranks.low && ranks.high);
  EXPECT_EQ(*ranks.low, 49'690u);
  EXPECT_EQ(*ranks.high, 50'311u);
  EXPECT_EQ(*ranks.low + *ranks.high, 100'001u);  // the median's interval is symmetric
}

TEST(IntervalTest, ReachIsTheChanceOfTheLargestValue) {
  EXPECT_NEAR(ReachedBy(31, kP95), 0.796, 0.001);
  EXPECT_NEAR(ReachedBy(31, kP99), 0.268, 0.001);
  EXPECT_EQ(ReachedBy(0, kP99), 0);
}

TEST(IntervalTest, EstimateSaysWhatSupportsIt) {
  const Sample sample = OneTo(31);
  const Estimate p50 = *EstimateQuantile(sample, kP50);
  EXPECT_EQ(p50.value, 16);
  EXPECT_EQ(p50.low, 10);
  EXPECT_EQ(p50.high, 22);
  EXPECT_FALSE(p50.one_sided());
  const Estimate p95 = *EstimateQuantile(sample, kP95);
  EXPECT_EQ(p95.low, 27);
  EXPECT_TRUE(p95.one_sided());
  EXPECT_TRUE(p95.supported);
  const Estimate p99 = *EstimateQuantile(sample, kP99);
  EXPECT_FALSE(p99.supported);
  EXPECT_EQ(p99.needed, 299u);
  EXPECT_FALSE(EstimateQuantile(OneTo(99), kP99)->supported);
  EXPECT_TRUE(EstimateQuantile(OneTo(100), kP99)->supported);
  EXPECT_FALSE(EstimateQuantile(Sample(), kP50));
}

TEST(IntervalTest, UnfinishedMessagesReachTheUpperLimit) {
  const Estimate p50 = *EstimateQuantile(OneTo(21, 10), kP50);
  EXPECT_EQ(p50.value, 16);
  EXPECT_EQ(p50.high, kInfinite);  // rank 22 of 31 never finished
  EXPECT_EQ(p50.low, 10);
}

TEST(IntervalDeathTest, CertaintyIsNoQuantile) {
  EXPECT_DEATH(IntervalRanks(10, Probability{0}), "strictly between");
  EXPECT_DEATH(IntervalRanks(10, Probability{Probability::kWhole}), "strictly between");
}

}  // namespace
}  // namespace hopgap::stats
