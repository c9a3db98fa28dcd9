#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "trace/build.h"
#include "trace/event.h"
#include "trace/path.h"

namespace hopgap::trace {

// Gathers events by trace. A trace that is complete is folded: its events
// become spans, its spans a path, and the events are forgotten, so that memory
// is bounded by the messages in flight. Events of a folded trace that come
// later are counted, not kept.
//
// Not thread-safe.
class Collector final : public EventSink {
 public:
  explicit Collector(ClockAnchor anchor) { context_.anchor = anchor; }

  void Record(const Event& event) override;
  uint16_t AddPlace(const Place& place) override;

  // The paths of this trace, which is then forgotten. `spans`, if given, gets
  // its spans first (an exporter).
  std::vector<Path> Fold(uint64_t trace_hi, uint64_t trace_lo, int hops,
                         const std::function<void(std::vector<Span>&)>& spans = nullptr);

  // Every trace not yet folded, in trace id order.
  std::vector<std::pair<uint64_t, uint64_t>> OpenTraces() const;
  const SpanContext& context() const { return context_; }
  uint64_t late_events() const { return late_events_; }

 private:
  struct Id {
    uint64_t hi, lo;
    friend bool operator==(const Id&, const Id&) = default;
  };
  struct IdHash {
    size_t operator()(const Id& id) const { return id.lo ^ (id.hi * 0x9e3779b97f4a7c15u); }
  };
  SpanContext context_;
  std::unordered_map<Id, std::vector<Event>, IdHash> open_;
  std::unordered_map<Id, bool, IdHash> folded_;
  uint64_t late_events_ = 0;
};

}  // namespace hopgap::trace
