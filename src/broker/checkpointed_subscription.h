#pragma once

#include <vector>

#include "broker/checkpoint_record.h"
#include "broker/subscription.h"

namespace hopgap::broker {

// A subscription's private state as a checkpoint writes and rebuilds it: a new
// piece of state that has to survive gets its line in both halves. What is on its
// way to the journal counts as there: its record stands before the checkpoint.
class CheckpointedSubscription {
 public:
  // ---- writing ----
  // In order, apart from each other.
  static std::vector<SequenceRange> SetOf(const Subscription& subscription, SequenceSet::Which which);
  // What more is known of the messages in [from, end), of at most `count` that
  // are not finished and as many that are; the record says how far it goes.
  static DeliveryStates StatesFrom(Subscription& subscription, Sequence from, Sequence end, size_t count);

  // ---- loading ----
  // A new one has finished with all before its first message; a seek may have brought those.
  static void ForgetFinished(Subscription& s) { s.acked_ = IntervalSet(); }
  // [range), above all of that set so far. kKept: its bodies come later.
  static void AddTo(Subscription& subscription, SequenceSet::Which which, const SequenceRange& range);
  static bool IsFinished(const Subscription& s, Sequence sequence) { return s.acked_.Contains(sequence); }
  // It has this message, whose body comes later.
  static void Expect(Subscription& subscription, Sequence sequence);
  static void OnBody(Subscription& subscription, Sequence sequence, const pubsub::Message& message);
  static void OnStates(Subscription& subscription, const DeliveryStates& record);
};

}  // namespace hopgap::broker
