#include "broker/checkpoint.h"

#include <algorithm>

#include "broker/checkpointed_subscription.h"

namespace hopgap::broker {
namespace {

template <typename T>
void Put(CheckpointWriter::Records& out, T record) {
  out.push_back(EncodeCheckpointRecord(std::move(record)));
}

void PutSet(const Subscription& subscription, SequenceSet::Which which, CheckpointWriter::Records& out) {
  const std::vector<SequenceRange> ranges = CheckpointedSubscription::SetOf(subscription, which);
  if (ranges.empty() && which != SequenceSet::Which::kFinished) return;
  SequenceSet record{
      .subscription = subscription.id, .which = which, .from = 0, .to = subscription.topic.log.next(), .ranges = {}};
  for (const SequenceRange& range : ranges) {
    if (record.ranges.size() == CheckpointWriter::kRangesPerRecord) {
      SequenceSet part = record;
      part.to = record.from = record.ranges.back().end;
      record.ranges.clear();
      Put(out, std::move(part));
    }
    record.ranges.push_back(range);
  }
  Put(out, std::move(record));
}

void PutTopic(const Topic& topic, CheckpointWriter::Records& out) {
  Put(out, TopicPart{.topic = topic.id,
                     .next = topic.log.next(),
                     .deleted = topic.deleted,
                     .kept_from = topic.keeps() ? topic.kept_from : topic.log.next(),
                     .value = topic.value});
}

void PutSubscription(const Subscription& subscription, CheckpointWriter::Records& out) {
  const bool forgets = subscription.planted == Planted::kCheckpointForgetsBound;
  Put(out, SubscriptionPart{.subscription = subscription.id,
                            .topic = subscription.topic.id,
                            .first = subscription.first,
                            .send_bound = forgets ? subscription.first : subscription.bound.requested(),
                            .lease_ceiling = std::max(subscription.ceiling, subscription.ceiling_floor),
                            .value = subscription.value});
  if (subscription.value.detached) return;  // it has no messages, whatever its topic gets
  using Which = SequenceSet::Which;
  for (const Which which : {Which::kFinished, Which::kEnded, Which::kKept}) PutSet(subscription, which, out);
}

}  // namespace

CheckpointWriter::CheckpointWriter(Catalog& catalog, uint64_t next_message_id, CheckpointPlan plan,
                                   size_t messages_per_slice)
    : catalog_(catalog),
      next_message_id_(next_message_id),
      plan_(std::move(plan)),
      messages_per_slice_(messages_per_slice) {}

CheckpointWriter::Records CheckpointWriter::Begin() {
  Records out;
  Put(out, CheckpointBegan{.last_incarnation = catalog_.last_incarnation(), .next_message_id = next_message_id_});
  for (const Topic* topic : catalog_.Topics()) {
    topics_.emplace_back(topic->id, topic->log.next());
    PutTopic(*topic, out);
  }
  for (const Subscription* subscription : catalog_.Subscriptions()) {
    subscriptions_.emplace_back(subscription->id, subscription->topic.log.next());
    PutSubscription(*subscription, out);
  }
  for (const Snapshot* snapshot : catalog_.Snapshots()) {
    if (snapshot->planted == Planted::kCheckpointForgetsSnapshots) continue;
    Put(out, SnapshotPart{.snapshot = snapshot->id,
                          .topic = snapshot->topic.id,
                          .next = snapshot->next,
                          .unacked = snapshot->unacked,
                          .value = snapshot->value});
  }
  return out;
}

CheckpointWriter::Records CheckpointWriter::Next() {
  Records out;
  while (out.empty()) {
    bool more = false;
    switch (part_) {
      case Part::kBodies: more = NextBodies(out); break;
      case Part::kDeliveries: more = NextDeliveries(out); break;
    }
    if (more) continue;
    if (part_ == Part::kDeliveries) {
      Put(out, CheckpointEnded{.segments = {segments_.begin(), segments_.end()}});
      done_ = true;
      break;
    }
    part_ = Part::kDeliveries;
    cursor_ = {};
  }
  return out;
}

// One slice of one topic's messages; false after the last topic. What came after
// Begin() stands in records of its own.
bool CheckpointWriter::NextBodies(Records& out) {
  if (cursor_.index == topics_.size()) return false;
  const Incarnation id = topics_[cursor_.index].first;
  const Sequence end = topics_[cursor_.index].second;
  BodiesStored stored{.topic = id, .items = {}};
  BodiesCopied copied{.topic = id, .items = {}};
  size_t copied_bytes = 0;
  bool more = false;
  if (Topic* topic = catalog_.FindTopic(id)) {
    topic->log.VisitFrom(cursor_.sequence, [&](Sequence sequence, const LoggedMessage& message) {
      if (sequence >= end) return false;
      more = stored.items.size() + copied.items.size() >= messages_per_slice_ || copied_bytes >= kCopiedBytesPerSlice;
      if (more) return false;
      cursor_.sequence = sequence + 1;
      const uint64_t segment = message.place.segment;
      if (segment == 0 || std::binary_search(plan_.copy_forward.begin(), plan_.copy_forward.end(), segment)) {
        copied.items.push_back({sequence, message.message});
        copied_bytes += message.message.wire_size();
      } else {
        stored.items.push_back({sequence, message.place, static_cast<uint32_t>(message.message.wire_size())});
        segments_.insert(segment);
      }
      return true;
    });
  }
  if (!more) cursor_ = {.index = cursor_.index + 1, .sequence = 0};
  if (!stored.items.empty()) Put(out, std::move(stored));
  if (!copied.items.empty()) Put(out, std::move(copied));
  return true;
}

// One slice of one subscription's messages, finished or not, in one go: between two
// looks a seek may make the one of the other.
bool CheckpointWriter::NextDeliveries(Records& out) {
  if (cursor_.index == subscriptions_.size()) return false;
  const auto [id, end] = subscriptions_[cursor_.index];
  Subscription* subscription = catalog_.FindSubscription(id);
  if (subscription == nullptr || cursor_.sequence >= end || subscription->value.detached) {
    cursor_ = {.index = cursor_.index + 1, .sequence = 0};
    return true;
  }
  DeliveryStates record =
      CheckpointedSubscription::StatesFrom(*subscription, cursor_.sequence, end, messages_per_slice_);
  cursor_.sequence = record.to;
  if (record.from < record.to) Put(out, std::move(record));
  return true;
}

}  // namespace hopgap::broker
