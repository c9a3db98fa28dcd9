// Proves the hand-written codec of src/pubsub equal to the generated code, for
// every request and response of the calls that are served.

#include <absl/strings/escaping.h>
#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <set>

#include "compare.h"
#include "convert.h"
#include "pubsub/api.h"
#include "pubsub/wire.h"

namespace hopgap::tests {
namespace {

using pubsub::Bytes;
using pubsub::Method;

constexpr int kRounds = 400;
constexpr int kMutations = 20;

// What ours cannot say: an empty confirmation is an absent one, and a time
// outside a WallTime is none.
void ClearUnusableTime(wire::PubsubMessage& message) {
  constexpr int64_t kSecondsMax = 9'223'372'035;
  const auto& time = message.publish_time();
  const bool usable = time.nanos() >= 0 && time.nanos() < 1'000'000'000 && time.seconds() >= -kSecondsMax &&
                      time.seconds() <= kSecondsMax;
  if (!usable) message.clear_publish_time();
}
template <typename Generated>
void Normalise(Generated& message) {
  message.DiscardUnknownFields();
  if constexpr (requires { message.messages(); }) {
    for (auto& each : *message.mutable_messages()) ClearUnusableTime(each);
  }
  if constexpr (requires { message.received_messages(); }) {
    for (auto& each : *message.mutable_received_messages()) {
      ClearUnusableTime(*each.mutable_message());  // ours has no absent message
    }
  }
  if constexpr (requires { message.acknowledge_confirmation(); }) {
    if (message.acknowledge_confirmation().ByteSizeLong() == 0) message.clear_acknowledge_confirmation();
    if (message.modify_ack_deadline_confirmation().ByteSizeLong() == 0) {
      message.clear_modify_ack_deadline_confirmation();
    }
  }
}

// How a type of the contract is decoded and encoded by us.
template <typename Ours>
absl::StatusOr<Ours> Decode(Method method, const std::string& text) {
  absl::StatusOr<pubsub::Request> request = pubsub::DecodeRequest(method, Bytes(text));
  if (!request.ok()) return request.status();
  return std::get<Ours>(*std::move(request));
}
template <typename Generated>
struct Codec;
template <>
struct Codec<wire::PublishRequest> {
  static auto Decode(const std::string& text) { return tests::Decode<pubsub::PublishRequest>(Method::kPublish, text); }
  static std::string Encode(const pubsub::PublishRequest& ours) { return pubsub::Join(pubsub::Encode(ours)); }
};
template <>
struct Codec<wire::PullRequest> {
  static auto Decode(const std::string& text) { return tests::Decode<pubsub::PullRequest>(Method::kPull, text); }
  static std::string Encode(const pubsub::PullRequest& ours) { return std::string(pubsub::Encode(ours).view()); }
};
template <>
struct Codec<wire::AcknowledgeRequest> {
  static auto Decode(const std::string& text) {
    return tests::Decode<pubsub::AcknowledgeRequest>(Method::kAcknowledge, text);
  }
  static std::string Encode(const pubsub::AcknowledgeRequest& ours) { return std::string(pubsub::Encode(ours).view()); }
};
template <>
struct Codec<wire::ModifyAckDeadlineRequest> {
  static auto Decode(const std::string& text) {
    return tests::Decode<pubsub::ModifyAckDeadlineRequest>(Method::kModifyAckDeadline, text);
  }
  static std::string Encode(const pubsub::ModifyAckDeadlineRequest& ours) {
    return std::string(pubsub::Encode(ours).view());
  }
};
template <>
struct Codec<wire::StreamingPullRequest> {
  static auto Decode(const std::string& text) { return pubsub::DecodeStreamingPullRequest(text); }
  static std::string Encode(const pubsub::StreamingPullRequest& ours) {
    return std::string(pubsub::Encode(ours).view());
  }
};
template <>
struct Codec<wire::StreamingPullResponse> {
  static auto Decode(const std::string& text) { return pubsub::DecodeStreamingPullResponse(Bytes(text)); }
  static std::string Encode(const pubsub::StreamingPullResponse& ours) { return pubsub::Join(pubsub::Encode(ours)); }
};
template <>
struct Codec<wire::PullResponse> {
  static auto Decode(const std::string& text) { return pubsub::DecodePullResponse(Bytes(text)); }
  static std::string Encode(const std::vector<pubsub::ReceivedMessage>& ours) {
    return pubsub::Join(pubsub::EncodePullResponse(ours));
  }
};
template <>
struct Codec<wire::PublishResponse> {
  static auto Decode(const std::string& text) { return pubsub::DecodePublishResponse(text); }
  static std::string Encode(const std::vector<std::string>& ours) {
    return std::string(pubsub::EncodePublishResponse(ours).view());
  }
};

template <typename Generated>
class WireTest : public testing::Test {
 protected:
  // Ours reads `text` as the generated parser does. Ours may be stricter only
  // where `strict` says so: it knows no groups.
  static void ExpectReadsLikeGenerated(const std::string& text, bool may_refuse) {
    constexpr size_t kShownBytesMax = 200;
    SCOPED_TRACE("bytes " + absl::BytesToHexString(text.substr(0, kShownBytesMax)));
    const google::protobuf::LogSilencer quiet;  // it would log every refusal
    Generated generated;
    const bool accepted = generated.ParseFromString(text);
    const auto ours = Codec<Generated>::Decode(text);
    if (!accepted) {
      EXPECT_FALSE(ours.ok()) << "ours takes what the generated parser refuses";
      return;
    }
    if (!ours.ok()) {
      EXPECT_TRUE(may_refuse) << ours.status();
      EXPECT_EQ(ours.status().code(), absl::StatusCode::kInvalidArgument);
      return;
    }
    Normalise(generated);
    EXPECT_TRUE(SameFields(ToGenerated(*ours), generated));
  }
};

using Types =
    testing::Types<wire::PublishRequest, wire::PullRequest, wire::AcknowledgeRequest, wire::ModifyAckDeadlineRequest,
                   wire::StreamingPullRequest, wire::StreamingPullResponse, wire::PullResponse, wire::PublishResponse>;
TYPED_TEST_SUITE(WireTest, Types);

TYPED_TEST(WireTest, DecodesWhatGeneratedCodeWrites) {
  ForRandomMessages<TypeParam>(EveryField, kRounds, [](Random&, const TypeParam& message) {
    TestFixture::ExpectReadsLikeGenerated(message.SerializeAsString(), false);
  });
}

TYPED_TEST(WireTest, EncodesWhatGeneratedCodeReads) {
  ForRandomMessages<TypeParam>(EveryField, kRounds, [](Random&, TypeParam message) {
    // Written in every response, whatever stood there before.
    if constexpr (requires { message.subscription_properties(); }) message.mutable_subscription_properties();
    const auto ours = Codec<TypeParam>::Decode(message.SerializeAsString());
    ASSERT_TRUE(ours.ok()) << ours.status();
    Normalise(message);
    EXPECT_TRUE(ParsesTo(Codec<TypeParam>::Encode(*ours), message));
  });
}

TYPED_TEST(WireTest, IgnoresUnknownFields) {
  ForRandomMessages<TypeParam>(EveryField, kRounds, [](Random& random, TypeParam message) {
    TypeParam unknown_first;
    AddUnknownFields(random, unknown_first);
    AddUnknownFields(random, message);
    TestFixture::ExpectReadsLikeGenerated(unknown_first.SerializeAsString() + message.SerializeAsString(), false);
  });
}

// Protobuf's rule for two encodings one after the other: the last scalar
// counts, lists go on, messages merge.
TYPED_TEST(WireTest, MergesConcatenatedEncodings) {
  ForRandomMessages<TypeParam>(EveryField, kRounds, [](Random& random, const TypeParam& message) {
    TypeParam more;
    Fill(random, EveryField, more);
    TestFixture::ExpectReadsLikeGenerated(message.SerializeAsString() + more.SerializeAsString(), false);
  });
}

TYPED_TEST(WireTest, RefusesEveryTruncationThatGeneratedCodeRefuses) {
  ForRandomMessages<TypeParam>(EveryField, kRounds / 10, [](Random&, const TypeParam& message) {
    const std::string text = message.SerializeAsString();
    const size_t step = 1 + text.size() / 500;
    for (size_t size = 0; size < text.size(); size += step) {
      TestFixture::ExpectReadsLikeGenerated(text.substr(0, size), false);
    }
  });
}

// A flipped byte may make a group, which ours refuses and generated code skips.
TYPED_TEST(WireTest, ReadsDamagedBytesLikeGeneratedCodeOrRefuses) {
  ForRandomMessages<TypeParam>(EveryField, kRounds, [](Random& random, const TypeParam& message) {
    std::string text = message.SerializeAsString();
    if (text.empty()) return;
    for (int i = 0; i < kMutations; ++i) {
      text[random.Below(text.size())] = static_cast<char>(random.Next());
      TestFixture::ExpectReadsLikeGenerated(text, true);
    }
  });
}

TYPED_TEST(WireTest, SizesAreThoseOfTheEncodedRequest) {
  ForRandomMessages<TypeParam>(EveryField, 50, [](Random&, const TypeParam& message) {
    const auto ours = Codec<TypeParam>::Decode(message.SerializeAsString());
    ASSERT_TRUE(ours.ok()) << ours.status();
    if constexpr (requires { ours->wire_size; }) {
      EXPECT_EQ(ours->wire_size, message.ByteSizeLong());
    }
  });
}

// ---- what has one direction only ----

// Field 1 of the generated request, whatever its name is.
template <typename Generated>
void CheckNameRequest(Method method) {
  SCOPED_TRACE(Generated::descriptor()->full_name());
  ASSERT_EQ(Generated::descriptor()->field_count(), 1);
  Generated generated;
  generated.GetReflection()->SetString(&generated, Generated::descriptor()->field(0), "projects/p/x/ä");
  EXPECT_TRUE(ParsesTo(pubsub::Encode(pubsub::NameRequest{.name = "projects/p/x/ä"}).view(), generated));
  const auto ours = Decode<pubsub::NameRequest>(method, generated.SerializeAsString());
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_EQ(ours->name, "projects/p/x/ä");
}

TEST(ApiWireTest, NameRequestsAreTheOneFieldOfEveryGetAndDelete) {
  CheckNameRequest<wire::GetTopicRequest>(Method::kGetTopic);
  CheckNameRequest<wire::DeleteTopicRequest>(Method::kDeleteTopic);
  CheckNameRequest<wire::GetSubscriptionRequest>(Method::kGetSubscription);
  CheckNameRequest<wire::DeleteSubscriptionRequest>(Method::kDeleteSubscription);
  CheckNameRequest<wire::DetachSubscriptionRequest>(Method::kDetachSubscription);
  CheckNameRequest<wire::GetSnapshotRequest>(Method::kGetSnapshot);
  CheckNameRequest<wire::DeleteSnapshotRequest>(Method::kDeleteSnapshot);
}

template <typename Generated, typename ParentOf>
void CheckListRequest(Method method, ParentOf parent_of) {
  ForRandomMessages<Generated>(EveryField, kRounds, [&](Random&, const Generated& message) {
    const auto ours = Decode<pubsub::ListRequest>(method, message.SerializeAsString());
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_EQ(ours->parent, parent_of(message));
    EXPECT_EQ(ours->page_size, message.page_size());
    EXPECT_EQ(ours->page_token, message.page_token());
    EXPECT_TRUE(ParsesTo(pubsub::Encode(*ours).view(), message));
  });
}

TEST(ApiWireTest, ListRequestsAreTheSameForAllFive) {
  CheckListRequest<wire::ListTopicsRequest>(Method::kListTopics, [](auto& m) { return m.project(); });
  CheckListRequest<wire::ListSubscriptionsRequest>(Method::kListSubscriptions, [](auto& m) { return m.project(); });
  CheckListRequest<wire::ListTopicSubscriptionsRequest>(Method::kListTopicSubscriptions,
                                                        [](auto& m) { return m.topic(); });
  CheckListRequest<wire::ListSnapshotsRequest>(Method::kListSnapshots, [](auto& m) { return m.project(); });
  CheckListRequest<wire::ListTopicSnapshotsRequest>(Method::kListTopicSnapshots, [](auto& m) { return m.topic(); });
}

// Both ways, with unknown fields beside the known ones.
template <typename Ours, typename Generated, typename Fix>
void CheckRequest(Method method, const FieldFilter& wanted, Fix fix) {
  SCOPED_TRACE(Generated::descriptor()->full_name());
  ForRandomMessages<Generated>(wanted, kRounds, [&](Random& random, Generated message) {
    fix(message);
    Generated unknown;
    AddUnknownFields(random, unknown);
    const auto ours = Decode<Ours>(method, unknown.SerializeAsString() + message.SerializeAsString());
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(SameFields(ToGenerated(*ours), message));
    EXPECT_TRUE(ParsesTo(pubsub::Encode(*ours).view(), message));
  });
}

TEST(ApiWireTest, UpdatesSnapshotsAndSeeks) {
  using google::protobuf::FieldDescriptor;
  const FieldFilter no_tags = [](const FieldDescriptor& field) { return field.name() != "tags"; };
  CheckRequest<pubsub::CreateSnapshotRequest, wire::CreateSnapshotRequest>(Method::kCreateSnapshot, no_tags,
                                                                           [](auto&) {});
  CheckRequest<pubsub::SeekRequest, wire::SeekRequest>(Method::kSeek, EveryField, [](auto&) {});
  CheckRequest<pubsub::UpdateSnapshotRequest, wire::UpdateSnapshotRequest>(Method::kUpdateSnapshot, EveryField,
                                                                           [](wire::UpdateSnapshotRequest& message) {
                                                                             message.mutable_snapshot();
                                                                             message.mutable_update_mask();
                                                                           });
  // Of the resources only what our values hold; the rest is compared elsewhere.
  const FieldFilter known = [](const FieldDescriptor& field) {
    static const std::set<std::string> kKnown = {"topic", "subscription", "update_mask", "paths",
                                                 "name",  "labels",       "filter",      "message_retention_duration"};
    return kKnown.contains(field.name());
  };
  CheckRequest<pubsub::UpdateTopicRequest, wire::UpdateTopicRequest>(Method::kUpdateTopic, known,
                                                                     [](wire::UpdateTopicRequest& message) {
                                                                       message.mutable_topic();
                                                                       message.mutable_update_mask();
                                                                     });
  CheckRequest<pubsub::UpdateSubscriptionRequest, wire::UpdateSubscriptionRequest>(
      Method::kUpdateSubscription, known, [](wire::UpdateSubscriptionRequest& message) {
        message.mutable_subscription();
        message.mutable_update_mask();
      });
}

// Clients before 2016 and hand-made ones write lists of numbers one by one.
TEST(ApiWireTest, NumbersMayComePackedAndUnpacked) {
  std::string text;
  pubsub::WireWriter writer(text);
  writer.Signed(3, 10);
  writer.Text(3, std::string("\x00\xD8\x04", 3));  // 0, 600
  writer.Signed(3, -1);
  const auto ours = pubsub::DecodeStreamingPullRequest(text);
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_THAT(ours->modify_deadline_seconds, testing::ElementsAre(10, 0, 600, -1));
}

TEST(ApiWireTest, RefusesTextThatIsNotUtf8) {
  const google::protobuf::LogSilencer quiet;
  wire::AcknowledgeRequest generated;
  std::string text;
  pubsub::WireWriter(text).Text(2, "\xC3\x28");
  ASSERT_FALSE(generated.ParseFromString(text));
  EXPECT_EQ(Decode<pubsub::AcknowledgeRequest>(Method::kAcknowledge, text).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ApiWireTest, EveryMethodOfThePublishedServiceIsServedOrNamed) {
  std::set<Method> served;
  const google::protobuf::FileDescriptor& file = *wire::Topic::descriptor()->file();
  ASSERT_EQ(file.service_count(), 2);
  for (int s = 0; s < file.service_count(); ++s) {
    for (int m = 0; m < file.service(s)->method_count(); ++m) {
      const google::protobuf::MethodDescriptor& method = *file.service(s)->method(m);
      const std::string path = "/" + method.service()->full_name() + "/" + method.name();
      SCOPED_TRACE(path);
      if (const std::optional<Method> known = pubsub::MethodFromPath(path)) {
        EXPECT_EQ(pubsub::MethodPath(*known), path);
        served.insert(*known);
      } else {
        EXPECT_THAT(pubsub::UnimplementedText(path),
                    testing::HasSubstr(method.service()->name() + "." + method.name() + " is not supported yet"));
      }
    }
  }
  EXPECT_EQ(served.size(), 24u);
}

}  // namespace
}  // namespace hopgap::tests
