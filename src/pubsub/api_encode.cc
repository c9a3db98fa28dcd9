#include <string>
#include <utility>

#include "base/check.h"
#include "pubsub/api.h"
#include "pubsub/api_fields.h"
#include "pubsub/codec.h"
#include "pubsub/slice_writer.h"

namespace hopgap::pubsub {
namespace {

using codec::SizeInField;
using codec::WriteBool;
using codec::WriteSigned;
using codec::WriteText;
using codec::WriteTexts;

void WriteReceived(SliceWriter& out, uint32_t number, const ReceivedMessage& received) {
  using namespace fields::received_message;
  std::string attempt;
  WriteSigned(attempt, kDeliveryAttempt, received.delivery_attempt);
  const size_t ack_id_size = received.ack_id.empty() ? 0 : SizeInField(received.ack_id.size());
  const size_t body_size = received.message.wire_size();
  WireWriter writer(out.text());
  writer.Header(number, ack_id_size + SizeInField(body_size) + attempt.size());
  WriteText(out.text(), kAckId, received.ack_id);
  writer.Header(kMessage, body_size);
  received.message.VisitSlices([&](const Bytes& piece) { out.Append(piece); });
  out.text().append(attempt);
}

std::string EncodeAcknowledgeConfirmation(const Confirmation& confirmation) {
  using namespace fields::acknowledge_confirmation;
  std::string out;
  WriteTexts(out, kAckIds, confirmation.ack_ids);
  WriteTexts(out, kInvalid, confirmation.invalid_ack_ids);
  WriteTexts(out, kUnordered, confirmation.unordered_ack_ids);
  WriteTexts(out, kFailed, confirmation.temporary_failed_ack_ids);
  return out;
}

std::string EncodeModifyConfirmation(const Confirmation& confirmation) {
  using namespace fields::modify_ack_deadline_confirmation;
  HOPGAP_CHECK(confirmation.unordered_ack_ids.empty(), "a deadline change is never out of order");
  std::string out;
  WriteTexts(out, kAckIds, confirmation.ack_ids);
  WriteTexts(out, kInvalid, confirmation.invalid_ack_ids);
  WriteTexts(out, kFailed, confirmation.temporary_failed_ack_ids);
  return out;
}

std::string EncodeProperties(const SubscriptionProperties& properties) {
  using namespace fields::subscription_properties;
  std::string out;
  WriteBool(out, kExactlyOnce, properties.exactly_once_delivery_enabled);
  WriteBool(out, kOrdering, properties.message_ordering_enabled);
  return out;
}

Bytes EncodePage(const std::vector<std::string>& items, std::string_view next_page_token) {
  using namespace fields::list_response;
  std::string out;
  WriteTexts(out, kItems, items);
  WriteText(out, kNextPageToken, next_page_token);
  return Bytes(std::move(out));
}

}  // namespace

Slices Encode(const StreamingPullResponse& response) {
  using namespace fields::streaming_pull_response;
  SliceWriter out;
  for (const ReceivedMessage& received : response.received_messages) WriteReceived(out, kReceivedMessages, received);
  WireWriter writer(out.text());
  if (!response.modify_ack_deadline_confirmation.empty()) {
    writer.Text(kModifyAckDeadlineConfirmation, EncodeModifyConfirmation(response.modify_ack_deadline_confirmation));
  }
  // Written also when it is empty: clients take a missing one for "exactly-once
  // is off".
  if (response.has_properties) writer.Text(kSubscriptionProperties, EncodeProperties(response.properties));
  if (!response.acknowledge_confirmation.empty()) {
    writer.Text(kAcknowledgeConfirmation, EncodeAcknowledgeConfirmation(response.acknowledge_confirmation));
  }
  return out.Finish();
}

Slices EncodePullResponse(const std::vector<ReceivedMessage>& messages) {
  SliceWriter out;
  for (const ReceivedMessage& received : messages) {
    WriteReceived(out, fields::pull_response::kReceivedMessages, received);
  }
  return out.Finish();
}

Bytes EncodePublishResponse(const std::vector<std::string>& message_ids) {
  std::string out;
  WriteTexts(out, fields::publish_response::kMessageIds, message_ids);
  return Bytes(std::move(out));
}

Bytes EncodeTopics(const std::vector<Topic>& topics, std::string_view next_page_token) {
  std::vector<std::string> items;
  items.reserve(topics.size());
  for (const Topic& topic : topics) items.push_back(Encode(topic));
  return EncodePage(items, next_page_token);
}

Bytes EncodeSubscriptions(const std::vector<Subscription>& subscriptions, std::string_view next_page_token) {
  std::vector<std::string> items;
  items.reserve(subscriptions.size());
  for (const Subscription& subscription : subscriptions) items.push_back(EncodeForDisplay(subscription));
  return EncodePage(items, next_page_token);
}

Bytes EncodeSnapshots(const std::vector<Snapshot>& snapshots, std::string_view next_page_token) {
  std::vector<std::string> items;
  items.reserve(snapshots.size());
  for (const Snapshot& snapshot : snapshots) items.push_back(Encode(snapshot));
  return EncodePage(items, next_page_token);
}

Bytes EncodeNames(const std::vector<std::string>& names, std::string_view next_page_token) {
  return EncodePage(names, next_page_token);
}

Slices Encode(const PublishRequest& request) {
  using namespace fields::publish_request;
  SliceWriter out;
  WriteText(out.text(), kTopic, request.topic);
  for (const Message& message : request.messages) {
    WireWriter(out.text()).Header(kMessages, message.wire_size());
    message.VisitSlices([&](const Bytes& piece) { out.Append(piece); });
  }
  return out.Finish();
}

Bytes Encode(const PullRequest& request) {
  using namespace fields::pull_request;
  std::string out;
  WriteText(out, kSubscription, request.subscription);
  WriteBool(out, kReturnImmediately, request.return_immediately);
  WriteSigned(out, kMaxMessages, request.max_messages);
  return Bytes(std::move(out));
}

Bytes Encode(const AcknowledgeRequest& request) {
  using namespace fields::acknowledge_request;
  std::string out;
  WriteText(out, kSubscription, request.subscription);
  WriteTexts(out, kAckIds, request.ack_ids);
  return Bytes(std::move(out));
}

Bytes Encode(const ModifyAckDeadlineRequest& request) {
  using namespace fields::modify_ack_deadline_request;
  std::string out;
  WriteText(out, kSubscription, request.subscription);
  WriteSigned(out, kAckDeadlineSeconds, request.ack_deadline_seconds);
  WriteTexts(out, kAckIds, request.ack_ids);
  return Bytes(std::move(out));
}

Bytes Encode(const StreamingPullRequest& request) {
  using namespace fields::streaming_pull_request;
  std::string out;
  WriteText(out, kSubscription, request.subscription);
  WriteTexts(out, kAckIds, request.ack_ids);
  std::string packed;
  for (const int32_t seconds : request.modify_deadline_seconds) {
    WireWriter::AppendVarint(packed, static_cast<uint64_t>(int64_t{seconds}));
  }
  WriteText(out, kModifyDeadlineSeconds, packed);
  WriteTexts(out, kModifyDeadlineAckIds, request.modify_deadline_ack_ids);
  WriteSigned(out, kStreamAckDeadlineSeconds, request.stream_ack_deadline_seconds);
  WriteText(out, kClientId, request.client_id);
  WriteSigned(out, kMaxOutstandingMessages, request.max_outstanding_messages);
  WriteSigned(out, kMaxOutstandingBytes, request.max_outstanding_bytes);
  WriteSigned(out, kProtocolVersion, request.protocol_version);
  return Bytes(std::move(out));
}

Bytes Encode(const NameRequest& request) {
  std::string out;
  WriteText(out, fields::name_request::kName, request.name);
  return Bytes(std::move(out));
}

Bytes Encode(const ListRequest& request) {
  using namespace fields::list_request;
  std::string out;
  WriteText(out, kParent, request.parent);
  WriteSigned(out, kPageSize, request.page_size);
  WriteText(out, kPageToken, request.page_token);
  return Bytes(std::move(out));
}

namespace {

Bytes EncodeUpdate(std::string_view resource, const UpdateMask& mask) {
  using namespace fields::update_request;
  std::string out, paths;
  WriteTexts(paths, fields::field_mask::kPaths, mask);
  WireWriter writer(out);
  writer.Text(kResource, resource);
  writer.Text(kUpdateMask, paths);
  return Bytes(std::move(out));
}

}  // namespace

Bytes Encode(const UpdateTopicRequest& request) { return EncodeUpdate(Encode(request.topic), request.update_mask); }
Bytes Encode(const UpdateSubscriptionRequest& request) {
  return EncodeUpdate(Encode(request.subscription), request.update_mask);
}
Bytes Encode(const UpdateSnapshotRequest& request) {
  return EncodeUpdate(Encode(request.snapshot), request.update_mask);
}

Bytes Encode(const CreateSnapshotRequest& request) {
  using namespace fields::create_snapshot_request;
  std::string out;
  WriteText(out, kName, request.name);
  WriteText(out, kSubscription, request.subscription);
  codec::WriteMap(out, kLabels, request.labels);
  return Bytes(std::move(out));
}

Bytes Encode(const SeekRequest& request) {
  using namespace fields::seek_request;
  std::string out;
  WriteText(out, kSubscription, request.subscription);
  if (const auto* time = std::get_if<WallTime>(&request.target)) codec::WriteTimestamp(out, kTime, *time);
  // A oneof's member is set by being there, also when it is empty.
  if (const auto* name = std::get_if<std::string>(&request.target)) WireWriter(out).Text(kSnapshot, *name);
  return Bytes(std::move(out));
}

}  // namespace hopgap::pubsub
