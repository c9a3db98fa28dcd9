#include <algorithm>

#include "base/text.h"
#include "broker/checkpoint.h"
#include "broker/checkpointed_subscription.h"
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
    absl::Status operator()(TopicState& r) const { return loader.Load(std::move(r)); }
    absl::Status operator()(SubscriptionState& r) const { return loader.Load(std::move(r)); }
    absl::Status operator()(AckedRanges& r) const { return loader.Load(r); }
    absl::Status operator()(Winners& r) const { return loader.Load(r); }
    absl::Status operator()(DeliveryStates& r) const { return loader.Load(r); }
    absl::Status operator()(BodiesStored& r) const { return loader.Load(r, find); }
    absl::Status operator()(BodiesCopied& r) const { return loader.Load(std::move(r), stored); }
    absl::Status operator()(CheckpointEnded&) const { return loader.Finish(); }
  };
  return std::visit(Visitor{*this, stored, find}, *record);
}

absl::Status CheckpointLoader::Load(TopicState record) {
  const bool good = pubsub::ParseName(record.value.name, "topics").ok() && record.topic != 0;
  if (!good || catalog_.FindTopic(record.topic) != nullptr) return Bad("topic", record.topic);
  if (!record.deleted && catalog_.FindTopic(record.value.name) != nullptr) return Bad("topic", record.topic);
  absl::Status added = record.deleted ? catalog_.AddDeletedTopic(record.topic, std::move(record.value))
                                      : catalog_.AddTopic(record.topic, std::move(record.value));
  if (!added.ok()) return added;
  Topic* topic = catalog_.FindTopic(record.topic);
  topic->log.SkipTo(record.next);
  topic->arrivals = record.next;
  return absl::OkStatus();
}

absl::Status CheckpointLoader::Load(SubscriptionState record) {
  Topic* topic = catalog_.FindTopic(record.topic);
  const bool good = pubsub::ParseName(record.value.name, "subscriptions").ok() && record.subscription != 0;
  if (!good || topic == nullptr || record.first > topic->log.next() ||
      catalog_.FindSubscription(record.value.name) != nullptr ||
      catalog_.FindSubscription(record.subscription) != nullptr) {
    return Bad("subscription", record.subscription);
  }
  return catalog_.AddSubscription(record.subscription, std::move(record.value), *topic, record.first, record.send_bound,
                                  record.lease_ceiling);
}

absl::Status CheckpointLoader::Load(const AckedRanges& record) {
  Subscription* subscription = catalog_.FindSubscription(record.subscription);
  if (subscription == nullptr || record.from < subscription->first || record.to > subscription->topic.log.next()) {
    return Bad("acknowledged ranges of subscription", record.subscription);
  }
  Sequence at = record.from;
  const auto expect_until = [&](Sequence end) {
    for (; at < end; ++at) {
      if (subscription->Find(at) != nullptr) return false;
      CheckpointedSubscription::Expect(*subscription, at);
    }
    return true;
  };
  for (const auto& [start, end] : record.intervals) {
    if (!expect_until(start)) return Bad("acknowledged ranges of subscription", record.subscription);
    CheckpointedSubscription::AddAcked(*subscription, start, end);
    at = end;
  }
  if (!expect_until(record.to)) return Bad("acknowledged ranges of subscription", record.subscription);
  return absl::OkStatus();
}

// What came and went between the checkpoint's beginning and a slice is not there.
absl::Status CheckpointLoader::Load(const Winners& record) {
  if (Subscription* subscription = catalog_.FindSubscription(record.subscription)) {
    for (const AckedDelivery& winner : record.deliveries) CheckpointedSubscription::AddWinner(*subscription, winner);
  }
  return absl::OkStatus();
}

absl::Status CheckpointLoader::Load(const DeliveryStates& record) {
  if (Subscription* subscription = catalog_.FindSubscription(record.subscription)) {
    for (const DeliveryStates::Item& item : record.items) CheckpointedSubscription::OnState(*subscription, item);
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
