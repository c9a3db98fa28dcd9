#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/delivery.h"
#include "broker/sequence_window.h"
#include "broker/stream_set.h"

namespace hopgap::broker {

// The messages of one ordering key that a subscription has not finished with, in
// the order of the topic. The first `out` of them were sent; what is sent next
// goes to who has those, so that one subscriber sees a key in order.
struct KeyLine {
  enum class List : uint8_t { kNowhere, kShared, kHolder };

  explicit KeyLine(std::string_view its_key) : key(its_key) {}

  size_t size() const { return sequences.size() - begin; }
  Sequence At(size_t index) const { return sequences[begin + index]; }
  // Requires: it is there.
  size_t IndexOf(Sequence sequence) const;
  void Insert(Sequence sequence);
  void Erase(size_t index);

  const std::string key;
  std::vector<Sequence> sequences;  // from `begin`; a vector, as most lines are short
  size_t begin = 0;
  size_t out = 0;
  std::optional<StreamId> holder;  // unset: a unary pull, or who had them before a restart
  List place = List::kNowhere;     // the list in which its next message stands
  Sequence queued = 0;             // ... and which message that is
};

// What may be sent now, and to whom: messages without an ordering key to
// anybody, in the order in which they became ready; of each key the next one,
// to anybody while none of its messages is out, else to the stream that has
// them. A key that a unary pull has, or a stream that is gone, waits until those
// are finished or come back. A line exists while it has messages.
class ReadyQueue {
 public:
  struct TakeLimits {
    size_t count = 0;  // what anybody may have: messages without a key, and keys
    size_t messages_max = 0;
    int64_t bytes_max = 0;  // the last message may cross it
    size_t response_bytes_max = 0;
    std::optional<StreamId> stream;  // unset: a unary pull
    bool spare = false;              // pass over what went to this stream last
  };

  // Both outlive it.
  ReadyQueue(SequenceWindow<Delivery>& deliveries, StreamSet& streams) : deliveries_(deliveries), streams_(streams) {}

  // A message with a key is new, or came back to life. Any order.
  void Join(std::string_view key, Sequence sequence, Delivery& delivery);
  // It may be sent as far as it itself goes: its state becomes kReady.
  void Push(Sequence sequence, Delivery& delivery);
  // It may not be sent for now: its state becomes kReturning. Requires: it is
  // kReady; Sweep() before it, or any other, is pushed again.
  void Withdraw(Delivery& delivery);
  // It is about to be finished, whatever its state. Returns what is the first of
  // its key now, if it was the first.
  std::optional<Sequence> Leave(Sequence sequence, Delivery& delivery);
  // Its lease has ended without an ack. Returns those of its key that were sent
  // after it, and whose leases end with it: they are all sent again, in order.
  std::vector<Sequence> TakeBack(Sequence sequence, const Delivery& delivery);
  // After a restart: false if one before it in its key is not with a subscriber.
  bool Hold(Sequence sequence, Delivery& delivery);
  // Everything of its key before it is finished, or about to be.
  bool IsFirst(Sequence sequence, const Delivery& delivery);
  void OnStreamClosed(StreamId stream);
  // Forgets entries of messages that are finished or not ready any more.
  void Sweep();

  // At least one if there is one for the taker. Taken messages are to be leased
  // before anything else happens.
  std::vector<Sequence> Take(const TakeLimits& limits);

  size_t size() const { return shared_count_; }      // what anybody may have
  bool any_held() const { return held_count_ > 0; }  // keys whose next message waits for their stream
  size_t lines() const { return lines_.size(); }

 private:
  struct Taking;
  void TakeHeld(const TakeLimits& limits, Taking& taking);
  void TakeRun(KeyLine& line, const TakeLimits& limits, Taking& taking);
  void Put(KeyLine& line);
  void Unplace(KeyLine& line);
  bool Stands(Sequence sequence, KeyLine::List place) const;

  SequenceWindow<Delivery>& deliveries_;
  StreamSet& streams_;
  // Lists may hold entries that are overtaken: skipped when met.
  std::deque<Sequence> shared_;
  size_t shared_count_ = 0;
  absl::flat_hash_map<StreamId, std::deque<Sequence>> held_;
  size_t held_count_ = 0;
  absl::flat_hash_map<std::string, std::unique_ptr<KeyLine>> lines_;  // looked up, never iterated
};

}  // namespace hopgap::broker
