#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/build.h"
#include "trace/event.h"
#include "trace/trace_view.h"

namespace hopgap::trace {

// Reads the events of one trace into a view. Keeps its memory from trace to
// trace: reading a trace of ordinary size allocates nothing once warm.
//
// Not thread-safe.
class EventReader {
 public:
  // The view is valid until the next call. Events in any order; those at the
  // same instant are taken in the order of a message's life.
  // Requires: the same trace id in all; `context` is the same object, its
  // places only growing, at every call.
  TraceView& Read(std::span<const Event> events, const SpanContext& context);

 private:
  struct Order {
    int64_t at;
    uint32_t rank;
    uint32_t index;
    friend auto operator<=>(const Order&, const Order&) = default;
  };
  // A deliver delay drawn before the ack id existed.
  struct PendingDeliver {
    size_t message;
    uint16_t place;
    Duration added;
  };

  void Sort(std::span<const Event> events);
  void LearnPlaces(const SpanContext& context);
  void Take(const Event& event, WallTime at);
  bool TakePublisher(const Event& event, WallTime at, MessageView& message);
  bool TakeReceipt(const Event& event, WallTime at, DeliveryView& delivery);
  bool TakeCallback(const Event& event, WallTime at, DeliveryView& delivery);
  bool TakeSettle(const Event& event, WallTime at, DeliveryView& delivery);
  bool TakeTopic(const Event& event, WallTime at, MessageView& message);
  void TakeWritten(const Event& event, WallTime at, DeliveryView& delivery);
  bool TakeBrokerCall(const Event& event, WallTime at, DeliveryView& delivery);
  void TakeDelay(const Event& event);

  size_t MessageIndex(const Event& event);
  DeliveryView& DeliveryOf(size_t message, const Event& event);

  // Up to this many, looking through all is faster than hashing.
  static constexpr size_t kScanMax = 16;

  const SpanContext* context_ = nullptr;
  TraceView view_;
  std::vector<Order> order_;
  std::vector<PendingDeliver> pending_;
  std::vector<int> subscription_of_place_;
  std::map<std::pair<std::string, std::string>, int> subscriptions_;
  absl::flat_hash_map<uint64_t, size_t> message_index_;                      // beyond kScanMax
  absl::flat_hash_map<std::pair<size_t, uint64_t>, size_t> delivery_index_;  // beyond kScanMax
};

}  // namespace hopgap::trace
