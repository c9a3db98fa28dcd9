#pragma once

#include <cstdint>

#include "broker/delays.h"
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
  // `retained` is raised and lowered by the wire bytes kept; it outlives the log.
  explicit TopicLog(size_t& retained) : retained_(retained) {}
  ~TopicLog() { retained_ -= bytes_; }
  TopicLog(const TopicLog&) = delete;
  TopicLog& operator=(const TopicLog&) = delete;

  // The sequence that the next message gets.
  Sequence next() const { return next_; }

  // Takes the next sequence. With 0 references the message is not kept.
  Sequence Append(LoggedMessage message) {
    const Sequence sequence = next_++;
    if (message.references == 0) return sequence;
    bytes_ += message.message.wire_size();
    retained_ += message.message.wire_size();
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
    bytes_ -= message->message.wire_size();
    retained_ -= message->message.wire_size();
    messages_.Remove(sequence);
  }

  // `visit(sequence, message)` for those at or above `from`, in order, until it says false.
  template <typename Visit>
  void VisitFrom(Sequence from, Visit visit) {
    messages_.VisitFrom(from, visit);
  }

  size_t size() const { return messages_.size(); }

 private:
  size_t& retained_;
  size_t bytes_ = 0;
  Sequence next_ = 0;
  SequenceWindow<LoggedMessage> messages_;
};

}  // namespace hopgap::broker
