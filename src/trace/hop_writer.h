#pragma once

#include <cstdint>

#include "trace/event.h"
#include "trace/hop_plan.h"

namespace hopgap::trace {

// Records a plan's publish half (once per message) or its delivery half.
class HopWriter {
 public:
  HopWriter(EventSink& sink, HopPlaces places, MessageKey key) : sink_(sink), places_(places), key_(key) {}

  void Publish(const HopPlan& plan, uint64_t parent, uint64_t slot_label = 1) {
    const uint64_t id = 4711;
    At(plan.call, {.delivery = slot_label,
                   .rpc = parent,
                   .value = plan.scheduled,
                   .what = What::kPublishCall,
                   .place = places_.topic});
    At(plan.admitted, {.what = What::kPublisherAdmitted, .place = places_.topic});
    At(plan.batched, {.value = plan.released, .what = What::kBatchingEnd, .place = places_.topic});
    At(plan.start, {.rpc = key_.create_span, .what = What::kPublishStart, .place = places_.topic, .count = plan.count});
    At(plan.end, {.delivery = id, .rpc = key_.create_span, .what = What::kPublishEnd, .place = places_.topic});
    At(plan.accepted, {.delivery = id, .what = What::kAccepted, .place = places_.broker_topic});
    Delay(plan.accepted, plan.before_added, DelayLeg::kPublishBefore, id, places_.broker_topic);
    At(plan.committed, {.rpc = 5, .what = What::kCommitted, .place = places_.broker_topic});
    Delay(plan.committed, plan.after_added, DelayLeg::kPublishAfter, id, places_.broker_topic);
    At(plan.replied, {.what = What::kPublishReplied, .place = places_.broker_topic});
  }

  void Deliver(const HopPlan& plan, uint64_t delivery) {
    Delay(plan.committed, plan.deliver_added, DelayLeg::kDeliver, 0, places_.broker_subscription);
    Broker(plan.written, delivery, What::kWritten, plan);
    Client(plan.received, delivery, plan.exactly_once ? What::kReceivedExactlyOnce : What::kReceived, plan.response,
           plan.read_posted, plan);
    Client(plan.modack_start, delivery, What::kReceiptModackStart, 100 + delivery, 60, plan);
    Broker(plan.lease_read, delivery, What::kLeaseRead, plan);
    Delay(plan.lease_read, plan.modack_added, DelayLeg::kModack, delivery, places_.broker_subscription);
    Broker(plan.lease_applied, delivery, What::kLeaseApplied, plan);
    Broker(plan.lease_replied, delivery, What::kLeaseReplied, plan);
    Client(plan.modack_end, delivery, What::kReceiptModackEnd, 100 + delivery, 0, plan);
    Client(plan.flow_start, delivery, What::kFlowControlStart, 0, 0, plan);
    Client(plan.flow_end, delivery, What::kFlowControlEnd, 0, 0, plan);
    Client(plan.scheduler_start, delivery, What::kSchedulerStart, 0, 0, plan);
    Client(plan.callback, delivery, What::kCallbackStart, 0, 0, plan);
    Settle(plan, delivery);
  }

  void Client(int64_t at, uint64_t delivery, What what, uint64_t rpc, int64_t value, const HopPlan& plan) {
    At(at, {.delivery = delivery,
            .rpc = rpc,
            .value = value,
            .what = what,
            .place = places_.subscription,
            .stream = plan.stream,
            .count = plan.count});
  }
  void Delay(int64_t at, int64_t added, DelayLeg leg, uint64_t delivery, uint16_t place) {
    if (added == 0) return;
    At(at, {.delivery = delivery,
            .value = added,
            .what = What::kDelayAdded,
            .place = place,
            .count = static_cast<uint16_t>(leg)});
  }

 private:
  void Settle(const HopPlan& plan, uint64_t delivery) {
    Client(plan.ack_called, delivery, What::kAckCalled, 0, 0, plan);
    Client(plan.nack_called, delivery, What::kNackCalled, 0, 0, plan);
    Client(plan.returned, delivery, What::kHandlerReturned, 0, 0, plan);
    Client(plan.ack_start, delivery, What::kAckStart, 200 + delivery, plan.ack_due, plan);
    Broker(plan.ack_read, delivery, What::kAckRead, plan);
    Delay(plan.ack_read, plan.ack_added, DelayLeg::kAck, delivery, places_.broker_subscription);
    Broker(plan.ack_committed, delivery, What::kAckCommitted, plan);
    Broker(plan.ack_replied, delivery, What::kAckReplied, plan);
    Client(plan.ack_end, delivery, What::kAckEnd, 200 + delivery, 0, plan);
    Client(plan.nack_start, delivery, What::kNackStart, 300 + delivery, 0, plan);
    Client(plan.nack_end, delivery, What::kNackEnd, 300 + delivery, 0, plan);
    Client(plan.abandoned, delivery, What::kLeaseAbandoned, 0, 0, plan);
  }
  void Broker(int64_t at, uint64_t delivery, What what, const HopPlan& plan) {
    const bool written = what == What::kWritten;
    At(at, {.delivery = delivery,
            .rpc = written ? plan.response : 0,
            .what = what,
            .place = places_.broker_subscription,
            .stream = static_cast<uint16_t>(written ? plan.stream : 0),
            .count = static_cast<uint16_t>(written ? plan.count : 0)});
  }
  void At(int64_t at, Event event) {
    if (at == 0) return;
    event.at = InstantFromNanos(at);
    event.message = key_;
    sink_.Record(event);
  }

  EventSink& sink_;
  HopPlaces places_;
  MessageKey key_;
};

}  // namespace hopgap::trace
