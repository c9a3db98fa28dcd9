#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "trace/event.h"

// What the worlds of this room's tests are made of.
namespace hopgap::client {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ns;

inline constexpr Instant kStart{};

// Keeps every event.
class EventLog final : public trace::EventSink {
 public:
  void Record(const trace::Event& event) override { events.push_back(event); }
  uint16_t AddPlace(const trace::Place&) override { return 0; }

  std::vector<Instant> At(trace::What what) const {
    std::vector<Instant> at;
    for (const trace::Event& event : events) {
      if (event.what == what) at.push_back(event.at);
    }
    return at;
  }
  std::vector<trace::Event> Of(trace::What what) const {
    std::vector<trace::Event> found;
    std::copy_if(events.begin(), events.end(), std::back_inserter(found),
                 [what](const trace::Event& event) { return event.what == what; });
    return found;
  }
  std::vector<trace::Event> events;
};

// Later and later events, equal instants in order of posting.
class Agenda {
 public:
  void Post(Instant at, std::function<void()> what) { items_.emplace(std::pair{at, ++posted_}, std::move(what)); }
  Instant Next() const { return items_.empty() ? kNever : items_.begin()->first.first; }
  void RunFirst() {
    const auto what = std::move(items_.extract(items_.begin()).mapped());
    what();
  }

 private:
  std::map<std::pair<Instant, uint64_t>, std::function<void()>> items_;
  uint64_t posted_ = 0;
};

}  // namespace hopgap::client
