#include <algorithm>

#include "trace/hop_times.h"
#include "trace/trace_view.h"
#include "trace/unclaimed.h"

namespace hopgap::trace {
namespace {

std::optional<WallTime> IfSeen(WallTime at) { return Seen(at) ? std::optional(at) : std::nullopt; }

void SetLength(HopTimes& hop, Stage stage, WallTime from, WallTime to) {
  hop.stages[static_cast<size_t>(stage)].length = to - from;
}

constexpr uint8_t Bit(Stage stage) { return static_cast<uint8_t>(1 << static_cast<int>(stage)); }

// What is not known is not 0: its bit is set, and its time stands in the next
// stage that is known, so that the stages still add up.
void SetStages(const MessageView& message, const DeliveryView& delivery, WallTime work_end, HopTimes& hop) {
  const bool published = Seen(message.publish_call);
  const WallTime end = Seen(message.publish_end) ? message.publish_end : message.publish_call;
  const WallTime start =
      Seen(message.publish_end) && Seen(message.publish_start) ? message.publish_start : message.publish_call;
  if (!Seen(message.publish_end)) hop.missing |= Bit(Stage::kPublishRpc);
  if (!Seen(message.publish_start) || !Seen(message.publish_end) || message.whole) {
    hop.missing |= Bit(Stage::kClientPublish);
  }
  if (published) {
    SetLength(hop, Stage::kClientPublish, message.publish_call, start);
    SetLength(hop, Stage::kPublishRpc, start, end);
    SetLength(hop, Stage::kDeliveryGap, end, delivery.received);
  } else {
    hop.missing |= Bit(Stage::kDeliveryGap);
  }
  SetLength(hop, Stage::kDispatchGap, delivery.received, delivery.callback_start);
  if (delivery.whole) hop.missing |= Bit(Stage::kDispatchGap);
  SetLength(hop, Stage::kWork, delivery.callback_start, work_end);
  if (Seen(delivery.ack_called) && Seen(delivery.ack_end)) {
    SetLength(hop, Stage::kAck, delivery.ack_called, delivery.ack_end);
  }
  if (!Seen(delivery.ack_called) || !Seen(delivery.ack_end) || !Seen(delivery.ack_start)) {
    hop.missing |= Bit(Stage::kAck);
  }
  const auto receipt = [](const LeaseCall& call) { return call.receipt; };
  if (delivery.exactly_once && std::none_of(delivery.leases.begin(), delivery.leases.end(), receipt)) {
    hop.missing |= kNoLeaseParts;
  }
}

// A standard subscription hands a message over whatever its lease does, so the
// lease parts exist on exactly-once streams only.
DispatchParts SplitDispatch(const DeliveryView& delivery) {
  DispatchParts parts;
  Unclaimed gap(delivery.received, delivery.callback_start);
  if (delivery.exactly_once) {
    WallTime first = kUnseen;
    for (const LeaseCall& call : delivery.leases) {
      if (!call.receipt) continue;
      if (!Seen(first) || call.start < first) first = call.start;
      // A call that has not ended is still running when the callback starts.
      parts.lease_wait += gap.Claim(call.start, Seen(call.end) ? call.end : delivery.callback_start);
    }
    if (Seen(first)) parts.lease_batching = gap.Claim(delivery.received, first);
  }
  if (Seen(delivery.flow_start)) parts.flow_control = gap.Claim(delivery.flow_start, delivery.flow_end);
  if (Seen(delivery.scheduler_start)) {
    parts.scheduler = gap.Claim(delivery.scheduler_start, delivery.scheduler_end);
  }
  // All that is left; the whole length where clocks make the gap negative.
  parts.other = (delivery.callback_start - delivery.received) - parts.lease_wait - parts.lease_batching -
                parts.flow_control - parts.scheduler;
  return parts;
}

// The handler waited for its ack only if it went on after the result was there.
WorkParts SplitWork(const DeliveryView& delivery, WallTime work_end) {
  WorkParts parts;
  Unclaimed work(delivery.callback_start, work_end);
  if (Seen(delivery.ack_called) && Seen(delivery.ack_end) && delivery.ack_end <= work_end) {
    parts.ack_wait = work.Claim(delivery.ack_called, delivery.ack_end);
  }
  for (const StoreCall& call : delivery.stores) {
    if (Seen(call.end)) parts.store += work.Claim(call.start, call.end);
  }
  parts.handler = (work_end - delivery.callback_start) - parts.ack_wait - parts.store;
  return parts;
}

// From the first delivery's write to this one's (receipts, where the broker's
// writes are not known), as far as it lies inside the delivery gap.
Duration RedeliveryWait(const MessageView& message, const DeliveryView& delivery,
                        std::span<const DeliveryView* const> siblings) {
  Unclaimed gap(message.publish_end, delivery.received);
  return gap.Claim(SentAt(FirstOf(delivery, siblings)), SentAt(delivery));
}

std::optional<ServerView> ViewOfServer(const MessageView& message, const DeliveryView& delivery) {
  if (!Seen(message.accepted) || !Seen(message.committed) || !Seen(delivery.written)) return std::nullopt;
  if (!Seen(message.publish_start)) return std::nullopt;
  ServerView view;
  view.accept = message.accepted - message.publish_start;
  view.commit = message.committed - message.accepted;
  view.queue = delivery.written - message.committed;
  view.stream_wait = StreamWait(delivery);
  view.wire = delivery.received - delivery.written - view.stream_wait;  // = received - max(written, read posted)
  return view;
}

void SetInstants(const MessageView& message, const DeliveryView& delivery, HopTimes& hop) {
  if (Seen(message.publish_call)) hop.publish_call = message.publish_call;
  const WallTime end = Seen(message.publish_end) ? message.publish_end : message.publish_call;
  const WallTime start = Seen(message.publish_start) ? message.publish_start : message.publish_call;
  if (Seen(end)) hop.publish_end = end;
  if (Seen(start)) hop.publish_start = start;
  hop.received = delivery.received;
  hop.callback_start = delivery.callback_start;
  if (Seen(message.accepted)) {
    hop.accepted = message.accepted;
    hop.committed = IfSeen(message.committed);
  }
  hop.written = IfSeen(delivery.written);
  hop.read_posted = IfSeen(delivery.read_posted);
  for (const LeaseCall& call : delivery.leases) {
    if (!call.receipt) continue;
    hop.modack_start = call.start;
    hop.modack_end = IfSeen(call.end);
    break;
  }
  hop.ack_called = IfSeen(delivery.ack_called);
  hop.ack_start = IfSeen(delivery.ack_start);
  hop.ack_end = IfSeen(delivery.ack_end);
}

}  // namespace

Duration StreamWait(const DeliveryView& delivery) {
  if (!Seen(delivery.written) || !Seen(delivery.read_posted)) return Duration{0};
  return std::max(Duration{0}, std::min(delivery.received, delivery.read_posted) - delivery.written);
}

WallTime SentAt(const DeliveryView& delivery) { return Seen(delivery.written) ? delivery.written : delivery.received; }

const DeliveryView& FirstOf(const DeliveryView& delivery, std::span<const DeliveryView* const> siblings) {
  const DeliveryView* first = &delivery;
  for (const DeliveryView* sibling : siblings) {
    if (sibling->subscription != delivery.subscription || !Seen(SentAt(*sibling))) continue;
    if (std::pair{SentAt(*sibling), sibling->key} < std::pair{SentAt(*first), first->key}) first = sibling;
  }
  return *first;
}

HopTimes TimesOfHop(const MessageView& message, const DeliveryView& delivery,
                    std::span<const DeliveryView* const> siblings, WallTime work_end) {
  HopTimes hop;
  SetInstants(message, delivery, hop);
  hop.work_end = work_end;
  hop.exactly_once = delivery.exactly_once;
  hop.messages_in_response = static_cast<int>(delivery.count);
  hop.stream = delivery.stream;
  hop.attempts = 0;
  for (const DeliveryView* sibling : siblings) {
    if (sibling->subscription == delivery.subscription && Seen(sibling->received)) ++hop.attempts;
  }
  SetStages(message, delivery, work_end, hop);
  hop.dispatch = SplitDispatch(delivery);
  hop.work = SplitWork(delivery, work_end);
  hop.redelivery_wait = RedeliveryWait(message, delivery, siblings);
  hop.server = ViewOfServer(message, delivery);
  SplitStages(message, delivery, siblings, hop);
  return hop;
}

}  // namespace hopgap::trace
