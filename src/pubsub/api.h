#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"
#include "pubsub/bytes.h"
#include "pubsub/message.h"
#include "pubsub/requests.h"
#include "pubsub/resources.h"

// The calls of google.pubsub.v1 as values, with their wire form both ways. Used
// by broker and client alike; proved equal to the generated code by a test.
namespace hopgap::pubsub {

// The calls that are served. Everything else answers UNIMPLEMENTED, by name.
enum class Method : uint8_t {
  kCreateTopic,
  kGetTopic,
  kListTopics,
  kListTopicSubscriptions,
  kDeleteTopic,
  kUpdateTopic,
  kListTopicSnapshots,
  kDetachSubscription,
  kPublish,
  kCreateSubscription,
  kGetSubscription,
  kListSubscriptions,
  kDeleteSubscription,
  kUpdateSubscription,
  kCreateSnapshot,
  kGetSnapshot,
  kListSnapshots,
  kUpdateSnapshot,
  kDeleteSnapshot,
  kSeek,
  kPull,
  kAcknowledge,
  kModifyAckDeadline,
  kStreamingPull,
};

// "/google.pubsub.v1.Publisher/Publish" and back; nullopt for what is not served.
std::string_view MethodPath(Method method);
std::optional<Method> MethodFromPath(std::string_view path);
// "IAMPolicy.GetIamPolicy is not supported yet" for the calls of the published service
// that are not served; "no such method: ..." for the rest. Requires: `path` is
// not served.
std::string UnimplementedText(std::string_view path);

// What a unary call carries; the alternative follows from the method (Get*,
// Delete* and Detach share NameRequest, the lists ListRequest).
using Request = std::variant<CreateTopicRequest, CreateSubscriptionRequest, NameRequest, ListRequest, PublishRequest,
                             PullRequest, AcknowledgeRequest, ModifyAckDeadlineRequest, UpdateTopicRequest,
                             UpdateSubscriptionRequest, UpdateSnapshotRequest, CreateSnapshotRequest, SeekRequest>;

// InvalidArgument for malformed bytes; Unimplemented, naming the field, when a
// known field asks for something that is not served. Unknown fields are
// ignored. Requires: method is not kStreamingPull.
absl::StatusOr<Request> DecodeRequest(Method method, Bytes wire);
absl::StatusOr<StreamingPullRequest> DecodeStreamingPullRequest(std::string_view wire);

struct ReceivedMessage {
  std::string ack_id;
  Message message;
  int32_t delivery_attempt = 0;  // 0 without a dead-letter policy
};
struct SubscriptionProperties {
  bool exactly_once_delivery_enabled = false;
  bool message_ordering_enabled = false;
};
struct Confirmation {  // acks and modacks sent on the stream
  std::vector<std::string> ack_ids, invalid_ack_ids, unordered_ack_ids, temporary_failed_ack_ids;
  bool empty() const {
    return ack_ids.empty() && invalid_ack_ids.empty() && unordered_ack_ids.empty() && temporary_failed_ack_ids.empty();
  }
};
struct StreamingPullResponse {
  std::vector<ReceivedMessage> received_messages;
  Confirmation acknowledge_confirmation;
  Confirmation modify_ack_deadline_confirmation;
  SubscriptionProperties properties;  // written also when both are false
  bool has_properties = true;         // false only when read so: not written then
};

// Encoders for both sides. Message bodies become slices of their own.
Slices Encode(const StreamingPullResponse& response);
Slices EncodePullResponse(const std::vector<ReceivedMessage>& messages);
Bytes EncodePublishResponse(const std::vector<std::string>& message_ids);
Bytes EncodeTopics(const std::vector<Topic>& topics, std::string_view next_page_token);
Bytes EncodeSubscriptions(const std::vector<Subscription>& subscriptions, std::string_view next_page_token);
Bytes EncodeSnapshots(const std::vector<Snapshot>& snapshots, std::string_view next_page_token);
Bytes EncodeNames(const std::vector<std::string>& names, std::string_view next_page_token);
Slices Encode(const PublishRequest& request);
Bytes Encode(const PullRequest& request);
Bytes Encode(const AcknowledgeRequest& request);
Bytes Encode(const ModifyAckDeadlineRequest& request);
Bytes Encode(const StreamingPullRequest& request);
Bytes Encode(const NameRequest& request);
Bytes Encode(const ListRequest& request);
Bytes Encode(const UpdateTopicRequest& request);
Bytes Encode(const UpdateSubscriptionRequest& request);
Bytes Encode(const UpdateSnapshotRequest& request);
Bytes Encode(const CreateSnapshotRequest& request);
Bytes Encode(const SeekRequest& request);

absl::StatusOr<StreamingPullResponse> DecodeStreamingPullResponse(Bytes wire);
absl::StatusOr<std::vector<ReceivedMessage>> DecodePullResponse(Bytes wire);
absl::StatusOr<std::vector<std::string>> DecodePublishResponse(std::string_view wire);

}  // namespace hopgap::pubsub
