#include <algorithm>

#include "base/text.h"
#include "broker/checkpoint.h"
#include "broker/checkpointed_subscription.h"
#include "pubsub/filter.h"
#include "pubsub/names.h"

namespace hopgap::broker {
namespace {

absl::Status Bad(std::string_view what, uint64_t id) {
  return absl::DataLossError(StrCat("checkpoint: ", what, " ", id, " does not fit what came before"));
}

}  // namespace

absl::StatusOr<LoggedMessage> Logged(pubsub::Message message, const Catalog& catalog, const Topic& topic,
                                     uint64_t arrival) {
  const std::optional<uint64_t> id = ParseNumber<uint64_t>(message.message_id());
  if (!id) return absl::DataLossError("journal: a message without a decimal message_id");
  LoggedMessage logged;
  logged.id = *id;
  logged.key = KeyOf(message);
  if (catalog.any_delays()) {
    logged.draw = DrawKeyFor(message.Attribute(pubsub::kDrawAttribute), topic.value.name, arrival);
  }
  logged.message = std::move(message);
  return logged;
}

Place PlaceOf(const StoredRecord& stored, const pubsub::Message& message) {
  Place place = stored.place;
  if (place.segment == 0) return place;
  place.offset += static_cast<uint32_t>(message.wire().view().data() - stored.bytes.view().data());
  return place;
}

absl::Status CheckpointLoader::Apply(const StoredRecord& stored, const FindBody& find) {
  if (complete_) return absl::DataLossError("checkpoint: it goes on after its end");
  absl::StatusOr<CheckpointRecord> record = DecodeCheckpointRecord(stored.bytes);
  if (!record.ok()) return record.status();
  struct Visitor {
    CheckpointLoader& loader;
    const StoredRecord& stored;
    const FindBody& find;
    absl::Status operator()(CheckpointBegan& r) const {
      loader.catalog_.SkipIncarnations(r.last_incarnation);
      return absl::OkStatus();
    }
    absl::Status operator()(TopicPart& r) const { return loader.Load(std::move(r)); }
    absl::Status operator()(SubscriptionPart& r) const { return loader.Load(std::move(r)); }
    absl::Status operator()(SnapshotPart& r) const { return loader.Load(std::move(r)); }
    absl::Status operator()(SequenceSet& r) const { return loader.Load(r); }
    absl::Status operator()(DeliveryStates& r) const { return loader.Load(r); }
    absl::Status operator()(BodiesStored& r) const { return loader.Load(r, find); }
    absl::Status operator()(BodiesCopied& r) const { return loader.Load(std::move(r), stored); }
    absl::Status operator()(CheckpointEnded&) const { return loader.Finish(); }
  };
  return std::visit(Visitor{*this, stored, find}, *record);
}

absl::Status CheckpointLoader::Load(TopicPart record) {
  const bool good = pubsub::ParseName(record.value.name, "topics").ok() && record.topic != 0;
  if (!good || catalog_.FindTopic(record.topic) != nullptr) return Bad("topic", record.topic);
  if (!record.deleted && catalog_.FindTopic(record.value.name) != nullptr) return Bad("topic", record.topic);
  absl::Status added = record.deleted ? catalog_.AddDeletedTopic(record.topic, std::move(record.value))
                                      : catalog_.AddTopic(record.topic, std::move(record.value));
  if (!added.ok()) return added;
  Topic* topic = catalog_.FindTopic(record.topic);
  topic->log.SkipTo(record.next);
  topic->arrivals = record.next;
  topic->kept_from = record.kept_from;
  if (!topic->keeps() && record.kept_from != record.next) return Bad("topic", record.topic);
  for (Sequence sequence = record.kept_from; sequence < record.next; ++sequence) topic->log.Expect(sequence);
  return absl::OkStatus();
}

absl::Status CheckpointLoader::Load(SubscriptionPart record) {
  Topic* topic = catalog_.FindTopic(record.topic);
  const bool good = pubsub::ParseName(record.value.name, "subscriptions").ok() && record.subscription != 0 &&
                    pubsub::Filter::Parse(record.value.filter).ok();
  if (!good || topic == nullptr || record.first > topic->log.next() ||
      catalog_.FindSubscription(record.value.name) != nullptr ||
      catalog_.FindSubscription(record.subscription) != nullptr) {
    return Bad("subscription", record.subscription);
  }
  return catalog_.AddSubscription(record.subscription, std::move(record.value), *topic, record.first, record.send_bound,
                                  record.lease_ceiling);
}

absl::Status CheckpointLoader::Load(SnapshotPart record) {
  Topic* topic = catalog_.FindTopic(record.topic);
  const bool good = pubsub::ParseName(record.value.name, "snapshots").ok() && record.snapshot != 0;
  if (!good || topic == nullptr || record.next > topic->log.next() ||
      catalog_.FindSnapshot(record.value.name) != nullptr || catalog_.FindSnapshot(record.snapshot) != nullptr) {
    return Bad("snapshot", record.snapshot);
  }
  return catalog_.LoadSnapshot(record.snapshot, std::move(record.value), *topic, record.next,
                               std::move(record.unacked));
}

absl::Status CheckpointLoader::Load(const SequenceSet& record) {
  Subscription* subscription = catalog_.FindSubscription(record.subscription);
  if (subscription == nullptr || subscription->value.detached || record.to > subscription->topic.log.next()) {
    return Bad("the messages of subscription", record.subscription);
  }
  if (record.which == SequenceSet::Which::kFinished) return LoadFinished(*subscription, record);
  for (const SequenceRange& range : record.ranges) {
    for (Sequence sequence = range.begin; sequence < range.end; ++sequence) {
      if (!CheckpointedSubscription::IsFinished(*subscription, sequence)) {
        return Bad("the finished messages of subscription", record.subscription);
      }
    }
    CheckpointedSubscription::AddTo(*subscription, record.which, range);
  }
  return absl::OkStatus();
}

// What is not finished is there.
absl::Status CheckpointLoader::LoadFinished(Subscription& subscription, const SequenceSet& record) {
  if (record.from == 0) CheckpointedSubscription::ForgetFinished(subscription);
  Sequence at = record.from;
  const auto expect_until = [&](Sequence end) {
    for (; at < end; ++at) {
      if (subscription.Find(at) != nullptr) return false;
      CheckpointedSubscription::Expect(subscription, at);
    }
    return true;
  };
  for (const SequenceRange& range : record.ranges) {
    if (!expect_until(range.begin)) return Bad("the finished messages of subscription", record.subscription);
    CheckpointedSubscription::AddTo(subscription, record.which, range);
    at = range.end;
  }
  if (!expect_until(record.to)) return Bad("the finished messages of subscription", record.subscription);
  return absl::OkStatus();
}

// What came and went between the checkpoint's beginning and a slice is not there.
absl::Status CheckpointLoader::Load(const DeliveryStates& record) {
  if (Subscription* subscription = catalog_.FindSubscription(record.subscription)) {
    CheckpointedSubscription::OnStates(*subscription, record);
  }
  return absl::OkStatus();
}

absl::Status CheckpointLoader::Load(const BodiesStored& record, const FindBody& find) {
  Topic* topic = catalog_.FindTopic(record.topic);
  if (topic == nullptr) return absl::OkStatus();
  for (const BodiesStored::Item& item : record.items) {
    if (topic->log.Find(item.sequence) == nullptr) continue;
    if (!find) return absl::DataLossError("checkpoint: its bodies lie in a journal that is not there");
    absl::StatusOr<pubsub::Bytes> wire = find(item.place, item.length);
    if (!wire.ok()) return wire.status();
    absl::StatusOr<pubsub::Message> message = pubsub::Message::Parse(*std::move(wire));
    if (!message.ok()) return absl::DataLossError(StrCat("checkpoint: a body: ", MessageOf(message.status())));
    absl::Status loaded = LoadBody(*topic, item.sequence, *std::move(message), item.place);
    if (!loaded.ok()) return loaded;
  }
  return absl::OkStatus();
}

absl::Status CheckpointLoader::Load(BodiesCopied record, const StoredRecord& stored) {
  Topic* topic = catalog_.FindTopic(record.topic);
  if (topic == nullptr) return absl::OkStatus();
  for (BodiesCopied::Item& item : record.items) {
    if (topic->log.Find(item.sequence) == nullptr) continue;
    const Place place = PlaceOf(stored, item.message);
    absl::Status loaded = LoadBody(*topic, item.sequence, std::move(item.message), place);
    if (!loaded.ok()) return loaded;
  }
  return absl::OkStatus();
}

absl::Status CheckpointLoader::LoadBody(Topic& topic, Sequence sequence, pubsub::Message message, const Place& place) {
  for (Subscription* subscription : topic.subscriptions) {
    CheckpointedSubscription::OnBody(*subscription, sequence, message);
  }
  absl::StatusOr<LoggedMessage> logged = Logged(std::move(message), catalog_, topic, sequence);
  if (!logged.ok()) return logged.status();
  logged->place = place;
  topic.log.Fill(sequence, *std::move(logged));
  return absl::OkStatus();
}

absl::Status CheckpointLoader::Finish() {
  for (Topic* topic : catalog_.Topics()) {
    absl::Status status;
    topic->log.VisitFrom(0, [&](Sequence sequence, const LoggedMessage& message) {
      if (message.message.wire_size() > 0) return true;
      status = absl::DataLossError(
          StrCat("checkpoint: the body of message ", sequence, " of topic ", topic->id, " is missing"));
      return false;
    });
    if (!status.ok()) return status;
  }
  complete_ = true;
  return absl::OkStatus();
}

}  // namespace hopgap::broker
