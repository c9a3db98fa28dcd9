#include "stats/sample.h"

#include <gtest/gtest.h>

#include <numeric>

namespace hopgap::stats {
namespace {

std::vector<int64_t> UpTo(int64_t n) {
  std::vector<int64_t> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(SampleTest, QuantileIsLinearBetweenTheNeighbours) {
  // k6 and NumPy on 31 values: p95 halfway from x29 to x30, p99 0.7 of the way
  // from x30 to x31.
  std::vector<int64_t> values = UpTo(31);
  for (int64_t& v : values) v *= 1000;
  const Sample sample(values);
  EXPECT_EQ(sample.Quantile(kP50), 16'000);
  EXPECT_EQ(sample.Quantile(kP90), 28'000);
  EXPECT_EQ(sample.Quantile(kP95), 29'500);
  EXPECT_EQ(sample.Quantile(kP99), 30'700);
  EXPECT_EQ(sample.Quantile(Probability{0}), 1'000);
  EXPECT_EQ(sample.Quantile(Probability{Probability::kWhole}), 31'000);
}

TEST(SampleTest, QuantileRoundsHalvesAwayFromZero) {
  EXPECT_EQ(Sample({1, 2}).Quantile(kP50), 2);
  EXPECT_EQ(Sample({-1, -2}).Quantile(kP50), -2);
  EXPECT_EQ(Sample({-1, 2}).Quantile(kP50), 1);
}

// Wall-clock nanoseconds times 100,000 leave 64 bits.
TEST(SampleTest, QuantileOfHugeValuesDoesNotOverflow) {
  const int64_t big = INT64_MAX / 2;
  EXPECT_EQ(Sample({-big, big}).Quantile(kP50), 0);
  EXPECT_EQ(Sample({big, big - 2}).Quantile(kP50), big - 1);
}

// C53: equal samples have that value everywhere; far quantiles differ.
TEST(SampleTest, C53EqualSamplesGiveTheirValueAndTailsStayApart) {
  const Sample equal(std::vector<int64_t>(100, 1'000'000));
  for (Probability p : {kP50, kP90, kP95, kP99, kP999}) EXPECT_EQ(equal.Quantile(p), 1'000'000);
  const Sample many(UpTo(10'000));
  EXPECT_EQ(many.Quantile(kP99), 9900);
  EXPECT_EQ(many.Quantile(kP999), 9990);
  EXPECT_EQ(many.Quantile(Probability{99'990}), 9999);
}

// C52: percentiles of merged series come from the merged samples.
TEST(SampleTest, C52MergedSeriesAreNotAveragedPercentiles) {
  std::vector<int64_t> merged(1000, 10);
  merged.insert(merged.end(), 10, 2000);
  const Sample sample(merged);
  EXPECT_EQ(sample.Quantile(kP95), 10);
  EXPECT_EQ(sample.Quantile(kP99), 10);
  EXPECT_EQ(sample.Quantile(Probability{99'500}), 2000);
}

TEST(SampleTest, UnfinishedValuesCountAsInfinity) {
  const Sample sample({10, 20, 30}, 2);
  EXPECT_EQ(sample.n(), 5u);
  EXPECT_EQ(sample.infinite(), 2u);
  EXPECT_EQ(sample.Quantile(kP50), 30);                        // rank 3 exactly: no infinite value has a part in it
  EXPECT_EQ(sample.Quantile(Probability{50'001}), kInfinite);  // just above: one has
  EXPECT_EQ(sample.Quantile(kP90), kInfinite);
  EXPECT_EQ(sample.FiniteSum(), 60);
  EXPECT_EQ(sample.CountUpTo(29), 2u);
  EXPECT_EQ(sample.CountUpTo(30), 3u);
}

TEST(SampleTest, MinusInfinityPullsTheQuantileDown) {
  const Sample sample({kMinusInfinite, 10});
  EXPECT_EQ(sample.Quantile(kP50), kMinusInfinite);
  EXPECT_EQ(sample.infinite(), 0u);
  EXPECT_EQ(sample.FiniteSum(), 10);
}

TEST(SampleDeathTest, AnEmptySampleHasNoQuantile) {
  EXPECT_DEATH(Sample().Quantile(kP50), "empty sample");
  EXPECT_DEATH(Sample({1}).At(0), "rank is outside");
  EXPECT_DEATH(Sample({1}).At(2), "rank is outside");
}

}  // namespace
}  // namespace hopgap::stats
