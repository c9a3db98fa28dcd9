#include "pubsub/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "pubsub/wire_testing.h"

namespace hopgap::pubsub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <typename Call>
Call Decoded(Method method, std::string_view notation) {
  absl::StatusOr<Request> request = DecodeRequest(method, Bytes(Wire(notation)));
  EXPECT_TRUE(request.ok()) << request.status();
  return request.ok() ? std::get<Call>(*std::move(request)) : Call();
}

std::string Text(const Bytes& bytes) { return std::string(bytes.view()); }

TEST(RequestTest, NamesAndLists) {
  for (const Method method :
       {Method::kGetTopic, Method::kDeleteTopic, Method::kGetSubscription, Method::kDeleteSubscription,
        Method::kDetachSubscription, Method::kGetSnapshot, Method::kDeleteSnapshot}) {
    EXPECT_EQ(Decoded<NameRequest>(method, "0a 03 'abc'").name, "abc");
  }
  EXPECT_EQ(Text(Encode(NameRequest{"abc"})), Wire("0a 03 'abc'"));
  for (const Method method : {Method::kListTopics, Method::kListTopicSubscriptions, Method::kListTopicSnapshots,
                              Method::kListSubscriptions, Method::kListSnapshots}) {
    const auto list = Decoded<ListRequest>(method, "0a 01 'p' 10 e8 07 1a 02 'tk'");
    EXPECT_EQ(list.parent, "p");
    EXPECT_EQ(list.page_size, 1000);
    EXPECT_EQ(list.page_token, "tk");
  }
  EXPECT_EQ(Text(Encode(ListRequest{"p", 1000, "tk"})), Wire("0a 01 'p' 10 e8 07 1a 02 'tk'"));
  EXPECT_EQ(Decoded<ListRequest>(Method::kListTopics, "10 ff ff ff ff ff ff ff ff ff 01").page_size, -1);
}

TEST(RequestTest, Publish) {
  const char* golden = "0a 01 't' 12 04 0a 02 'hi' 12 00";
  const auto request = Decoded<PublishRequest>(Method::kPublish, golden);
  EXPECT_EQ(request.topic, "t");
  EXPECT_EQ(request.wire_size, 11u);
  ASSERT_THAT(request.messages, SizeIs(2));
  EXPECT_EQ(request.messages[0].data(), "hi");
  EXPECT_EQ(request.messages[1].wire_size(), 0u);
  EXPECT_EQ(Join(Encode(request)), Wire(golden));
}

TEST(RequestTest, PublishKeepsItsMessagesInTheRequestsBuffer) {
  PublishRequest request;
  request.topic = "t";
  request.messages.push_back(Message::Make(std::string(100'000, 'x'), {{"a", "b"}}));
  const Slices slices = Encode(request);
  ASSERT_THAT(slices, SizeIs(2));
  EXPECT_EQ(slices[1].view().data(), request.messages[0].wire().view().data()) << "not copied on the way out";

  const Bytes wire(Join(slices));
  const auto read = std::get<PublishRequest>(*DecodeRequest(Method::kPublish, wire));
  EXPECT_TRUE(Inside(read.messages[0].data(), wire.view())) << "nor on the way in";
  EXPECT_EQ(read.messages[0].data().size(), 100'000u);
}

TEST(RequestTest, PublishNamesWhatIsWrongWithAMessage) {
  const absl::Status status = DecodeRequest(Method::kPublish, Bytes(Wire("12 03 2a 01 ff"))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MessageOf(status), "malformed PubsubMessage: ordering_key is not valid UTF-8");
}

TEST(RequestTest, Pull) {
  const char* golden = "0a 01 's' 10 01 18 e8 07";
  const auto request = Decoded<PullRequest>(Method::kPull, golden);
  EXPECT_EQ(request.subscription, "s");
  EXPECT_TRUE(request.return_immediately);
  EXPECT_EQ(request.max_messages, 1000);
  EXPECT_EQ(Text(Encode(request)), Wire(golden));
  EXPECT_EQ(Text(Encode(PullRequest{})), "");
}

TEST(RequestTest, AcknowledgeAndModifyAckDeadline) {
  const char* ack = "0a 01 's' 12 01 'a' 12 00 12 01 'b'";
  const auto acknowledge = Decoded<AcknowledgeRequest>(Method::kAcknowledge, ack);
  EXPECT_EQ(acknowledge.subscription, "s");
  EXPECT_THAT(acknowledge.ack_ids, ElementsAre("a", "", "b"));
  EXPECT_EQ(acknowledge.wire_size, 11u);
  EXPECT_EQ(Text(Encode(acknowledge)), Wire(ack));

  const char* modack = "0a 01 's' 18 d8 04 22 01 'a' 22 01 'b'";
  const auto modify = Decoded<ModifyAckDeadlineRequest>(Method::kModifyAckDeadline, modack);
  EXPECT_EQ(modify.ack_deadline_seconds, 600);
  EXPECT_THAT(modify.ack_ids, ElementsAre("a", "b"));
  EXPECT_EQ(modify.wire_size, 12u);
  EXPECT_EQ(Text(Encode(modify)), Wire(modack));
  EXPECT_THAT(Decoded<ModifyAckDeadlineRequest>(Method::kModifyAckDeadline, "12 01 'a'").ack_ids, IsEmpty())
      << "field 2 was retired long ago";
}

TEST(RequestTest, Resources) {
  EXPECT_EQ(Decoded<CreateTopicRequest>(Method::kCreateTopic, "0a 01 't'").topic.name, "t");
  EXPECT_EQ(Decoded<CreateSubscriptionRequest>(Method::kCreateSubscription, "12 01 't'").subscription.topic, "t");
  const absl::Status status = DecodeRequest(Method::kCreateSubscription, Bytes(Wire("d2 01 00"))).status();
  EXPECT_EQ(status, absl::UnimplementedError("Subscription.tags is not supported yet"));
}

TEST(RequestTest, Updates) {
  const char* golden = "0a 06 0a 01 't' 2a 01 'k' 12 08 0a 06 'labels'";
  const auto topic = Decoded<UpdateTopicRequest>(Method::kUpdateTopic, golden);
  EXPECT_EQ(topic.topic.name, "t");
  EXPECT_EQ(topic.topic.unknown, Wire("2a 01 'k'")) << "whether it counts is for the mask to say";
  EXPECT_THAT(topic.update_mask, ElementsAre("labels"));
  EXPECT_EQ(Text(Encode(topic)), Wire(golden));

  const auto subscription = Decoded<UpdateSubscriptionRequest>(
      Method::kUpdateSubscription, "0a 03 0a 01 's' 12 03 0a 01 'a' 12 03 0a 01 'b' 0a 02 50 01");
  EXPECT_EQ(subscription.subscription.name, "s");
  EXPECT_TRUE(subscription.subscription.enable_message_ordering) << "pieces merge";
  EXPECT_THAT(subscription.update_mask, ElementsAre("a", "b"));

  const auto snapshot = Decoded<UpdateSnapshotRequest>(Method::kUpdateSnapshot, "0a 04 1a 02 08 05 12 00");
  EXPECT_EQ(DecodeRequest(Method::kUpdateSnapshot, Bytes(Wire("0a 05 1a 03 08 05 10"))).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(snapshot.snapshot.expire_time, WallTime{std::chrono::seconds{5}});
  EXPECT_THAT(snapshot.update_mask, IsEmpty());
}

TEST(RequestTest, Snapshots) {
  const char* golden = "0a 01 'n' 12 01 's' 1a 06 0a 01 'a' 12 01 '1'";
  const auto create = Decoded<CreateSnapshotRequest>(Method::kCreateSnapshot, golden);
  EXPECT_EQ(create.name, "n");
  EXPECT_EQ(create.subscription, "s");
  EXPECT_THAT(create.labels, ElementsAre(testing::Pair("a", "1")));
  EXPECT_EQ(Text(Encode(create)), Wire(golden));
  EXPECT_EQ(DecodeRequest(Method::kCreateSnapshot, Bytes(Wire("22 00"))).status(),
            absl::UnimplementedError("CreateSnapshotRequest.tags is not supported yet"));
}

TEST(RequestTest, Seek) {
  const auto none = Decoded<SeekRequest>(Method::kSeek, "0a 01 's'");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(none.target));
  const auto time = Decoded<SeekRequest>(Method::kSeek, "0a 01 's' 1a 01 'n' 12 02 08 05");
  EXPECT_EQ(std::get<WallTime>(time.target), WallTime{std::chrono::seconds{5}}) << "of a oneof the last counts";
  EXPECT_EQ(Text(Encode(time)), Wire("0a 01 's' 12 02 08 05"));
  const auto name = Decoded<SeekRequest>(Method::kSeek, "12 00 1a 00");
  EXPECT_EQ(std::get<std::string>(name.target), "");
  EXPECT_EQ(Text(Encode(name)), Wire("1a 00"));
  EXPECT_TRUE(DecodeRequest(Method::kSeek, Bytes(Wire("12 07 08 ff 82 d1 ff af 07"))).ok()) << "its last second";
  // Far beyond WallTime, short of the year 9999: seeking there is the documented way to drop a backlog.
  const auto last = Decoded<SeekRequest>(Method::kSeek, "12 06 08 ff 82 f4 f2 3a");
  EXPECT_GT(std::get<WallTime>(last.target), WallTime{std::chrono::hours{24 * 365 * 200}});
  // A moment later no Timestamp goes on; nor does it begin before the year 1.
  for (const char* never : {"12 07 08 80 83 d1 ff af 07", "12 0a 08 80 80 80 80 80 80 80 80 40",
                            "12 0b 08 ff 91 b8 c3 98 fe ff ff ff 01"}) {
    const auto refused = DecodeRequest(Method::kSeek, Bytes(Wire(never)));
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << never;
  }
  EXPECT_EQ(DecodeRequest(Method::kSeek, Bytes(Wire("12 02 10 ff ff ff ff ff ff ff ff ff 01"))).status().code(),
            absl::StatusCode::kInvalidArgument);
}

constexpr const char* kStreamingGolden =
    "0a 01 's' 12 01 'a' 1a 0c 0a 00 ff ff ff ff ff ff ff ff ff 01 22 01 'm' 28 3c 32 01 'c' 38 e8 07"
    "40 ff ff ff ff ff ff ff ff ff 01 50 01";

TEST(StreamingPullRequestTest, GoldenBytes) {
  const absl::StatusOr<StreamingPullRequest> request = DecodeStreamingPullRequest(Wire(kStreamingGolden));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->subscription, "s");
  EXPECT_THAT(request->ack_ids, ElementsAre("a"));
  EXPECT_THAT(request->modify_deadline_seconds, ElementsAre(10, 0, -1));
  EXPECT_THAT(request->modify_deadline_ack_ids, ElementsAre("m"));
  EXPECT_EQ(request->stream_ack_deadline_seconds, 60);
  EXPECT_EQ(request->client_id, "c");
  EXPECT_EQ(request->max_outstanding_messages, 1000);
  EXPECT_EQ(request->max_outstanding_bytes, -1);
  EXPECT_EQ(request->protocol_version, 1);
  EXPECT_EQ(Text(Encode(*request)), Wire(kStreamingGolden));
}

TEST(StreamingPullRequestTest, DeadlinesMayComeOneByOneOrPackedOrBoth) {
  const absl::StatusOr<StreamingPullRequest> request =
      DecodeStreamingPullRequest(Wire("18 0a 1a 03 14 d8 04 1a 00 18 00"));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(request->modify_deadline_seconds, ElementsAre(10, 20, 600, 0));
  EXPECT_EQ(DecodeStreamingPullRequest(Wire("1a 02 14 d8")).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(StreamingPullRequestTest, AKeepAliveIsEmpty) {
  EXPECT_EQ(Text(Encode(StreamingPullRequest{})), "");
  EXPECT_TRUE(DecodeStreamingPullRequest("").ok());
}

ReceivedMessage Received(std::string ack_id, Message message, int32_t attempt = 0) {
  ReceivedMessage received;
  received.ack_id = std::move(ack_id);
  received.message = std::move(message);
  received.delivery_attempt = attempt;
  return received;
}

TEST(StreamingPullResponseTest, GoldenBytes) {
  StreamingPullResponse response;
  response.received_messages.push_back(
      Received("a", Message::Make("hi", {}).Accepted("7", WallTime{Duration{1'000'000'000}}), 5));
  response.acknowledge_confirmation = {{"1"}, {"2"}, {"3"}, {"4"}};
  response.modify_ack_deadline_confirmation = {{"5"}, {"6"}, {}, {"7"}};
  response.properties = {true, true};
  const std::string golden = Wire(
      "0a 12 0a 01 'a' 12 0b 0a 02 'hi' 1a 01 '7' 22 02 08 01 18 05"
      "1a 09 0a 01 '5' 12 01 '6' 1a 01 '7'"
      "22 04 08 01 10 01"
      "2a 0c 0a 01 '1' 12 01 '2' 1a 01 '3' 22 01 '4'");
  EXPECT_EQ(Join(Encode(response)), golden);

  const absl::StatusOr<StreamingPullResponse> read = DecodeStreamingPullResponse(Bytes(golden));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_THAT(read->received_messages, SizeIs(1));
  EXPECT_EQ(read->received_messages[0].ack_id, "a");
  EXPECT_EQ(read->received_messages[0].message.data(), "hi");
  EXPECT_EQ(read->received_messages[0].message.message_id(), "7");
  EXPECT_EQ(read->received_messages[0].delivery_attempt, 5);
  EXPECT_THAT(read->acknowledge_confirmation.unordered_ack_ids, ElementsAre("3"));
  EXPECT_THAT(read->modify_ack_deadline_confirmation.temporary_failed_ack_ids, ElementsAre("7"));
  EXPECT_THAT(read->modify_ack_deadline_confirmation.unordered_ack_ids, IsEmpty());
  EXPECT_TRUE(read->has_properties);
  EXPECT_TRUE(read->properties.exactly_once_delivery_enabled);
  EXPECT_TRUE(read->properties.message_ordering_enabled);
  EXPECT_EQ(Join(Encode(*read)), golden);
}

TEST(StreamingPullResponseTest, PropertiesAreWrittenAlsoWhenBothAreFalse) {
  EXPECT_EQ(Join(Encode(StreamingPullResponse{})), Wire("22 00"));
  EXPECT_TRUE(DecodeStreamingPullResponse(Bytes(Wire("22 00")))->has_properties);
  const absl::StatusOr<StreamingPullResponse> without = DecodeStreamingPullResponse(Bytes());
  EXPECT_FALSE(without->has_properties) << "other servers leave them out";
  EXPECT_THAT(Encode(*without), IsEmpty());
}

TEST(StreamingPullResponseTest, BodiesAreSlicesOfTheirOwn) {
  const Message body = Message::Make(std::string(100'000, 'x'), {});
  StreamingPullResponse response;
  for (const char* id : {"1", "2"}) {
    response.received_messages.push_back(Received(id, body.Accepted(id, WallTime{Duration{1}})));
  }
  const Slices slices = Encode(response);
  ASSERT_THAT(slices, SizeIs(5));  // header, body, tail and header, body, tail and properties
  EXPECT_EQ(slices[1].view().data(), body.wire().view().data());
  EXPECT_EQ(slices[3].view().data(), body.wire().view().data());

  const Bytes wire(Join(slices));
  const absl::StatusOr<StreamingPullResponse> read = DecodeStreamingPullResponse(wire);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->received_messages[1].message.message_id(), "2");
  EXPECT_TRUE(Inside(read->received_messages[1].message.data(), wire.view()));
}

TEST(PullResponseTest, GoldenBytes) {
  const std::string golden = Wire("0a 09 0a 01 'a' 12 04 0a 02 'hi' 0a 02 12 00");
  const std::vector<ReceivedMessage> messages{Received("a", Message::Make("hi", {})), Received("", Message())};
  EXPECT_EQ(Join(EncodePullResponse(messages)), golden);
  const absl::StatusOr<std::vector<ReceivedMessage>> read = DecodePullResponse(Bytes(golden));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_EQ((*read)[0].ack_id, "a");
  EXPECT_EQ((*read)[0].message.data(), "hi");
  EXPECT_THAT(EncodePullResponse({}), IsEmpty());
}

TEST(ResponseTest, PublishAndPages) {
  EXPECT_EQ(Text(EncodePublishResponse({"1", "22"})), Wire("0a 01 '1' 0a 02 '22'"));
  EXPECT_THAT(*DecodePublishResponse(Wire("0a 01 '1' 0a 02 '22' 10 05")), ElementsAre("1", "22"));
  Topic topic;
  topic.name = "t";
  EXPECT_EQ(Text(EncodeTopics({topic, topic}, "n")), Wire("0a 03 0a 01 't' 0a 03 0a 01 't' 12 01 'n'"));
  EXPECT_EQ(Text(EncodeNames({"s"}, "")), Wire("0a 01 's'"));
  Subscription subscription;
  subscription.name = "s";
  const std::string shown = EncodeForDisplay(subscription);
  EXPECT_EQ(Text(EncodeSubscriptions({subscription}, "")), Wire("0a") + static_cast<char>(shown.size()) + shown);
}

TEST(RequestTest, UnknownFieldsAreIgnoredEverywhere) {
  for (int i = 0; i < static_cast<int>(Method::kStreamingPull); ++i) {
    const Method method = static_cast<Method>(i);
    EXPECT_TRUE(DecodeRequest(method, Bytes(Wire("a2 06 01 'x' f8 01 05 25 01 02 03 04"))).ok()) << MethodPath(method);
    EXPECT_THAT(std::string(DecodeRequest(method, Bytes(Wire("0a 05 'x'"))).status().message()), HasSubstr("truncated"))
        << MethodPath(method);
  }
}

TEST(RequestDeathTest, AStreamsRequestsHaveTheirOwnDecoder) {
  EXPECT_DEATH(DecodeRequest(Method::kStreamingPull, Bytes()).IgnoreError(), "their own decoder");
}

TEST(StreamingPullResponseDeathTest, AModackIsNeverOutOfOrder) {
  StreamingPullResponse response;
  response.modify_ack_deadline_confirmation.unordered_ack_ids = {"a"};
  EXPECT_DEATH(Encode(response), "out of order");
}

}  // namespace
}  // namespace hopgap::pubsub
