#include "broker/checkpointed_subscription.h"

#include <algorithm>

#include "broker/topic.h"

namespace hopgap::broker {
namespace {

using Which = SequenceSet::Which;

bool EndsIn(Which which, const UnderWay& end) {
  switch (which) {
    case Which::kFinished: return true;
    case Which::kEnded: return !end.acked;
    case Which::kKept: return end.kept;
  }
  return false;
}

void MergeNeighbours(std::vector<SequenceRange>& ranges) {
  size_t merged = 0;
  for (const SequenceRange& range : ranges) {
    if (merged > 0 && ranges[merged - 1].end == range.begin) {
      ranges[merged - 1].end = range.end;
    } else {
      ranges[merged++] = range;
    }
  }
  ranges.resize(merged);
}

}  // namespace

std::vector<SequenceRange> CheckpointedSubscription::SetOf(const Subscription& subscription, Which which) {
  const IntervalSet& finished = which == Which::kFinished ? subscription.acked_
                                : which == Which::kEnded  ? subscription.ended_
                                                          : subscription.kept_;
  std::vector<SequenceRange> all;
  all.reserve(finished.intervals() + subscription.under_way_.size());
  finished.ForEach([&](Sequence begin, Sequence end) { all.push_back({begin, end}); });
  const auto middle = static_cast<std::ptrdiff_t>(all.size());
  for (const auto& [sequence, end] : subscription.under_way_) {
    if (EndsIn(which, end)) all.push_back({sequence, sequence + 1});
  }
  std::inplace_merge(all.begin(), all.begin() + middle, all.end(),
                     [](const SequenceRange& a, const SequenceRange& b) { return a.begin < b.begin; });
  MergeNeighbours(all);
  return all;
}

DeliveryStates CheckpointedSubscription::StatesFrom(Subscription& subscription, Sequence from, Sequence end,
                                                    size_t count) {
  DeliveryStates record{.subscription = subscription.id, .from = from, .to = end, .items = {}};
  if (subscription.planted == Planted::kCheckpointForgetsGenerations) return record;
  size_t seen = 0;
  subscription.deliveries_.VisitFrom(from, [&](Sequence sequence, const Delivery& delivery) {
    if (sequence >= end) return false;
    if (seen++ == count) record.to = sequence;
    if (seen > count) return false;
    const auto under_way = subscription.under_way_.find(sequence);
    if (under_way != subscription.under_way_.end()) {
      if (under_way->second.generation > 1) record.items.push_back({sequence, under_way->second.generation, 0, 0, 0});
      return true;
    }
    const Returned* returned = delivery.returned ? subscription.FindReturned(sequence) : nullptr;
    const uint32_t failures = returned == nullptr ? 0 : returned->journaled;
    const bool known = delivery.journaled > 0 || delivery.nacked > 0 || failures > 0;
    const Generation failed = failures == 0 ? 0 : returned->failed;
    if (known) record.items.push_back({sequence, delivery.journaled, delivery.nacked, failures, failed});
    return true;
  });
  const auto middle = static_cast<std::ptrdiff_t>(record.items.size());
  size_t won = 0;
  for (auto at = subscription.winners_.lower_bound(from); at != subscription.winners_.end(); ++at) {
    if (at->first >= record.to) break;
    if (won++ == count) record.to = at->first;
    if (won > count) break;
    if (at->second.journaled > 1) record.items.push_back({at->first, at->second.journaled, 0, 0, 0});
  }
  std::inplace_merge(record.items.begin(), record.items.begin() + middle, record.items.end(),
                     [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  std::erase_if(record.items, [&](const DeliveryStates::Item& item) { return item.sequence >= record.to; });
  return record;
}

void CheckpointedSubscription::AddTo(Subscription& subscription, Which which, const SequenceRange& range) {
  switch (which) {
    case Which::kFinished: return subscription.acked_.Append(range.begin, range.end);
    case Which::kEnded: return subscription.ended_.Append(range.begin, range.end);
    case Which::kKept:
      subscription.kept_.Append(range.begin, range.end);
      for (Sequence sequence = range.begin; sequence < range.end; ++sequence) subscription.topic.log.Expect(sequence);
  }
}

void CheckpointedSubscription::Expect(Subscription& subscription, Sequence sequence) {
  subscription.deliveries_.Put(sequence, Delivery{});
  subscription.topic.log.Expect(sequence);
}

void CheckpointedSubscription::OnBody(Subscription& subscription, Sequence sequence, const pubsub::Message& message) {
  Delivery* delivery = subscription.Find(sequence);
  if (delivery != nullptr) delivery->bytes = static_cast<uint32_t>(message.wire_size());
}

// What the records since the checkpoint's beginning said of these is in it, and
// what they could not know, as it was older, too: so it stands in place of that.
void CheckpointedSubscription::OnStates(Subscription& subscription, const DeliveryStates& record) {
  subscription.deliveries_.VisitFrom(record.from, [&](Sequence sequence, Delivery& delivery) {
    if (sequence >= record.to) return false;
    delivery.generation = delivery.journaled = delivery.nacked = 0;
    if (delivery.returned) subscription.returned_.erase(sequence);
    delivery.returned = false;
    return true;
  });
  auto& winners = subscription.winners_;
  winners.erase(winners.lower_bound(record.from), winners.lower_bound(record.to));
  for (const DeliveryStates::Item& item : record.items) {
    if (Delivery* delivery = subscription.Find(item.sequence)) {
      delivery->generation = delivery->journaled = std::max(item.generation, item.nacked);
      delivery->nacked = item.nacked;
      if (item.failures == 0) continue;
      subscription.ReplayFailures({item.sequence, item.failures});
      subscription.returned_[item.sequence].failed = item.failed;
    } else if (item.generation > 1) {
      winners[item.sequence] = {.generation = item.generation, .journaled = item.generation};
    }
  }
}

}  // namespace hopgap::broker
