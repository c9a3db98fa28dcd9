#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "broker/broker.h"
#include "pubsub/api.h"

namespace hopgap::broker {

// An open StreamingPull, as far as deciding what to write to it goes.
struct Stream {
  StreamId id{};
  uint16_t ordinal = 0;      // of the subscription's streams, for events
  Duration lease{0};         // of what is written from now on
  int64_t messages_max = 0;  // outstanding; <= 0: no limit
  int64_t bytes_max = 0;
  bool answers_keep_alive = false;  // protocol_version >= 1

  int64_t messages = 0;  // outstanding: written, not acked, nacked or expired
  int64_t bytes = 0;
  uint64_t responses = 0;  // written so far; the number of the last one
  uint64_t gated_by = 0;   // the response whose receipt modack is awaited; 0: none
  bool write_in_flight = false;
  bool half_closed = false;
  std::optional<absl::Status> closing;  // set: to be finished with this once the write is done

  bool told_exactly_once = false;  // by the newest response written
  bool owes_response = false;      // properties, or the confirmations below
  pubsub::Confirmation acks, modacks;
  size_t confirmations_to_come = 0;  // requests whose confirmation waits for a commit or a delay

  bool HasCredit() const {
    return (messages_max <= 0 || messages < messages_max) && (bytes_max <= 0 || bytes < bytes_max);
  }
  // Wants messages, now or once what is in its way is done.
  bool Wants() const { return !half_closed && !closing && HasCredit(); }
};

// The streams of one subscription: whose turn it is, and what is outstanding on
// which. A stream takes part if it has credit, its last write is done, its gate
// is open, and its lease is not above what the journal knows of (`ceiling`).
//
// Turns go round in the order of opening, so lone messages rotate.
class StreamSet {
 public:
  Stream& Open(StreamId id);
  void Close(StreamId id);
  Stream* Find(StreamId id);

  // From the one whose turn it is.
  std::vector<Stream*> Eligible(Duration ceiling) const;
  // The next turn is the one after `stream`.
  void Served(const Stream& stream);
  bool AnyWants(Duration ceiling) const;

  // An outstanding message has ended, whatever way; its stream may be gone.
  void Free(StreamId id, size_t bytes);
  void OpenAllGates();
  // Something was heard of a message of that response: opens its gate.
  void OpenGate(StreamId id, uint64_t response);

  const std::vector<std::unique_ptr<Stream>>& all() const { return streams_; }
  bool empty() const { return streams_.empty(); }

 private:
  size_t IndexOf(StreamId id) const;

  std::vector<std::unique_ptr<Stream>> streams_;  // in the order of opening
  absl::flat_hash_map<StreamId, Stream*> by_id_;
  size_t turn_ = 0;
  uint16_t opened_ = 0;
};

}  // namespace hopgap::broker
