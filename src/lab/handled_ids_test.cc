#include "lab/handled_ids.h"

#include <gtest/gtest.h>

namespace hopgap::lab {
namespace {

using namespace std::chrono_literals;

constexpr Instant kFirstHandled{};

TEST(HandledIdsTest, AnIdIsRememberedForItsWindow) {
  HandledIds ids({.window = 10s});
  EXPECT_FALSE(ids.Contains(kFirstHandled, "a"));
  ids.Add(kFirstHandled, "a");
  ids.Add(kFirstHandled + 9s, "a");  // does not begin anew
  EXPECT_TRUE(ids.Contains(kFirstHandled + 10s - 1ns, "a"));
  EXPECT_FALSE(ids.Contains(kFirstHandled + 10s, "a"));
  EXPECT_EQ(ids.size(), 0u);
  EXPECT_EQ(ids.forgotten_early(), 0u);
}

TEST(HandledIdsTest, BeyondItsLimitTheOldestIsForgottenAndCounted) {
  HandledIds ids({.ids_max = 2});
  for (const char* id : {"a", "b", "c"}) ids.Add(kFirstHandled, id);
  EXPECT_FALSE(ids.Contains(kFirstHandled, "a"));
  EXPECT_TRUE(ids.Contains(kFirstHandled, "b"));
  EXPECT_TRUE(ids.Contains(kFirstHandled, "c"));
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids.forgotten_early(), 1u);
}

}  // namespace
}  // namespace hopgap::lab
