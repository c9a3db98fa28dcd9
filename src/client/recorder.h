#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/time.h"
#include "pubsub/message.h"
#include "trace/event.h"

namespace hopgap::client {

inline trace::MessageKey KeyOf(const pubsub::TraceContext& context) {
  if (!context.valid()) return {};
  return {context.trace_hi, context.trace_lo, context.span};
}

// A count for an event, which has 16 bits for it.
inline uint16_t EventCount(size_t count) {
  return static_cast<uint16_t>(std::min<size_t>(count, std::numeric_limits<uint16_t>::max()));
}

// Writes the events of one place. Messages without a trace context have none.
class Recorder {
 public:
  // `sink` outlives it.
  Recorder(trace::EventSink& sink, uint16_t place) : sink_(sink), place_(place) {}

  struct Fields {
    uint64_t delivery = 0;
    uint64_t rpc = 0;
    int64_t value = 0;
    uint16_t stream = 0;
    uint16_t count = 0;
  };
  void Record(Instant at, trace::What what, const trace::MessageKey& message, const Fields& fields) {
    if (message == trace::MessageKey{}) return;
    sink_.Record({.at = at,
                  .message = message,
                  .delivery = fields.delivery,
                  .rpc = fields.rpc,
                  .value = fields.value,
                  .what = what,
                  .place = place_,
                  .stream = fields.stream,
                  .count = fields.count});
  }

 private:
  trace::EventSink& sink_;
  uint16_t place_;
};

}  // namespace hopgap::client
