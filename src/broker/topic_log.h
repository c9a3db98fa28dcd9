#pragma once

#include <cstdint>

#include "broker/delays.h"
#include "broker/journal.h"
#include "broker/journal_record.h"
#include "broker/sequence_window.h"
#include "pubsub/message.h"
#include "trace/event.h"

namespace hopgap::broker {

// An accepted message and what the broker looked up in it once.
struct LoggedMessage {
  pubsub::Message message;
  trace::MessageKey key;  // none if the message carries no trace context
  DrawKey draw;
  Place place{};            // where the body lies; nowhere: in memory
  uint64_t id = 0;          // message_id as a number
  uint32_t references = 0;  // subscriptions that have not finished with it, and snapshots
};

// The trace context that the publisher put in; none if there is no good one.
inline trace::MessageKey KeyOf(const pubsub::Message& message) {
  if (message.attribute_count() == 0) return {};
  const auto text = message.Attribute(pubsub::kTraceparentAttribute);
  if (!text) return {};
  const pubsub::TraceContext context = pubsub::ParseTraceparent(*text);
  if (!context.valid()) return {};
  return {.trace_hi = context.trace_hi, .trace_lo = context.trace_lo, .create_span = context.span};
}

// The accepted messages of one topic by sequence, each kept until no
// subscription needs it. Gaps in the sequences never happen; gaps in what is
// kept do, as subscriptions finish in any order.
class TopicLog {
 public:
  // `retained` counts what is kept; it outlives the log.
  explicit TopicLog(Retained& retained) : retained_(retained) {}
  ~TopicLog() {
    messages_.ForEach([this](Sequence, const LoggedMessage& message) { Discount(message); });
  }
  TopicLog(const TopicLog&) = delete;
  TopicLog& operator=(const TopicLog&) = delete;

  // The sequence that the next message gets.
  Sequence next() const { return next_; }

  // Takes the next sequence. With 0 references the message is not kept.
  Sequence Append(LoggedMessage message) {
    const Sequence sequence = next_++;
    if (message.references == 0) return sequence;
    Count(message);
    messages_.Add(sequence, std::move(message));
    return sequence;
  }

  // Null once it is released by all.
  const LoggedMessage* Find(Sequence sequence) { return messages_.Find(sequence); }

  // One more needs it. Requires: it is kept.
  void Keep(Sequence sequence) {
    LoggedMessage* message = messages_.Find(sequence);
    HOPGAP_CHECK(message != nullptr, "kept a message that is gone");
    ++message->references;
  }

  // One subscription, or snapshot, has finished with it. Requires: it is kept.
  void Release(Sequence sequence) {
    LoggedMessage* message = messages_.Find(sequence);
    HOPGAP_CHECK(message != nullptr, "released a message that is not kept");
    if (--message->references > 0) return;
    Discount(*message);
    messages_.Remove(sequence);
  }

  // The body is read from the journal from now on. Nothing if it is not kept, or
  // if a place further on in the journal is known already: that groups are down is
  // told in any order, and a segment whose bodies were copied is dropped.
  void MoveToStore(Sequence sequence, pubsub::Message stored, const Place& place) {
    LoggedMessage* message = messages_.Find(sequence);
    if (message == nullptr || place < message->place) return;
    Discount(*message);
    message->message = std::move(stored);
    message->place = place;
    Count(*message);
  }

  // Loading a checkpoint: the log goes on at `next`; one more subscription needs
  // a message below it, whose body Fill() brings later.
  void SkipTo(Sequence next) { next_ = next; }
  void Expect(Sequence sequence) {
    LoggedMessage* message = messages_.Find(sequence);
    if (message == nullptr) message = &messages_.Put(sequence, LoggedMessage{});
    ++message->references;
  }
  // Nothing if it is not kept any more.
  void Fill(Sequence sequence, LoggedMessage filled) {
    LoggedMessage* message = messages_.Find(sequence);
    if (message == nullptr) return;
    Discount(*message);
    filled.references = message->references;
    *message = std::move(filled);
    Count(*message);
  }

  // `visit(sequence, message)` for those at or above `from`, in order, until it says false.
  template <typename Visit>
  void VisitFrom(Sequence from, Visit visit) {
    messages_.VisitFrom(from, visit);
  }

  size_t size() const { return messages_.size(); }

 private:
  void Count(const LoggedMessage& message) {
    const size_t bytes = message.message.wire_size();
    retained_.memory += message.place.segment == 0 ? bytes : Retained::kIndexBytes;
    if (message.place.segment != 0) retained_.stored.Add(message.place.segment, bytes);
  }
  void Discount(const LoggedMessage& message) {
    const size_t bytes = message.message.wire_size();
    retained_.memory -= message.place.segment == 0 ? bytes : Retained::kIndexBytes;
    if (message.place.segment != 0) retained_.stored.Remove(message.place.segment, bytes);
  }

  Retained& retained_;
  Sequence next_ = 0;
  SequenceWindow<LoggedMessage> messages_;
};

}  // namespace hopgap::broker
