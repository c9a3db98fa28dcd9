#pragma once

#include <vector>

#include "trace/event.h"

namespace hopgap::broker {

// Keeps what the broker records.
class KeepingSink final : public trace::EventSink {
 public:
  void Record(const trace::Event& event) override { events.push_back(event); }
  uint16_t AddPlace(const trace::Place& place) override {
    places.push_back(place);
    return static_cast<uint16_t>(places.size() - 1);
  }
  std::vector<trace::Event> Of(trace::What what) const {
    std::vector<trace::Event> found;
    for (const trace::Event& event : events) {
      if (event.what == what) found.push_back(event);
    }
    return found;
  }
  std::vector<trace::Event> events;
  std::vector<trace::Place> places;
};

}  // namespace hopgap::broker
