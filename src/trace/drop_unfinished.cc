#include <algorithm>

#include "trace/trace_view.h"

// A library exports a span when it ends, and nothing happens on a span after
// its end. These rules say which of a trace's instants survive that.
namespace hopgap::trace {
namespace {

// Both ends or none.
void Pair(WallTime& start, WallTime& end) {
  if (!Seen(start) || !Seen(end)) start = end = kUnseen;
}

void DropFromMessage(MessageView& message) {
  if (!Seen(message.publish_call) || !Seen(message.publish_end)) message.publish_call = kUnseen;
  if (!Seen(message.publish_call)) message.admitted = kUnseen;
  Pair(message.batching_start, message.batching_end);
  Pair(message.accepted, message.replied);
  if (!Seen(message.accepted)) {
    message.before_added = message.after_added = Duration{0};
    message.sequence = 0;
  }
}

void DropAfterEnd(DeliveryView& delivery) {
  const WallTime end = delivery.subscribe_end;
  const auto late = [end](WallTime at) { return Seen(at) && at > end; };
  for (LeaseCall& call : delivery.leases) {
    if (late(call.end)) call.end = kUnseen;
  }
  const auto started_late = [&](const LeaseCall& call) { return late(call.start); };
  delivery.leases.erase(std::remove_if(delivery.leases.begin(), delivery.leases.end(), started_late),
                        delivery.leases.end());
  for (WallTime* at : {&delivery.ack_start, &delivery.ack_end, &delivery.nack_start, &delivery.nack_end}) {
    if (late(*at)) *at = kUnseen;
  }
  if (!Seen(delivery.ack_start)) delivery.ack_due = kUnseen;
}

void DropIncomplete(absl::InlinedVector<BrokerCall, 1>& calls) {
  const auto incomplete = [](const BrokerCall& call) { return !Seen(call.replied); };
  calls.erase(std::remove_if(calls.begin(), calls.end(), incomplete), calls.end());
}

void DropFromDelivery(const MessageView& message, DeliveryView& delivery) {
  Pair(delivery.received, delivery.subscribe_end);
  if (Seen(delivery.received)) {
    DropAfterEnd(delivery);
  } else {
    delivery.leases.clear();
  }
  Pair(delivery.flow_start, delivery.flow_end);
  Pair(delivery.scheduler_start, delivery.scheduler_end);
  if (!Seen(delivery.callback_start) || !Seen(delivery.process_end())) {
    delivery.callback_start = delivery.ack_called = delivery.nack_called = delivery.handler_returned = kUnseen;
    delivery.stores.clear();
  }
  if (!Seen(message.committed)) delivery.written = kUnseen;
  if (!Seen(delivery.written)) delivery.deliver_added = Duration{0};
  DropIncomplete(delivery.broker_leases);
  DropIncomplete(delivery.broker_acks);
}

}  // namespace

void DropUnfinished(TraceView& view) {
  for (DeliveryView& delivery : view.deliveries) DropFromDelivery(view.messages[delivery.message], delivery);
  for (MessageView& message : view.messages) DropFromMessage(message);
}

}  // namespace hopgap::trace
