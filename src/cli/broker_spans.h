#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/time.h"
#include "cli/log.h"
#include "cli/span_export.h"
#include "live/span_maker.h"
#include "loop/recorder.h"
#include "trace/event.h"

namespace hopgap::cli {

// The broker's half of every traced message, sent by OTLP while the broker
// serves: when a publish was accepted and committed, a delivery written, a lease
// applied, an ack committed. As the OTEL_* environment says; where it names no
// endpoint nothing is recorded.
class BrokerSpans {
 public:
  static constexpr size_t kEventsMax = 262'144;  // between two drains, 200 ms; beyond they are dropped and counted

  // Runs a task on the broker's strand and returns when it has run.
  using OnStrand = std::function<void(const std::function<void()>& task)>;

  // InvalidArgument naming the variable for a value that cannot be.
  static absl::StatusOr<std::unique_ptr<BrokerSpans>> FromEnvironment(const ClockAnchor& anchor);

  // What the broker records into; outlives the broker.
  trace::EventSink& sink();
  // Begins to send, once the broker runs.
  void Start(const OnStrand& on_strand);
  // Sends what is left, for a few seconds at most. Requires: the broker's strand
  // still runs tasks. Does nothing before Start().
  void Stop();

 private:
  explicit BrokerSpans(const ClockAnchor& anchor) : anchor_(anchor) {}

  const ClockAnchor anchor_;
  Log log_{Log::Format::kText};
  loop::PlaceTable places_;
  trace::NullSink no_sink_;
  std::optional<SpanExport> export_;
  std::unique_ptr<loop::Recorder> recorder_;  // none: spans do not leave
  std::unique_ptr<live::SpanMaker> maker_;
};

}  // namespace hopgap::cli
