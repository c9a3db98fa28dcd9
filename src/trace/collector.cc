#include "trace/collector.h"

#include <algorithm>

#include "base/check.h"
#include "trace/path_builder.h"
#include "trace/view_from_events.h"

namespace hopgap::trace {

// What folding keeps warm from trace to trace.
struct Collector::Scratch {
  EventReader reader;
  PathBuilder builder;
};

Collector::Collector(ClockAnchor anchor) : scratch_(std::make_unique<Scratch>()) { context_.anchor = anchor; }
Collector::~Collector() = default;

void Collector::Record(const Event& event) {
  const Id id{event.message.trace_hi, event.message.trace_lo};
  if (id == Id{}) return;  // of no message
  if (id == last_id_ && last_ != kNone) return traces_[last_].push_back(event);
  const auto [found, is_new] = open_.try_emplace(id, kNone);
  if (is_new) {
    if (folded_.contains(id)) {
      open_.erase(found);
      ++late_events_;
      return;
    }
    found->second = TakeSlot();
  }
  last_id_ = id;
  last_ = found->second;
  traces_[last_].push_back(event);
}

size_t Collector::TakeSlot() {
  if (free_.empty()) {
    traces_.emplace_back().reserve(kEventsOfATrace);
    return traces_.size() - 1;
  }
  const size_t slot = free_.back();
  free_.pop_back();
  return slot;
}

uint16_t Collector::AddPlace(const Place& place) {
  HOPGAP_CHECK(context_.places.size() < kPlacesMax, "more places than an event can name");
  context_.places.push_back(place);
  return static_cast<uint16_t>(context_.places.size() - 1);
}

std::vector<Path> Collector::Fold(uint64_t trace_hi, uint64_t trace_lo, int hops,
                                  const std::function<void(std::vector<Span>&)>& spans) {
  const Id id{trace_hi, trace_lo};
  const auto found = open_.find(id);
  if (found == open_.end()) return {};
  std::vector<Event>& events = traces_[found->second];
  TraceView& view = scratch_->reader.Read(events, context_);
  DropUnfinished(view);
  if (spans) {
    std::vector<Span> written = SpansFromView(view, context_);
    spans(written);
  }
  std::vector<Path> paths = scratch_->builder.Build(view, hops, &context_);
  events.clear();
  free_.push_back(found->second);
  open_.erase(found);
  last_ = kNone;
  Remember(id);
  return paths;
}

void Collector::Remember(const Id& id) {
  folded_.insert(id);
  folded_order_.push_back(id);
  if (folded_order_.size() <= kFoldedRemembered) return;
  folded_.erase(folded_order_.front());
  folded_order_.pop_front();
}

std::vector<std::pair<uint64_t, uint64_t>> Collector::OpenTraces() const {
  std::vector<std::pair<uint64_t, uint64_t>> open;
  for (const auto& [id, slot] : open_) open.emplace_back(id.hi, id.lo);
  std::sort(open.begin(), open.end());
  return open;
}

}  // namespace hopgap::trace
