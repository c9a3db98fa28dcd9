#include "loop/recorder.h"

#include <algorithm>

namespace hopgap::loop {

uint16_t PlaceTable::Add(const trace::Place& place) {
  std::lock_guard lock(mu_);
  if (places_.size() == kPlacesMax) {
    ++shared_;
    return static_cast<uint16_t>(kPlacesMax - 1);
  }
  if (places_.size() == kPlacesMax - 1) {
    ++shared_;
    trace::Place& others = places_.emplace_back();
    others.side = trace::Place::Side::kBroker;  // only its clients can create so many
    others.resource = "(others)";
  } else {
    places_.push_back(place);
  }
  return static_cast<uint16_t>(places_.size() - 1);
}

uint64_t PlaceTable::shared() const {
  std::lock_guard lock(mu_);
  return shared_;
}

std::vector<trace::Place> PlaceTable::Snapshot() const {
  std::lock_guard lock(mu_);
  return places_;
}

// The vector writes every element, which touches every page.
Recorder::Recorder(size_t capacity, PlaceTable& places) : slots_(capacity), places_(places) {}

void Recorder::Record(const trace::Event& event) {
  if (size_ == slots_.size()) {
    ++overflowed_;
    return;
  }
  slots_[size_++] = event;
}

void Recorder::Drain(const std::function<void(std::span<const trace::Event>)>& take) {
  most_ = std::max(most_, size_);
  take(events());
  size_ = 0;
}

}  // namespace hopgap::loop
