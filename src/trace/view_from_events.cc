#include "trace/view_from_events.h"

#include <algorithm>

#include "base/check.h"

namespace hopgap::trace {
namespace {

// Where an event stands among those of its instant: the order of What is the
// order of a message's life, and a delay stands with the event it belongs to.
uint32_t Rank(const Event& event) {
  const auto after = [](What what) { return 2 * static_cast<uint32_t>(what) + 1; };
  if (event.what != What::kDelayAdded) return 2 * static_cast<uint32_t>(event.what);
  switch (static_cast<DelayLeg>(event.count)) {
    case DelayLeg::kPublishBefore:
    case DelayLeg::kPublishAfter: return after(What::kAccepted);
    case DelayLeg::kDeliver: return after(What::kWritten) - 2;  // before the write
    case DelayLeg::kModack: return after(What::kLeaseRead);
    case DelayLeg::kAck: return after(What::kAckRead);
  }
  HOPGAP_CHECK(false, "a delay on no known leg");
}

LeaseCall* OpenLease(DeliveryView& delivery, const Event& event, bool receipt) {
  for (LeaseCall& call : delivery.leases) {
    if (call.receipt == receipt && call.rpc == event.rpc && !Seen(call.end)) return &call;
  }
  return nullptr;
}

}  // namespace

TraceView& EventReader::Read(std::span<const Event> events, const SpanContext& context) {
  LearnPlaces(context);
  view_.messages.clear();
  view_.deliveries.clear();
  pending_.clear();
  message_index_.clear();
  delivery_index_.clear();
  view_.trace_hi = events.empty() ? 0 : events.front().message.trace_hi;
  view_.trace_lo = events.empty() ? 0 : events.front().message.trace_lo;
  Sort(events);
  for (const Order& order : order_) {
    const Event& event = events[order.index];
    HOPGAP_CHECK(event.message.trace_hi == view_.trace_hi && event.message.trace_lo == view_.trace_lo,
                 "events of two traces read as one");
    HOPGAP_CHECK(event.place < context.places.size(), "an event names a place that was never added");
    Take(event, context.anchor.ToWall(event.at));
  }
  return view_;
}

void EventReader::Sort(std::span<const Event> events) {
  order_.clear();
  for (uint32_t i = 0; i < events.size(); ++i) {
    order_.push_back({.at = ToNanos(events[i].at), .rank = Rank(events[i]), .index = i});
  }
  if (!std::is_sorted(order_.begin(), order_.end())) std::sort(order_.begin(), order_.end());
}

void EventReader::LearnPlaces(const SpanContext& context) {
  context_ = &context;
  for (size_t i = subscription_of_place_.size(); i < context.places.size(); ++i) {
    const Place& place = context.places[i];
    const int next = static_cast<int>(subscriptions_.size());
    subscription_of_place_.push_back(subscriptions_.try_emplace({place.project, place.resource}, next).first->second);
  }
}

size_t EventReader::MessageIndex(const Event& event) {
  std::vector<MessageView>& messages = view_.messages;
  const uint64_t span = event.message.create_span;
  if (messages.size() <= kScanMax) {
    for (size_t i = messages.size(); i-- > 0;) {
      if (messages[i].create_span == span) return i;
    }
  } else if (const auto found = message_index_.find(span); found != message_index_.end()) {
    return found->second;
  }
  messages.emplace_back().create_span = span;
  if (messages.size() == kScanMax + 1) {
    for (size_t i = 0; i < messages.size(); ++i) message_index_.emplace(messages[i].create_span, i);
  } else if (messages.size() > kScanMax) {
    message_index_.emplace(span, messages.size() - 1);
  }
  return messages.size() - 1;
}

DeliveryView& EventReader::DeliveryOf(size_t message, const Event& event) {
  std::vector<DeliveryView>& deliveries = view_.deliveries;
  if (deliveries.size() <= kScanMax) {
    for (size_t i = deliveries.size(); i-- > 0;) {
      if (deliveries[i].key == event.delivery && deliveries[i].message == message) return deliveries[i];
    }
  } else if (const auto found = delivery_index_.find({message, event.delivery}); found != delivery_index_.end()) {
    return deliveries[found->second];
  }
  DeliveryView& delivery = deliveries.emplace_back();
  delivery.message = message;
  delivery.key = event.delivery;
  delivery.subscription = subscription_of_place_[event.place];
  delivery.process_span = SpanId(SpanRole::kProcess, event.message, event.delivery);
  if (deliveries.size() == kScanMax + 1) {
    for (size_t i = 0; i < deliveries.size(); ++i) {
      delivery_index_.emplace(std::pair{deliveries[i].message, deliveries[i].key}, i);
    }
  } else if (deliveries.size() > kScanMax) {
    delivery_index_.emplace(std::pair{message, event.delivery}, deliveries.size() - 1);
  }
  return delivery;
}

void EventReader::Take(const Event& event, WallTime at) {
  const size_t message = MessageIndex(event);
  if (event.what == What::kDelayAdded) return TakeDelay(event);
  if (TakePublisher(event, at, view_.messages[message]) || TakeTopic(event, at, view_.messages[message])) return;
  DeliveryView& delivery = DeliveryOf(message, event);
  if (event.what < What::kAccepted) delivery.client_place = event.place;
  if (event.what == What::kWritten) return TakeWritten(event, at, delivery);
  HOPGAP_CHECK(TakeReceipt(event, at, delivery) || TakeCallback(event, at, delivery) ||
                   TakeSettle(event, at, delivery) || TakeBrokerCall(event, at, delivery),
               "an event of no known kind");
}

bool EventReader::TakePublisher(const Event& event, WallTime at, MessageView& message) {
  switch (event.what) {
    case What::kPublishCall:
      if (Seen(message.publish_call)) return true;
      message.publish_call = at;
      message.parent = event.rpc;
      if (event.value != 0) message.scheduled = context_->anchor.ToWall(InstantFromNanos(event.value));
      message.slot_label = event.delivery;
      message.client_place = event.place;
      message.hop = context_->places[event.place].hop;
      return true;
    case What::kPublisherAdmitted:
      SetFirst(message.admitted, at);
      SetFirst(message.batching_start, at);
      return true;
    case What::kBatchingEnd:
      SetFirst(message.batching_end, at);
      if (event.value != 0) message.released = context_->anchor.ToWall(InstantFromNanos(event.value));
      return true;
    case What::kPublishStart:
      if (Seen(message.publish_start)) return true;  // a retry belongs to the first call
      message.publish_start = at;
      message.publish_rpc = event.rpc;
      message.batch_count = event.count;
      return true;
    case What::kPublishEnd:
      message.publish_end = at;  // the last one: retries are inside
      message.publish_status = event.value;
      message.message_id = event.delivery;
      return true;
    default: return false;
  }
}

bool EventReader::TakeReceipt(const Event& event, WallTime at, DeliveryView& delivery) {
  const bool receipt = event.what == What::kReceiptModackStart || event.what == What::kReceiptModackEnd;
  switch (event.what) {
    case What::kReceived:
    case What::kReceivedExactlyOnce:
      if (Seen(delivery.received)) return true;
      delivery.received = at;
      if (event.value != 0) delivery.read_posted = context_->anchor.ToWall(InstantFromNanos(event.value));
      delivery.exactly_once = event.what == What::kReceivedExactlyOnce;
      delivery.stream = event.stream;
      delivery.response = static_cast<int64_t>(event.rpc);
      delivery.count = event.count;
      return true;
    case What::kReceiptModackStart:
    case What::kExtensionStart:
      delivery.leases.push_back(
          {.start = at, .receipt = receipt, .count = event.count, .deadline_seconds = event.value, .rpc = event.rpc});
      return true;
    case What::kReceiptModackEnd:
    case What::kExtensionEnd:
      if (LeaseCall* call = OpenLease(delivery, event, receipt); call != nullptr) {
        call->end = at;
        call->status = event.value;
      }
      return true;
    case What::kReceiptFailed:
      if (!Seen(delivery.subscribe_end)) delivery.receipt_failed = true;
      SetFirst(delivery.subscribe_end, at);
      return true;
    default: return false;
  }
}

bool EventReader::TakeCallback(const Event& event, WallTime at, DeliveryView& delivery) {
  switch (event.what) {
    case What::kFlowControlStart: SetFirst(delivery.flow_start, at); return true;
    case What::kFlowControlEnd: SetFirst(delivery.flow_end, at); return true;
    case What::kSchedulerStart: SetFirst(delivery.scheduler_start, at); return true;
    case What::kCallbackStart:
      SetFirst(delivery.callback_start, at);
      SetFirst(delivery.scheduler_end, at);
      return true;
    case What::kStoreStart: delivery.stores.push_back({.start = at}); return true;
    case What::kStoreEnd:
      if (!delivery.stores.empty()) SetFirst(delivery.stores.back().end, at);
      return true;
    case What::kAckCalled:
      if (!Seen(delivery.process_end())) delivery.ack_called = at;
      return true;
    case What::kNackCalled:
      if (!Seen(delivery.process_end())) delivery.nack_called = at;
      return true;
    case What::kHandlerReturned: SetFirst(delivery.handler_returned, at); return true;
    default: return false;
  }
}

// The span ends with the first attempt: what a retry does later is not on it.
bool EventReader::TakeSettle(const Event& event, WallTime at, DeliveryView& delivery) {
  switch (event.what) {
    case What::kAckStart:
      if (Seen(delivery.ack_start)) return true;
      delivery.ack_start = at;
      delivery.ack_rpc = event.rpc;
      delivery.ack_count = event.count;
      if (event.value != 0) delivery.ack_due = context_->anchor.ToWall(InstantFromNanos(event.value));
      return true;
    case What::kNackStart:
      if (Seen(delivery.nack_start)) return true;
      delivery.nack_start = at;
      delivery.nack_rpc = event.rpc;
      delivery.nack_count = event.count;
      return true;
    case What::kAckEnd:
    case What::kNackEnd: {
      WallTime& end = event.what == What::kAckEnd ? delivery.ack_end : delivery.nack_end;
      if (!Seen(end) && !Seen(delivery.subscribe_end)) delivery.settle_status = event.value;
      SetFirst(end, at);
      SetFirst(delivery.subscribe_end, at);
      return true;
    }
    case What::kLeaseAbandoned:
      if (!Seen(delivery.subscribe_end)) delivery.abandoned = true;
      SetFirst(delivery.subscribe_end, at);
      return true;
    default: return false;
  }
}

}  // namespace hopgap::trace
