#include <algorithm>

#include "base/draw.h"
#include "base/text.h"
#include "trace/lease_failure_words.h"
#include "trace/span_writing.h"
#include "trace/trace_view.h"
#include "trace/view_from_events.h"
#include "trace/vocabulary.h"

namespace hopgap::trace {
namespace {

// Writes the spans of one view from which the unfinished has been dropped.
class Writer {
 public:
  Writer(const TraceView& view, const SpanContext& context) : view_(view), context_(context) {}

  std::vector<Span> Write() {
    std::vector<std::vector<const DeliveryView*>> deliveries(view_.messages.size());
    for (const DeliveryView& delivery : view_.deliveries) deliveries[delivery.message].push_back(&delivery);
    for (size_t i = 0; i < view_.messages.size(); ++i) {
      const MessageView& message = view_.messages[i];
      key_ = {view_.trace_hi, view_.trace_lo, message.create_span};
      if (Seen(message.publish_call)) WritePublisher(message);
      if (Seen(message.accepted)) WriteBrokerPublish(message);
      for (const DeliveryView* delivery : deliveries[i]) WriteDelivery(message, *delivery);
    }
    return std::move(spans_);
  }

 private:
  Span& Begin(uint64_t id, uint64_t parent, std::string name, SpanKind kind, WallTime start, WallTime end,
              const Place& place) {
    Span& span = spans_.emplace_back();
    span.trace_hi = view_.trace_hi;
    span.trace_lo = view_.trace_lo;
    span.span = id;
    span.parent = parent;
    span.name = std::move(name);
    span.kind = kind;
    span.start = start;
    span.end = end;
    span.service = ServiceOf(place);
    span.scope = std::string(place.side == Place::Side::kBroker ? kBrokerScope : kGoScope);
    return span;
  }

  static void AddEvent(Span& span, WallTime at, std::string_view name, Attributes attributes = {}) {
    if (Seen(at)) span.events.push_back({at, std::string(name), std::move(attributes)});
  }
  static Attributes Count(int64_t count) { return {{std::string(words::kBatchCount), count}}; }

  uint64_t Id(SpanRole role, uint64_t delivery = 0) const { return SpanId(role, key_, delivery); }

  void WritePublisher(const MessageView& message) {
    const Place& place = context_.places[message.client_place];
    Span& create = Begin(message.create_span, message.parent, StrCat(place.resource, words::kCreate),
                         SpanKind::kProducer, message.publish_call, message.publish_end, place);
    AddResource(create.attributes, place, StrCat("projects/", place.project, "/topics/", place.resource));
    if (message.message_id != 0) AddText(create.attributes, words::kMessageId, StrCat(message.message_id));
    AddText(create.attributes, words::kCodeFunction, "Publish");
    if (!place.arm.empty()) AddText(create.attributes, words::kArm, place.arm);
    Add(create.attributes, words::kHop, int64_t{message.hop});
    if (message.slot_label > 0) Add(create.attributes, words::kSlot, static_cast<int64_t>(message.slot_label - 1));
    if (Seen(message.scheduled)) AddInstant(create.attributes, words::kScheduled, message.scheduled);
    AddEvent(create, message.publish_start, words::kPublishStart, Count(message.batch_count));
    AddEvent(create, message.publish_end, words::kPublishEnd);
    SetStatus(create, message.publish_status);
    if (Seen(message.publish_start)) {
      create.links.push_back(
          LinkTo(RpcSpan(SpanRole::kPublishRpc, message.client_place, message.publish_rpc), "publish"));
    }
    if (Seen(message.admitted)) {
      Begin(Id(SpanRole::kPublisherFlowControl), message.create_span, std::string(words::kPublisherFlowControl),
            SpanKind::kInternal, message.publish_call, message.admitted, place);
    }
    if (!Seen(message.batching_start)) return;
    Span& batching = Begin(Id(SpanRole::kBatching), message.create_span, std::string(words::kPublisherBatching),
                           SpanKind::kInternal, message.batching_start, message.batching_end, place);
    if (Seen(message.released)) AddInstant(batching.attributes, words::kReleased, message.released);
  }

  void WriteBrokerPublish(const MessageView& message) {
    const Place& place = context_.places[message.broker_place];
    Span& span = Begin(Id(SpanRole::kBrokerPublish), message.create_span, StrCat(place.resource, words::kBrokerPublish),
                       SpanKind::kInternal, message.accepted, message.replied, place);
    AddResource(span.attributes, place, StrCat("projects/", place.project, "/topics/", place.resource));
    if (message.message_id != 0) AddText(span.attributes, words::kMessageId, StrCat(message.message_id));
    Add(span.attributes, words::kSequence, static_cast<int64_t>(message.sequence));
    Add(span.attributes, words::kAddedBefore, message.before_added.count());
    Add(span.attributes, words::kAddedAfter, message.after_added.count());
    AddEvent(span, message.committed, words::kCommitted);
  }

  void WriteDelivery(const MessageView& message, const DeliveryView& delivery) {
    if (Seen(delivery.received)) WriteSubscribe(message, delivery);
    WriteDispatch(delivery);
    if (Seen(delivery.callback_start)) WriteProcess(delivery);
    if (Seen(delivery.written)) WriteBrokerDeliver(message, delivery);
    WriteBrokerCalls(delivery, delivery.broker_leases, true);
    WriteBrokerCalls(delivery, delivery.broker_acks, false);
  }

  void WriteSubscribe(const MessageView& message, const DeliveryView& delivery) {
    const Place& place = context_.places[delivery.client_place];
    Span& span =
        Begin(Id(SpanRole::kSubscribe, delivery.key), message.create_span, StrCat(place.resource, words::kSubscribe),
              SpanKind::kInternal, delivery.received, delivery.subscribe_end, place);
    AddResource(span.attributes, place, place.resource);
    if (message.message_id != 0) AddText(span.attributes, words::kMessageId, StrCat(message.message_id));
    Add(span.attributes, words::kExactlyOnce, delivery.exactly_once);
    Add(span.attributes, words::kBatchCount, delivery.count);
    AddText(span.attributes, words::kCodeFunction, "receive");
    Add(span.attributes, words::kStream, int64_t{delivery.stream});
    Add(span.attributes, words::kResponse, delivery.response);
    if (Seen(delivery.read_posted)) AddInstant(span.attributes, words::kReadPosted, delivery.read_posted);
    AddText(span.attributes, words::kDelivery, HexKey(delivery.key));
    WriteLeaseEvents(span, delivery);
    WriteSettleEvents(span, delivery);
    WriteOutcome(span, delivery);
  }

  // The flag tells receipts from extensions (the library has it on the RPC span).
  static void WriteLeaseEvents(Span& span, const DeliveryView& delivery) {
    for (const LeaseCall& call : delivery.leases) {
      Attributes start = Count(call.count);
      Add(start, words::kIsReceipt, call.receipt);
      AddEvent(span, call.start, words::kModackStart, std::move(start));
      AddEvent(span, call.end, words::kModackEnd, {{std::string(words::kIsReceipt), call.receipt}});
      span.links.push_back(LinkTo(RpcSpan(SpanRole::kModackRpc, delivery.client_place, call.rpc), "modack"));
    }
  }

  static void WriteSettleEvents(Span& span, const DeliveryView& delivery) {
    if (Seen(delivery.ack_start)) {
      Attributes start = Count(delivery.ack_count);
      if (Seen(delivery.ack_due)) AddInstant(start, words::kReleased, delivery.ack_due);
      AddEvent(span, delivery.ack_start, words::kAckStart, std::move(start));
      span.links.push_back(LinkTo(RpcSpan(SpanRole::kAckRpc, delivery.client_place, delivery.ack_rpc), "ack"));
    }
    AddEvent(span, delivery.ack_end, words::kAckEnd);
    if (Seen(delivery.nack_start)) {
      AddEvent(span, delivery.nack_start, words::kNackStart, Count(delivery.nack_count));
      span.links.push_back(LinkTo(RpcSpan(SpanRole::kNackRpc, delivery.client_place, delivery.nack_rpc), "nack"));
    }
    AddEvent(span, delivery.nack_end, words::kNackEnd);
    const auto earlier = [](const SpanEvent& a, const SpanEvent& b) { return a.at < b.at; };
    std::stable_sort(span.events.begin(), span.events.end(), earlier);
  }

  static void WriteOutcome(Span& span, const DeliveryView& delivery) {
    if (delivery.receipt_failed) {
      span.status = 2;
      span.status_message = "receipt modack failed";
    } else if (delivery.abandoned) {
      AddText(span.attributes, words::kResult, "expired");
    } else if (delivery.settle_status == 0) {
      AddText(span.attributes, words::kResult, Seen(delivery.ack_end) ? "acked" : "nacked");
    } else {
      SetStatus(span, delivery.settle_status);
    }
  }

  void WriteDispatch(const DeliveryView& delivery) {
    const Place& place = context_.places[delivery.client_place];
    const uint64_t parent = Id(SpanRole::kSubscribe, delivery.key);
    if (Seen(delivery.flow_start)) {
      Begin(Id(SpanRole::kConcurrencyControl, delivery.key), parent, std::string(words::kConcurrencyControl),
            SpanKind::kInternal, delivery.flow_start, delivery.flow_end, place);
    }
    if (Seen(delivery.scheduler_start)) {
      Begin(Id(SpanRole::kScheduler, delivery.key), parent, std::string(words::kScheduler), SpanKind::kInternal,
            delivery.scheduler_start, delivery.scheduler_end, place);
    }
  }

  void WriteProcess(const DeliveryView& delivery) {
    const Place& place = context_.places[delivery.client_place];
    Span& span =
        Begin(delivery.process_span, Id(SpanRole::kSubscribe, delivery.key), StrCat(place.resource, words::kProcess),
              SpanKind::kConsumer, delivery.callback_start, delivery.process_end(), place);
    AddText(span.attributes, words::kOperationType, "process");
    if (Seen(delivery.handler_returned)) {
      AddInstant(span.attributes, words::kHandlerReturned, delivery.handler_returned);
    }
    for (const StoreCall& call : delivery.stores) {
      AddEvent(span, call.start, words::kStoreStart);
      AddEvent(span, call.end, words::kStoreEnd);
    }
    AddEvent(span, delivery.ack_called, words::kAckCalled);
    AddEvent(span, delivery.nack_called, words::kNackCalled);
  }

  void WriteBrokerDeliver(const MessageView& message, const DeliveryView& delivery) {
    const Place& place = context_.places[delivery.broker_place];
    Span& span = Begin(Id(SpanRole::kBrokerDeliver, delivery.key), message.create_span,
                       StrCat(place.resource, words::kBrokerDeliver), SpanKind::kInternal, message.committed,
                       delivery.written, place);
    AddResource(span.attributes, place, place.resource);
    Add(span.attributes, words::kStream, delivery.broker_stream);
    Add(span.attributes, words::kResponse, delivery.broker_response);
    Add(span.attributes, words::kBatchCount, delivery.broker_count);
    AddText(span.attributes, words::kDelivery, HexKey(delivery.key));
    Add(span.attributes, words::kAddedDeliver, delivery.deliver_added.count());
    if (!Seen(delivery.returned)) return;
    AddText(span.attributes, words::kReturned, delivery.returned_by_nack ? "nacked" : "expired");
    AddInstant(span.attributes, words::kReturnedAt, delivery.returned);
  }

  void WriteBrokerCalls(const DeliveryView& delivery, const absl::InlinedVector<BrokerCall, 1>& calls, bool lease) {
    const Place& place = context_.places[delivery.broker_place];
    const SpanRole role = lease ? SpanRole::kBrokerLease : SpanRole::kBrokerAck;
    for (size_t i = 0; i < calls.size(); ++i) {
      const BrokerCall& call = calls[i];
      // The first keeps the plain id; the index tells later ones apart.
      Span& span = Begin(Id(role, i == 0 ? delivery.key : Mix(delivery.key, i)), key_.create_span,
                         StrCat(place.resource, lease ? words::kBrokerLease : words::kBrokerAck), SpanKind::kInternal,
                         call.read, call.replied, place);
      AddResource(span.attributes, place, place.resource);
      AddText(span.attributes, words::kDelivery, HexKey(delivery.key));
      if (lease) Add(span.attributes, words::kAckDeadline, call.seconds);
      Add(span.attributes, lease ? words::kAddedModack : words::kAddedAck, call.added.count());
      AddEvent(span, call.applied, lease ? words::kLeaseApplied : words::kAckCommitted);
      SetStatus(span, call.status);
      if (call.failure != 0) AddText(span.attributes, words::kFailure, std::string(LeaseFailureWord(call.failure)));
    }
  }

  const TraceView& view_;
  const SpanContext& context_;
  MessageKey key_;
  std::vector<Span> spans_;
};

}  // namespace

std::vector<Span> SpansFromView(const TraceView& view, const SpanContext& context) {
  return Writer(view, context).Write();
}

std::vector<Span> MessageSpans(std::span<const Event> events, const SpanContext& context) {
  EventReader reader;
  TraceView& view = reader.Read(events, context);
  DropUnfinished(view);
  return SpansFromView(view, context);
}

}  // namespace hopgap::trace
