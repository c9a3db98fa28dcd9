#pragma once

#include <string>
#include <vector>

#include "google/pubsub/v1/pubsub.pb.h"
#include "pubsub/api.h"

// Our values as generated messages and back, through plain accessors only: the
// bridge over which the two codecs are compared, itself no codec.
namespace hopgap::tests {

namespace wire = google::pubsub::v1;

wire::PubsubMessage ToGenerated(const pubsub::Message& message);
wire::Topic ToGenerated(const pubsub::Topic& topic);
wire::Subscription ToGenerated(const pubsub::Subscription& subscription);
wire::PublishRequest ToGenerated(const pubsub::PublishRequest& request);
wire::PullRequest ToGenerated(const pubsub::PullRequest& request);
wire::AcknowledgeRequest ToGenerated(const pubsub::AcknowledgeRequest& request);
wire::ModifyAckDeadlineRequest ToGenerated(const pubsub::ModifyAckDeadlineRequest& request);
wire::StreamingPullRequest ToGenerated(const pubsub::StreamingPullRequest& request);
wire::StreamingPullResponse ToGenerated(const pubsub::StreamingPullResponse& response);
wire::PullResponse ToGenerated(const std::vector<pubsub::ReceivedMessage>& messages);
wire::PublishResponse ToGenerated(const std::vector<std::string>& message_ids);
inline wire::Topic ToGenerated(const pubsub::CreateTopicRequest& request) { return ToGenerated(request.topic); }
inline wire::Subscription ToGenerated(const pubsub::CreateSubscriptionRequest& request) {
  return ToGenerated(request.subscription);
}

wire::Snapshot ToGenerated(const pubsub::Snapshot& snapshot);
wire::CreateSnapshotRequest ToGenerated(const pubsub::CreateSnapshotRequest& request);
wire::SeekRequest ToGenerated(const pubsub::SeekRequest& request);
wire::UpdateTopicRequest ToGenerated(const pubsub::UpdateTopicRequest& request);
wire::UpdateSubscriptionRequest ToGenerated(const pubsub::UpdateSubscriptionRequest& request);
wire::UpdateSnapshotRequest ToGenerated(const pubsub::UpdateSnapshotRequest& request);

pubsub::Topic FromGenerated(const wire::Topic& topic);
pubsub::Subscription FromGenerated(const wire::Subscription& subscription);

}  // namespace hopgap::tests
