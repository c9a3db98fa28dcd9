#include <string>
#include <utility>

#include "pubsub/api.h"
#include "pubsub/api_fields.h"
#include "pubsub/codec.h"

// The client's half: what a server, ours or another, answers.
namespace hopgap::pubsub {
namespace {

using codec::AddText;
using codec::AsBytes;
using codec::AsVarint;
using codec::ForEachField;
using codec::ReadText;
using codec::TagOf;

absl::Status AddReceived(const Bytes& wire, std::string_view part, std::vector<ReceivedMessage>& out) {
  using namespace fields::received_message;
  constexpr std::string_view kType = "ReceivedMessage";
  ReceivedMessage& received = out.emplace_back();
  return ForEachField(kType, part, [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kAckId): return ReadText(kType, field, received.ack_id);
      case AsBytes(kMessage): {
        absl::StatusOr<Message> message = Message::Parse(wire.Slice(field.bytes));
        if (message.ok()) received.message = *std::move(message);
        return message.status();
      }
      case AsVarint(kDeliveryAttempt): received.delivery_attempt = field.AsInt32(); break;
    }
    return absl::OkStatus();
  });
}

absl::Status ReadAcknowledgeConfirmation(std::string_view wire, Confirmation& out) {
  using namespace fields::acknowledge_confirmation;
  constexpr std::string_view kType = "AcknowledgeConfirmation";
  return ForEachField(kType, wire, [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kAckIds): return AddText(kType, field, out.ack_ids);
      case AsBytes(kInvalid): return AddText(kType, field, out.invalid_ack_ids);
      case AsBytes(kUnordered): return AddText(kType, field, out.unordered_ack_ids);
      case AsBytes(kFailed): return AddText(kType, field, out.temporary_failed_ack_ids);
    }
    return absl::OkStatus();
  });
}

absl::Status ReadModifyConfirmation(std::string_view wire, Confirmation& out) {
  using namespace fields::modify_ack_deadline_confirmation;
  constexpr std::string_view kType = "ModifyAckDeadlineConfirmation";
  return ForEachField(kType, wire, [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kAckIds): return AddText(kType, field, out.ack_ids);
      case AsBytes(kInvalid): return AddText(kType, field, out.invalid_ack_ids);
      case AsBytes(kFailed): return AddText(kType, field, out.temporary_failed_ack_ids);
    }
    return absl::OkStatus();
  });
}

absl::Status ReadProperties(std::string_view wire, SubscriptionProperties& out) {
  using namespace fields::subscription_properties;
  return ForEachField("SubscriptionProperties", wire, [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsVarint(kExactlyOnce): out.exactly_once_delivery_enabled = field.AsBool(); break;
      case AsVarint(kOrdering): out.message_ordering_enabled = field.AsBool(); break;
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<StreamingPullResponse> DecodeStreamingPullResponse(Bytes wire) {
  using namespace fields::streaming_pull_response;
  StreamingPullResponse out;
  out.has_properties = false;
  absl::Status status = ForEachField("StreamingPullResponse", wire.view(), [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kReceivedMessages): return AddReceived(wire, field.bytes, out.received_messages);
      case AsBytes(kModifyAckDeadlineConfirmation):
        return ReadModifyConfirmation(field.bytes, out.modify_ack_deadline_confirmation);
      case AsBytes(kSubscriptionProperties):
        out.has_properties = true;
        return ReadProperties(field.bytes, out.properties);
      case AsBytes(kAcknowledgeConfirmation):
        return ReadAcknowledgeConfirmation(field.bytes, out.acknowledge_confirmation);
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return out;
}

absl::StatusOr<std::vector<ReceivedMessage>> DecodePullResponse(Bytes wire) {
  std::vector<ReceivedMessage> out;
  absl::Status status = ForEachField("PullResponse", wire.view(), [&](const WireField& field) {
    return TagOf(field) == AsBytes(fields::pull_response::kReceivedMessages) ? AddReceived(wire, field.bytes, out)
                                                                             : absl::OkStatus();
  });
  if (!status.ok()) return status;
  return out;
}

absl::StatusOr<std::vector<std::string>> DecodePublishResponse(std::string_view wire) {
  constexpr std::string_view kType = "PublishResponse";
  std::vector<std::string> out;
  absl::Status status = ForEachField(kType, wire, [&](const WireField& field) {
    return TagOf(field) == AsBytes(fields::publish_response::kMessageIds) ? AddText(kType, field, out)
                                                                          : absl::OkStatus();
  });
  if (!status.ok()) return status;
  return out;
}

}  // namespace hopgap::pubsub
