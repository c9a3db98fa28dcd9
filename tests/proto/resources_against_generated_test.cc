// Messages, resources and error details of src/pubsub against generated code.

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <set>

#include "compare.h"
#include "convert.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "pubsub/error_details.h"

namespace hopgap::tests {
namespace {

using google::protobuf::FieldDescriptor;
using pubsub::Bytes;

constexpr int kRounds = 1000;
constexpr int64_t kRetentionSeconds = 7 * 24 * 3600;
constexpr int64_t kExpirationSeconds = 31 * 24 * 3600;

bool ServedByTopic(const FieldDescriptor& field) {
  static const std::set<std::string> kServed = {"name", "labels", "message_retention_duration"};
  return kServed.contains(field.name());
}
bool ServedBySubscription(const FieldDescriptor& field) {
  static const std::set<std::string> kServed = {"name",
                                                "topic",
                                                "ack_deadline_seconds",
                                                "labels",
                                                "enable_exactly_once_delivery",
                                                "enable_message_ordering",
                                                "retain_acked_messages",
                                                "detached",
                                                "filter",
                                                "message_retention_duration",
                                                "expiration_policy",
                                                "ttl",
                                                "dead_letter_policy",
                                                "dead_letter_topic",
                                                "max_delivery_attempts",
                                                "retry_policy",
                                                "minimum_backoff",
                                                "maximum_backoff"};
  return kServed.contains(field.name());
}

// What is absent in a retry policy is read, and written again, as its default.
wire::Subscription WithDefaultBackoff(wire::Subscription message) {
  if (!message.has_retry_policy()) return message;
  wire::RetryPolicy& policy = *message.mutable_retry_policy();
  if (!policy.has_minimum_backoff()) policy.mutable_minimum_backoff()->set_seconds(10);
  if (!policy.has_maximum_backoff()) policy.mutable_maximum_backoff()->set_seconds(600);
  return message;
}

// What a policy, or a duration, does not know is not kept, as it would mean
// something else without its policy.
void DiscardInside(wire::Subscription& message) {
  if (message.has_retry_policy()) message.mutable_retry_policy()->DiscardUnknownFields();
  if (message.has_dead_letter_policy()) message.mutable_dead_letter_policy()->DiscardUnknownFields();
  if (message.has_expiration_policy()) message.mutable_expiration_policy()->DiscardUnknownFields();
  if (message.has_message_retention_duration()) message.mutable_message_retention_duration()->DiscardUnknownFields();
  if (message.has_topic_message_retention_duration()) {
    message.mutable_topic_message_retention_duration()->DiscardUnknownFields();
  }
}

// ---- messages ----

TEST(MessageWireTest, ParseFindsWhatGeneratedCodeWrote) {
  ForRandomMessages<wire::PubsubMessage>(EveryField, kRounds, [](Random&, const wire::PubsubMessage& message) {
    const auto ours = pubsub::Message::Parse(Bytes(message.SerializeAsString()));
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(SameFields(ToGenerated(*ours), message));
    EXPECT_EQ(ours->wire_size(), message.ByteSizeLong());
    for (const auto& [key, value] : message.attributes()) EXPECT_EQ(ours->Attribute(key), value);
    EXPECT_EQ(ours->Attribute("not there"), std::nullopt);
  });
}

TEST(MessageWireTest, MakeWritesWhatGeneratedCodeReads) {
  ForRandomMessages<wire::PubsubMessage>(EveryField, kRounds, [](Random&, wire::PubsubMessage message) {
    message.clear_message_id();
    message.clear_publish_time();
    const auto ours = pubsub::Message::Make(message.data(), {message.attributes().begin(), message.attributes().end()},
                                            message.ordering_key());
    EXPECT_TRUE(ParsesTo(ours.wire().view(), message));
  });
}

// Unknown fields go through to the subscriber: they are the publisher's.
TEST(MessageWireTest, AcceptedReplacesOnlyTheServersFields) {
  ForRandomMessages<wire::PubsubMessage>(EveryField, kRounds, [](Random& random, wire::PubsubMessage message) {
    AddUnknownFields(random, message);
    const auto parsed = pubsub::Message::Parse(Bytes(message.SerializeAsString()));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const int64_t nanos = static_cast<int64_t>(random.Next() >> 1);
    const pubsub::Message accepted = parsed->Accepted("id-1", WallTime{Duration{nanos}});

    message.set_message_id("id-1");
    message.clear_publish_time();
    message.mutable_publish_time()->set_seconds(nanos / 1'000'000'000);
    message.mutable_publish_time()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
    EXPECT_TRUE(ParsesTo(pubsub::Join(accepted.wire_slices()), message));
    EXPECT_EQ(accepted.wire_size(), pubsub::Join(accepted.wire_slices()).size());
    EXPECT_EQ(accepted.wire_size(), message.ByteSizeLong()) << "the publisher's own id or time is still in there";
    EXPECT_EQ(accepted.message_id(), "id-1");
  });
}

TEST(MessageWireTest, TimesBefore1970CountNanosForward) {
  const auto parsed = pubsub::Message::Parse(Bytes(wire::PubsubMessage().SerializeAsString()));
  ASSERT_TRUE(parsed.ok());
  wire::PubsubMessage want;
  want.set_message_id("id");
  want.mutable_publish_time()->set_seconds(-1);
  want.mutable_publish_time()->set_nanos(999'999'999);
  EXPECT_TRUE(ParsesTo(pubsub::Join(parsed->Accepted("id", WallTime{Duration{-1}}).wire_slices()), want));
}

TEST(MessageWireTest, EntriesOfAMapMayLackAPartOrComeReversed) {
  const std::string text = std::string("\x12\x03\x0A\x01k", 5)              // key alone: value ""
                           + std::string("\x12\x03\x12\x01v", 5)            // value alone: key ""
                           + std::string("\x12\x06\x12\x01y\x0A\x01x", 8)   // value first
                           + std::string("\x12\x06\x0A\x01x\x12\x01z", 8);  // the same key again
  wire::PubsubMessage generated;
  ASSERT_TRUE(generated.ParseFromString(text));
  ASSERT_EQ(generated.attributes().size(), 3u);
  const auto ours = pubsub::Message::Parse(Bytes(text));
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_TRUE(SameFields(ToGenerated(*ours), generated));
  EXPECT_EQ(ours->Attribute("x"), "z");
}

// C++ and Python receivers refuse a tag or length of more than five bytes, even
// if its value is small. Messages go out as they came in, so one that we took
// would fail its subscribers for ever.
TEST(MessageWireTest, RefusesTagsAndLengthsThatReceiversRefuse) {
  const google::protobuf::LogSilencer quiet;
  const auto spun_out = [](char low, int bytes) {  // `low` as a varint of so many bytes
    std::string text(1, bytes == 1 ? low : static_cast<char>(low | 0x80));
    for (int i = 1; i < bytes; ++i) text.push_back(i + 1 == bytes ? '\0' : '\x80');
    return text;
  };
  for (int bytes = 1; bytes <= 10; ++bytes) {
    SCOPED_TRACE(bytes);
    for (const std::string& text : {spun_out('\x0A', bytes) + "\x01x",                   // the tag of data
                                    spun_out('\x38', bytes) + "\x01",                    // the tag of an unknown field
                                    "\x0A" + spun_out('\x01', bytes) + "x",              // the length of data
                                    "\x0A\x01x\x3A" + spun_out('\x01', bytes) + "x"}) {  // of an unknown field
      EXPECT_EQ(pubsub::Message::Parse(Bytes(text)).ok(), wire::PubsubMessage().ParseFromString(text));
    }
  }
}

// ---- topics and subscriptions ----

TEST(TopicWireTest, BothWaysEqualGeneratedCode) {
  ForRandomMessages<wire::Topic>(ServedByTopic, kRounds, [](Random& random, wire::Topic message) {
    EXPECT_TRUE(ParsesTo(pubsub::Encode(FromGenerated(message)), message));
    wire::Topic with_unknown = message;
    AddUnknownFields(random, with_unknown);
    const auto ours = pubsub::TopicFromRequest(with_unknown.SerializeAsString());
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(SameFields(ToGenerated(*ours), message));
    EXPECT_EQ(ours->unknown, "");
  });
}

TEST(SubscriptionWireTest, BothWaysEqualGeneratedCode) {
  ForRandomMessages<wire::Subscription>(ServedBySubscription, kRounds, [](Random& random, wire::Subscription message) {
    message = WithDefaultBackoff(message);
    EXPECT_TRUE(ParsesTo(pubsub::Encode(FromGenerated(message)), message));
    wire::Subscription with_unknown = message;
    AddUnknownFields(random, with_unknown);
    const auto ours = pubsub::SubscriptionFromRequest(with_unknown.SerializeAsString());
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(SameFields(ToGenerated(*ours), message));
    EXPECT_EQ(ours->unknown, "");
  });
}

// What a later version writes into a journal survives this one.
TEST(ResourceWireTest, TheJournalKeepsEveryFieldOfTheContract) {
  ForRandomMessages<wire::Topic>(EveryField, kRounds / 4, [](Random& random, wire::Topic message) {
    AddUnknownFields(random, message);
    if (message.has_message_retention_duration()) message.mutable_message_retention_duration()->DiscardUnknownFields();
    const auto ours = pubsub::DecodeTopic(message.SerializeAsString());
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(ParsesTo(pubsub::Encode(*ours), message));
  });
  ForRandomMessages<wire::Subscription>(EveryField, kRounds / 4, [](Random& random, wire::Subscription message) {
    message = WithDefaultBackoff(message);
    AddUnknownFields(random, message);
    DiscardInside(message);
    const auto ours = pubsub::DecodeSubscription(message.SerializeAsString());
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(ParsesTo(pubsub::Encode(*ours), message));
  });
}

// Every other field of the contract is refused by its name, or is one that only
// the service writes.
template <typename Generated, typename FromRequest>
void CheckUnserved(const FieldFilter& served, const std::set<std::string>& written_by_service, FromRequest decode) {
  const google::protobuf::Descriptor& type = *Generated::descriptor();
  int refused = 0;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    SCOPED_TRACE(field.full_name());
    if (served(field)) continue;
    Generated message;
    SetToNonDefault(field, message);
    const absl::Status status = decode(message.SerializeAsString()).status();
    if (written_by_service.contains(field.name())) {
      EXPECT_TRUE(status.ok()) << status;
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_EQ(status.message(), type.name() + "." + field.name() + " is not supported yet");
    ++refused;
  }
  EXPECT_GT(refused, 5);
}

TEST(TopicWireTest, FieldsThatAreNotServedAreRefusedByName) {
  CheckUnserved<wire::Topic>(ServedByTopic, {"satisfies_pzs", "state"}, pubsub::TopicFromRequest);
}

TEST(SubscriptionWireTest, FieldsThatAreNotServedAreRefusedByName) {
  CheckUnserved<wire::Subscription>(ServedBySubscription,
                                    {"topic_message_retention_duration", "state", "analytics_hub_subscription_info"},
                                    pubsub::SubscriptionFromRequest);
}

// ---- what the service shows ----

wire::Subscription Displayed(wire::Subscription shown) {
  shown = WithDefaultBackoff(shown);
  shown.mutable_push_config();
  if (!shown.has_expiration_policy()) shown.mutable_expiration_policy()->mutable_ttl()->set_seconds(kExpirationSeconds);
  if (!shown.has_message_retention_duration()) {
    google::protobuf::Duration& kept = *shown.mutable_message_retention_duration();
    kept.set_seconds(kRetentionSeconds);
    const google::protobuf::Duration& ttl = shown.expiration_policy().ttl();
    if (shown.expiration_policy().has_ttl() && ttl.seconds() < kRetentionSeconds) kept = ttl;
  }
  shown.set_state(wire::Subscription::ACTIVE);
  if (shown.ack_deadline_seconds() == 0) {
    shown.set_ack_deadline_seconds(shown.enable_exactly_once_delivery() ? 60 : 10);
  }
  return shown;
}

TEST(SubscriptionWireTest, DisplayFillsInTheDefaultsAndCanBeSentBack) {
  ForRandomMessages<wire::Subscription>(ServedBySubscription, kRounds, [](Random&, const wire::Subscription& message) {
    const wire::Subscription want = Displayed(message);
    const std::string shown = pubsub::EncodeForDisplay(FromGenerated(message));
    EXPECT_TRUE(ParsesTo(shown, want));
    const auto again = pubsub::SubscriptionFromRequest(shown);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(pubsub::EncodeForDisplay(*again), shown);
  });
}

TEST(ResourceWireTest, ListsAreReadByGeneratedCode) {
  ForRandomMessages<wire::Subscription>(ServedBySubscription, 100, [](Random& random, const wire::Subscription& first) {
    wire::Subscription second;
    Fill(random, ServedBySubscription, second);
    wire::Topic topic;
    Fill(random, ServedByTopic, topic);
    const std::string token = random.Text();

    wire::ListSubscriptionsResponse subscriptions;
    *subscriptions.add_subscriptions() = Displayed(first);
    *subscriptions.add_subscriptions() = Displayed(second);
    subscriptions.set_next_page_token(token);
    EXPECT_TRUE(ParsesTo(pubsub::EncodeSubscriptions({FromGenerated(first), FromGenerated(second)}, token).view(),
                         subscriptions));

    wire::ListTopicsResponse topics;
    *topics.add_topics() = topic;
    *topics.add_topics() = wire::Topic();
    topics.set_next_page_token(token);
    EXPECT_TRUE(ParsesTo(pubsub::EncodeTopics({FromGenerated(topic), {}}, token).view(), topics));

    wire::ListTopicSubscriptionsResponse names;
    names.add_subscriptions(token);
    names.add_subscriptions("");
    names.set_next_page_token(token);
    EXPECT_TRUE(ParsesTo(pubsub::EncodeNames({token, ""}, token).view(), names));
  });
  EXPECT_EQ(pubsub::EncodeNames({}, "").size(), 0u);
}

// ---- error details ----

TEST(ErrorDetailsWireTest, GeneratedCodeReadsTheFailures) {
  const std::string details = pubsub::EncodeAckFailures(
      absl::InvalidArgumentError("some ids"),
      {{"a", std::string(pubsub::kPermanentInvalidAckId)}, {"ä", std::string(pubsub::kTransientUnavailable)}});
  google::rpc::Status status;
  ASSERT_TRUE(status.ParseFromString(details));
  EXPECT_EQ(status.code(), 3);
  EXPECT_EQ(status.message(), "some ids");
  ASSERT_EQ(status.details_size(), 1);
  EXPECT_EQ(status.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(status.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "EXACTLY_ONCE_ACKID_FAILURE");
  EXPECT_EQ(info.domain(), "pubsub.googleapis.com");
  EXPECT_THAT(info.metadata(),
              testing::UnorderedElementsAre(testing::Pair("a", "PERMANENT_FAILURE_INVALID_ACK_ID"),
                                            testing::Pair("ä", "TRANSIENT_FAILURE_SERVICE_UNAVAILABLE")));
}

TEST(ErrorDetailsWireTest, TheFirstErrorInfoIsFoundAmongOtherDetails) {
  ForRandomMessages<google::rpc::ErrorInfo>(EveryField, 200, [](Random& random, const google::rpc::ErrorInfo& info) {
    google::rpc::BadRequest bad_request;
    Fill(random, EveryField, bad_request);
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(1);
    google::rpc::ErrorInfo later;
    (*later.mutable_metadata())["later"] = "ignored";

    google::rpc::Status status;
    status.set_code(3);
    status.set_message(random.Text());
    status.add_details()->PackFrom(bad_request);
    status.add_details()->PackFrom(retry);
    status.add_details()->PackFrom(info);
    status.add_details()->PackFrom(later);
    AddUnknownFields(random, status);
    const std::map<std::string, std::string> want(info.metadata().begin(), info.metadata().end());
    EXPECT_EQ(pubsub::DecodeErrorMetadata(status.SerializeAsString()), want);
  });
}

TEST(ErrorDetailsWireTest, MalformedDetailsHaveNoMetadata) {
  google::rpc::ErrorInfo info;
  (*info.mutable_metadata())["id"] = "code";
  google::rpc::Status status;
  status.add_details()->PackFrom(info);
  const std::string whole = status.SerializeAsString();
  EXPECT_EQ(pubsub::DecodeErrorMetadata(whole).size(), 1u);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(pubsub::DecodeErrorMetadata(std::string_view(whole).substr(0, size)).size(), 0u) << size;
  }
  EXPECT_EQ(pubsub::DecodeErrorMetadata(google::rpc::Status().SerializeAsString()).size(), 0u);
}

}  // namespace
}  // namespace hopgap::tests
