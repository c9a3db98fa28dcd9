#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "trace/build.h"
#include "trace/event.h"
#include "trace/path.h"

namespace hopgap::trace {

// Gathers events by trace. A trace that is complete is folded: its events
// become spans, its spans a path, and the events are forgotten, so that memory
// is bounded by the messages in flight. Events of a folded trace that come
// later are counted, not kept. Events of no trace (all zero) are dropped.
//
// Folding without `spans` skips the making of Span objects and goes from the
// same compact view to the same paths that BuildPaths(MessageSpans()) gives.
//
// Not thread-safe.
class Collector final : public EventSink {
 public:
  // Late events are told from new traces for this many folds.
  static constexpr size_t kFoldedRemembered = 250'000;
  static constexpr size_t kPlacesMax = 65'535;

  explicit Collector(ClockAnchor anchor);
  ~Collector() override;

  void Record(const Event& event) override;
  uint16_t AddPlace(const Place& place) override;

  // The paths of this trace, which is then forgotten. `spans`, if given, gets
  // its spans first (an exporter). Nothing for a trace that is not open.
  std::vector<Path> Fold(uint64_t trace_hi, uint64_t trace_lo, int hops,
                         const std::function<void(std::vector<Span>&)>& spans = nullptr);

  // Every trace not yet folded, in trace id order.
  std::vector<std::pair<uint64_t, uint64_t>> OpenTraces() const;
  const SpanContext& context() const { return context_; }
  uint64_t late_events() const { return late_events_; }

 private:
  struct Scratch;
  struct Id {
    uint64_t hi = 0, lo = 0;
    friend bool operator==(const Id&, const Id&) = default;
    template <typename H>
    friend H AbslHashValue(H state, const Id& id) {
      return H::combine(std::move(state), id.hi, id.lo);
    }
  };
  static constexpr size_t kNone = SIZE_MAX;
  static constexpr size_t kEventsOfATrace = 96;  // three hops and a few extensions

  size_t TakeSlot();
  void Remember(const Id& id);

  SpanContext context_;
  std::unique_ptr<Scratch> scratch_;
  absl::flat_hash_map<Id, size_t> open_;    // index in traces_
  std::vector<std::vector<Event>> traces_;  // slots are used again, their memory with them
  std::vector<size_t> free_;
  Id last_id_;  // most events follow one of their own trace
  size_t last_ = kNone;
  absl::flat_hash_set<Id> folded_;
  std::deque<Id> folded_order_;
  uint64_t late_events_ = 0;
};

}  // namespace hopgap::trace
