#include "broker/checkpoint.h"

#include <algorithm>

#include "broker/checkpointed_subscription.h"

namespace hopgap::broker {
namespace {

template <typename T>
void Put(CheckpointWriter::Records& out, T record) {
  out.push_back(EncodeCheckpointRecord(std::move(record)));
}

void PutAcked(const Subscription& subscription, Sequence end, CheckpointWriter::Records& out) {
  const auto intervals = CheckpointedSubscription::Acked(subscription);
  AckedRanges record{.subscription = subscription.id, .from = subscription.first, .to = end, .intervals = {}};
  for (const auto& interval : intervals) {
    if (record.intervals.size() == CheckpointWriter::kIntervalsPerRecord) {
      record.to = record.intervals.back().second;
      Put(out, record);
      record = AckedRanges{.subscription = subscription.id, .from = record.to, .to = end, .intervals = {}};
    }
    record.intervals.push_back(interval);
  }
  Put(out, std::move(record));
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
    Put(out,
        TopicState{.topic = topic->id, .next = topic->log.next(), .deleted = topic->deleted, .value = topic->value});
  }
  for (const Subscription* subscription : catalog_.Subscriptions()) {
    subscriptions_.push_back(subscription->id);
    Put(out, SubscriptionState{.subscription = subscription->id,
                               .topic = subscription->topic.id,
                               .first = subscription->first,
                               .send_bound = subscription->bound.requested(),
                               .lease_ceiling = std::max(subscription->ceiling, subscription->ceiling_floor),
                               .value = subscription->value});
    PutAcked(*subscription, subscription->topic.log.next(), out);
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
      case Part::kWinners: more = NextWinners(out); break;
    }
    if (more) continue;
    if (part_ == Part::kWinners) {
      Put(out, CheckpointEnded{.segments = {segments_.begin(), segments_.end()}});
      done_ = true;
      break;
    }
    part_ = part_ == Part::kBodies ? Part::kDeliveries : Part::kWinners;
    cursor_ = {};
  }
  return out;
}

// One slice of one topic's messages; false after the last topic. What came after
// Begin() stands in records of its own.
bool CheckpointWriter::NextBodies(Records& out) {
  if (cursor_.index == topics_.size()) return false;
  const auto [id, end] = topics_[cursor_.index];
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

bool CheckpointWriter::NextDeliveries(Records& out) {
  if (cursor_.index == subscriptions_.size()) return false;
  DeliveryStates record{.subscription = subscriptions_[cursor_.index], .items = {}};
  size_t seen = 0;
  bool more = false;
  if (Subscription* subscription = catalog_.FindSubscription(record.subscription)) {
    CheckpointedSubscription::VisitFrom(*subscription, cursor_.sequence, [&](const DeliveryStates::Item& item) {
      more = ++seen > messages_per_slice_;
      if (more) return false;
      cursor_.sequence = item.sequence + 1;
      if (item.generation > 1 || item.nacked > 0) record.items.push_back(item);
      return true;
    });
  }
  if (!more) cursor_ = {.index = cursor_.index + 1, .sequence = 0};
  if (!record.items.empty()) Put(out, std::move(record));
  return true;
}

bool CheckpointWriter::NextWinners(Records& out) {
  if (cursor_.index == subscriptions_.size()) return false;
  Winners record{.subscription = subscriptions_[cursor_.index], .deliveries = {}};
  bool more = false;
  if (const Subscription* subscription = catalog_.FindSubscription(record.subscription)) {
    const std::map<Sequence, Generation>& winners = CheckpointedSubscription::WinnersOf(*subscription);
    for (auto at = winners.lower_bound(cursor_.sequence); at != winners.end(); ++at) {
      more = record.deliveries.size() == messages_per_slice_;
      if (more) break;
      cursor_.sequence = at->first + 1;
      record.deliveries.push_back({at->first, at->second});
    }
  }
  if (!record.deliveries.empty()) Put(out, std::move(record));
  if (!more) PutWinnersUnderWay(subscriptions_[cursor_.index], out);
  if (!more) cursor_ = {.index = cursor_.index + 1, .sequence = 0};
  return true;
}

// Of acks that are still on their way, whose records stand before Begin().
void CheckpointWriter::PutWinnersUnderWay(Incarnation id, Records& out) {
  const Subscription* subscription = catalog_.FindSubscription(id);
  if (subscription == nullptr) return;
  Winners record{.subscription = id, .deliveries = {}};
  for (const auto& [sequence, generation] : CheckpointedSubscription::AcksUnderWay(*subscription)) {
    if (generation != 1) record.deliveries.push_back({sequence, generation});
  }
  if (!record.deliveries.empty()) Put(out, std::move(record));
}

}  // namespace hopgap::broker
