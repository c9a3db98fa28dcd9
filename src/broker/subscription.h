#pragma once

#include <optional>
#include <vector>

#include "broker/subscription_state.h"

namespace hopgap::broker {

// One subscription: which messages are ready, who has a lease on which, what is
// acked. It decides nothing about the journal's timing; it says what needs it. Not thread-safe.
class Subscription : public SubscriptionState {
 public:
  Subscription(Incarnation id, pubsub::Subscription value, Topic& topic, Sequence first, Sequence bound,
               Duration ceiling);

  // The next message of the topic is not for it: it counts as acked, so that
  // the filter leaves no hole in what is.
  void Skip(Sequence sequence) { acked_.Insert(sequence); }
  // The next message of the topic is on its way to the journal. Requires: the filter matches.
  void Append(Sequence sequence, const pubsub::Message& message);
  // It may be sent from `due` on. Requires: it is uncommitted, or its lease ended.
  void MakeDeliverable(Sequence sequence, Delivery& delivery, Instant now, Instant due);
  // Moves what is due by `now` out of the added delays.
  void ReleaseDelayed(Instant now);
  // Ends leases that expired by `now`, by deadline; the caller makes the messages deliverable again.
  std::vector<LeaseTable::Expired> TakeExpired(Instant now);
  // Ends a lease (nack), or forgets an ack that was early. Same duty.
  void EndLease(Sequence sequence);
  // Of a message whose lease ended: those of its key that were sent after it. End their leases too.
  std::vector<Sequence> TakeBack(Sequence sequence) {
    if (planted == Planted::kOrderLostOnReturn) return {};
    return ready_.TakeBack(sequence, *Find(sequence));
  }

  // Keeps how and when a lease ended; counts nacks and expired leases.
  Returned& NoteReturn(Sequence sequence, Delivery& delivery, Instant at, LeaseEnd how);
  const Returned* FindReturned(Sequence sequence) const;  // null if it never came back

  using TakeLimits = ReadyQueue::TakeLimits;
  std::vector<Sequence> TakeReady(const TakeLimits& limits) { return ready_.Take(limits); }
  // The write of a message taken: starts its lease and names its generation.
  Generation StartLease(Sequence sequence, Instant now, Duration length, std::optional<StreamId> stream,
                        uint64_t response);

  IdState Classify(const AckId& id, Instant now);
  // Requires: live. An extension may shorten; the deadline may be `now` at least.
  void ExtendLease(Sequence sequence, Instant now, Instant deadline);
  void BeginAck(Sequence sequence, Instant now);
  // Its record as a dead letter is made; Finish() follows when the journal has it.
  void BeginDeadLetter(Sequence sequence);
  // Everything of its ordering key before it is acked, or about to be.
  bool InOrder(Sequence sequence) { return ready_.IsFirst(sequence, *Find(sequence)); }
  // Standard, out of order: kept until it is in order, and sent again if one before it is.
  void AckEarly(Sequence sequence, Instant now);
  // Finishes the message for good, from any state, and then those of its key
  // that were acked early and come next; names them all.
  void Finish(Sequence sequence, Generation generation, End end, std::vector<AckedDelivery>& finished);
  // Something was heard of the newest delivery: opens its stream's gate.
  void NoteReceipt(Delivery& delivery);

  // The journal's part. Messages whose next generation has to be committed
  // before they can be sent, at most `count`; they then wait for OnGenerations().
  std::vector<AckedDelivery> TakeAwaitingGeneration(size_t count);
  void OnGenerations(const std::vector<AckedDelivery>& committed);
  // Sends up to the raised bound; returns how many messages it set free.
  size_t OnBoundDurable(Sequence bound);

  // Exactly-once delivery is switched on or off (see value) while messages are
  // out; leases go on. On: nothing more is sent until the journal knows of it and
  // of what was sent so far, which is named. Off: only when the journal knows.
  std::vector<AckedDelivery> StartExactlyOnce();
  // For a record: the failures of messages whose newest delivery has failed.
  std::vector<AckedDelivery> NoteFailuresOfNewest();
  void StopExactlyOnce();
  // The messages that are not finished with, or about to be.
  std::vector<SequenceRange> Unacked();

  // A seek, also when it is replayed. Everything that is not in `unacked` is
  // finished with, what is in there and was finished comes back to life; returns
  // that and what has to be sent again with it. Requires: all of it is in the log.
  std::vector<Sequence> Seek(const std::vector<SequenceRange>& unacked, Instant now);
  bool Holds(Sequence sequence);  // unacked, or acked and kept for a seek
  // What lies below `before` is too old. `finished`: besides, as in Finish().
  // False if there was nothing.
  bool DropBefore(Sequence before, std::vector<AckedDelivery>& finished);
  std::optional<Sequence> Oldest();  // of what it holds
  void SetValue(pubsub::Subscription updated);

  // Replay. `Restore` puts every unacked message into its place after a crash,
  // or after a clean stop with these leases.
  void ReplayAck(const AckedDelivery& delivery);
  void ReplayGeneration(const AckedDelivery& delivery);
  void ReplayNack(const AckedDelivery& delivery);
  void ReplayUpdate(pubsub::Subscription updated);
  void ReplayEnd(const AckedDelivery& delivery);
  void ReplayFailures(const AckedDelivery& delivery);
  void Restore(Instant now, const std::vector<CleanStop::Lease>* clean);

  Delivery* Find(Sequence sequence) { return deliveries_.Find(sequence); }
  template <typename Visit>
  void ForEachUnacked(Visit visit) {  // (sequence, delivery), in sequence order
    deliveries_.ForEach(visit);
  }
  template <typename Visit>
  void ForEachLease(Instant now, Visit visit);  // (AckedDelivery, remaining), in sequence order
  void ReleaseAll();                            // lets go of every message

  bool Wants() const { return !pulls.empty() || streams.AnyWants(LeaseLimit()); }
  // The longest lease that may start now.
  Duration LeaseLimit() const { return exactly_once() ? ceiling_durable : Duration::max(); }
  std::optional<Instant> NextDeadline() const;
  void CloseStream(StreamId stream);

  bool exactly_once() const { return exactly_once_; }  // what holds now; value says what was asked for
  Duration ack_deadline() const { return std::chrono::seconds{value.ack_deadline_seconds}; }
  bool ordered() const { return value.enable_message_ordering; }
  size_t ready() const { return ready_.size(); }  // for whoever comes
  bool any_ready() const { return ready_.size() > 0 || ready_.any_held(); }
  bool awaits_generation() const { return !awaiting_generation_.empty(); }
  bool commit_under_way() const { return committing_ > 0 || bound.raising(); }
  const std::deque<Sequence>& awaiting_bound() const { return awaiting_bound_; }
  size_t unacked() const { return deliveries_.size(); }
  size_t leases() const { return leases_.size(); }
  size_t ack_intervals() const { return acked_.intervals(); }

 private:
  friend class CheckpointedSubscription;
  void JoinLine(Sequence sequence, Delivery& delivery, const pubsub::Message& message);
  void MakeReady(Sequence sequence, Delivery& delivery);
  void Reopen(Sequence sequence);
  void Sweep();
  bool ReleaseKept(Sequence before);
  void FinishFrom(Sequence sequence, Won won, End end, std::vector<AckedDelivery>& finished);
  std::optional<Sequence> FinishOne(Sequence sequence, Won won, End end);
  bool KeepsWhenFinished(Sequence sequence) const;
  Won WonBy(Sequence sequence);
  void FreeCredit(Delivery& delivery);
};

template <typename Visit>
void Subscription::ForEachLease(Instant now, Visit visit) {
  deliveries_.ForEach([&](Sequence sequence, Delivery& delivery) {
    if (delivery.state != Delivery::State::kLeased) return;
    const std::optional<Instant> deadline = leases_.DeadlineOf(sequence, now);
    if (deadline) visit(AckedDelivery{sequence, delivery.generation}, *deadline - now);
  });
}

}  // namespace hopgap::broker
