#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "pubsub/error_details.h"
#include "pubsub/message.h"
#include "pubsub/resources.h"

// What the calls of google.pubsub.v1 ask, as values; api.h has their wire form.
namespace hopgap::pubsub {

struct NameRequest {
  std::string name;
};                    // Get*, Delete*, Detach: field 1
struct ListRequest {  // field 1 is project or topic
  std::string parent;
  int32_t page_size = 0;
  std::string page_token;
};
struct PublishRequest {
  std::string topic;
  std::vector<Message> messages;
  size_t wire_size = 0;  // of the encoded request
};
struct PullRequest {
  std::string subscription;
  bool return_immediately = false;
  int32_t max_messages = 0;
};
struct AcknowledgeRequest {
  std::string subscription;
  std::vector<std::string> ack_ids;
  size_t wire_size = 0;
  size_t details_bytes_max = kDetailsBytesMax;  // of a failure, that the caller's trailers take
};
struct ModifyAckDeadlineRequest {
  std::string subscription;
  std::vector<std::string> ack_ids;
  int32_t ack_deadline_seconds = 0;
  size_t wire_size = 0;
  size_t details_bytes_max = kDetailsBytesMax;  // as above
};
struct StreamingPullRequest {
  std::string subscription;
  std::vector<std::string> ack_ids;
  std::vector<int32_t> modify_deadline_seconds;
  std::vector<std::string> modify_deadline_ack_ids;
  int32_t stream_ack_deadline_seconds = 0;
  std::string client_id;
  int64_t max_outstanding_messages = 0;
  int64_t max_outstanding_bytes = 0;
  int64_t protocol_version = 0;
};
struct CreateTopicRequest {
  Topic topic;
};
struct CreateSubscriptionRequest {
  Subscription subscription;
};

// The paths of a google.protobuf.FieldMask, in snake_case. The body holds
// whatever was sent; only what a path names counts (update_mask.h).
using UpdateMask = std::vector<std::string>;
struct UpdateTopicRequest {
  Topic topic;
  UpdateMask update_mask;
};
struct UpdateSubscriptionRequest {
  Subscription subscription;
  UpdateMask update_mask;
};
struct UpdateSnapshotRequest {
  Snapshot snapshot;
  UpdateMask update_mask;
};
struct CreateSnapshotRequest {
  std::string name;
  std::string subscription;
  Labels labels;
};
struct SeekRequest {
  std::string subscription;
  std::variant<std::monostate, WallTime, std::string> target;  // none, a time, or a snapshot's name
};

}  // namespace hopgap::pubsub
