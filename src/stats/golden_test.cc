#include <gtest/gtest.h>

#include <cmath>

#include "stats/compare.h"
#include "stats/interval.h"
#include "stats/quantile_difference.h"
#include "stats/rank.h"
#include "stats/scipy_golden_testing.h"

// What SciPy says of the same numbers (interop/scipy/golden.py), to 1e-9.
namespace hopgap::stats {
namespace {

void ExpectClose(double ours, double theirs) { EXPECT_LE(std::fabs(ours - theirs), 1e-9 * std::fabs(theirs)) << ours; }

TEST(GoldenTest, QuantilesAreNumPys) {
  const Sample first(golden::kFirst), second(golden::kSecond);
  for (const golden::QuantileOf& q : golden::kQuantiles) {
    // Ours are whole nanoseconds.
    EXPECT_NEAR(static_cast<double>(first.Quantile(Probability{q.parts})), q.first, 0.5);
    EXPECT_NEAR(static_cast<double>(second.Quantile(Probability{q.parts})), q.second, 0.5);
  }
}

TEST(GoldenTest, RanksAreSciPys) {
  for (const golden::RanksOf& r : golden::kRanks) {
    SCOPED_TRACE(testing::Message() << "n " << r.n << " p " << r.parts);
    const Ranks ranks = IntervalRanks(r.n, Probability{r.parts});
    EXPECT_EQ(ranks.low.value_or(0), r.low);
    EXPECT_EQ(ranks.high.value_or(0), r.high);
  }
}

TEST(GoldenTest, StudentIsSciPys) {
  for (const golden::StudentOf& s : golden::kStudent) {
    SCOPED_TRACE(s.degrees);
    ExpectClose(StudentT975(s.degrees), s.t);
  }
}

TEST(GoldenTest, RankTestShiftAndMeanIntervalAreSciPys) {
  const Sample first(golden::kFirst), second(golden::kSecond);
  const RankTest test = TestRanks(first, second);
  EXPECT_EQ(test.u, golden::kU);
  ExpectClose(test.p_value, golden::kPValue);
  EXPECT_NEAR(static_cast<double>(CompareShift(first, second)->value), static_cast<double>(golden::kHodgesLehmann), 1);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < golden::kFirst.size(); ++i) pairs.emplace_back(golden::kFirst[i], golden::kSecond[i]);
  const PairedDifference paired = ComparePairs(pairs);
  ExpectClose(*paired.mean_low, golden::kMeanLow);
  ExpectClose(*paired.mean_high, golden::kMeanHigh);
  ExpectClose(SerialDependenceOf(golden::kFirst)->lag1, golden::kLag1);
}

// C54, as samples that share no slots: the medians are 11 and 13.5, the shift is shown, the 200 is kept, and six
// values a side say nothing: p is about 0.08, though the means are 42.3 and 13.5.
TEST(GoldenTest, C54SixValuesASideAreNotEnough) {
  const Sample standard({10, 10, 11, 11, 12, 200}), exactly_once({12, 13, 13, 14, 14, 15});
  const RankTest test = TestRanks(exactly_once, standard);
  EXPECT_EQ(test.u, golden::kC54U);
  ExpectClose(test.p_value, golden::kC54PValue);
  EXPECT_GT(test.p_value, 0.05);
  const HodgesLehmann shift = *CompareShift(exactly_once, standard);
  EXPECT_EQ(shift.value, 2);
  ASSERT_TRUE(shift.low && shift.high);
  EXPECT_LT(*shift.low, 0);  // so "faster" cannot be said, nor "slower"
  EXPECT_GT(*shift.high, 0);
  EXPECT_EQ(standard.sorted().back(), 200);
}

}  // namespace
}  // namespace hopgap::stats
