#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/text.h"
#include "trace/dialect.h"
#include "trace/trace_view.h"
#include "trace/vocabulary.h"

namespace hopgap::trace {
namespace {

constexpr Duration kNoLength{std::chrono::microseconds{1}};

const AttributeValue* FindIn(const Attributes& attributes, std::string_view key) {
  for (const auto& [name, value] : attributes) {
    if (name == key) return &value;
  }
  return nullptr;
}

// Also from the text "true": some libraries write every value as text.
std::optional<bool> Flag(const Attributes& attributes, std::string_view key) {
  const AttributeValue* value = FindIn(attributes, key);
  if (value == nullptr) return std::nullopt;
  if (const bool* flag = std::get_if<bool>(value)) return *flag;
  if (const std::string* text = std::get_if<std::string>(value)) return *text == "true";
  return std::nullopt;
}

WallTime InstantIn(const Attributes& attributes, std::string_view key) {
  const AttributeValue* value = FindIn(attributes, key);
  if (value == nullptr) return kUnseen;
  if (const int64_t* number = std::get_if<int64_t>(value)) return WallTime{Duration{*number}};
  const std::string* text = std::get_if<std::string>(value);
  const std::optional<int64_t> number = text == nullptr ? std::nullopt : ParseNumber<int64_t>(*text);
  return number ? WallTime{Duration{*number}} : kUnseen;
}

WallTime At(const Span& span, std::string_view event) {
  const SpanEvent* found = span.FindEvent(event);
  return found == nullptr ? kUnseen : found->at;
}

// Our key, or the ack id that it is made of; 0 if the span has neither.
uint64_t DeliveryKeyOf(const Span& span) {
  const std::string_view text = span.Text(words::kDelivery);
  uint64_t key = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key, 16);
  if (!text.empty() && error == std::errc{} && end == text.data() + text.size()) return key;
  const std::string_view ack_id = span.Text(words::kAckId);
  return ack_id.empty() ? 0 : DeliveryKey(ack_id);
}

class SpanReader {
 public:
  explicit SpanReader(std::span<const Span> spans) : spans_(Distinct(spans)) {}

  // Parents first: a file may hold its spans in any order.
  TraceView Read() {
    if (!spans_.empty()) {
      view_.trace_hi = spans_.front()->trace_hi;
      view_.trace_lo = spans_.front()->trace_lo;
    }
    for (const Span* span : spans_) {
      if (IsClient(*span, words::kCreate)) TakeCreate(*span);
    }
    for (const Span* span : spans_) {
      if (IsClient(*span, words::kSubscribe)) TakeSubscribe(*span);
    }
    for (const Span* span : spans_) TakeWholeDelivery(*span);
    for (const Span* span : spans_) {
      if (span->scope == kBrokerScope) {
        TakeBroker(*span);
      } else {
        TakeChild(*span);
      }
    }
    for (DeliveryView& delivery : view_.deliveries) PairReceipt(delivery);
    return std::move(view_);
  }

 private:
  // Two exporters may have written a span twice; of two that differ the one
  // that ended later is the completed one.
  static std::vector<const Span*> Distinct(std::span<const Span> spans) {
    std::vector<const Span*> distinct;
    distinct.reserve(spans.size());
    for (const Span& span : spans) distinct.push_back(&span);
    const auto order = [](const Span* a, const Span* b) {
      return std::pair{a->span, b->end} < std::pair{b->span, a->end};
    };
    if (!std::is_sorted(distinct.begin(), distinct.end(), order)) {
      std::stable_sort(distinct.begin(), distinct.end(), order);
    }
    const auto same = [](const Span* a, const Span* b) { return a->span == b->span; };
    distinct.erase(std::unique(distinct.begin(), distinct.end(), same), distinct.end());
    return distinct;
  }

  static bool Ends(const Span& span, std::string_view suffix) { return span.name.ends_with(suffix); }
  static bool IsClient(const Span& span, std::string_view suffix) {
    return span.scope != kBrokerScope && Ends(span, suffix);
  }

  void TakeCreate(const Span& span) {
    messages_.emplace(span.span, view_.messages.size());
    MessageView& message = view_.messages.emplace_back();
    message.create_span = span.span;
    message.parent = span.parent;
    message.publish_call = span.start;
    message.publish_start = At(span, words::kPublishStart);
    message.publish_end = At(span, words::kPublishEnd);
    message.scheduled = InstantIn(span.attributes, words::kScheduled);
    message.arm = std::string(span.Text(words::kArm));
    message.topic = TopicOf(span);
    message.hop = static_cast<int>(span.Int(words::kHop));
    message.slot_label = span.Find(words::kSlot) == nullptr ? 0 : static_cast<uint64_t>(span.Int(words::kSlot)) + 1;
    message.span = &span;
    message.whole = span.Find(kWhole) != nullptr;
    // A span of no length was not timed: it is when the publish was noted, and no more.
    if (message.whole && !Seen(message.publish_end) && span.end - span.start > kNoLength) {
      message.publish_start = span.start;
      message.publish_end = span.end;
    }
  }

  // A delivery whose publish is not here still has its own half.
  size_t MessageOf(const Span& span) {
    const auto found = messages_.find(span.parent);
    if (found != messages_.end()) return found->second;
    view_.messages.emplace_back();
    return view_.messages.size() - 1;
  }

  // One span for a receipt and its callback: the conventions' "process", and the
  // HTTP request of a push.
  void TakeWholeDelivery(const Span& span) {
    const bool push = span.kind == SpanKind::kServer && messages_.contains(span.parent);
    const bool process = IsClient(span, words::kProcess) && span.Find(kWhole) != nullptr;
    if ((!push && !process) || subscribes_.contains(span.parent)) return;
    DeliveryView& delivery = DeliveryOf(MessageOf(span), 0, span);
    subscribes_.emplace(span.span, static_cast<size_t>(&delivery - view_.deliveries.data()));
    delivery.span = &span;
    delivery.whole = true;
    delivery.pushed = push;
    delivery.process_span = span.span;
    delivery.received = delivery.callback_start = span.start;
    delivery.ack_called = span.end;
  }

  // The topic's id, without its project.
  static std::string TopicOf(const Span& span) {
    std::string_view name = span.Text(words::kDestination);
    if (name.empty()) name = std::string_view(span.name).substr(0, span.name.size() - words::kCreate.size());
    return std::string(name.substr(name.rfind('/') + 1));
  }

  void TakeSubscribe(const Span& span) {
    DeliveryView& delivery = DeliveryOf(MessageOf(span), DeliveryKeyOf(span), span);
    delivery.span = &span;
    subscribes_.emplace(span.span, static_cast<size_t>(&delivery - view_.deliveries.data()));
    delivery.received = span.start;
    delivery.subscribe_end = span.end;
    delivery.read_posted = InstantIn(span.attributes, words::kReadPosted);
    delivery.exactly_once = Flag(span.attributes, words::kExactlyOnce).value_or(false);
    delivery.stream = static_cast<int>(span.Int(words::kStream));
    delivery.response = span.Int(words::kResponse);
    delivery.count = span.Int(words::kBatchCount, 1);
    TakeLeases(span, delivery);
    if (const SpanEvent* start = span.FindEvent(words::kAckStart)) {
      delivery.ack_start = start->at;
      delivery.ack_due = InstantIn(start->attributes, words::kReleased);
    }
    delivery.ack_end = At(span, words::kAckEnd);
    delivery.nack_start = At(span, words::kNackStart);
    delivery.nack_end = At(span, words::kNackEnd);
  }

  // Starts and ends in order. Without the flag (the library's own spans) the
  // first call is the receipt.
  static void TakeLeases(const Span& span, DeliveryView& delivery) {
    for (const SpanEvent& event : span.events) {
      const std::optional<bool> flag = Flag(event.attributes, words::kIsReceipt);
      delivery.leases_flagged = delivery.leases_flagged || flag.has_value();
      if (event.name == words::kModackStart) {
        delivery.leases.push_back({.start = event.at, .receipt = flag.value_or(delivery.leases.empty())});
      } else if (event.name == words::kModackEnd) {
        for (LeaseCall& call : delivery.leases) {
          if (Seen(call.end) || call.receipt != flag.value_or(call.receipt)) continue;
          call.end = event.at;
          break;
        }
      }
    }
  }

  // A lease extension may run beside a long receipt modack, and events that carry no
  // flag do not say whose end is whose. A client that waits hands the message on as
  // soon as its receipt is answered: the last end before that is the receipt's.
  static void PairReceipt(DeliveryView& delivery) {
    auto& calls = delivery.leases;
    if (!delivery.exactly_once || delivery.leases_flagged || calls.size() < 2) return;
    const WallTime dispatch = Seen(delivery.flow_start) ? delivery.flow_start : delivery.callback_start;
    if (!Seen(dispatch) || !Seen(calls[0].end) || calls[1].start >= calls[0].end) return;
    size_t last = 0;
    for (size_t i = 1; i < calls.size(); ++i) {
      if (Seen(calls[i].end) && calls[i].end <= dispatch && calls[i].end > calls[last].end) last = i;
    }
    // The others keep their order: each end moves to the call after its own.
    for (size_t i = last; i > 0; --i) std::swap(calls[i].end, calls[i - 1].end);
  }

  void TakeChild(const Span& span) {
    if (const auto message = messages_.find(span.parent); message != messages_.end()) {
      return TakePublisherChild(span, view_.messages[message->second]);
    }
    const auto subscribe = subscribes_.find(span.parent);
    if (subscribe == subscribes_.end()) return;
    DeliveryView& delivery = view_.deliveries[subscribe->second];
    if (span.name == words::kConcurrencyControl) {
      delivery.flow_start = span.start;
      delivery.flow_end = span.end;
    } else if (span.name == words::kScheduler) {
      delivery.scheduler_start = span.start;
      delivery.scheduler_end = span.end;
    } else if (Ends(span, words::kProcess) && !delivery.whole) {
      delivery.process_span = span.span;
      delivery.callback_start = span.start;
      delivery.nack_called = At(span, words::kNackCalled);
      if (!Seen(delivery.nack_called)) delivery.ack_called = span.end;
      delivery.handler_returned = InstantIn(span.attributes, words::kHandlerReturned);
      TakeStores(span, delivery);
    }
  }

  static void TakeStores(const Span& span, DeliveryView& delivery) {
    for (const SpanEvent& event : span.events) {
      if (event.name == words::kStoreStart) delivery.stores.push_back({.start = event.at});
      if (event.name == words::kStoreEnd && !delivery.stores.empty()) delivery.stores.back().end = event.at;
    }
  }

  static void TakePublisherChild(const Span& span, MessageView& message) {
    if (span.name == words::kPublisherFlowControl) {
      message.admitted = span.end;
    } else if (span.name == words::kPublisherBatching) {
      message.batching_start = span.start;
      message.batching_end = span.end;
      message.released = InstantIn(span.attributes, words::kReleased);
    }
  }

  void TakeBroker(const Span& span) {
    const auto found = messages_.find(span.parent);
    if (found == messages_.end()) return;
    MessageView& message = view_.messages[found->second];
    if (Ends(span, words::kBrokerPublish)) {
      message.accepted = span.start;
      message.committed = At(span, words::kCommitted);
      message.replied = span.end;
      message.before_added = Duration{span.Int(words::kAddedBefore)};
      message.after_added = Duration{span.Int(words::kAddedAfter)};
      return;
    }
    DeliveryView& delivery = DeliveryOf(found->second, DeliveryKeyOf(span), span);
    if (Ends(span, words::kBrokerDeliver)) {
      delivery.written = span.end;
      delivery.deliver_added = Duration{span.Int(words::kAddedDeliver)};
    } else if (Ends(span, words::kBrokerLease)) {
      TakeCall(span, words::kAddedModack, delivery.broker_leases);
    } else if (Ends(span, words::kBrokerAck)) {
      TakeCall(span, words::kAddedAck, delivery.broker_acks);
    }
  }

  static void TakeCall(const Span& span, std::string_view added, absl::InlinedVector<BrokerCall, 1>& calls) {
    BrokerCall call;
    call.read = span.start;
    call.replied = span.end;
    call.added = Duration{span.Int(added)};
    const auto later = [&](const BrokerCall& other) { return other.read > call.read; };
    calls.insert(std::find_if(calls.begin(), calls.end(), later), call);
  }

  // Deliveries without a key are told apart by their spans.
  DeliveryView& DeliveryOf(size_t message, uint64_t key, const Span& span) {
    const auto [found, is_new] =
        deliveries_.try_emplace({message, key == 0 ? span.span : key}, view_.deliveries.size());
    if (!is_new) return view_.deliveries[found->second];
    DeliveryView& delivery = view_.deliveries.emplace_back();
    delivery.message = message;
    delivery.key = key;
    delivery.subscription = SubscriptionOf(span);
    return delivery;
  }

  int SubscriptionOf(const Span& span) {
    std::string_view name = span.Text(words::kDestination);
    if (name.empty() && span.kind == SpanKind::kServer) name = span.name;
    if (name.empty()) name = std::string_view(span.name).substr(0, span.name.rfind(' '));
    const std::string_view shortened = name.substr(name.rfind('/') + 1);
    const int next = static_cast<int>(subscriptions_.size());
    return subscriptions_.try_emplace({std::string(span.Text(words::kProjectId)), std::string(shortened)}, next)
        .first->second;
  }

  std::vector<const Span*> spans_;
  TraceView view_;
  absl::flat_hash_map<uint64_t, size_t> messages_;                       // by create span
  absl::flat_hash_map<uint64_t, size_t> subscribes_;                     // delivery by subscribe span
  absl::flat_hash_map<std::pair<size_t, uint64_t>, size_t> deliveries_;  // by message and key
  std::map<std::pair<std::string, std::string>, int> subscriptions_;
};

}  // namespace

TraceView ViewFromSpans(std::span<const Span> spans) { return SpanReader(spans).Read(); }

}  // namespace hopgap::trace
