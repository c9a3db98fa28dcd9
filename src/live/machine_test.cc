#include "live/machine.h"

#include <gtest/gtest.h>

namespace hopgap::live {
namespace {

TEST(CpuLimitTest, ReadsBothKindsOfControlGroups) {
  EXPECT_EQ(CpuLimit("200000 100000"), 2.0);
  EXPECT_EQ(CpuLimit("50000 100000"), 0.5);
  EXPECT_EQ(CpuLimit("max 100000"), std::nullopt);
  EXPECT_EQ(CpuLimit(""), std::nullopt);
  EXPECT_EQ(CpuLimit("150000", "100000"), 1.5);
  EXPECT_EQ(CpuLimit("-1", "100000"), std::nullopt);
  EXPECT_EQ(CpuLimit("100000", "0"), std::nullopt);
}

TEST(ThrottledTest, FindsItsLine) {
  EXPECT_EQ(Throttled("usage_usec 5\nnr_periods 9\nnr_throttled 7\nthrottled_usec 8\n"), 7u);
  EXPECT_EQ(Throttled("usage_usec 5\n"), 0u);
  EXPECT_EQ(Throttled(""), 0u);
}

}  // namespace
}  // namespace hopgap::live
