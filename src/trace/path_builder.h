#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trace/trace_view.h"

namespace hopgap::trace {

// Walks a view from its leaf callbacks to the schedule. Keeps its memory from
// trace to trace. Not thread-safe.
class PathBuilder {
 public:
  // The paths with exactly `hops` hops (without it: any number from 1), by the
  // start of their last callback.
  // `context` says the arms where the view came from events; null: the spans did.
  // Requires: what is unfinished has been dropped from the view.
  std::vector<Path> Build(const TraceView& view, std::optional<int> hops, const SpanContext* context);

  // The last delivery of each path that Build() returned last, as an index of the view.
  const std::vector<size_t>& leaves() const { return built_; }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  void Index();
  size_t DeliveryOfProcess(uint64_t span) const;
  std::vector<size_t> Leaves() const;
  bool Walk(size_t leaf);
  Path MakePath() const;
  std::span<const DeliveryView* const> SiblingsOf(size_t message) const;

  const TraceView* view_ = nullptr;
  const SpanContext* context_ = nullptr;
  std::optional<size_t> hops_;
  std::vector<std::pair<uint64_t, size_t>> by_process_;
  std::vector<std::pair<size_t, const DeliveryView*>> by_message_;
  std::vector<const DeliveryView*> siblings_;  // in the order of by_message_
  std::vector<bool> published_on_;
  std::vector<size_t> walk_;  // deliveries, leaf first
  std::vector<size_t> built_;
};

// For each message of a view its deliveries.
std::vector<std::vector<const DeliveryView*>> DeliveriesOf(const TraceView& view);

// The times of one delivery of a view, by itself: its publish, or its callback,
// may not be known. `siblings`: all of its message.
// Requires: `delivery` is an index of the view whose receipt was seen.
HopTimes TimesOfDelivery(const TraceView& view, size_t delivery, std::span<const DeliveryView* const> siblings);

}  // namespace hopgap::trace
