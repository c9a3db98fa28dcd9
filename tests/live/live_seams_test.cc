// The seams of tests/scenario/seams_test.cc again, over real sockets and the
// real clock: within half a millisecond, as difference of medians.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "live/live_run.h"

namespace hopgap::tests {
namespace {

using trace::HopTimes;
using trace::Stage;

#if defined(__SANITIZE_ADDRESS__)
constexpr double kWithinMs = 2.0;  // an instrumented program is no instrument
#else
constexpr double kWithinMs = 0.5;
#endif
constexpr Duration k7ms{std::chrono::milliseconds{7}};
constexpr uint64_t kMessages = 200;

// Medians over all hops of all messages, ms; the ack is its RPC.
using Medians = std::array<double, trace::kStages>;

double MedianMs(std::vector<int64_t> values) {
  EXPECT_GE(values.size(), kMessages);
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle) / 1e6;
}

Medians MediansOf(const std::vector<trace::Path>& paths) {
  Medians medians{};
  for (int stage = 0; stage < trace::kStages; ++stage) {
    std::vector<int64_t> values;
    for (const trace::Path& path : paths) {
      for (size_t hop = 0; hop < path.hops.size(); ++hop) {
        const HopTimes& times = path.hops[hop];
        if (static_cast<Stage>(stage) == Stage::kSendLateness && hop > 0) continue;
        if (static_cast<Stage>(stage) == Stage::kAck) {
          if (times.ack_end && times.ack_start) values.push_back((*times.ack_end - *times.ack_start).count());
        } else {
          values.push_back(times.stages[static_cast<size_t>(stage)].length.count());
        }
      }
    }
    medians[static_cast<size_t>(stage)] = MedianMs(std::move(values));
  }
  return medians;
}

std::vector<Medians> Measure(const std::function<void(cli::Plants&)>& plant) {
  LiveRun run = LiveRun::Quick();
  run.options.millihertz = 100'000;
  run.options.messages = kMessages;
  if (plant) plant(run.options.plants);
  const live::Result result = run.Go();
  return {MediansOf(result.outcome.paths[0]), MediansOf(result.outcome.paths[1])};
}

struct Seam {
  const char* name;
  std::function<void(cli::Plants&)> plant;
  std::vector<std::pair<Stage, double>> moves;  // ms
  bool only_exactly_once = false;
};

std::vector<Seam> Seams() {
  const auto leg = [](broker::Leg which) {
    return [which](cli::Plants& plants) { plants.legs[static_cast<size_t>(which)] = k7ms; };
  };
  return {
      {"send", [](cli::Plants& p) { p.lab.send = k7ms; }, {{Stage::kSendLateness, 7}}},
      {"batching", [](cli::Plants& p) { p.client.batching = k7ms; }, {{Stage::kClientPublish, 7}}},
      {"publish before commit", leg(broker::Leg::kPublishBefore), {{Stage::kPublishRpc, 7}}},
      {"publish after commit", leg(broker::Leg::kPublishAfter), {{Stage::kPublishRpc, 7}, {Stage::kDeliveryGap, -7}}},
      {"deliver", leg(broker::Leg::kDeliver), {{Stage::kDeliveryGap, 7}}},
      {"wire", [](cli::Plants& p) { p.wire = k7ms; }, {{Stage::kDeliveryGap, 7}}},
      {"receipt modack", leg(broker::Leg::kModack), {{Stage::kDispatchGap, 7}}, true},
      {"flow control", [](cli::Plants& p) { p.client.flow_control = k7ms; }, {{Stage::kDispatchGap, 7}}},
      {"scheduler", [](cli::Plants& p) { p.client.scheduler = k7ms; }, {{Stage::kDispatchGap, 7}}},
      {"work", [](cli::Plants& p) { p.lab.work = k7ms; }, {{Stage::kWork, 7}}},
      {"ack", leg(broker::Leg::kAck), {{Stage::kAck, 7}}},
  };
}

// What did not move as it should have, in words.
std::vector<std::string> Wrong(const Seam& seam, const std::vector<Medians>& baseline,
                               const std::vector<Medians>& moved) {
  std::vector<std::string> wrong;
  for (size_t arm = 0; arm < 2; ++arm) {
    Medians want{};
    if (arm == 1 || !seam.only_exactly_once) {
      for (const auto& [stage, ms] : seam.moves) want[static_cast<size_t>(stage)] = ms;
    }
    for (size_t stage = 0; stage < moved[arm].size(); ++stage) {
      const double by = moved[arm][stage] - baseline[arm][stage];
      if (std::abs(by - want[stage]) <= kWithinMs) continue;
      wrong.push_back(StrCat(seam.name, ", ", arm == 0 ? "std" : "eos", ": ",
                             trace::StageName(static_cast<Stage>(stage)), " moved by ", by, " ms, not ", want[stage]));
    }
  }
  return wrong;
}

// Half a minute after the first baseline the machine may be another: who is beyond the limit is measured once more,
// beside a baseline of its own.
TEST(LiveSeamsTest, APlantedDelayMovesItsStageAndNoOther) {
  const std::vector<Medians> baseline = Measure(nullptr);
  for (const Seam& seam : Seams()) {
    std::vector<std::string> wrong = Wrong(seam, baseline, Measure(seam.plant));
    if (wrong.empty()) continue;
    for (const std::string& words : wrong) std::printf("once more: %s\n", words.c_str());
    const std::vector<Medians> beside = Measure(nullptr);
    wrong = Wrong(seam, beside, Measure(seam.plant));
    EXPECT_THAT(wrong, testing::IsEmpty());
  }
}

}  // namespace
}  // namespace hopgap::tests
