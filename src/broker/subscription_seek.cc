// What a subscription finishes with in one go, and what comes back to life.

#include <algorithm>

#include "base/check.h"
#include "broker/catalog.h"
#include "broker/subscription.h"

namespace hopgap::broker {
namespace {

using State = Delivery::State;

// Its end is in the journal already, before whatever comes now.
bool Ends(State state) { return state == State::kAckPending || state == State::kDeadLettering; }

bool Contains(const std::vector<SequenceRange>& ranges, Sequence sequence) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), sequence,
                                      [](Sequence wanted, const SequenceRange& range) { return wanted < range.begin; });
  return after != ranges.begin() && sequence < std::prev(after)->end;
}

}  // namespace

bool Subscription::Holds(Sequence sequence) {
  const Delivery* delivery = Find(sequence);
  if (delivery != nullptr && !Ends(delivery->state)) return true;
  if (planted == Planted::kSeekForgetsKept) return false;
  return kept_.Contains(sequence) || (delivery != nullptr && KeepsWhenFinished(sequence));
}

std::vector<Sequence> Subscription::Seek(const std::vector<SequenceRange>& unacked, Instant now) {
  std::vector<std::pair<Sequence, End>> finished;
  std::vector<Sequence> revoked;
  deliveries_.ForEach([&](Sequence sequence, Delivery& delivery) {
    const bool ending = Ends(delivery.state);
    if (planted == Planted::kSeekLeavesLeased && delivery.state == State::kLeased) return;
    if (ending || !Contains(unacked, sequence)) {
      finished.emplace_back(sequence, delivery.state == State::kAckPending ? End::kAcked : End::kEnded);
    } else if (delivery.line != nullptr && (delivery.state == State::kLeased || delivery.state == State::kAckedEarly)) {
      revoked.push_back(sequence);
    }
  });
  // What comes back may come before what is out, so the whole key starts again.
  for (Sequence sequence : revoked) {
    Delivery& delivery = *Find(sequence);
    EndLease(sequence);
    NoteReturn(sequence, delivery, now, LeaseEnd::kSought);
    ready_.TakeBack(sequence, delivery);
  }
  for (const auto& [sequence, end] : finished) FinishOne(sequence, WonBy(sequence), end);
  Sweep();
  std::vector<Sequence> back = std::move(revoked);
  for (const SequenceRange& range : unacked) {
    for (Sequence sequence = range.begin; sequence < range.end; ++sequence) {
      if (Find(sequence) != nullptr) continue;
      Reopen(sequence);
      back.push_back(sequence);
    }
  }
  std::sort(back.begin(), back.end());
  return back;
}

// Its old ids are void: unless it was never sent, and never can have been, its
// next delivery is a new generation, also after a crash.
void Subscription::Reopen(Sequence sequence) {
  const auto winner = winners_.find(sequence);
  Won won = winner == winners_.end() ? Won{} : winner->second;
  won.journaled = std::max<Generation>(won.journaled, 1);
  // By what was asked for, as a replay knows that only.
  if (value.enable_exactly_once_delivery && sequence >= bound.requested()) won = {.generation = 0, .journaled = 0};
  if (planted == Planted::kSoughtGenerationForgotten) won = {.generation = 0, .journaled = 0};
  winners_.erase(sequence);
  acked_.Erase(sequence);
  ended_.Erase(sequence);
  if (!kept_.Erase(sequence)) topic.log.Keep(sequence);
  const pubsub::Message& message = topic.log.Find(sequence)->message;
  Delivery& delivery = deliveries_.Put(sequence, Delivery{.generation = std::max(won.generation, won.journaled),
                                                          .journaled = won.journaled,
                                                          .nacked = won.journaled,
                                                          .bytes = static_cast<uint32_t>(message.wire_size())});
  JoinLine(sequence, delivery, message);
}

// Lists that skip what is finished must not find it alive again.
void Subscription::Sweep() {
  ready_.Sweep();
  const auto is = [this](Sequence sequence, State state) {
    const Delivery* delivery = Find(sequence);
    return delivery != nullptr && delivery->state == state;
  };
  std::erase_if(delayed_, [&](const auto& entry) { return !is(entry.second, State::kDelayed); });
  std::make_heap(delayed_.begin(), delayed_.end(), std::greater<>());
  std::erase_if(awaiting_bound_, [&](Sequence sequence) { return !is(sequence, State::kAwaitsBound); });
  std::erase_if(awaiting_generation_, [&](Sequence sequence) { return !is(sequence, State::kAwaitsGeneration); });
}

bool Subscription::DropBefore(Sequence before, std::vector<AckedDelivery>& finished) {
  std::vector<Sequence> old;
  deliveries_.VisitFrom(0, [&](Sequence sequence, Delivery& delivery) {
    if (sequence >= before) return false;
    if (!Ends(delivery.state)) {
      old.push_back(sequence);
    } else if (const auto end = under_way_.find(sequence); end != under_way_.end()) {
      end->second.kept = false;
    }
    return true;
  });
  for (Sequence sequence : old) {
    if (Find(sequence) == nullptr) continue;  // went along with one before it
    std::vector<AckedDelivery> ended;
    FinishFrom(sequence, WonBy(sequence), End::kTooOld, ended);
    finished.insert(finished.end(), ended.begin() + 1, ended.end());
  }
  return ReleaseKept(before) || !old.empty();
}

bool Subscription::ReleaseKept(Sequence before) {
  std::vector<Sequence> released;
  kept_.ForEach([&](Sequence begin, Sequence end) {
    for (Sequence sequence = begin; sequence < std::min(end, before); ++sequence) released.push_back(sequence);
  });
  for (Sequence sequence : released) {
    kept_.Erase(sequence);
    topic.log.Release(sequence);
  }
  return !released.empty();
}

std::optional<Sequence> Subscription::Oldest() {
  std::optional<Sequence> oldest;
  deliveries_.VisitFrom(0, [&](Sequence sequence, Delivery&) {
    oldest = sequence;
    return false;
  });
  if (const std::optional<Sequence> kept = kept_.First()) oldest = std::min(oldest.value_or(*kept), *kept);
  return oldest;
}

}  // namespace hopgap::broker
