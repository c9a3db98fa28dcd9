#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/draw.h"
#include "broker/broker.h"
#include "broker/snapshot.h"
#include "broker/subscription.h"
#include "broker/topic.h"

namespace hopgap::broker {

// One page of a list: names in order, and where the next page begins.
struct Page {
  std::vector<std::string> names;
  std::string next_page_token;
};

// The topics, subscriptions and snapshots by name and by incarnation. Owns them.
class Catalog {
 public:
  // Every place an event can name costs a number that is never given back.
  static constexpr size_t kPlacesMax = 50'000;

  // Both outlive the catalog.
  Catalog(const Broker::Options& options, trace::EventSink& sink) : options_(options), sink_(sink) {}

  Incarnation NextIncarnation() { return ++last_incarnation_; }

  // ResourceExhausted if there is no place for it. Requires: the name is valid and free.
  absl::Status AddTopic(Incarnation id, pubsub::Topic value);
  // Its subscriptions keep their backlog.
  void DeleteTopic(Topic& topic);
  Topic* FindTopic(std::string_view name);
  Topic* FindTopic(Incarnation id);

  std::vector<Topic*> Topics() const;  // in the order of incarnations, with those that live on without a name

  absl::Status AddSubscription(Incarnation id, pubsub::Subscription value, Topic& topic, Sequence first, Sequence bound,
                               Duration ceiling);
  void DeleteSubscription(Subscription& subscription);
  Subscription* FindSubscription(std::string_view name);
  Subscription* FindSubscription(Incarnation id);
  std::vector<Subscription*> Subscriptions() const;  // in the order of incarnations

  // Its backlog goes, its topic gives it nothing any more, and it goes on as
  // `as`: what waits for the old incarnation finds it gone.
  void DetachSubscription(Subscription& subscription, Incarnation as);

  // ResourceExhausted if there are Options::snapshots_max. Requires: the name is
  // valid and free; the topic keeps every message that is unacked.
  absl::Status AddSnapshot(Incarnation id, pubsub::Snapshot value, Topic& topic, Sequence next,
                           std::vector<SequenceRange> unacked);
  // Lets go of its messages.
  void DeleteSnapshot(Snapshot& snapshot);
  void SetSnapshot(Snapshot& snapshot, pubsub::Snapshot value);
  Snapshot* FindSnapshot(std::string_view name);
  Snapshot* FindSnapshot(Incarnation id);
  std::vector<Snapshot*> Snapshots() const;  // in the order of incarnations
  Snapshot* FirstSnapshotToExpire() const;   // null if there is none

  // Pages of names. InvalidArgument for a bad size or token; a token is good
  // for ever, whatever was deleted since, but only for the list that gave it.
  absl::StatusOr<Page> ListTopics(std::string_view project, int32_t page_size, std::string_view token) const;
  absl::StatusOr<Page> ListSubscriptions(std::string_view project, int32_t page_size, std::string_view token) const;
  absl::StatusOr<Page> ListTopicSubscriptions(const Topic& topic, int32_t page_size, std::string_view token) const;

  absl::StatusOr<Page> ListSnapshots(std::string_view project, int32_t page_size, std::string_view token) const;
  absl::StatusOr<Page> ListTopicSnapshots(const Topic& topic, int32_t page_size, std::string_view token) const;

  Planted planted() const { return options_.planted; }
  size_t retained_bytes() const { return retained_.memory; }
  const LiveBytes& live_bytes() const { return retained_.stored; }

  // Else nobody ever looks at a draw key.
  bool any_delays() const { return options_.every_project != nullptr || !options_.delays.empty(); }

  // Loading a checkpoint. `deleted`: by name.
  Incarnation last_incarnation() const { return last_incarnation_; }
  void SkipIncarnations(Incarnation last) { last_incarnation_ = std::max(last_incarnation_, last); }
  absl::Status AddDeletedTopic(Incarnation id, pubsub::Topic value);
  // The bodies of its messages come later.
  absl::Status LoadSnapshot(Incarnation id, pubsub::Snapshot value, Topic& topic, Sequence next,
                            std::vector<SequenceRange> unacked);

 private:
  using Names = std::map<std::string, Incarnation, std::less<>>;
  absl::StatusOr<uint16_t> PlaceFor(std::string_view project, std::string_view name);
  const Delays* DelaysFor(const std::string& project) const;
  void ForgetIfUnused(Topic& topic);
  void PutSnapshot(Incarnation id, pubsub::Snapshot value, Topic& topic, Sequence next,
                   std::vector<SequenceRange> unacked);
  void Release(Subscription& subscription);
  absl::StatusOr<Page> ListOf(const Topic& topic, const Names& names, int32_t page_size, std::string_view token) const;
  absl::StatusOr<Page> List(const Names& names, std::string_view prefix, int32_t page_size,
                            std::string_view token) const;
  std::string PageToken(std::string_view prefix, std::string_view last) const;
  absl::StatusOr<std::string> ParsePageToken(std::string_view prefix, std::string_view token) const;

  const Broker::Options& options_;
  trace::EventSink& sink_;
  Retained retained_;
  Incarnation last_incarnation_ = 0;
  Names topic_names_, subscription_names_, snapshot_names_;
  std::map<std::string, uint16_t, std::less<>> places_;  // by "project name": a name made again is the same place
  // Subscriptions are declared last: they go first, and let go of their topics' messages.
  absl::flat_hash_map<Incarnation, std::unique_ptr<Topic>> topics_;
  std::map<Incarnation, std::unique_ptr<Subscription>> subscriptions_;
  std::map<Incarnation, std::unique_ptr<Snapshot>> snapshots_;
  std::set<std::pair<WallTime, Incarnation>> snapshot_expiries_;
};

}  // namespace hopgap::broker
