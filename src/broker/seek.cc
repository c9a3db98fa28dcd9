// Seek: the ack state of a subscription as it was at a time, or in a snapshot.

#include <algorithm>

#include "base/text.h"
#include "broker/chores.h"
#include "broker/dead_letters.h"
#include "broker/errors.h"
#include "pubsub/names.h"

namespace hopgap::broker {
namespace {

// What is unacked afterwards: of the messages that the subscription has, its
// topic keeps or the snapshot wants, never one that its filter does not match.
std::vector<SequenceRange> SeekTarget(Subscription& subscription, const WallTime* time, const Snapshot* snapshot) {
  std::vector<SequenceRange> unacked;
  Topic& topic = subscription.topic;
  topic.log.VisitFrom(0, [&](Sequence sequence, const LoggedMessage& message) {
    const bool wanted =
        snapshot != nullptr ? snapshot->Wants(sequence) : message.message.publish_time().value_or(WallTime{}) >= *time;
    if (!wanted) return true;
    const bool there = snapshot != nullptr || subscription.Holds(sequence) || topic.Keeps(sequence);
    if (!there || !subscription.filter.Matches(message.message)) return true;
    if (!unacked.empty() && unacked.back().end == sequence) {
      ++unacked.back().end;
    } else {
      unacked.push_back({sequence, sequence + 1});
    }
    return true;
  });
  return unacked;
}

}  // namespace

void Broker::Impl::Seek(Instant now, CallId call, const pubsub::SeekRequest& request, Actions& out) {
  const absl::StatusOr<Subscription*> found = AttachedNamed(request.subscription);
  if (!found.ok()) return Reply(call, found.status(), out);
  Subscription& subscription = **found;
  const WallTime* time = std::get_if<WallTime>(&request.target);
  const std::string* name = std::get_if<std::string>(&request.target);
  if (time == nullptr && name == nullptr) {
    return Reply(call, absl::InvalidArgumentError("A seek needs a target: set either time or snapshot."), out);
  }
  const Snapshot* snapshot = nullptr;
  if (name != nullptr) {
    if (const auto parsed = pubsub::ParseName(*name, "snapshots"); !parsed.ok()) {
      return Reply(call, parsed.status(), out);
    }
    snapshot = catalog_.FindSnapshot(*name);
    if (snapshot == nullptr) return Reply(call, ResourceNotFound(*name), out);
    if (&snapshot->topic != &subscription.topic) {
      return Reply(call,
                   absl::FailedPreconditionError(StrCat("The snapshot ", *name, " is of the topic ",
                                                        snapshot->value.topic, ", not of the subscription's.")),
                   out);
    }
  }
  Advance(now, subscription);
  // What it claimed leaves first: nothing is forwarded that the seek finishes with.
  if (!subscription.dead_letters.empty()) DeadLetters(*this).Forward(now, subscription, out);
  Sought record{.subscription = subscription.id,
                .next = subscription.topic.log.next(),
                .unacked = SeekTarget(subscription, time, snapshot)};
  // Linearizable: it holds from here on. What comes back goes to nobody before
  // the journal has what makes its old ids void (exactly-once).
  for (Sequence sequence : subscription.Seek(record.unacked, now)) {
    if (sequence >= subscription.topic.committed) continue;  // its publish is on its way to the journal
    Requeue(now, subscription, sequence, *subscription.Find(sequence), now);
  }
  Chores(*this).LookSoon(subscription, now);
  if (Has(Planted::kSeekAnsweredBeforeCommit)) Reply(call, pubsub::Slices{}, out);
  commits_.Persist(
      {std::move(record)}, [this, call](Instant, Actions& then) { Reply(call, pubsub::Slices{}, then); }, out);
  Dispatch(now, subscription, out);
}

}  // namespace hopgap::broker
