#pragma once

#include <string>
#include <utility>
#include <vector>

#include "broker/impl.h"

namespace hopgap::broker {

// One call about topics, subscriptions or snapshots, from its request to its
// answer. State changes when the request arrives; the answer to a change waits
// until the journal has it. Lives as long as the call into the broker.
class Broker::Impl::Admin {
 public:
  Admin(Impl& broker, Instant now, CallId call, Actions& out) : impl_(broker), now_(now), call_(call), out_(out) {}

  // Requires: `request` is the method's, and the method is one of these.
  void Run(pubsub::Method method, pubsub::Request request);

 private:
  // admin.cc
  void CreateTopic(pubsub::Topic topic);
  void GetTopic(const std::string& name);
  void DeleteTopic(const std::string& name);
  void ListTopics(const pubsub::ListRequest& request);
  void CreateSubscription(pubsub::Subscription value);
  void GetSubscription(const std::string& name);
  void DeleteSubscription(const std::string& name);
  void ListSubscriptions(const pubsub::ListRequest& request);
  void ListTopicSubscriptions(const pubsub::ListRequest& request);
  absl::Status CheckDeadLetterTopic(const pubsub::Subscription& value) const;

  // updates.cc
  void UpdateTopic(const pubsub::UpdateTopicRequest& request);
  void UpdateSubscription(const pubsub::UpdateSubscriptionRequest& request);
  void DetachSubscription(const std::string& name);
  std::vector<Record> SwitchToExactlyOnce(Subscription& subscription);
  static void OnUpdated(Impl& impl, Instant now, Subscription& subscription, Sequence bound, Actions& out);

  // snapshots.cc
  void CreateSnapshot(pubsub::CreateSnapshotRequest request);
  void GetSnapshot(const std::string& name);
  void DeleteSnapshot(const std::string& name);
  void UpdateSnapshot(const pubsub::UpdateSnapshotRequest& request);
  void ListSnapshots(const pubsub::ListRequest& request);
  void ListTopicSnapshots(const pubsub::ListRequest& request);
  absl::StatusOr<Snapshot*> SnapshotNamed(const std::string& name);

  void Answer(absl::Status status) { impl_.Reply(call_, std::move(status), out_); }
  void Answer(pubsub::Bytes payload) { impl_.Reply(call_, pubsub::Slices{std::move(payload)}, out_); }
  // ... once the records are durable.
  void Persist(std::vector<Record> records, std::string answer);
  std::string Shown(const Subscription& subscription) const;
  pubsub::Subscription ShownValue(const Subscription& subscription) const;
  WallTime WallNow() const { return impl_.options_.anchor.ToWall(now_); }
  // Everybody who waits for its messages is told why there will be none.
  void TurnAway(Subscription& subscription, const absl::Status& status);

  Impl& impl_;
  const Instant now_;
  const CallId call_;
  Actions& out_;
};

}  // namespace hopgap::broker
