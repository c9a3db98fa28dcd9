#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "trace/build.h"
#include "trace/event.h"
#include "trace/span.h"

// One trace as compact values: what stands between events, spans and paths.
// Both events and spans can be read into it, and paths are made from it alone,
// so that there is one way to compute a latency however a trace came in.
namespace hopgap::trace {

inline constexpr WallTime kUnseen = WallTime::min();
constexpr bool Seen(WallTime at) { return at != kUnseen; }
constexpr void SetFirst(WallTime& slot, WallTime at) {
  if (!Seen(slot)) slot = at;
}

// A lease call (receipt or extension) as the subscriber saw it.
struct LeaseCall {
  WallTime start = kUnseen, end = kUnseen;
  bool receipt = false;
  int64_t count = 0, deadline_seconds = 0, status = 0;
  uint64_t rpc = 0;
};

// A lease or ack request as the broker saw it.
struct BrokerCall {
  WallTime read = kUnseen, applied = kUnseen, replied = kUnseen;
  int64_t status = 0, seconds = 0;
  Duration added{0};
  bool has_added = false;
  uint16_t failure = 0;  // LeaseFailureWord()
};

struct StoreCall {
  WallTime start = kUnseen, end = kUnseen;
  friend bool operator==(const StoreCall&, const StoreCall&) = default;
};

struct DeliveryView {
  size_t message = 0;          // index in TraceView::messages
  int subscription = 0;        // equal numbers: the same subscription
  const Span* span = nullptr;  // that it was read from; null where the view came from events
  uint64_t key = 0;            // DeliveryKey; 0: not known
  uint64_t process_span = 0;

  // Client half.
  WallTime received = kUnseen, read_posted = kUnseen, subscribe_end = kUnseen;
  WallTime flow_start = kUnseen, flow_end = kUnseen, scheduler_start = kUnseen, scheduler_end = kUnseen;
  WallTime callback_start = kUnseen, ack_called = kUnseen, nack_called = kUnseen, handler_returned = kUnseen;
  WallTime ack_due = kUnseen, ack_start = kUnseen, ack_end = kUnseen, nack_start = kUnseen, nack_end = kUnseen;
  absl::InlinedVector<LeaseCall, 1> leases;
  std::vector<StoreCall> stores;  // inside the callback
  bool exactly_once = false, receipt_failed = false, abandoned = false;
  bool whole = false;   // one span for receipt and callback: nothing is known of what lies between
  bool pushed = false;  // an HTTP request: no ack of its own
  int stream = 0;
  int64_t response = 0, count = 1, ack_count = 0, nack_count = 0, settle_status = 0;
  uint64_t ack_rpc = 0, nack_rpc = 0;
  uint16_t client_place = 0;

  // Broker half.
  WallTime written = kUnseen, returned = kUnseen;
  bool leases_flagged = false;  // the events say which call is the receipt
  bool returned_by_nack = false, modack_delay_pending = false, ack_delay_pending = false;
  int64_t broker_stream = 0, broker_response = 0, broker_count = 0;
  Duration deliver_added{0}, pending_modack_added{0}, pending_ack_added{0};
  absl::InlinedVector<BrokerCall, 1> broker_leases, broker_acks;
  uint16_t broker_place = 0;

  WallTime process_end() const { return Seen(ack_called) ? ack_called : nack_called; }
};

struct MessageView {
  const Span* span = nullptr;  // null where the view came from events, or the publish is not known
  bool whole = false;          // one span for all of the publish
  uint64_t create_span = 0, parent = 0;
  WallTime scheduled = kUnseen, publish_call = kUnseen, admitted = kUnseen;
  WallTime batching_start = kUnseen, batching_end = kUnseen, released = kUnseen;
  WallTime publish_start = kUnseen, publish_end = kUnseen;
  int64_t batch_count = 0, publish_status = 0;
  uint64_t slot_label = 0;  // slot + 1; 0: none
  uint64_t message_id = 0;  // 0: none
  uint64_t publish_rpc = 0;
  int hop = 0;
  std::string arm, topic;  // from spans only; from events they are the place's
  uint16_t client_place = 0;

  WallTime accepted = kUnseen, committed = kUnseen, replied = kUnseen;
  Duration before_added{0}, after_added{0};
  uint64_t sequence = 0;
  uint16_t broker_place = 0;
};

struct TraceView {
  uint64_t trace_hi = 0, trace_lo = 0;
  std::vector<MessageView> messages;
  std::vector<DeliveryView> deliveries;
};

// Takes out of a view made from events what no finished span carries, so that
// it equals the view of its own spans. Afterwards the view is for paths only.
void DropUnfinished(TraceView& view);

std::vector<Span> SpansFromView(const TraceView& view, const SpanContext& context);
TraceView ViewFromSpans(std::span<const Span> spans);

}  // namespace hopgap::trace
