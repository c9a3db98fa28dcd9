#include "base/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/work_law.h"

namespace hopgap {
namespace {

// The reference vector of the SipHash paper (appendix A).
TEST(DrawTest, SipHashGivesThePublishedVector) {
  std::string text;
  for (char c = 0; c < 15; ++c) text.push_back(c);
  EXPECT_EQ(SipHash({0x0706050403020100u, 0x0f0e0d0c0b0a0908u}, text), 0xa129ca6149be45e5u);
}

TEST(DrawTest, PermuteIsABijectionForEverySize) {
  for (uint64_t size : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 31u, 64u, 65u, 1000u}) {
    SCOPED_TRACE(size);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t at = Permute(7, size, i);
      EXPECT_LT(at, size);
      seen.insert(at);
    }
    EXPECT_EQ(seen.size(), size);
  }
}

TEST(DrawTest, StratifiedFractionsAreTheMidpointsOnce) {
  constexpr uint64_t kSize = 31;
  std::set<uint64_t> want, got;
  for (uint64_t i = 0; i < kSize; ++i) {
    want.insert(static_cast<uint64_t>(static_cast<unsigned __int128>(2 * i + 1) * kFractionOne / (2 * kSize)));
    got.insert(StratifiedFraction(99, kSize, i));
  }
  EXPECT_EQ(got, want);
}

TEST(DrawTest, MixSpreadsNeighbours) {
  EXPECT_NE(Mix(1, 2), Mix(2, 1));
  EXPECT_NE(Mix(0, 0), 0u);
  std::set<uint64_t> top;
  for (uint64_t i = 0; i < 1000; ++i) top.insert(Mix(1, i) >> 52);
  EXPECT_GT(top.size(), 800u);
}

TEST(WorkLawTest, DrawsFollowTheirLaw) {
  constexpr uint64_t kDraws = 100'000;
  const auto quantiles = [](const WorkLaw& law) {
    std::vector<double> draws;
    double sum = 0;
    for (uint64_t i = 0; i < kDraws; ++i) {
      draws.push_back(static_cast<double>(law.Of(1 + i % 3, i / 3).count()) / 1e6);
      sum += draws.back();
    }
    std::sort(draws.begin(), draws.end());
    return std::array{sum / kDraws, draws[kDraws / 2], draws[kDraws / 100 * 99]};
  };
  WorkLaw law(std::chrono::milliseconds{200});
  EXPECT_EQ(law.Of(1, 7), std::chrono::milliseconds{200});
  EXPECT_EQ(law.Text(), "200000000ns");
  law.seed = 5;
  law.kind = WorkLaw::Kind::kExponential;
  const auto [mean, median, p99] = quantiles(law);
  EXPECT_NEAR(mean, 200, 2);
  EXPECT_NEAR(median, 200 * std::log(2), 2);
  EXPECT_NEAR(p99, 200 * std::log(100), 20);
  law.kind = WorkLaw::Kind::kLognormal;
  law.p99 = std::chrono::milliseconds{900};
  const auto [log_mean, log_median, log_p99] = quantiles(law);
  EXPECT_NEAR(log_mean, static_cast<double>(law.mean().count()) / 1e6, 3);
  EXPECT_NEAR(log_median, 200, 2);
  EXPECT_NEAR(log_p99, 900, 25);
  EXPECT_EQ(law.Text(), "lognormal:200000000ns,p99=900000000ns");
  EXPECT_NE(law.Of(1, 7), law.Of(2, 7));
}

TEST(DrawDeathTest, IndexOutsideThePermutationIsAProgrammingError) {
  EXPECT_DEATH(Permute(1, 3, 3), "outside the permutation");
}

}  // namespace
}  // namespace hopgap
