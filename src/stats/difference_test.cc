#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/draw.h"
#include "stats/quantile_difference.h"
#include "stats/rank.h"

namespace hopgap::stats {
namespace {

Sample From(int64_t first, int64_t last, size_t unfinished = 0) {
  std::vector<int64_t> values(static_cast<size_t>(last - first + 1));
  std::iota(values.begin(), values.end(), first);
  return Sample(values, unfinished);
}

// Median 16 of 1..31 is within [10, 22]: 6 either way, so a difference is within sqrt(6^2 + 6^2) = 8.49.
TEST(QuantileDifferenceTest, LimitsAreTheDistancesSquaredAndAdded) {
  const QuantileDifference d = *CompareQuantile(From(101, 131), From(1, 31), kP50);
  EXPECT_EQ(d.value, 100);
  EXPECT_EQ(d.low, 92);
  EXPECT_EQ(d.high, 108);
  EXPECT_TRUE(d.supported);
}

TEST(QuantileDifferenceTest, ALimitThatOneSampleLacksIsNone) {
  const QuantileDifference p95 = *CompareQuantile(From(101, 131), From(1, 31), kP95);
  EXPECT_FALSE(p95.low);  // it needs the second's upper limit
  EXPECT_FALSE(p95.high);
  const QuantileDifference large = *CompareQuantile(From(1, 31), From(1, 1000), kP95);
  EXPECT_TRUE(large.low);
  EXPECT_FALSE(large.high);
  EXPECT_FALSE(CompareQuantile(Sample(), From(1, 31), kP50));
}

TEST(QuantileDifferenceTest, UnfinishedMessagesAreInfinitelySlow) {
  const QuantileDifference d = *CompareQuantile(From(1, 10, 21), From(1, 31), kP50);
  EXPECT_EQ(d.value, kInfinite);
  EXPECT_EQ(d.high, kInfinite);
  EXPECT_EQ(d.low, 10 - 22);                                              // rank 10 of the first finished
  EXPECT_FALSE(CompareQuantile(From(1, 10, 21), From(1, 10, 21), kP50));  // infinity less infinity
  const QuantileDifference high = *CompareQuantile(From(1, 21, 10), From(1, 31), kP50);
  EXPECT_EQ(high.value, 0);
  EXPECT_EQ(high.high, kInfinite);
}

TEST(QuantileDifferenceTest, ShiftFunctionShowsAWorseTailAtTheSameMedian) {
  std::vector<int64_t> tail(100);
  for (int64_t i = 0; i < 100; ++i) tail[static_cast<size_t>(i)] = i < 60 ? i : i + 10 * (i - 59);
  const std::vector<QuantileDifference> shift = ShiftFunction(Sample(tail), From(0, 99));
  ASSERT_EQ(shift.size(), 10u);
  EXPECT_EQ(shift[4].p, kP50);
  EXPECT_EQ(shift[4].value, 0);
  EXPECT_GT(*shift[8].low, 0);
}

TEST(QuantileRatioTest, IsTheDifferenceOfLogarithms) {
  const QuantileRatio r = *QuantileRatioOf(From(201, 231), From(101, 131), kP50);
  EXPECT_NEAR(r.value, 216.0 / 116, 1e-12);
  EXPECT_LT(*r.low, r.value);
  EXPECT_GT(*r.high, r.value);
  EXPECT_FALSE(QuantileRatioOf(From(-31, -1), From(1, 31), kP50));
  EXPECT_FALSE(QuantileRatioOf(From(-10, 20), From(1, 31), kP50)->low);  // its lower limit is no positive number
}

TEST(DistributionBandTest, Holds95) {
  EXPECT_NEAR(DistributionBand(31), 0.24392, 1e-5);
  EXPECT_NEAR(DistributionBand(10'000), 0.01358, 1e-5);
}

// Against the list of all differences, which it never makes.
TEST(RankTest, KthDifferenceIsThatOfTheWholeList) {
  constexpr uint64_t kSeed = 20261130;
  SCOPED_TRACE(kSeed);
  for (uint64_t round = 0; round < 30; ++round) {
    std::vector<int64_t> a, b, all;
    for (uint64_t i = 0; i < 1 + round % 7; ++i) a.push_back(static_cast<int64_t>(Mix(kSeed, round, i) % 50) - 25);
    for (uint64_t i = 0; i < 1 + round % 5; ++i) b.push_back(static_cast<int64_t>(Mix(kSeed, round, 99 + i) % 50));
    for (int64_t x : a) {
      for (int64_t y : b) all.push_back(x - y);
    }
    std::sort(all.begin(), all.end());
    for (size_t k = 1; k <= all.size(); ++k) EXPECT_EQ(KthDifference(Sample(a), Sample(b), k), all[k - 1]);
  }
}

TEST(RankTest, ShiftHasTheIntervalOfTheRankSumTest) {
  const HodgesLehmann shift = *CompareShift(From(101, 131), From(1, 31));
  EXPECT_EQ(shift.value, 100);
  EXPECT_LT(*shift.low, 100);
  EXPECT_GT(*shift.high, 100);
  EXPECT_FALSE(CompareShift(From(1, 3), From(1, 3))->low);  // 20 arrangements: none is rarer than 2.5 %
  EXPECT_TRUE(CompareShift(From(1, 4), From(1, 4))->low);   // 70 arrangements
  EXPECT_FALSE(CompareShift(From(1, 3, 1), From(1, 3)));
}

// Just below and above kExactRanksMax values the interval hardly changes.
TEST(RankTest, ExactAndNormalRanksMeet) {
  const auto width = [](int64_t n) {
    const HodgesLehmann h = *CompareShift(From(1, n), From(1, n));
    return static_cast<double>(*h.high - *h.low) / static_cast<double>(n);
  };
  EXPECT_NEAR(width(50), width(51), 0.03);
}

TEST(RankTest, SmallestDetectableShrinksWithTheSample) {
  const Sample sample = From(1, 1000);
  EXPECT_FALSE(SmallestDetectableShift(sample, 3));
  const int64_t at31 = *SmallestDetectableShift(sample, 31), at1000 = *SmallestDetectableShift(sample, 1000);
  EXPECT_GT(at31, 3 * at1000);
  EXPECT_GT(at1000, 0);
  EXPECT_FALSE(SmallestDetectablePaired(From(-2, 2)));  // five pairs have no interval
  EXPECT_GT(*SmallestDetectablePaired(From(-15, 15)), 4);
  EXPECT_LT(*SmallestDetectablePaired(From(-15, 15)), 15);
}

TEST(RankTest, NeighboursThatResembleEachOtherAreWorthLess) {
  std::vector<int64_t> rising(100), alternating(100);
  std::iota(rising.begin(), rising.end(), 0);
  for (size_t i = 0; i < 100; ++i) alternating[i] = i % 2 == 0 ? 0 : 1;
  EXPECT_GT(SerialDependenceOf(rising)->lag1, 0.9);
  EXPECT_LT(SerialDependenceOf(rising)->effective_n, 5);
  EXPECT_LT(SerialDependenceOf(alternating)->lag1, -0.9);
  EXPECT_EQ(SerialDependenceOf(alternating)->effective_n, 100);  // never more than there are
  EXPECT_FALSE(SerialDependenceOf(std::vector<int64_t>(100, 7)));
  EXPECT_FALSE(SerialDependenceOf(std::vector<int64_t>(9, 7)));
}

// C52: merged as values, never as an average of percentiles.
TEST(RankTest, C52MergedPercentilesComeFromTheMergedValues) {
  std::vector<int64_t> merged(1000, 10);
  merged.insert(merged.end(), 10, 2000);
  const Sample sample(merged);
  EXPECT_EQ(sample.Quantile(kP95), 10);
  EXPECT_EQ(sample.Quantile(kP99), 10);
  EXPECT_EQ(sample.Quantile(Probability{99'500}), 2000);
}

// C53: no percentile outside its sample, and different ranks stay different.
TEST(RankTest, C53PercentilesAreExact) {
  const Sample same(std::vector<int64_t>(100, 1'000'000));
  for (const Probability p : {kP50, kP90, kP99}) EXPECT_EQ(same.Quantile(p), 1'000'000);
  const Sample sample = From(1, 10'000);
  EXPECT_EQ(sample.Quantile(kP99), 9900);
  EXPECT_EQ(sample.Quantile(kP999), 9990);
  EXPECT_EQ(sample.Quantile(Probability{99'990}), 9999);
}

}  // namespace
}  // namespace hopgap::stats
