#include <algorithm>

#include "trace/hop_times.h"

namespace hopgap::trace {
namespace {

StageTime& Of(HopTimes& hop, Stage stage) { return hop.stages[static_cast<size_t>(stage)]; }

// How long a rule held something back that it let go at `released` (the event
// itself came at `end`). What a timer is late is the machine's.
Duration HeldBack(WallTime start, WallTime released, WallTime end) {
  if (Seen(released)) end = std::clamp(released, start, std::max(start, end));
  return std::max(Duration{0}, end - start);
}

Duration PublishHeldBack(const MessageView& message) {
  Duration held{0};
  if (Seen(message.admitted)) held += message.admitted - message.publish_call;
  if (Seen(message.batching_start)) {
    held += HeldBack(message.batching_start, message.released, message.batching_end);
  }
  return held;
}

// A gap after a redelivery holds the deliver delays of every attempt so far,
// and between them the leases that ran out.
void SplitDeliveryGap(const MessageView& message, const DeliveryView& delivery,
                      std::span<const DeliveryView* const> siblings, StageTime& gap) {
  const DeliveryView& first = FirstOf(delivery, siblings);
  Duration later_added{0};
  for (const DeliveryView* sibling : siblings) {
    if (sibling == &first || sibling->subscription != delivery.subscription || !Seen(SentAt(*sibling))) continue;
    if (SentAt(*sibling) <= SentAt(delivery)) later_added += sibling->deliver_added;
  }
  gap.added = first.deliver_added + later_added - message.after_added;
  const Duration hold = SentAt(delivery) - SentAt(first) - later_added;
  gap.waited = StreamWait(delivery) + std::max(Duration{0}, hold);
}

// The receipt modacks whose results were in before the message was dispatched.
// Under `overlap` there are none: dispatch begins while the first is in flight.
size_t ReceiptsWaitedFor(const DeliveryView& delivery) {
  if (!delivery.exactly_once) return 0;
  const WallTime dispatch = Seen(delivery.flow_start) ? delivery.flow_start : delivery.callback_start;
  return static_cast<size_t>(std::count_if(
      delivery.leases.begin(), delivery.leases.end(),
      [dispatch](const LeaseCall& call) { return call.receipt && Seen(call.end) && call.end <= dispatch; }));
}

// The first lease calls that the broker saw are the receipts.
Duration ModackAdded(const DeliveryView& delivery) {
  const size_t receipts = std::min(ReceiptsWaitedFor(delivery), delivery.broker_leases.size());
  Duration added{0};
  for (size_t i = 0; i < receipts; ++i) added += delivery.broker_leases[i].added;
  return added;
}

void SplitAck(const DeliveryView& delivery, HopTimes& hop) {
  if (!Seen(delivery.ack_called) || !Seen(delivery.ack_end)) return;
  StageTime& ack = Of(hop, Stage::kAck);
  if (!delivery.broker_acks.empty()) ack.added = delivery.broker_acks.front().added;
  if (Seen(delivery.ack_start)) ack.waited = HeldBack(delivery.ack_called, delivery.ack_due, delivery.ack_start);
}

}  // namespace

void SplitStages(const MessageView& message, const DeliveryView& delivery,
                 std::span<const DeliveryView* const> siblings, HopTimes& hop) {
  Of(hop, Stage::kClientPublish).waited = PublishHeldBack(message);
  Of(hop, Stage::kPublishRpc).added = message.before_added + message.after_added;
  SplitDeliveryGap(message, delivery, siblings, Of(hop, Stage::kDeliveryGap));
  StageTime& dispatch = Of(hop, Stage::kDispatchGap);
  dispatch.added = ModackAdded(delivery);
  dispatch.waited = hop.dispatch.flow_control + hop.dispatch.scheduler;
  SplitAck(delivery, hop);
  if (hop.work.ack_wait > Duration{0}) {  // the handler waited: its ack's time is inside its work
    Of(hop, Stage::kWork).added = Of(hop, Stage::kAck).added;
    Of(hop, Stage::kWork).waited = Of(hop, Stage::kAck).waited;
  }
}

}  // namespace hopgap::trace
