#include "stats/compare.h"

#include <gtest/gtest.h>

#include <vector>

namespace hopgap::stats {
namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;
using Sign = PairedDifference::Sign;

// C54: the medians say slower, the means say faster; six pairs say neither.
TEST(ComparePairsTest, C54SixPairsDoNotDecide) {
  const PairedDifference d = ComparePairs(Pairs{{12, 10}, {13, 10}, {13, 11}, {14, 11}, {14, 12}, {15, 200}});
  EXPECT_EQ(d.n, 6u);
  EXPECT_EQ(d.slower, 5u);
  EXPECT_EQ(d.faster, 1u);
  EXPECT_EQ(d.median->value, 2);
  EXPECT_EQ(d.median->low, -185);  // the 200 is kept
  EXPECT_EQ(d.median->high, 3);
  EXPECT_EQ(d.mean_sum, -173);
  EXPECT_EQ(d.sign(), Sign::kUnresolved);
}

TEST(ComparePairsTest, SignNeedsAnIntervalOffZero) {
  EXPECT_EQ(ComparePairs(Pairs(6, {2, 1})).sign(), Sign::kSlower);
  EXPECT_EQ(ComparePairs(Pairs(6, {1, 2})).sign(), Sign::kFaster);
  EXPECT_EQ(ComparePairs(Pairs(6, {2, 2})).sign(), Sign::kUnresolved);
  EXPECT_EQ(ComparePairs(Pairs(5, {2, 1})).sign(), Sign::kUnresolved);  // no interval below six pairs
  EXPECT_EQ(ComparePairs(Pairs{}).sign(), Sign::kUnresolved);
}

TEST(ComparePairsTest, UnfinishedSidesAreInfiniteDifferences) {
  const PairedDifference d =
      ComparePairs(Pairs{{kInfinite, 5}, {5, kInfinite}, {kInfinite, kInfinite}, {7, 5}, {5, 5}});
  EXPECT_EQ(d.n, 4u);
  EXPECT_EQ(d.undefined, 1u);
  EXPECT_EQ(d.slower, 2u);
  EXPECT_EQ(d.faster, 1u);
  EXPECT_EQ(d.tied, 1u);
  EXPECT_EQ(d.mean_n, 2u);
  EXPECT_EQ(d.mean_sum, 2);
}

// Differences 1..5: mean 3, standard error sqrt(2.5 / 5), t(4) = 2.7764.
TEST(ComparePairsTest, MeanHasStudentsInterval) {
  const PairedDifference d = ComparePairs(Pairs{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}});
  ASSERT_TRUE(d.mean_low && d.mean_high);
  EXPECT_NEAR(*d.mean_low, 3 - 1.96321, 1e-4);
  EXPECT_NEAR(*d.mean_high, 3 + 1.96321, 1e-4);
  EXPECT_FALSE(ComparePairs(Pairs{{1, 0}}).mean_low);
}

TEST(StudentTest, TableAndExpansionMeet) {
  EXPECT_NEAR(StudentT975(1), 12.7062, 1e-4);
  EXPECT_NEAR(StudentT975(30), 2.0423, 1e-4);
  EXPECT_NEAR(StudentT975(31), 2.0395, 1e-4);
  EXPECT_NEAR(StudentT975(60), 2.0003, 1e-4);
  EXPECT_NEAR(StudentT975(1'000'000), 1.96, 1e-4);
}

}  // namespace
}  // namespace hopgap::stats
