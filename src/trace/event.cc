#include "trace/event.h"

#include "base/draw.h"

namespace hopgap::trace {
namespace {

// W3C ids and delivery keys may not be 0.
uint64_t NotZero(uint64_t word) { return word == 0 ? 1 : word; }

constexpr uint64_t kTraceHalf = 0x7261706867706f68;  // any constant: tells an RPC's trace id from its span id

}  // namespace

uint64_t DeliveryKey(std::string_view ack_id) { return NotZero(HashName(ack_id)); }

uint64_t SpanId(SpanRole role, const MessageKey& message, uint64_t delivery) {
  const uint64_t trace = Mix(message.trace_hi, message.trace_lo);
  return NotZero(Mix(trace, message.create_span, Mix(static_cast<uint64_t>(role), delivery)));
}

MessageKey RpcSpan(SpanRole role, uint16_t place, uint64_t rpc) {
  const uint64_t span = Mix(static_cast<uint64_t>(role), place, rpc);
  const uint64_t hi = Mix(span, kTraceHalf);
  return {.trace_hi = hi, .trace_lo = NotZero(Mix(hi, span)), .create_span = NotZero(span)};
}

}  // namespace hopgap::trace
