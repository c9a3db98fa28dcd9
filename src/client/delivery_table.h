#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <string>

#include "client/subscriber.h"

namespace hopgap::client {

// One id on its way through ack and modack calls: it names the delivery but
// does not need it, as a call may return after the delivery is forgotten.
struct Target {
  uint64_t delivery = 0;
  std::string ack_id;
  trace::MessageKey key;
  uint64_t delivery_key = 0;
  bool exactly_once = false;
};

// A received message until it is both returned from its callback and settled.
struct DeliveryEntry {
  enum class Phase : uint8_t {
    kReceived,  // holds nothing yet
    kAdmitted,  // holds flow-control credits, not yet with its handler
    kHanded,    // in its handler's hands
    kReturned,  // the callback returned
  };

  Subscriber::Delivery delivery;
  std::string ack_id;
  std::string order_key;  // empty unless callbacks of its key run in order
  uint32_t stream = 0;
  Phase phase = Phase::kReceived;
  bool receipt_pending = false;  // its loop, or it alone, waits for the receipt modack of this id
  bool receipt_failed = false;
  bool receipt_invalid = false;  // failed, as the ack id is invalid
  bool holds_credits = false;    // of flow control
  bool settled = false;          // Ack or Nack was called
  bool lease_abandoned = false;
  bool done = false;  // its result is known, or there will be none

  int64_t bytes() const { return static_cast<int64_t>(delivery.message.data().size()); }
  Target target() const { return {delivery.id, ack_id, delivery.key, delivery.delivery_key, delivery.exactly_once}; }
};

// All deliveries of one subscriber by number. Entries do not move. Looked up,
// never iterated: hash order must not reach an action. Bounded by what the
// server sends beyond our flow control: streams x max_outstanding_messages.
class DeliveryTable {
 public:
  DeliveryEntry& Add() {
    const uint64_t id = ++last_id_;
    auto& entry = entries_[id];
    entry = std::make_unique<DeliveryEntry>();
    entry->delivery.id = id;
    return *entry;
  }
  DeliveryEntry* Find(uint64_t id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : found->second.get();
  }
  void Erase(uint64_t id) { entries_.erase(id); }
  size_t size() const { return entries_.size(); }

 private:
  absl::flat_hash_map<uint64_t, std::unique_ptr<DeliveryEntry>> entries_;
  uint64_t last_id_ = 0;
};

}  // namespace hopgap::client
