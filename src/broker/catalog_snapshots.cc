// The snapshots of the catalog.

#include <algorithm>

#include "base/check.h"
#include "broker/catalog.h"
#include "broker/errors.h"
#include "pubsub/names.h"

namespace hopgap::broker {

bool Snapshot::Wants(Sequence sequence) const {
  if (sequence >= next) return planted != Planted::kSnapshotForgetsLater;
  const auto after = std::upper_bound(unacked.begin(), unacked.end(), sequence,
                                      [](Sequence wanted, const SequenceRange& range) { return wanted < range.begin; });
  return after != unacked.begin() && sequence < std::prev(after)->end;
}

absl::Status Catalog::AddSnapshot(Incarnation id, pubsub::Snapshot value, Topic& topic, Sequence next,
                                  std::vector<SequenceRange> unacked) {
  HOPGAP_CHECK(!snapshot_names_.contains(value.name), "snapshot made twice");
  if (snapshots_.size() >= options_.snapshots_max) return LimitReached("snapshots", options_.snapshots_max);
  for (const SequenceRange& range : unacked) {
    for (Sequence sequence = range.begin; sequence < range.end; ++sequence) topic.log.Keep(sequence);
  }
  PutSnapshot(id, std::move(value), topic, next, std::move(unacked));
  return absl::OkStatus();
}

absl::Status Catalog::LoadSnapshot(Incarnation id, pubsub::Snapshot value, Topic& topic, Sequence next,
                                   std::vector<SequenceRange> unacked) {
  HOPGAP_CHECK(!snapshot_names_.contains(value.name), "snapshot made twice");
  if (snapshots_.size() >= options_.snapshots_max) return LimitReached("snapshots", options_.snapshots_max);
  const auto expect = [&](Sequence begin, Sequence end) {
    for (Sequence sequence = begin; sequence < end; ++sequence) topic.log.Expect(sequence);
  };
  for (const SequenceRange& range : unacked) expect(range.begin, range.end);
  expect(next, topic.log.next());
  PutSnapshot(id, std::move(value), topic, next, std::move(unacked));
  return absl::OkStatus();
}

void Catalog::PutSnapshot(Incarnation id, pubsub::Snapshot value, Topic& topic, Sequence next,
                          std::vector<SequenceRange> unacked) {
  last_incarnation_ = std::max(last_incarnation_, id);
  std::unique_ptr<Snapshot> snapshot(new Snapshot{id, {}, topic, next, std::move(unacked), options_.planted});
  snapshot_names_.emplace(value.name, id);
  SetSnapshot(*snapshot, std::move(value));
  topic.snapshots.push_back(snapshot.get());
  snapshots_.emplace(id, std::move(snapshot));
}

void Catalog::SetSnapshot(Snapshot& snapshot, pubsub::Snapshot value) {
  if (snapshot.value.expire_time) snapshot_expiries_.erase({*snapshot.value.expire_time, snapshot.id});
  snapshot.value = std::move(value);
  if (snapshot.value.expire_time) snapshot_expiries_.emplace(*snapshot.value.expire_time, snapshot.id);
}

void Catalog::DeleteSnapshot(Snapshot& snapshot) {
  Topic& topic = snapshot.topic;
  const auto release = [&](Sequence begin, Sequence end) {
    for (Sequence sequence = begin; sequence < end; ++sequence) topic.log.Release(sequence);
  };
  for (const SequenceRange& range : snapshot.unacked) release(range.begin, range.end);
  release(snapshot.next, topic.log.next());
  if (snapshot.value.expire_time) snapshot_expiries_.erase({*snapshot.value.expire_time, snapshot.id});
  snapshot_names_.erase(snapshot.value.name);
  std::erase(topic.snapshots, &snapshot);
  snapshots_.erase(Incarnation{snapshot.id});
  ForgetIfUnused(topic);
}

Snapshot* Catalog::FindSnapshot(std::string_view name) {
  const auto found = snapshot_names_.find(name);
  return found == snapshot_names_.end() ? nullptr : FindSnapshot(found->second);
}

Snapshot* Catalog::FindSnapshot(Incarnation id) {
  const auto found = snapshots_.find(id);
  return found == snapshots_.end() ? nullptr : found->second.get();
}

std::vector<Snapshot*> Catalog::Snapshots() const {
  std::vector<Snapshot*> all;
  for (const auto& [id, snapshot] : snapshots_) all.push_back(snapshot.get());
  return all;
}

Snapshot* Catalog::FirstSnapshotToExpire() const {
  return snapshot_expiries_.empty() ? nullptr : snapshots_.at(snapshot_expiries_.begin()->second).get();
}

}  // namespace hopgap::broker
