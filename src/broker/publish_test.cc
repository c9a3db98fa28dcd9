#include "broker/world_testing.h"
#include "pubsub/limits.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using pubsub::Message;

class PublishTest : public ::testing::Test {
 protected:
  explicit PublishTest(Broker::Options options = World::Defaults()) : world_(std::move(options)) {}
  void SetUp() override {
    ASSERT_TRUE(world_.CreateTopic("top").ok());
    ASSERT_TRUE(world_.CreateSubscription("eos", "top", true).ok());
    ASSERT_TRUE(world_.CreateSubscription("std", "top", false).ok());
  }
  absl::Status Status(std::vector<Message> messages) {
    return world_.Await(world_.StartPublish("top", std::move(messages))).status;
  }
  absl::Status OfSize(size_t wire_size) {
    return world_.Do(pubsub::Method::kPublish,
                     pubsub::PublishRequest{
                         .topic = World::Topic("top"), .messages = {Message::Make("m", {})}, .wire_size = wire_size});
  }
  World world_;
};

TEST_F(PublishTest, IdsAreDecimalAndAlignedAndTheTimeIsTheArrivals) {
  world_.now += 1500ms;
  const auto ids = world_.Publish("top", {"a", "b"});
  ASSERT_THAT(ids, ElementsAre("1", "2"));
  const auto got = world_.Pull("std");
  ASSERT_THAT(DataOf(got), ElementsAre("a", "b"));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got[i].message.message_id(), ids[i]);
    EXPECT_EQ(got[i].message.publish_time(), (WallTime{Duration{1'700'000'001'500'000'000}}));
    EXPECT_EQ(got[i].delivery_attempt, 0);
  }
}

TEST_F(PublishTest, WhatThePublisherClaimedIsOverwritten) {
  const Message claimed = Message::Make("m", {}).Accepted("999", WallTime{Duration{5}});
  world_.StartPublish("top", {claimed});
  const auto got = world_.Pull("std");
  ASSERT_THAT(got, SizeIs(1));
  EXPECT_EQ(got[0].message.message_id(), "1");
  EXPECT_NE(got[0].message.publish_time(), (WallTime{Duration{5}}));
}

TEST_F(PublishTest, NothingIsAnsweredOrDeliveredBeforeTheCommit) {
  const StreamId stream = world_.Open("eos");
  world_.journal_waits = true;
  const CallId call = world_.StartPublish("top", {Message::Make("m", {})});
  EXPECT_FALSE(world_.Answered(call));
  EXPECT_THAT(world_.Pull("std"), IsEmpty());
  EXPECT_THAT(world_.Log(stream).Messages(), IsEmpty());
  // One group: the message, and the send bound that lets it out at once.
  EXPECT_THAT(world_.Records<Published>(), SizeIs(1));
  EXPECT_THAT(world_.Records<SendBoundRaised>(), SizeIs(1));
  EXPECT_THAT(world_.waiting_tokens, SizeIs(1));
  world_.PersistAll();
  EXPECT_TRUE(world_.Answered(call));
  EXPECT_THAT(world_.Log(stream).Messages(), SizeIs(1));
  EXPECT_THAT(world_.Pull("std"), SizeIs(1));
  EXPECT_EQ(world_.broker.counters().send_bound_waits, 0u);
}

// With a backlog the raise follows the sending, in growing steps.
TEST_F(PublishTest, ABacklogIsSentUnderRaisesOfItsOwn) {
  for (int i = 0; i < 300; ++i) world_.Publish("top", std::vector<std::string>(10, "m"));
  EXPECT_THAT(world_.Records<SendBoundRaised>(), IsEmpty()) << "nobody wants them";
  auto first = World::First("eos");
  first.max_outstanding_messages = 5;
  const StreamId stream = world_.Open(first);
  ASSERT_THAT(world_.Records<SendBoundRaised>(), SizeIs(1));
  EXPECT_LE(world_.Records<SendBoundRaised>()[0].bound, 1000u);
  EXPECT_GT(world_.broker.counters().send_bound_waits, 0u);
  size_t acked = 0;
  for (size_t i = 0; i < world_.Log(stream).responses.size(); ++i) {
    const std::vector<std::string> ids = AckIdsOf(world_.Log(stream).responses[i].received_messages);
    if (ids.empty()) continue;
    ASSERT_TRUE(world_.Ack("eos", ids).ok());
    acked += ids.size();
  }
  EXPECT_EQ(acked, 3000u);
  EXPECT_LT(world_.Records<SendBoundRaised>().size(), 10u);
}

TEST_F(PublishTest, NothingIsRaisedFarAheadOfASlowReader) {
  for (int i = 0; i < 6; ++i) world_.Publish("top", std::vector<std::string>(500, "m"));
  world_.writes_wait = true;
  const StreamId stream = world_.Open("eos");
  ASSERT_THAT(world_.Records<SendBoundRaised>(), SizeIs(1));
  EXPECT_EQ(world_.Records<SendBoundRaised>()[0].bound, 1000u) << "one response";
  world_.Publish("top", {"m"});
  EXPECT_THAT(world_.Records<SendBoundRaised>(), SizeIs(1)) << "behind a backlog no publish carries a raise";
  world_.writes_wait = false;
  world_.WriteDone(stream);
  EXPECT_THAT(world_.Log(stream).Messages(), SizeIs(3001));
}

// Steady sending: few raises, and B never far ahead of what was sent.
TEST_F(PublishTest, TheSendBoundCoversAboutATenthOfASecond) {
  const StreamId stream = world_.Open("eos");
  for (int i = 0; i < 3000; ++i) {
    world_.Publish("top", {"m"});
    world_.Advance(1ms);
  }
  EXPECT_THAT(world_.Log(stream).Messages(), SizeIs(3000));
  const auto raises = world_.Records<SendBoundRaised>();
  EXPECT_LT(raises.size(), 60u);
  EXPECT_LE(raises.back().bound, 3000u + 300u);
  EXPECT_EQ(world_.broker.counters().send_bound_waits, 0u);
  ASSERT_TRUE(world_.Ack("eos", AckIdsOf(world_.Log(stream).Messages())).ok());
  world_.Advance(10s);
  for (int i = 0; i < 300; ++i) {
    world_.Publish("top", {"m"});
    world_.Advance(2s);
  }
  EXPECT_EQ(world_.Records<SendBoundRaised>().back().bound, 3300u) << "at a slow rate nothing is raised ahead";
}

TEST_F(PublishTest, C27_LimitsAreChecked) {
  const std::string key256(256, 'k'), key257(257, 'k'), value1024(1024, 'v'), value1025(1025, 'v');
  std::vector<std::pair<std::string, std::string>> a100, a101;
  for (int i = 0; i < 101; ++i) (i < 100 ? a100 : a101).emplace_back("k" + std::to_string(i), "v");
  a101.insert(a101.end(), a100.begin(), a100.end());
  struct Case {
    const char* name;
    std::vector<Message> messages;
    const char* text;  // null: accepted
  };
  const Case cases[] = {
      {"none",
       {},
       "The value for message_count is too small. You passed 0 in the request, but the minimum value is 1."},
      {"1000", std::vector<Message>(1000, Message::Make("m", {})), nullptr},
      {"1001", std::vector<Message>(1001, Message::Make("m", {})),
       "The value for message_count is too large. You passed 1001 in the request, but the maximum value is 1000."},
      {"empty",
       {Message::Make("m", {}), Message::Make("", {})},
       "One or more messages in the publish request is empty."},
      {"key alone", {Message::Make("", {}, "key")}, "One or more messages in the publish request is empty."},
      {"attribute alone", {Message::Make("", {{"a", ""}})}, nullptr},
      {"100 attributes", {Message::Make("m", a100)}, nullptr},
      {"101 attributes", {Message::Make("m", a101)}, "attribute_count is too large. You passed 101"},
      {"empty key", {Message::Make("m", {{"", "v"}})}, "attribute_key_size is too small"},
      {"key of 256", {Message::Make("m", {{key256, "v"}})}, nullptr},
      {"key of 257", {Message::Make("m", {{key257, "v"}})}, "attribute_key_size is too large. You passed 257"},
      {"value of 1024", {Message::Make("m", {{"a", value1024}})}, nullptr},
      {"value of 1025", {Message::Make("m", {{"a", value1025}})}, "attribute_value_size is too large. You passed 1025"},
      {"reserved", {Message::Make("m", {{"googfoo", "v"}})}, "reserved prefix"},
      {"client's own", {Message::Make("m", {{"googclient_x", "v"}})}, nullptr},
      {"ordering key of 1024", {Message::Make("m", {}, value1024)}, nullptr},
      {"ordering key of 1025", {Message::Make("m", {}, value1025)}, "ordering_key_size is too large. You passed 1025"},
      // C15
      {"two keys",
       {Message::Make("m", {}, "k1"), Message::Make("m", {}, "k2")},
       "all messages must have no ordering key"},
      {"key and none",
       {Message::Make("m", {}), Message::Make("m", {}, "k2")},
       "all messages must have no ordering key"},
      {"same key", {Message::Make("m", {}, "k1"), Message::Make("m", {}, "k1")}, nullptr},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const absl::Status status = Status(c.messages);
    EXPECT_THAT(status, HasCode(c.text ? kInvalid : kOk));
    if (c.text) {
      EXPECT_THAT(status, SaysText(c.text));
    }
    EXPECT_EQ(world_.Pull("std", 10'000).size(), c.text ? 0 : c.messages.size()) << "all or nothing";
  }
}

TEST_F(PublishTest, C27_RequestSizeBounds) {
  EXPECT_THAT(OfSize(10'000'000), HasCode(kOk));
  EXPECT_THAT(OfSize(10'000'001),
              SaysText("The value for request_size is too large. You passed 10000001 in the request, "
                       "but the maximum value is 10000000."));
  EXPECT_THAT(OfSize(10'485'761), SaysText("Request payload size exceeds the limit: 10485760 bytes."));
}

TEST_F(PublishTest, TheTopicMustBeThere) {
  EXPECT_THAT(world_.Do(pubsub::Method::kPublish,
                        pubsub::PublishRequest{.topic = World::Topic("none"), .messages = {}, .wire_size = 0}),
              HasCode(kNotFound));
  EXPECT_THAT(
      world_.Do(pubsub::Method::kPublish, pubsub::PublishRequest{.topic = "none", .messages = {}, .wire_size = 0}),
      HasCode(kInvalid));
}

TEST_F(PublishTest, ABodyIsFreedWhenNoSubscriptionNeedsIt) {
  Broker::Options options = World::Defaults();
  options.retained_bytes_max = 5000;
  World world(options);
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateSubscription("one", "top", false).ok());
  ASSERT_TRUE(world.CreateSubscription("two", "top", true).ok());
  const std::string big(4000, 'x');
  world.Publish("top", {big});
  EXPECT_THAT(world.Await(world.StartPublish("top", {Message::Make(big, {})})).status, HasCode(kExhausted));
  EXPECT_EQ(world.broker.counters().refused_publishes, 1u);
  ASSERT_TRUE(world.Ack("one", AckIdsOf(world.Pull("one"))).ok());
  EXPECT_THAT(world.Await(world.StartPublish("top", {Message::Make(big, {})})).status, HasCode(kExhausted));
  ASSERT_TRUE(world.Ack("two", AckIdsOf(world.Pull("two"))).ok());
  world.Publish("top", {big});
  // Deleting what needs it frees it too.
  for (const char* sub : {"one", "two"}) {
    ASSERT_TRUE(world.Do(pubsub::Method::kDeleteSubscription, pubsub::NameRequest{World::Sub(sub)}).ok());
  }
  for (int i = 0; i < 10; ++i) world.Publish("top", {big});  // nobody gets them, nothing is kept
}

TEST_F(PublishTest, ASubscriptionGetsWhatCameAfterIt) {
  world_.journal_waits = true;
  const CallId before = world_.StartPublish("top", {Message::Make("before", {})});
  const CallId made =
      world_.Start(pubsub::Method::kCreateSubscription,
                   pubsub::CreateSubscriptionRequest{.subscription = {.name = World::Sub("late"),
                                                                      .topic = World::Topic("top"),
                                                                      .ack_deadline_seconds = 0,
                                                                      .labels = {},
                                                                      .enable_exactly_once_delivery = false,
                                                                      .unknown = {}}});
  world_.journal_waits = false;
  world_.PersistAll();
  EXPECT_TRUE(world_.Answered(before) && world_.Answered(made));
  world_.Publish("top", {"after"});
  EXPECT_THAT(DataOf(world_.Pull("late")), ElementsAre("after"));
}

TEST_F(PublishTest, ATopicDeletedUnderAPublishStillDelivers) {
  world_.journal_waits = true;
  const CallId call = world_.StartPublish("top", {Message::Make("m", {})});
  const CallId gone = world_.Start(pubsub::Method::kDeleteTopic, pubsub::NameRequest{World::Topic("top")});
  world_.journal_waits = false;
  world_.PersistAll();
  EXPECT_TRUE(world_.Await(call).status.ok());
  EXPECT_TRUE(world_.Await(gone).status.ok());
  EXPECT_THAT(world_.Pull("std"), SizeIs(1));
}

}  // namespace
}  // namespace hopgap::broker
