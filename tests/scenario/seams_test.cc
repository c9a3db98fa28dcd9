// A delay of 7 ms planted at each of eleven seams moves its stage by 7 ms and
// no other: exactly, in virtual time. The calibration of everything above it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "scenario/virtual_run.h"

namespace hopgap::tests {
namespace {

using trace::HopTimes;
using trace::Path;
using trace::Stage;

constexpr Duration k7ms{std::chrono::milliseconds{7}};

struct Moves {
  Duration send_lateness{0}, client_publish{0}, publish_rpc{0}, delivery_gap{0}, dispatch_gap{0}, work{0};
};

struct Seam {
  const char* name;
  std::function<void(VirtualRun&)> plant;
  Moves std_moves;  // per hop (send lateness: hop 1 only)
  Moves eos_moves;
  Moves overlap_moves;
  Duration ack_rpc{0};
  std::function<Duration(const HopTimes&)> part;  // the part that moves too, under EOS
};

std::vector<std::vector<Path>> PathsOf(const VirtualRun& run) {
  absl::StatusOr<sim::Result> result = sim::Run(run.ToOptions());
  EXPECT_TRUE(result.ok()) << result.status();
  return std::move(result->outcome.paths);
}

Duration Length(const HopTimes& hop, Stage stage) { return hop.stages[static_cast<size_t>(stage)].length; }
Duration AckRpc(const HopTimes& hop) { return *hop.ack_end - *hop.ack_start; }

void ExpectMoved(const HopTimes& before, const HopTimes& after, const Moves& moves, bool first_hop) {
  EXPECT_EQ(Length(after, Stage::kSendLateness) - Length(before, Stage::kSendLateness),
            first_hop ? moves.send_lateness : Duration{0});
  EXPECT_EQ(Length(after, Stage::kClientPublish) - Length(before, Stage::kClientPublish), moves.client_publish);
  EXPECT_EQ(Length(after, Stage::kPublishRpc) - Length(before, Stage::kPublishRpc), moves.publish_rpc);
  EXPECT_EQ(Length(after, Stage::kDeliveryGap) - Length(before, Stage::kDeliveryGap), moves.delivery_gap);
  EXPECT_EQ(Length(after, Stage::kDispatchGap) - Length(before, Stage::kDispatchGap), moves.dispatch_gap);
  EXPECT_EQ(Length(after, Stage::kWork) - Length(before, Stage::kWork), moves.work);
}

std::vector<Seam> Seams() {
  const Moves none;
  const Moves send{.send_lateness = k7ms}, batching{.client_publish = k7ms}, before{.publish_rpc = k7ms};
  const Moves after{.publish_rpc = k7ms, .delivery_gap = -k7ms}, delivery{.delivery_gap = k7ms};
  const Moves dispatch{.dispatch_gap = k7ms}, work{.work = k7ms};
  const auto leg = [](broker::Leg which) {
    return [which](VirtualRun& run) { run.delays.planted[static_cast<size_t>(which)] = k7ms; };
  };
  return {
      {"send", [](VirtualRun& run) { run.planted.send = k7ms; }, send, send, send, Duration{0}, {}},
      {"batching",
       [](VirtualRun& run) { run.client_planted.batching = k7ms; },
       batching,
       batching,
       batching,
       Duration{0},
       {}},
      {"publish before commit", leg(broker::Leg::kPublishBefore), before, before, before, Duration{0}, {}},
      {"publish after commit", leg(broker::Leg::kPublishAfter), after, after, after, Duration{0}, {}},
      {"deliver", leg(broker::Leg::kDeliver), delivery, delivery, delivery, Duration{0}, {}},
      {"wire", [](VirtualRun& run) { run.planted_wire = k7ms; }, delivery, delivery, delivery, Duration{0}, {}},
      {"receipt modack", leg(broker::Leg::kModack), none, dispatch, none, Duration{0},
       [](const HopTimes& hop) { return hop.dispatch.lease_wait; }},
      {"flow control", [](VirtualRun& run) { run.client_planted.flow_control = k7ms; }, dispatch, dispatch, dispatch,
       Duration{0}, [](const HopTimes& hop) { return hop.dispatch.flow_control; }},
      {"scheduler", [](VirtualRun& run) { run.client_planted.scheduler = k7ms; }, dispatch, dispatch, dispatch,
       Duration{0}, [](const HopTimes& hop) { return hop.dispatch.scheduler; }},
      {"work", [](VirtualRun& run) { run.planted.work = k7ms; }, work, work, work, Duration{0},
       [](const HopTimes& hop) { return hop.work.handler; }},
      {"ack", leg(broker::Leg::kAck), none, none, none, k7ms, {}},
  };
}

TEST(SeamsTest, APlantedDelayMovesItsStageAndNoOther) {
  const std::vector<std::vector<Path>> baseline = PathsOf(VirtualRun{});
  ASSERT_EQ(baseline.size(), 3u);
  for (const Seam& seam : Seams()) {
    SCOPED_TRACE(seam.name);
    VirtualRun planted;
    seam.plant(planted);
    const std::vector<std::vector<Path>> moved = PathsOf(planted);
    const Moves* const per_arm[] = {&seam.std_moves, &seam.eos_moves, &seam.overlap_moves};
    for (size_t arm = 0; arm < 3; ++arm) {
      SCOPED_TRACE(arm);
      ASSERT_EQ(baseline[arm].size(), VirtualRun{}.messages);
      ASSERT_EQ(moved[arm].size(), baseline[arm].size());
      for (size_t slot = 0; slot < moved[arm].size(); ++slot) {
        for (size_t hop = 0; hop < 3; ++hop) {
          const HopTimes& was = baseline[arm][slot].hops[hop];
          const HopTimes& is = moved[arm][slot].hops[hop];
          ExpectMoved(was, is, *per_arm[arm], hop == 0);
          EXPECT_EQ(AckRpc(is) - AckRpc(was), seam.ack_rpc);
          if (seam.part && arm == 1) {
            EXPECT_EQ(seam.part(is) - seam.part(was), k7ms);
          }
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST(SeamsTest, StagesSumExactlyToTheWhole) {
  for (const std::vector<Path>& arm : PathsOf(VirtualRun{})) {
    for (const Path& path : arm) {
      Duration sum{0};
      for (int stage = 0; stage < trace::kPathStages; ++stage) sum += path.StageSum(static_cast<Stage>(stage));
      EXPECT_EQ(sum, path.until_handled);
      EXPECT_EQ(path.hops.back().work_end - path.scheduled, path.until_handled);
    }
  }
}

// The trace and the lab's own book were kept apart; in virtual time they agree
// to the nanosecond.
TEST(SeamsTest, LedgerAndSpansAgree) {
  absl::StatusOr<sim::Result> result = sim::Run(VirtualRun{}.ToOptions());
  ASSERT_TRUE(result.ok()) << result.status();
  const lab::Ledger& ledger = result->outcome.ledger;
  for (size_t arm = 0; arm < 3; ++arm) {
    for (const Path& path : result->outcome.paths[arm]) {
      const lab::LedgerRow& last = ledger.At(arm, path.slot, 3);
      const lab::LedgerRow& first = ledger.At(arm, path.slot, 1);
      EXPECT_EQ(last.handler_return - first.due, path.until_handled);
      EXPECT_EQ(result->anchor.ToWall(last.handler_entry), path.hops.back().callback_start);
      EXPECT_EQ(result->anchor.ToWall(first.publish_call), path.hops.front().publish_call);
    }
  }
}

TEST(SeamsTest, ASecondRunGivesTheSameFigures) {
  const std::vector<std::vector<Path>> first = PathsOf(VirtualRun{}), second = PathsOf(VirtualRun{});
  for (size_t arm = 0; arm < 3; ++arm) {
    for (size_t slot = 0; slot < first[arm].size(); ++slot) {
      EXPECT_EQ(first[arm][slot].until_handled, second[arm][slot].until_handled);
      EXPECT_EQ(first[arm][slot].until_acked, second[arm][slot].until_acked);
    }
  }
}

}  // namespace
}  // namespace hopgap::tests
