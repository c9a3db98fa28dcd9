#include <string>
#include <utility>

#include "base/check.h"
#include "pubsub/api.h"
#include "pubsub/api_fields.h"
#include "pubsub/codec.h"
#include "pubsub/served_fields.h"

namespace hopgap::pubsub {
namespace {

using codec::AddText;
using codec::AsBytes;
using codec::AsVarint;
using codec::ForEachField;
using codec::Malformed;
using codec::ReadText;
using codec::TagOf;

// Repeated numbers travel one by one or packed; a reader takes both.
absl::Status AddPacked(std::string_view type, std::string_view packed, std::vector<int32_t>& out) {
  uint64_t value = 0;
  while (!packed.empty()) {
    if (!TakeVarint(packed, value)) return Malformed(type, "packed numbers");
    out.push_back(static_cast<int32_t>(static_cast<uint32_t>(value)));
  }
  return absl::OkStatus();
}

absl::Status Read(const Bytes& wire, NameRequest& out) {
  using namespace fields::name_request;
  constexpr std::string_view kType = "request";
  return ForEachField(kType, wire.view(), [&](const WireField& field) {
    return TagOf(field) == AsBytes(kName) ? ReadText(kType, field, out.name) : absl::OkStatus();
  });
}

absl::Status Read(const Bytes& wire, ListRequest& out) {
  using namespace fields::list_request;
  constexpr std::string_view kType = "list request";
  return ForEachField(kType, wire.view(), [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kParent): return ReadText(kType, field, out.parent);
      case AsVarint(kPageSize): out.page_size = field.AsInt32(); break;
      case AsBytes(kPageToken): return ReadText(kType, field, out.page_token);
    }
    return absl::OkStatus();
  });
}

absl::Status AddMessage(const Bytes& wire, std::string_view part, std::vector<Message>& out) {
  absl::StatusOr<Message> message = Message::Parse(wire.Slice(part));
  if (message.ok()) out.push_back(*std::move(message));
  return message.status();
}

absl::Status Read(const Bytes& wire, PublishRequest& out) {
  using namespace fields::publish_request;
  constexpr std::string_view kType = "PublishRequest";
  out.wire_size = wire.size();
  return ForEachField(kType, wire.view(), [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kTopic): return ReadText(kType, field, out.topic);
      case AsBytes(kMessages): return AddMessage(wire, field.bytes, out.messages);
    }
    return absl::OkStatus();
  });
}

absl::Status Read(const Bytes& wire, PullRequest& out) {
  using namespace fields::pull_request;
  constexpr std::string_view kType = "PullRequest";
  return ForEachField(kType, wire.view(), [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kSubscription): return ReadText(kType, field, out.subscription);
      case AsVarint(kReturnImmediately): out.return_immediately = field.AsBool(); break;
      case AsVarint(kMaxMessages): out.max_messages = field.AsInt32(); break;
    }
    return absl::OkStatus();
  });
}

absl::Status Read(const Bytes& wire, AcknowledgeRequest& out) {
  using namespace fields::acknowledge_request;
  constexpr std::string_view kType = "AcknowledgeRequest";
  out.wire_size = wire.size();
  return ForEachField(kType, wire.view(), [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kSubscription): return ReadText(kType, field, out.subscription);
      case AsBytes(kAckIds): return AddText(kType, field, out.ack_ids);
    }
    return absl::OkStatus();
  });
}

absl::Status Read(const Bytes& wire, ModifyAckDeadlineRequest& out) {
  using namespace fields::modify_ack_deadline_request;
  constexpr std::string_view kType = "ModifyAckDeadlineRequest";
  out.wire_size = wire.size();
  return ForEachField(kType, wire.view(), [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kSubscription): return ReadText(kType, field, out.subscription);
      case AsBytes(kAckIds): return AddText(kType, field, out.ack_ids);
      case AsVarint(kAckDeadlineSeconds): out.ack_deadline_seconds = field.AsInt32(); break;
    }
    return absl::OkStatus();
  });
}

absl::Status Read(const Bytes& wire, CreateTopicRequest& out) {
  absl::StatusOr<Topic> topic = TopicFromRequest(wire.view());
  if (topic.ok()) out.topic = *std::move(topic);
  return topic.status();
}

absl::Status Read(const Bytes& wire, CreateSubscriptionRequest& out) {
  absl::StatusOr<Subscription> subscription = SubscriptionFromRequest(wire.view());
  if (subscription.ok()) out.subscription = *std::move(subscription);
  return subscription.status();
}

absl::Status ReadMask(std::string_view wire, UpdateMask& out) {
  constexpr std::string_view kType = "FieldMask";
  return ForEachField(kType, wire, [&](const WireField& field) {
    return TagOf(field) == AsBytes(fields::field_mask::kPaths) ? AddText(kType, field, out) : absl::OkStatus();
  });
}

// The three updates look alike. A resource that comes in several pieces is
// merged, as protobuf does: that is reading the pieces one after the other.
template <typename Resource, typename Decoder>
absl::Status ReadUpdate(std::string_view type, const Bytes& wire, Decoder decode, Resource& resource,
                        UpdateMask& mask) {
  using namespace fields::update_request;
  std::string pieces;
  absl::Status status = ForEachField(type, wire.view(), [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kResource): pieces.append(field.bytes); break;
      case AsBytes(kUpdateMask): return ReadMask(field.bytes, mask);
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  absl::StatusOr<Resource> read = decode(pieces);
  if (read.ok()) resource = *std::move(read);
  return read.status();
}

absl::Status Read(const Bytes& wire, UpdateTopicRequest& out) {
  return ReadUpdate("UpdateTopicRequest", wire, DecodeTopic, out.topic, out.update_mask);
}

absl::Status Read(const Bytes& wire, UpdateSubscriptionRequest& out) {
  return ReadUpdate("UpdateSubscriptionRequest", wire, DecodeSubscription, out.subscription, out.update_mask);
}

absl::Status Read(const Bytes& wire, UpdateSnapshotRequest& out) {
  return ReadUpdate("UpdateSnapshotRequest", wire, DecodeSnapshot, out.snapshot, out.update_mask);
}

absl::Status Read(const Bytes& wire, CreateSnapshotRequest& out) {
  using namespace fields::create_snapshot_request;
  constexpr std::string_view kType = "CreateSnapshotRequest";
  std::string unknown;
  absl::Status status = ForEachField(kType, wire.view(), [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kName): return ReadText(kType, field, out.name);
      case AsBytes(kSubscription): return ReadText(kType, field, out.subscription);
      case AsBytes(kLabels): return codec::ReadMapEntry(kType, field, out.labels);
    }
    unknown.append(field.whole);
    return absl::OkStatus();
  });
  return status.ok() ? CheckCreateSnapshotFields(unknown) : status;
}

// Of a oneof the last member counts.
absl::Status Read(const Bytes& wire, SeekRequest& out) {
  using namespace fields::seek_request;
  constexpr std::string_view kType = "SeekRequest";
  return ForEachField(kType, wire.view(), [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kSubscription): return ReadText(kType, field, out.subscription);
      case AsBytes(kTime): {
        std::optional<WallTime> time;
        absl::Status status = codec::ReadTimestamp(kType, "time", field, time);
        if (status.ok()) out.target = *time;
        return status;
      }
      case AsBytes(kSnapshot): return ReadText(kType, field, out.target.emplace<std::string>());
    }
    return absl::OkStatus();
  });
}

template <typename Call>
absl::StatusOr<Request> Decode(const Bytes& wire) {
  Call call;
  if (absl::Status status = Read(wire, call); !status.ok()) return status;
  return Request(std::move(call));
}

}  // namespace

absl::StatusOr<Request> DecodeRequest(Method method, Bytes wire) {
  HOPGAP_CHECK(method != Method::kStreamingPull, "a stream's requests have their own decoder");
  switch (method) {
    case Method::kCreateTopic: return Decode<CreateTopicRequest>(wire);
    case Method::kCreateSubscription: return Decode<CreateSubscriptionRequest>(wire);
    case Method::kGetTopic:
    case Method::kDeleteTopic:
    case Method::kGetSubscription:
    case Method::kDeleteSubscription:
    case Method::kDetachSubscription:
    case Method::kGetSnapshot:
    case Method::kDeleteSnapshot: return Decode<NameRequest>(wire);
    case Method::kListTopics:
    case Method::kListTopicSubscriptions:
    case Method::kListTopicSnapshots:
    case Method::kListSubscriptions:
    case Method::kListSnapshots: return Decode<ListRequest>(wire);
    case Method::kUpdateTopic: return Decode<UpdateTopicRequest>(wire);
    case Method::kUpdateSubscription: return Decode<UpdateSubscriptionRequest>(wire);
    case Method::kUpdateSnapshot: return Decode<UpdateSnapshotRequest>(wire);
    case Method::kCreateSnapshot: return Decode<CreateSnapshotRequest>(wire);
    case Method::kSeek: return Decode<SeekRequest>(wire);
    case Method::kPublish: return Decode<PublishRequest>(wire);
    case Method::kPull: return Decode<PullRequest>(wire);
    case Method::kAcknowledge: return Decode<AcknowledgeRequest>(wire);
    case Method::kModifyAckDeadline: return Decode<ModifyAckDeadlineRequest>(wire);
    case Method::kStreamingPull: break;
  }
  return absl::InternalError("no such method");
}

absl::StatusOr<StreamingPullRequest> DecodeStreamingPullRequest(std::string_view wire) {
  using namespace fields::streaming_pull_request;
  constexpr std::string_view kType = "StreamingPullRequest";
  StreamingPullRequest out;
  absl::Status status = ForEachField(kType, wire, [&](const WireField& field) {
    switch (TagOf(field)) {
      case AsBytes(kSubscription): return ReadText(kType, field, out.subscription);
      case AsBytes(kAckIds): return AddText(kType, field, out.ack_ids);
      case AsVarint(kModifyDeadlineSeconds): out.modify_deadline_seconds.push_back(field.AsInt32()); break;
      case AsBytes(kModifyDeadlineSeconds): return AddPacked(kType, field.bytes, out.modify_deadline_seconds);
      case AsBytes(kModifyDeadlineAckIds): return AddText(kType, field, out.modify_deadline_ack_ids);
      case AsVarint(kStreamAckDeadlineSeconds): out.stream_ack_deadline_seconds = field.AsInt32(); break;
      case AsBytes(kClientId): return ReadText(kType, field, out.client_id);
      case AsVarint(kMaxOutstandingMessages): out.max_outstanding_messages = field.AsSigned(); break;
      case AsVarint(kMaxOutstandingBytes): out.max_outstanding_bytes = field.AsSigned(); break;
      case AsVarint(kProtocolVersion): out.protocol_version = field.AsSigned(); break;
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return out;
}

}  // namespace hopgap::pubsub
