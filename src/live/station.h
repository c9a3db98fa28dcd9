#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"
#include "lab/logic.h"
#include "live/driver.h"
#include "live/span_maker.h"
#include "loop/recorder.h"
#include "loop/timer.h"
#include "remote/remote.h"

namespace hopgap::live {

// What a process that runs one logic needs around it: connections, a timer, the
// strand, the recorder, and the way out of its spans.
//
// Start() and Stop() are for one thread.
class Station {
 public:
  // Events between two drains, 200 ms apart; beyond it they are dropped and counted.
  static constexpr size_t kEventsMax = 200'000;

  struct Options {
    remote::Target target;  // authorized
    ClockAnchor anchor;
    SpanMaker::Sink spans;  // none: nothing is recorded
  };
  explicit Station(Options options);
  ~Station();

  trace::EventSink& sink();
  uint64_t& next_rpc() { return next_rpc_; }
  Driver& driver() { return *driver_; }
  remote::Connection& connection() { return *setup_; }
  const ClockAnchor& anchor() const { return options_.anchor; }

  // Connects the logic, which outlives the station's Stop(), and starts it.
  void Start(lab::Logic& logic);
  // Asks the logic to stop, waits until it has or `give_up` has come, gives the
  // last spans out. False if something was still in flight.
  bool Stop(Instant give_up);
  bool ready() const { return driver_->ready(); }
  uint64_t events_overflowed() const { return recorder_ ? recorder_->overflowed() : 0; }

 private:
  const Options options_;
  uint64_t next_rpc_;
  loop::PlaceTable places_;
  trace::NullSink no_sink_;
  std::unique_ptr<loop::Recorder> recorder_;
  loop::Timer timer_;
  remote::Remote remote_;
  std::unique_ptr<remote::Connection> setup_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<SpanMaker> spans_;
  lab::Logic* logic_ = nullptr;
};

// The anchor that HOPGAP_CLOCK_ANCHOR ("STEADY_NS:WALL_NS") names, if it does:
// processes that hopgap started on one machine share one, so that the instants
// of different processes differ exactly by what passed. Else a fresh reading.
// InvalidArgument for a text of another form.
absl::StatusOr<ClockAnchor> SharedAnchor(const char* text);
std::string AnchorText(const ClockAnchor& anchor);

}  // namespace hopgap::live
