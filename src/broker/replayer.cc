// The state from the journal. Every record is one step that was decided before;
// what is not in it (standard leases, added delays) is forgotten.

#include <algorithm>

#include "base/text.h"
#include "broker/impl.h"
#include "pubsub/names.h"

namespace hopgap::broker {
namespace {

absl::Status Missing(std::string_view what, Incarnation id) {
  return absl::DataLossError(StrCat("journal: a record names ", what, " ", id, ", which is not there"));
}

absl::Status CannotBe(std::string_view what, Incarnation id, std::string_view verb) {
  return absl::DataLossError(StrCat("journal: ", what, " ", id, " cannot be ", verb, " as its record says"));
}

}  // namespace

absl::Status Replayer::Apply(const StoredRecord& stored, const FindBody& find) {
  const bool first = records_++ == 0;
  const RecordKind kind = KindOf(stored.bytes.view());
  if (kind == RecordKind::kOrdinary || kind == RecordKind::kPublished) return ApplyOrdinary(stored);
  VoidCleanStop();
  if (first && kind == RecordKind::kCheckpointBegan) {
    absl::StatusOr<CheckpointRecord> began = DecodeCheckpointRecord(stored.bytes);
    if (!began.ok()) return began.status();
    next_message_id_ = std::max(next_message_id_, std::get<CheckpointBegan>(*began).next_message_id);
    loader_.emplace(catalog_);
  } else if (kind == RecordKind::kCheckpointBegan && loader_) {
    return absl::DataLossError("journal: a checkpoint begins inside another");
  }
  if (!loader_) return absl::OkStatus();  // what it says is known already
  absl::Status loaded = loader_->Apply(stored, find);
  if (loader_->complete()) loader_.reset();
  return loaded;
}

absl::Status Replayer::ApplyOrdinary(const StoredRecord& stored) {
  absl::StatusOr<Record> record = DecodeRecord(stored.bytes);
  if (!record.ok()) return record.status();
  if (!std::holds_alternative<CleanStop>(*record)) VoidCleanStop();
  stored_ = &stored;
  return std::visit([this](auto& r) { return Apply(r); }, *record);
}

absl::Status Replayer::Done(Instant now) {
  if (loader_) return absl::DataLossError("journal: it ends inside the checkpoint that it begins with");
  const bool clean = clean_stop_ && !clean_stop_->more;
  for (Subscription* subscription : catalog_.Subscriptions()) {
    subscription->Restore(now, clean ? &clean_stop_->leases : nullptr);
  }
  clean_stop_.reset();
  return absl::OkStatus();
}

absl::StatusOr<Subscription*> Replayer::Find(Incarnation id) {
  Subscription* subscription = catalog_.FindSubscription(id);
  if (subscription == nullptr) return Missing("subscription", id);
  return subscription;
}

absl::Status Replayer::Apply(TopicCreated& record) {
  const bool good = pubsub::ParseName(record.value.name, "topics").ok() && record.topic != 0;
  if (!good || catalog_.FindTopic(record.value.name) != nullptr || catalog_.FindTopic(record.topic) != nullptr) {
    return absl::DataLossError(StrCat("journal: topic ", record.topic, " (", record.value.name, ") cannot be made"));
  }
  return catalog_.AddTopic(record.topic, std::move(record.value));
}

absl::Status Replayer::Apply(TopicDeleted& record) {
  Topic* topic = catalog_.FindTopic(record.topic);
  if (topic == nullptr || topic->deleted) return Missing("topic", record.topic);
  catalog_.DeleteTopic(*topic);
  return absl::OkStatus();
}

absl::Status Replayer::Apply(SubscriptionCreated& record) {
  Topic* topic = catalog_.FindTopic(record.topic);
  if (topic == nullptr) return Missing("topic", record.topic);
  const bool good = pubsub::ParseName(record.value.name, "subscriptions").ok() && record.subscription != 0 &&
                    pubsub::Filter::Parse(record.value.filter).ok();
  if (!good || catalog_.FindSubscription(record.value.name) != nullptr ||
      catalog_.FindSubscription(record.subscription) != nullptr || record.first != topic->log.next()) {
    return absl::DataLossError(
        StrCat("journal: subscription ", record.subscription, " (", record.value.name, ") cannot be made"));
  }
  return catalog_.AddSubscription(record.subscription, std::move(record.value), *topic, record.first, record.send_bound,
                                  record.lease_ceiling);
}

absl::Status Replayer::Apply(SubscriptionDeleted& record) {
  const absl::StatusOr<Subscription*> subscription = Find(record.subscription);
  if (!subscription.ok()) return subscription.status();
  catalog_.DeleteSubscription(**subscription);
  return absl::OkStatus();
}

absl::Status Replayer::Apply(Published& record) {
  Topic* topic = catalog_.FindTopic(record.topic);
  if (topic == nullptr) return Missing("topic", record.topic);
  if (record.first != topic->log.next()) {
    return absl::DataLossError(
        StrCat("journal: topic ", record.topic, " goes on at ", record.first, " instead of ", topic->log.next()));
  }
  for (pubsub::Message& message : record.messages) {
    const Place place = PlaceOf(*stored_, message);
    absl::StatusOr<LoggedMessage> logged = Logged(std::move(message), catalog_, *topic, topic->arrivals++);
    if (!logged.ok()) return logged.status();
    if (catalog_.planted() != Planted::kMessageIdsStartAgain) {
      next_message_id_ = std::max(next_message_id_, logged->id + 1);
    }
    logged->place = place;
    topic->Take(*std::move(logged));
  }
  if (record.dead_lettered_by == 0) return absl::OkStatus();
  const absl::StatusOr<Subscription*> source = Find(record.dead_lettered_by);
  if (!source.ok()) return source.status();
  for (const AckedDelivery& delivery : record.dead_lettered) (*source)->ReplayEnd(delivery);
  return absl::OkStatus();
}

absl::Status Replayer::Apply(Acked& record) {
  const absl::StatusOr<Subscription*> found = Find(record.subscription);
  if (!found.ok()) return found.status();
  Subscription* subscription = *found;
  for (const AckedDelivery& delivery : record.deliveries) subscription->ReplayAck(delivery);
  return absl::OkStatus();
}

absl::Status Replayer::Apply(Redelivered& record) {
  const absl::StatusOr<Subscription*> found = Find(record.subscription);
  if (!found.ok()) return found.status();
  Subscription* subscription = *found;
  for (const AckedDelivery& delivery : record.deliveries) subscription->ReplayGeneration(delivery);
  return absl::OkStatus();
}

absl::Status Replayer::Apply(SendBoundRaised& record) {
  const absl::StatusOr<Subscription*> found = Find(record.subscription);
  if (!found.ok()) return found.status();
  Subscription* subscription = *found;
  subscription->bound.OnDurable(record.bound);
  return absl::OkStatus();
}

absl::Status Replayer::Apply(LeaseCeilingRaised& record) {
  const absl::StatusOr<Subscription*> found = Find(record.subscription);
  if (!found.ok()) return found.status();
  Subscription* subscription = *found;
  subscription->ceiling = subscription->ceiling_durable = std::max(subscription->ceiling, record.ceiling);
  return absl::OkStatus();
}

absl::Status Replayer::Apply(Nacked& record) {
  const absl::StatusOr<Subscription*> found = Find(record.subscription);
  if (!found.ok()) return found.status();
  Subscription* subscription = *found;
  for (const AckedDelivery& delivery : record.deliveries) subscription->ReplayNack(delivery);
  return absl::OkStatus();
}

absl::Status Replayer::Apply(DeliveriesFailed& record) {
  const absl::StatusOr<Subscription*> found = Find(record.subscription);
  if (!found.ok()) return found.status();
  Subscription* subscription = *found;
  for (const AckedDelivery& failed : record.deliveries) subscription->ReplayFailures(failed);
  return absl::OkStatus();
}

absl::Status Replayer::Apply(Sought& record) {
  const absl::StatusOr<Subscription*> found = Find(record.subscription);
  if (!found.ok()) return found.status();
  Subscription* subscription = *found;
  bool good = record.next == subscription->topic.log.next();
  for (const SequenceRange& range : record.unacked) {
    for (Sequence sequence = range.begin; good && sequence < range.end; ++sequence) {
      good = subscription->topic.log.Find(sequence) != nullptr;
    }
  }
  if (!good) return CannotBe("subscription", record.subscription, "sought");
  if (catalog_.planted() != Planted::kSeekForgottenOnReplay) subscription->Seek(record.unacked, Instant{});
  return absl::OkStatus();
}

absl::Status Replayer::Apply(RetentionPassed& record) {
  if (Topic* topic = catalog_.FindTopic(record.owner)) {
    if (!topic->keeps() || record.before > topic->log.next()) return CannotBe("topic", record.owner, "made to forget");
    topic->DropBefore(record.before);
    return absl::OkStatus();
  }
  const absl::StatusOr<Subscription*> found = Find(record.owner);
  if (!found.ok()) return found.status();
  std::vector<AckedDelivery> finished;
  (*found)->DropBefore(record.before, finished);
  return absl::OkStatus();
}

absl::Status Replayer::Apply(LeaseLength& record) { return Find(record.subscription).status(); }

absl::Status Replayer::Apply(CleanStop& record) {
  if (!clean_stop_) clean_stop_.emplace();
  clean_stop_->leases.insert(clean_stop_->leases.end(), record.leases.begin(), record.leases.end());
  clean_stop_->more = record.more;
  return absl::OkStatus();
}

absl::Status Replayer::Apply(TopicUpdated& record) {
  Topic* topic = catalog_.FindTopic(record.topic);
  if (topic == nullptr || topic->deleted) return Missing("topic", record.topic);
  if (record.value.name != topic->value.name) return CannotBe("topic", record.topic, "updated");
  topic->SetValue(std::move(record.value));
  return absl::OkStatus();
}

absl::Status Replayer::Apply(SubscriptionUpdated& record) {
  const absl::StatusOr<Subscription*> found = Find(record.subscription);
  if (!found.ok()) return found.status();
  const pubsub::Subscription& now = (*found)->value;
  if (record.value.name != now.name || record.value.filter != now.filter || record.value.detached != now.detached) {
    return CannotBe("subscription", record.subscription, "updated");
  }
  (*found)->ReplayUpdate(std::move(record.value));
  return absl::OkStatus();
}

absl::Status Replayer::Apply(SubscriptionDetached& record) {
  const absl::StatusOr<Subscription*> found = Find(record.subscription);
  if (!found.ok()) return found.status();
  if ((*found)->value.detached || record.as == 0 || catalog_.FindSubscription(record.as) != nullptr) {
    return CannotBe("subscription", record.subscription, "detached");
  }
  catalog_.DetachSubscription(**found, record.as);
  return absl::OkStatus();
}

absl::Status Replayer::Apply(SnapshotCreated& record) {
  Topic* topic = catalog_.FindTopic(record.topic);
  if (topic == nullptr) return Missing("topic", record.topic);
  bool good = pubsub::ParseName(record.value.name, "snapshots").ok() && record.snapshot != 0 &&
              catalog_.FindSnapshot(record.value.name) == nullptr &&
              catalog_.FindSnapshot(record.snapshot) == nullptr && record.next == topic->log.next();
  for (const SequenceRange& range : record.unacked) {
    for (Sequence sequence = range.begin; good && sequence < range.end; ++sequence) {
      good = topic->log.Find(sequence) != nullptr;
    }
  }
  if (!good) return CannotBe("snapshot", record.snapshot, "made");
  return catalog_.AddSnapshot(record.snapshot, std::move(record.value), *topic, record.next, std::move(record.unacked));
}

absl::Status Replayer::Apply(SnapshotUpdated& record) {
  Snapshot* snapshot = catalog_.FindSnapshot(record.snapshot);
  if (snapshot == nullptr) return Missing("snapshot", record.snapshot);
  if (record.value.name != snapshot->value.name) return CannotBe("snapshot", record.snapshot, "updated");
  catalog_.SetSnapshot(*snapshot, std::move(record.value));
  return absl::OkStatus();
}

absl::Status Replayer::Apply(SnapshotDeleted& record) {
  Snapshot* snapshot = catalog_.FindSnapshot(record.snapshot);
  if (snapshot == nullptr) return Missing("snapshot", record.snapshot);
  catalog_.DeleteSnapshot(*snapshot);
  return absl::OkStatus();
}

}  // namespace hopgap::broker
