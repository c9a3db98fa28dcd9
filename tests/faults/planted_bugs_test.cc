// A promise that no checker watches any more would be kept by nobody: each bug
// of broker/planted.h has to be found, and soon.
#include <gtest/gtest.h>

#include <string>

#include "sim/fault_world.h"
#include "sim/planted_bugs.h"

namespace hopgap::sim {
namespace {

// The first seeds of `dev test` find all of them; the slowest needs a few hundred.
constexpr uint64_t kSeedsMax = 1500;

class PlantedBugsTest : public ::testing::TestWithParam<PlantedBug> {};

TEST_P(PlantedBugsTest, IsFound) {
  for (uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
    const FaultResult result = RunFaults({.seed = seed,
                                          .planted = GetParam().bug,
                                          .store_planted = GetParam().store,
                                          .over_store = GetParam().over_store,
                                          .log = {}});
    if (!result.violation) continue;
    std::printf("seed %d: %s: %s\n", static_cast<int>(seed), result.violation->promise.c_str(),
                result.violation->what.c_str());
    return;
  }
  FAIL() << GetParam().name << " was found by none of " << kSeedsMax << " seeds";
}

INSTANTIATE_TEST_SUITE_P(Every, PlantedBugsTest, ::testing::ValuesIn(kPlantedBugs),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(FaultWorldTest, OneSeedIsOneRun) {
  for (const uint64_t seed : {3, 8, 20}) {
    const FaultResult first = RunFaults({.seed = seed, .log = {}}), again = RunFaults({.seed = seed, .log = {}});
    EXPECT_EQ(first.steps, again.steps);
    EXPECT_EQ(first.tally.deliveries, again.tally.deliveries);
    EXPECT_EQ(first.plan, again.plan);
  }
}

}  // namespace
}  // namespace hopgap::sim
