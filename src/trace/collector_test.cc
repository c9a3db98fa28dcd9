#include "trace/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "trace/hop_plan.h"
#include "trace/hop_writer.h"

namespace hopgap::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr ClockAnchor kAnchor{.steady = InstantFromNanos(5), .wall = WallTime{Duration{1'600'000'000'000'000'000}}};

// Random chains: hops, redeliveries, fan-out, missing events, overtaking.
class RandomTraces {
 public:
  explicit RandomTraces(uint64_t seed) : random_(seed) {}

  int64_t Below(int64_t limit) { return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_); }
  bool Chance(int percent) { return Below(100) < percent; }

  // Moves every instant of a plan on by a little, sometimes by a lot; some out
  // of order, so that gaps are negative and parts overlap.
  HopPlan Plan(int64_t at) {
    HopPlan plan = WarmHop(at);
    plan.exactly_once = Chance(60);
    plan.count = static_cast<uint16_t>(1 + Below(3));
    int64_t drift = 0;
    for (int64_t HopPlan::*instant : kInstants) {
      drift += Below(Chance(10) ? 50 * kMs : kMs);
      plan.*instant += drift - (Chance(10) ? Below(30 * kMs) : 0);
    }
    for (int64_t HopPlan::*added : {&HopPlan::before_added, &HopPlan::after_added, &HopPlan::deliver_added,
                                    &HopPlan::modack_added, &HopPlan::ack_added}) {
      if (Chance(70)) plan.*added = 1 + Below(20 * kMs);
    }
    if (Chance(20)) plan.released = plan.batched - Below(5 * kMs);
    if (Chance(20)) plan.ack_due = plan.ack_start - Below(5 * kMs);
    return plan;
  }

  HopPlan WithHoles(HopPlan plan, int percent) {
    for (int64_t HopPlan::*instant : kInstants) {
      if (Chance(percent)) plan.*instant = 0;
    }
    return plan;
  }

  // One trace of `hops` hops; returns its schedule's instant.
  int64_t Write(EventSink& sink, const std::vector<HopPlaces>& places, uint64_t trace, int holes) {
    const int64_t scheduled = 1 + Below(1000 * kMs);
    int64_t at = scheduled + Below(kMs);
    uint64_t parent = 0;
    for (size_t hop = 0; hop < places.size(); ++hop) {
      HopPlan plan = WithHoles(Plan(at), holes);
      if (hop == 0) plan.scheduled = scheduled;
      const MessageKey key = KeyOf(trace, 1000 * trace + hop + 1);
      HopWriter writer(sink, places[hop], key);
      writer.Publish(plan, parent, trace);
      const uint64_t delivery = 10 * trace + 1;
      writer.Deliver(plan, delivery);
      if (Chance(15)) {  // delivered again, seldom handled again
        HopPlan again = WithHoles(Plan(at + 700 * kMs), Chance(70) ? 30 : holes);
        writer.Deliver(again, delivery + 1);
      }
      if (Chance(5)) HopWriter(sink, places.back(), key).Deliver(Plan(at + 3 * kMs), delivery + 2);
      parent = SpanId(SpanRole::kProcess, key, delivery);
      at = plan.callback + 200 * kMs + Below(kMs);
    }
    return scheduled;
  }

 private:
  static constexpr int64_t HopPlan::*kInstants[] = {
      &HopPlan::call,          &HopPlan::admitted,      &HopPlan::batched,         &HopPlan::start,
      &HopPlan::accepted,      &HopPlan::committed,     &HopPlan::replied,         &HopPlan::end,
      &HopPlan::written,       &HopPlan::read_posted,   &HopPlan::received,        &HopPlan::modack_start,
      &HopPlan::lease_read,    &HopPlan::lease_applied, &HopPlan::lease_replied,   &HopPlan::modack_end,
      &HopPlan::flow_start,    &HopPlan::flow_end,      &HopPlan::scheduler_start, &HopPlan::callback,
      &HopPlan::ack_called,    &HopPlan::returned,      &HopPlan::ack_start,       &HopPlan::ack_read,
      &HopPlan::ack_committed, &HopPlan::ack_replied,   &HopPlan::ack_end};

  std::mt19937_64 random_;
};

std::vector<HopPlaces> ThreeHops(EventSink& sink) {
  return {AddHop(sink, "eos", 1), AddHop(sink, "eos", 2), AddHop(sink, "eos", 3)};
}

constexpr uint64_t kSeed = 20240611;
constexpr uint64_t kTraces = 3000;

// There is one way to compute a latency: the short way gives what the spans give.
TEST(CollectorTest, FoldingGivesThePathsOfTheSpans) {
  std::cout << "seed " << kSeed << "\n";
  RandomTraces random(kSeed);
  size_t folded = 0, lossy = 0;
  for (uint64_t trace = 1; trace <= kTraces; ++trace) {
    const int holes = trace % 2 == 0 ? 0 : 2;
    EventList list;
    list.context.anchor = kAnchor;
    random.Write(list, ThreeHops(list), trace, holes);
    Collector collector(kAnchor);
    for (const Place& place : list.context.places) collector.AddPlace(place);
    for (const Event& event : list.events) collector.Record(event);
    std::shuffle(list.events.begin(), list.events.end(), std::mt19937_64(trace));
    const std::vector<Path> by_spans = BuildPaths(MessageSpans(list.events, list.context), 3);
    std::vector<Span> exported;
    const std::vector<Path> by_fold = collector.Fold(1, trace, 3, [&](std::vector<Span>& spans) { exported = spans; });
    ASSERT_EQ(by_fold, by_spans) << "trace " << trace;
    std::shuffle(exported.begin(), exported.end(), std::mt19937_64(trace));
    ASSERT_EQ(BuildPaths(exported, 3), by_spans) << "trace " << trace;
    (holes == 0 ? folded : lossy) += by_fold.size();
  }
  EXPECT_GT(folded, kTraces / 3);
  EXPECT_GT(lossy, kTraces / 40);
}

TEST(CollectorTest, StagesAndPartsAddUpExactly) {
  std::cout << "seed " << kSeed << "\n";
  RandomTraces random(kSeed + 1);
  Collector collector(kAnchor);
  const std::vector<HopPlaces> places = ThreeHops(collector);
  size_t checked = 0;
  for (uint64_t trace = 1; trace <= kTraces; ++trace) {
    const int64_t scheduled = random.Write(collector, places, trace, 0);
    for (const Path& path : collector.Fold(1, trace, 3)) {
      ++checked;
      Duration sum{0};
      for (int stage = 0; stage < kPathStages; ++stage) sum += path.StageSum(static_cast<Stage>(stage));
      ASSERT_EQ(sum, path.until_handled);
      ASSERT_EQ(path.until_handled, path.hops.back().work_end - kAnchor.ToWall(InstantFromNanos(scheduled)));
      for (const HopTimes& hop : path.hops) {
        const DispatchParts& dispatch = hop.dispatch;
        ASSERT_EQ(
            dispatch.lease_wait + dispatch.lease_batching + dispatch.flow_control + dispatch.scheduler + dispatch.other,
            hop.callback_start - hop.received);
        ASSERT_GE(std::min({dispatch.lease_wait, dispatch.lease_batching, dispatch.flow_control, dispatch.scheduler}),
                  Duration{0});
        ASSERT_EQ(hop.work.handler + hop.work.ack_wait + hop.work.store, hop.work_end - hop.callback_start);
        ASSERT_GE(hop.redelivery_wait, Duration{0});
        ASSERT_LE(hop.redelivery_wait, std::max(Duration{0}, hop.received - hop.publish_end));
        if (!hop.server) continue;
        ASSERT_EQ(
            hop.server->accept + hop.server->commit + hop.server->queue + hop.server->stream_wait + hop.server->wire,
            hop.received - hop.publish_start);
      }
    }
  }
  EXPECT_GT(checked, kTraces / 3);
}

// Nothing that events can say may crash the reader or make the two ways differ.
TEST(CollectorTest, AnyEventsFoldLikeTheirSpans) {
  std::cout << "seed " << kSeed << "\n";
  RandomTraces random(kSeed + 2);
  size_t paths = 0;
  for (uint64_t round = 1; round <= 3000; ++round) {
    Collector collector(kAnchor);
    EventList list;
    list.context.anchor = kAnchor;
    for (const Place::Side side : {Place::Side::kClient, Place::Side::kBroker}) {
      for (const char* name : {"t", "s"}) {
        list.AddPlace({side, "a", 1, "p", name});
        collector.AddPlace(list.context.places.back());
      }
    }
    const int64_t events = random.Below(120);
    for (int64_t i = 0; i < events; ++i) {
      const bool broker = random.Chance(40);
      Event event;
      event.at = InstantFromNanos(1 + random.Below(50));
      event.message = KeyOf(round, 1 + static_cast<uint64_t>(random.Below(3)));
      event.delivery = 1 + static_cast<uint64_t>(random.Below(3));
      const uint64_t callback = SpanId(SpanRole::kProcess, KeyOf(round, 1), 1);
      event.rpc = random.Chance(30) ? callback : static_cast<uint64_t>(random.Below(3));
      event.value = random.Below(40);
      event.what = static_cast<What>(broker ? 100 + random.Below(12) : 1 + random.Below(23));
      const bool topic = event.what <= What::kPublishEnd || (broker && event.what <= What::kPublishReplied);
      event.place = static_cast<uint16_t>((broker ? 2 : 0) + (topic ? 0 : 1));
      event.count = static_cast<uint16_t>(random.Below(5));
      list.Record(event);
      collector.Record(event);
    }
    const std::vector<Path> folded = collector.Fold(1, round, 1);
    ASSERT_EQ(folded, BuildPaths(MessageSpans(list.events, list.context), 1)) << "round " << round;
    paths += folded.size();
  }
  EXPECT_GT(paths, 0u);
}

TEST(CollectorTest, AFoldedTraceIsForgottenAndItsLateEventsCounted) {
  Collector collector(kAnchor);
  const HopPlaces places = AddHop(collector, "std", 1);
  HopWriter writer(collector, places, KeyOf(7, 70));
  writer.Publish(WarmHop(kMs), 0);
  writer.Deliver(WarmHop(kMs), 1);
  EXPECT_THAT(collector.Fold(1, 7, 1), SizeIs(1));
  EXPECT_THAT(collector.OpenTraces(), IsEmpty());
  EXPECT_EQ(collector.late_events(), 0u);
  writer.Publish(WarmHop(kMs), 0);
  EXPECT_EQ(collector.late_events(), 8u);
  EXPECT_THAT(collector.OpenTraces(), IsEmpty());
  EXPECT_THAT(collector.Fold(1, 7, 1), IsEmpty());
}

TEST(CollectorTest, OpenTracesComeInIdOrder) {
  Collector collector(kAnchor);
  collector.AddPlace({});
  for (uint64_t trace : {9, 3, 200, 1}) {
    collector.Record({.at = InstantFromNanos(1), .message = KeyOf(trace, 1), .what = What::kPublishCall});
  }
  collector.Record({.at = InstantFromNanos(1), .what = What::kPublishCall});  // of no trace
  using Id = std::pair<uint64_t, uint64_t>;
  EXPECT_THAT(collector.OpenTraces(), ElementsAre(Id{1, 1}, Id{1, 3}, Id{1, 9}, Id{1, 200}));
}

TEST(CollectorTest, LateEventsAreKnownForAWhile) {
  Collector collector(kAnchor);
  collector.AddPlace({});
  const auto record = [&](uint64_t trace) {
    collector.Record({.at = InstantFromNanos(1), .message = KeyOf(trace, 1), .what = What::kPublishCall});
  };
  for (uint64_t trace = 0; trace < Collector::kFoldedRemembered + 1; ++trace) {
    record(trace);
    collector.Fold(1, trace, 1);
  }
  record(1);  // still remembered
  EXPECT_EQ(collector.late_events(), 1u);
  record(0);  // the one before: a new trace now
  EXPECT_EQ(collector.late_events(), 1u);
  EXPECT_THAT(collector.OpenTraces(), SizeIs(1));
}

TEST(CollectorDeathTest, PlacesAreNamedBySixteenBits) {
  Collector collector(kAnchor);
  for (size_t i = 0; i < Collector::kPlacesMax; ++i) collector.AddPlace({});
  EXPECT_DEATH(collector.AddPlace({}), "more places");
}

TEST(CollectorDeathTest, AnEventAtNoPlaceIsAProgrammingError) {
  Collector collector(kAnchor);
  collector.Record({.at = InstantFromNanos(1), .message = KeyOf(1, 1), .what = What::kPublishCall, .place = 3});
  EXPECT_DEATH(collector.Fold(1, 1, 1), "never added");
}

}  // namespace
}  // namespace hopgap::trace
