// Every client model before the real broker's logic: what its messages wait for,
// on both kinds of subscription, and how much it carries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "client/model.h"
#include "lab/verdict.h"
#include "scenario/virtual_run.h"

namespace hopgap::tests {
namespace {

using namespace std::chrono_literals;
using trace::Stage;

constexpr Duration kModackTakes = 80ms;
Duration RoundTripOfModels() { return 2 * sim::Options{}.one_way; }

lab::Outcome OfArms(VirtualRun run, const std::vector<std::string>& arms) {
  run.arms.clear();
  for (const std::string& text : arms) {
    absl::StatusOr<lab::ArmSpec> arm = lab::ParseArm(text, "go");
    EXPECT_TRUE(arm.ok()) << arm.status();
    run.arms.push_back(*std::move(arm));
  }
  absl::StatusOr<sim::Result> result = sim::Run(run.ToOptions());
  EXPECT_TRUE(result.ok()) << result.status();
  return std::move(result->outcome);
}

VirtualRun OneHop(uint64_t messages) {
  VirtualRun run;
  run.messages = messages;
  run.hops = 1;
  run.delays.planted[static_cast<size_t>(broker::Leg::kModack)] = kModackTakes;
  return run;
}

TEST(ModelsTest, TheDispatchGapIsWhatEachLibraryWaitsFor) {
  struct Case {
    const char* model;
    Duration low, high;    // exactly-once
    Duration standard{0};  // standard, exactly
  };
  const Duration call = kModackTakes + RoundTripOfModels();
  for (const Case& c : {Case{"go", call, call}, Case{"go-v1", call, call}, Case{"pipelined", call, call},
                        Case{"python", call, call, call}, Case{"java", call, call + 100ms},
                        Case{"node", call + 100ms, call + 100ms}, Case{"cpp", 0ms, 0ms}, Case{"overlap", 0ms, 0ms}}) {
    SCOPED_TRACE(c.model);
    const lab::Outcome outcome = OfArms(OneHop(50), {std::string("std-") + c.model, std::string("eos-") + c.model});
    ASSERT_EQ(outcome.paths[0].size(), 50u);
    ASSERT_EQ(outcome.paths[1].size(), 50u);
    for (const trace::Path& path : outcome.paths[0]) EXPECT_EQ(path.StageSum(Stage::kDispatchGap), c.standard);
    for (const trace::Path& path : outcome.paths[1]) {
      EXPECT_GE(path.StageSum(Stage::kDispatchGap), c.low);
      EXPECT_LE(path.StageSum(Stage::kDispatchGap), c.high);
    }
    for (size_t arm : {0u, 1u}) {
      EXPECT_EQ(outcome.arms[arm].counts.duplicates, 0u);
      EXPECT_TRUE(lab::Judge(outcome, arm).valid);
    }
  }
}

// One stream, an 80 ms modack, 25 messages a second: twice what stop-and-wait carries.
TEST(ModelsTest, WhoFallsBehindOnOneStream) {
  VirtualRun run = OneHop(2000);
  run.millihertz = 25'000;
  run.streams = 1;
  run.work = 10ms;
  const lab::Outcome outcome =
      OfArms(run, {"eos-go", "eos-python", "eos-java", "eos-node", "eos-cpp", "eos-pipelined", "eos-overlap"});
  std::vector<bool> keeps_up;
  for (const auto& arm : outcome.arms) keeps_up.push_back(arm.counts.completed == arm.counts.sent);
  EXPECT_THAT(keeps_up, testing::ElementsAre(false, false, true, true, true, true, true));
}

TEST(ModelsTest, AStoreOfHandledMessagesIsAPartOfTheWork) {
  VirtualRun run;
  run.messages = 20;
  const lab::Outcome outcome = OfArms(run, {"std", "d:std-dedupe,store=2ms"});
  ASSERT_EQ(outcome.paths[1].size(), 20u);
  for (size_t slot = 0; slot < 20; ++slot) {
    const trace::Path &plain = outcome.paths[0][slot], &stored = outcome.paths[1][slot];
    Duration store{0};
    for (const trace::HopTimes& hop : stored.hops) {
      store += hop.work.store;
      EXPECT_EQ(hop.work.handler, 200ms);
    }
    EXPECT_EQ(store, 3 * 2ms + 2ms);  // asked three times; the last hop tells before it returns
    EXPECT_EQ(stored.StageSum(Stage::kWork), plain.StageSum(Stage::kWork) + store);
    EXPECT_EQ(plain.hops[0].work.store, 0ms);
  }
  EXPECT_EQ(outcome.arms[1].counts.deduplicated, 0u);  // nothing came twice
}

}  // namespace
}  // namespace hopgap::tests
