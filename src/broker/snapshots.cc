// Snapshots: made, shown, changed, listed, deleted, expired.

#include "base/text.h"
#include "broker/admin_calls.h"
#include "broker/errors.h"
#include "broker/labels.h"
#include "broker/resource_checks.h"
#include "pubsub/limits.h"
#include "pubsub/names.h"
#include "pubsub/update_mask.h"

namespace hopgap::broker {
namespace {

using pubsub::Bytes;

absl::Status TooOld(Duration age) {
  return absl::FailedPreconditionError(
      StrCat("The snapshot would expire too soon: it lives for ", DurationText(pubsub::kSnapshotLifetime),
             " after its oldest unacknowledged message was published, which is ", DurationText(age),
             " ago, and has to last for ", DurationText(pubsub::kSnapshotLifetimeMin),
             ". Acknowledge that message, or seek past it, first."));
}

}  // namespace

absl::StatusOr<Snapshot*> Broker::Impl::Admin::SnapshotNamed(const std::string& name) {
  if (const auto parsed = pubsub::ParseName(name, "snapshots"); !parsed.ok()) return parsed.status();
  Snapshot* snapshot = impl_.catalog_.FindSnapshot(name);
  if (snapshot == nullptr) return ResourceNotFound(name);
  return snapshot;
}

void Broker::Impl::Admin::CreateSnapshot(pubsub::CreateSnapshotRequest request) {
  if (const auto parsed = pubsub::ParseName(request.name, "snapshots"); !parsed.ok()) return Answer(parsed.status());
  if (absl::Status status = CheckLabels(request.labels); !status.ok()) return Answer(std::move(status));
  const absl::StatusOr<Subscription*> found = impl_.AttachedNamed(request.subscription);
  if (!found.ok()) return Answer(found.status());
  Subscription& subscription = **found;
  Topic& topic = subscription.topic;
  if (topic.deleted) {
    return Answer(absl::FailedPreconditionError("The subscription's topic is deleted: there is nothing to snapshot."));
  }
  if (impl_.catalog_.FindSnapshot(request.name) != nullptr) return Answer(ResourceExists(request.name));

  std::vector<SequenceRange> unacked = subscription.Unacked();
  if (impl_.Has(Planted::kSnapshotForgetsOne) && !unacked.empty()) unacked.pop_back();
  const WallTime now = WallNow();
  const WallTime oldest =
      unacked.empty() ? now : topic.log.Find(unacked.front().begin)->message.publish_time().value_or(now);
  const WallTime expires = oldest + pubsub::kSnapshotLifetime;
  if (expires - now < pubsub::kSnapshotLifetimeMin) return Answer(TooOld(now - oldest));
  SnapshotCreated record{.snapshot = impl_.catalog_.NextIncarnation(),
                         .topic = topic.id,
                         .next = topic.log.next(),
                         .unacked = std::move(unacked),
                         .value = {.name = std::move(request.name),
                                   .topic = topic.value.name,
                                   .expire_time = expires,
                                   .labels = std::move(request.labels),
                                   .unknown = {}}};
  absl::Status added = impl_.catalog_.AddSnapshot(record.snapshot, record.value, topic, record.next, record.unacked);
  if (!added.ok()) return Answer(std::move(added));
  std::string answer = pubsub::Encode(record.value);
  Persist({std::move(record)}, std::move(answer));
}

void Broker::Impl::Admin::GetSnapshot(const std::string& name) {
  const absl::StatusOr<Snapshot*> snapshot = SnapshotNamed(name);
  if (!snapshot.ok()) return Answer(snapshot.status());
  Answer(Bytes(pubsub::Encode((*snapshot)->value)));
}

void Broker::Impl::Admin::UpdateSnapshot(const pubsub::UpdateSnapshotRequest& request) {
  const std::string& name = request.snapshot.name;
  if (const auto parsed = pubsub::ParseName(name, "snapshots"); !parsed.ok()) return Answer(parsed.status());
  Snapshot* snapshot = impl_.catalog_.FindSnapshot(name);
  pubsub::Snapshot value = snapshot == nullptr ? pubsub::Snapshot() : snapshot->value;
  if (absl::Status status = pubsub::ApplyUpdate(request, value); !status.ok()) return Answer(std::move(status));
  if (snapshot == nullptr) return Answer(ResourceNotFound(name));
  if (absl::Status status = CheckSnapshot(value, WallNow()); !status.ok()) return Answer(std::move(status));
  impl_.catalog_.SetSnapshot(*snapshot, value);
  std::string answer = pubsub::Encode(value);
  Persist({SnapshotUpdated{.snapshot = snapshot->id, .value = std::move(value)}}, std::move(answer));
}

void Broker::Impl::Admin::DeleteSnapshot(const std::string& name) {
  const absl::StatusOr<Snapshot*> snapshot = SnapshotNamed(name);
  if (!snapshot.ok()) return Answer(snapshot.status());
  const SnapshotDeleted record{.snapshot = (*snapshot)->id};
  impl_.catalog_.DeleteSnapshot(**snapshot);
  Persist({record}, "");
}

void Broker::Impl::Admin::ListSnapshots(const pubsub::ListRequest& request) {
  const absl::StatusOr<std::string_view> project = pubsub::ParseProject(request.parent);
  if (!project.ok()) return Answer(project.status());
  const absl::StatusOr<Page> page = impl_.catalog_.ListSnapshots(*project, request.page_size, request.page_token);
  if (!page.ok()) return Answer(page.status());
  std::vector<pubsub::Snapshot> snapshots;
  for (const std::string& name : page->names) snapshots.push_back(impl_.catalog_.FindSnapshot(name)->value);
  Answer(pubsub::EncodeSnapshots(snapshots, page->next_page_token));
}

void Broker::Impl::Admin::ListTopicSnapshots(const pubsub::ListRequest& request) {
  const absl::StatusOr<Topic*> topic = impl_.TopicNamed(request.parent);
  if (!topic.ok()) return Answer(topic.status());
  const absl::StatusOr<Page> page = impl_.catalog_.ListTopicSnapshots(**topic, request.page_size, request.page_token);
  if (!page.ok()) return Answer(page.status());
  Answer(pubsub::EncodeNames(page->names, page->next_page_token));
}

}  // namespace hopgap::broker
