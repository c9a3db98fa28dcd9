#include <algorithm>

#include "trace/view_from_events.h"

// The broker's half of EventReader.
namespace hopgap::trace {
namespace {

BrokerCall* FirstWithout(absl::InlinedVector<BrokerCall, 1>& calls, WallTime BrokerCall::*what) {
  for (BrokerCall& call : calls) {
    if (!Seen(call.*what)) return &call;
  }
  return nullptr;
}

void TakeCallDelay(absl::InlinedVector<BrokerCall, 1>& calls, Duration added, bool& pending, Duration& pending_added) {
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    if (call->has_added) break;
    call->added = added;
    call->has_added = true;
    return;
  }
  pending = true;  // recorded just before its request
  pending_added = added;
}

}  // namespace

bool EventReader::TakeTopic(const Event& event, WallTime at, MessageView& message) {
  switch (event.what) {
    case What::kAccepted:
      if (Seen(message.accepted)) return true;  // a publish retried after a lost answer
      message.accepted = at;
      message.broker_place = event.place;
      if (message.message_id == 0) message.message_id = event.delivery;
      return true;
    case What::kCommitted:
      if (!Seen(message.committed)) message.sequence = event.rpc;
      SetFirst(message.committed, at);
      return true;
    case What::kPublishReplied: SetFirst(message.replied, at); return true;
    default: return false;
  }
}

void EventReader::TakeWritten(const Event& event, WallTime at, DeliveryView& delivery) {
  if (Seen(delivery.written)) return;
  delivery.written = at;
  delivery.broker_place = event.place;
  delivery.broker_stream = event.stream;
  delivery.broker_response = static_cast<int64_t>(event.rpc);
  delivery.broker_count = event.count;
  const auto pending = std::find_if(pending_.begin(), pending_.end(), [&](const PendingDeliver& p) {
    return p.message == delivery.message && p.place == event.place;
  });
  if (pending == pending_.end()) return;
  delivery.deliver_added += pending->added;
  pending_.erase(pending);
}

bool EventReader::TakeBrokerCall(const Event& event, WallTime at, DeliveryView& delivery) {
  const bool lease =
      event.what == What::kLeaseRead || event.what == What::kLeaseApplied || event.what == What::kLeaseReplied;
  auto& calls = lease ? delivery.broker_leases : delivery.broker_acks;
  bool& pending = lease ? delivery.modack_delay_pending : delivery.ack_delay_pending;
  delivery.broker_place = event.place;
  switch (event.what) {
    case What::kLeaseRead:
    case What::kAckRead:
      calls.push_back({.read = at, .seconds = event.value});
      if (pending) {
        calls.back().added = lease ? delivery.pending_modack_added : delivery.pending_ack_added;
        calls.back().has_added = true;
      }
      pending = false;
      return true;
    case What::kLeaseApplied:
    case What::kAckCommitted:
      if (BrokerCall* call = FirstWithout(calls, &BrokerCall::applied); call != nullptr) {
        call->applied = at;
        call->status = event.value;
        call->failure = event.count;
      }
      return true;
    case What::kLeaseReplied:
    case What::kAckReplied:
      if (BrokerCall* call = FirstWithout(calls, &BrokerCall::replied); call != nullptr) call->replied = at;
      return true;
    case What::kReturned:
      if (!Seen(delivery.returned)) delivery.returned_by_nack = event.value != 0;
      SetFirst(delivery.returned, at);
      return true;
    default: return false;
  }
}

void EventReader::TakeDelay(const Event& event) {
  const size_t message = MessageIndex(event);
  const Duration added{event.value};
  const auto leg = static_cast<DelayLeg>(event.count);
  if (leg == DelayLeg::kPublishBefore) {
    view_.messages[message].before_added += added;
  } else if (leg == DelayLeg::kPublishAfter) {
    view_.messages[message].after_added += added;
  } else if (leg == DelayLeg::kDeliver && event.delivery == 0) {
    pending_.push_back({.message = message, .place = event.place, .added = added});
  } else {
    DeliveryView& delivery = DeliveryOf(message, event);
    if (leg == DelayLeg::kDeliver) delivery.deliver_added += added;
    if (leg == DelayLeg::kModack) {
      TakeCallDelay(delivery.broker_leases, added, delivery.modack_delay_pending, delivery.pending_modack_added);
    }
    if (leg == DelayLeg::kAck) {
      TakeCallDelay(delivery.broker_acks, added, delivery.ack_delay_pending, delivery.pending_ack_added);
    }
  }
}

}  // namespace hopgap::trace
