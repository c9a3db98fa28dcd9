#pragma once

#include <map>
#include <utility>
#include <vector>

#include "broker/checkpoint_record.h"
#include "broker/subscription.h"

namespace hopgap::broker {

// A subscription's private state as a checkpoint writes and rebuilds it: a new
// piece of state that has to survive gets its line in both halves.
class CheckpointedSubscription {
 public:
  // ---- writing ----
  // What is acknowledged or, in the records emitted so far, about to be; in order, apart from each other.
  static std::vector<std::pair<Sequence, Sequence>> Acked(const Subscription& subscription);
  static const std::map<Sequence, Generation>& WinnersOf(const Subscription& s) { return s.winners_; }
  static const std::map<Sequence, Generation>& AcksUnderWay(const Subscription& s) { return s.acks_under_way_; }
  // visit(DeliveryStates::Item) for those at or above `from`, in order, until it says false.
  template <typename Visit>
  static void VisitFrom(Subscription& subscription, Sequence from, Visit visit) {
    if (!subscription.exactly_once()) return;  // the journal knows no generations of these
    subscription.deliveries_.VisitFrom(from, [&](Sequence sequence, const Delivery& delivery) {
      const bool next_under_way = delivery.state == Delivery::State::kCommitting;
      return visit(DeliveryStates::Item{.sequence = sequence,
                                        .generation = delivery.generation + (next_under_way ? 1u : 0u),
                                        .nacked = delivery.nacked});
    });
  }

  // ---- loading ----
  // [start, end), above all so far.
  static void AddAcked(Subscription& s, Sequence start, Sequence end) { s.acked_.Append(start, end); }
  static void AddWinner(Subscription& s, const AckedDelivery& winner) {
    s.winners_[winner.sequence] = winner.generation;
  }
  // It has this message, whose body comes later.
  static void Expect(Subscription& subscription, Sequence sequence);
  static void OnBody(Subscription& subscription, Sequence sequence, const pubsub::Message& message);
  static void OnState(Subscription& subscription, const DeliveryStates::Item& item);
};

}  // namespace hopgap::broker
