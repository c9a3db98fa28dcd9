#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/build.h"
#include "trace/event.h"

// For the tests of this room: the events of one hop, written down as instants.
namespace hopgap::trace {

// Keeps what it is given.
class EventList final : public EventSink {
 public:
  EventList() {
    context.anchor = {.steady = InstantFromNanos(1'000), .wall = WallTime{Duration{1'700'000'000'000'000'000}}};
  }
  void Record(const Event& event) override { events.push_back(event); }
  uint16_t AddPlace(const Place& place) override {
    context.places.push_back(place);
    return static_cast<uint16_t>(context.places.size() - 1);
  }

  std::vector<Event> events;
  SpanContext context;
};

// The places of one hop of one arm and of the broker's half of it.
struct HopPlaces {
  uint16_t topic = 0, subscription = 0, broker_topic = 0, broker_subscription = 0;
};
inline HopPlaces AddHop(EventSink& sink, const std::string& arm, int hop) {
  const std::string topic = arm + "-t" + std::to_string(hop), subscription = arm + "-s" + std::to_string(hop);
  const auto client = Place::Side::kClient, broker = Place::Side::kBroker;
  return {.topic = sink.AddPlace({client, arm, hop, "p", topic}),
          .subscription = sink.AddPlace({client, arm, hop, "p", subscription}),
          .broker_topic = sink.AddPlace({broker, "", 0, "p", topic}),
          .broker_subscription = sink.AddPlace({broker, "", 0, "p", subscription})};
}

inline constexpr int64_t kMs = 1'000'000;

// One message and its first delivery, in steady nanoseconds. 0: not recorded.
// WarmHop(at) is a warm exactly-once hop:
//
//   0 call · 10 batching over, RPC · 20 accepted · 22 committed · 40 answer · 60 written · 61 received
//   61 modack .. 91 · 92 flow control · 93 scheduler · 94 callback · 294 ack · 300 ack RPC .. 320
struct HopPlan {
  int64_t scheduled = 0, call = 0, admitted = 0, batched = 0, released = 0, start = 0, end = 0;
  int64_t accepted = 0, committed = 0, replied = 0;
  int64_t written = 0, read_posted = 0, received = 0;
  int64_t modack_start = 0, modack_end = 0, lease_read = 0, lease_applied = 0, lease_replied = 0;
  int64_t flow_start = 0, flow_end = 0, scheduler_start = 0, callback = 0;
  int64_t ack_called = 0, nack_called = 0, returned = 0;
  int64_t ack_due = 0, ack_start = 0, ack_end = 0, ack_read = 0, ack_committed = 0, ack_replied = 0;
  int64_t nack_start = 0, nack_end = 0, abandoned = 0;
  int64_t before_added = 0, after_added = 0, deliver_added = 0, modack_added = 0, ack_added = 0;
  bool exactly_once = true;
  uint16_t stream = 2, count = 1;
  uint64_t response = 7;
};
inline HopPlan WarmHop(int64_t at) {
  const auto ms = [at](int64_t after) { return at + after * kMs; };
  HopPlan plan;
  plan.call = plan.admitted = ms(0);
  plan.batched = plan.start = ms(10);
  plan.accepted = ms(20);
  plan.committed = ms(22);
  plan.replied = ms(39);
  plan.end = ms(40);
  plan.written = ms(60);
  plan.read_posted = ms(1);
  plan.received = plan.modack_start = ms(61);
  plan.lease_read = plan.lease_applied = ms(62);
  plan.lease_replied = ms(90);
  plan.modack_end = ms(91);
  plan.flow_start = plan.flow_end = ms(92);
  plan.scheduler_start = ms(93);
  plan.callback = ms(94);
  plan.ack_called = plan.returned = ms(294);
  plan.ack_start = ms(300);
  plan.ack_read = plan.ack_committed = ms(301);
  plan.ack_replied = ms(319);
  plan.ack_end = ms(320);
  return plan;
}

inline MessageKey KeyOf(uint64_t trace, uint64_t create) {
  return {.trace_hi = 1, .trace_lo = trace, .create_span = create};
}

// What a test reads from the times that came out.
constexpr Duration Ms(int64_t ms) { return Duration{ms * 1'000'000}; }
inline const StageTime& StageOf(const HopTimes& hop, Stage stage) { return hop.stages[static_cast<size_t>(stage)]; }
inline Duration LengthOf(const HopTimes& hop, Stage stage) { return StageOf(hop, stage).length; }

}  // namespace hopgap::trace
