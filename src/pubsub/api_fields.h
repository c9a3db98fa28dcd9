#pragma once

#include <cstdint>

// Field numbers of the calls' messages, shared by reader and writer.
namespace hopgap::pubsub::fields {

namespace name_request {
inline constexpr uint32_t kName = 1;
}
namespace list_request {
inline constexpr uint32_t kParent = 1, kPageSize = 2, kPageToken = 3;
}
namespace list_response {
inline constexpr uint32_t kItems = 1, kNextPageToken = 2;
}
namespace publish_request {
inline constexpr uint32_t kTopic = 1, kMessages = 2;
}
namespace publish_response {
inline constexpr uint32_t kMessageIds = 1;
}
namespace pull_request {
inline constexpr uint32_t kSubscription = 1, kReturnImmediately = 2, kMaxMessages = 3;
}
namespace pull_response {
inline constexpr uint32_t kReceivedMessages = 1;
}
namespace acknowledge_request {
inline constexpr uint32_t kSubscription = 1, kAckIds = 2;
}
namespace modify_ack_deadline_request {
// 2 was a single ack id, long ago.
inline constexpr uint32_t kSubscription = 1, kAckDeadlineSeconds = 3, kAckIds = 4;
}  // namespace modify_ack_deadline_request
// UpdateTopic, UpdateSubscription, UpdateSnapshot.
namespace update_request {
inline constexpr uint32_t kResource = 1, kUpdateMask = 2;
}
namespace field_mask {
inline constexpr uint32_t kPaths = 1;
}
namespace create_snapshot_request {
inline constexpr uint32_t kName = 1, kSubscription = 2, kLabels = 3;
}
namespace seek_request {
inline constexpr uint32_t kSubscription = 1, kTime = 2, kSnapshot = 3;
}
namespace streaming_pull_request {
inline constexpr uint32_t kSubscription = 1, kAckIds = 2, kModifyDeadlineSeconds = 3, kModifyDeadlineAckIds = 4,
                          kStreamAckDeadlineSeconds = 5, kClientId = 6, kMaxOutstandingMessages = 7,
                          kMaxOutstandingBytes = 8, kProtocolVersion = 10;
}
namespace streaming_pull_response {
inline constexpr uint32_t kReceivedMessages = 1, kModifyAckDeadlineConfirmation = 3, kSubscriptionProperties = 4,
                          kAcknowledgeConfirmation = 5;
}
namespace received_message {
inline constexpr uint32_t kAckId = 1, kMessage = 2, kDeliveryAttempt = 3;
}
namespace subscription_properties {
inline constexpr uint32_t kExactlyOnce = 1, kOrdering = 2;
}
// The two confirmations number the same lists differently.
namespace acknowledge_confirmation {
inline constexpr uint32_t kAckIds = 1, kInvalid = 2, kUnordered = 3, kFailed = 4;
}
namespace modify_ack_deadline_confirmation {
inline constexpr uint32_t kAckIds = 1, kInvalid = 2, kFailed = 3;
}

}  // namespace hopgap::pubsub::fields
