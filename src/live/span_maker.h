#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"
#include "loop/recorder.h"
#include "trace/event.h"
#include "trace/span.h"

namespace hopgap::live {

// Turns a long-lived process's events into spans while it runs, on a thread of
// its own: the strand that measures only records. A message's spans are made
// when all of its deliveries and publishes have ended here.
//
// What happens to a message afterwards (a redelivery) makes spans of its own
// under the same trace. RPC root spans are not made: they belong to no message.
class SpanMaker {
 public:
  // Messages whose end is waited for; beyond it all are given out as they are.
  static constexpr size_t kOpenMax = 100'000;

  using Drain = std::function<void(std::vector<trace::Event>&)>;  // appends the events since the last call
  using Sink = std::function<void(std::vector<trace::Span>)>;

  // Everything outlives the maker. `drain` and `sink` run on its thread.
  SpanMaker(const ClockAnchor& anchor, const loop::PlaceTable& places, Drain drain, Sink sink);
  ~SpanMaker();

  // Drains a last time and gives out what is left. Idempotent, implied by the
  // destructor.
  void Stop();

 private:
  using TraceId = std::pair<uint64_t, uint64_t>;
  struct Open {
    std::vector<trace::Event> events;
    Instant last = Instant::min();  // of its events
    int unfinished = 0;             // deliveries and publishes that have begun and not ended
  };

  void Loop();
  void Take(const std::vector<trace::Event>& events);
  void GiveOut(Instant now, bool all);

  const ClockAnchor anchor_;
  const loop::PlaceTable& places_;
  const Drain drain_;
  const Sink sink_;
  std::map<TraceId, Open> open_;  // by the thread alone

  std::mutex mu_;
  std::condition_variable stop_asked_;
  bool stopping_ = false;  // guarded
  std::thread thread_;
};

}  // namespace hopgap::live
