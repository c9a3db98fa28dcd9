#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class StreamTest : public ::testing::Test {
 protected:
  explicit StreamTest(Broker::Options options = World::Defaults()) : world_(std::move(options)) {}
  void SetUp() override { SetUp(world_); }
  static void SetUp(World& world) {
    ASSERT_TRUE(world.CreateTopic("top").ok());
    ASSERT_TRUE(world.CreateSubscription("eos", "top", true).ok());
    ASSERT_TRUE(world.CreateSubscription("std", "top", false).ok());
  }
  World::StreamLog& Log(StreamId id) { return world_.Log(id); }
  World world_;
};

TEST_F(StreamTest, TheFirstResponseSaysWhatKindItIsAndComesBeforeAnyMessage) {
  world_.Publish("top", {"m"});
  for (const auto& [sub, exactly_once] : {std::pair{"eos", true}, {"std", false}}) {
    const StreamId id = world_.Open(sub);
    ASSERT_THAT(Log(id).responses, SizeIs(2));
    EXPECT_THAT(Log(id).responses[0].received_messages, IsEmpty());
    EXPECT_THAT(DataOf(Log(id).responses[1].received_messages), ElementsAre("m"));
    for (const auto& response : Log(id).responses) {
      EXPECT_EQ(response.properties.exactly_once_delivery_enabled, exactly_once);
    }
  }
}

TEST_F(StreamTest, C07_TheFirstRequestIsChecked) {
  struct Case {
    const char* name;
    pubsub::StreamingPullRequest first;
    absl::StatusCode want;
  };
  std::vector<Case> cases{
      {"no subscription", World::First(""), kInvalid}, {"9 s", World::First("std", 9), kInvalid},
      {"0 s", World::First("std", 0), kInvalid},       {"601 s", World::First("std", 601), kInvalid},
      {"missing", World::First("none"), kNotFound},    {"lists", World::First("std"), kInvalid},
      {"negative", World::First("std"), kInvalid}};
  cases[0].first.subscription = "";
  cases[5].first.modify_deadline_seconds = {1};
  cases[6].first.modify_deadline_seconds = {-1};
  cases[6].first.modify_deadline_ack_ids = {"x"};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const StreamId id = world_.Open(c.first);
    ASSERT_TRUE(Log(id).closed);
    EXPECT_THAT(*Log(id).closed, HasCode(c.want));
    EXPECT_THAT(Log(id).responses, IsEmpty());
  }
  for (int32_t seconds : {10, 600}) EXPECT_FALSE(Log(world_.Open(World::First("std", seconds))).closed);
}

TEST_F(StreamTest, C08_LaterRequestsAreChecked) {
  using Change = std::function<void(pubsub::StreamingPullRequest&)>;
  struct Case {
    const char* name;
    Change change;
    bool closes;
  };
  const Case cases[] = {
      {"subscription", [](auto& r) { r.subscription = World::Sub("std"); }, true},
      {"max_outstanding_messages", [](auto& r) { r.max_outstanding_messages = 5; }, true},
      {"max_outstanding_bytes", [](auto& r) { r.max_outstanding_bytes = 5; }, true},
      {"protocol_version", [](auto& r) { r.protocol_version = 1; }, true},
      {"lists of two lengths",
       [](auto& r) {
         r.modify_deadline_seconds = {1, 2};
         r.modify_deadline_ack_ids = {"x"};
       },
       true},
      {"modify by -1",
       [](auto& r) {
         r.modify_deadline_seconds = {-1};
         r.modify_deadline_ack_ids = {"x"};
       },
       true},
      {"modify by 601",
       [](auto& r) {
         r.modify_deadline_seconds = {601};
         r.modify_deadline_ack_ids = {"x"};
       },
       true},
      {"9 s", [](auto& r) { r.stream_ack_deadline_seconds = 9; }, true},
      {"601 s", [](auto& r) { r.stream_ack_deadline_seconds = 601; }, true},
      {"60 s", [](auto& r) { r.stream_ack_deadline_seconds = 60; }, false},
      {"malformed ack id", [](auto& r) { r.ack_ids = {"not-an-ack-id"}; }, false},
      {"client_id", [](auto& r) { r.client_id = "me"; }, false},
      {"empty", [](auto&) {}, false},
  };
  for (const Case& c : cases) {
    for (const char* sub : {"std", "eos"}) {
      SCOPED_TRACE(std::string(c.name) + " on " + sub);
      const StreamId id = world_.Open(sub);
      pubsub::StreamingPullRequest request;
      c.change(request);
      world_.Send(id, request);
      EXPECT_EQ(Log(id).closed.has_value(), c.closes);
      if (c.closes) {
        EXPECT_THAT(*Log(id).closed, HasCode(kInvalid));
      }
    }
  }
}

TEST_F(StreamTest, C08_AChangedDeadlineAppliesToLaterDeliveries) {
  const StreamId id = world_.Open("eos");
  world_.Publish("top", {"early"});
  pubsub::StreamingPullRequest request;
  request.stream_ack_deadline_seconds = 30;
  world_.Send(id, request);
  world_.Publish("top", {"late"});
  const auto got = Log(id).Messages();
  ASSERT_THAT(DataOf(got), ElementsAre("early", "late"));
  world_.Gone(id);
  world_.Advance(29s);
  EXPECT_THAT(world_.Ack("eos", {got[0].ack_id}), HasCode(kInvalid));
  EXPECT_TRUE(world_.Ack("eos", {got[1].ack_id}).ok());
}

// A stream whose leases would be longer than L raises it first.
TEST_F(StreamTest, ALongStreamDeadlineRaisesTheLeaseCeilingBeforeTheFirstMessage) {
  world_.Publish("top", {"m"});
  world_.journal_waits = true;
  const StreamId id = world_.Open(World::First("eos", 61));
  ASSERT_THAT(world_.Records<LeaseCeilingRaised>(), SizeIs(1));
  EXPECT_THAT(Log(id).Messages(), IsEmpty());
  world_.PersistAll();
  EXPECT_THAT(Log(id).Messages(), SizeIs(1));
}

TEST_F(StreamTest, KeepAlivesAreAnsweredFromProtocolVersionOne) {
  auto first = World::First("std");
  const StreamId silent = world_.Open(first);
  first.protocol_version = 1;
  const StreamId answering = world_.Open(first);
  for (int i = 0; i < 3; ++i) {
    world_.Advance(30s);
    world_.Send(silent, {});
    world_.Send(answering, {});
  }
  EXPECT_THAT(Log(silent).responses, SizeIs(1));
  EXPECT_THAT(Log(answering).responses, SizeIs(4));
  EXPECT_EQ(Log(answering).at.back(), kStart + 90s);
}

TEST_F(StreamTest, OneWriteIsInFlightAndWhatIsOwedGathersUntilItIsDone) {
  auto first = World::First("eos");
  first.protocol_version = 1;
  const StreamId id = world_.Open(first);
  world_.writes_wait = true;
  world_.Publish("top", {"a"});
  ASSERT_TRUE(Log(id).write_in_flight);
  world_.Publish("top", {"b", "c"});
  world_.Send(id, {});
  pubsub::StreamingPullRequest ack;
  ack.ack_ids = {Log(id).Messages()[0].ack_id, "bad"};
  world_.Send(id, ack);
  ASSERT_THAT(Log(id).responses, SizeIs(2));
  world_.WriteDone(id);
  ASSERT_THAT(Log(id).responses, SizeIs(3)) << "one response with all of it";
  EXPECT_THAT(DataOf(Log(id).responses[2].received_messages), ElementsAre("b", "c"));
  EXPECT_THAT(Log(id).responses[2].acknowledge_confirmation.ack_ids, ElementsAre(ack.ack_ids[0]));
  EXPECT_THAT(Log(id).responses[2].acknowledge_confirmation.invalid_ack_ids, ElementsAre("bad"));
  world_.WriteDone(id);
  EXPECT_THAT(Log(id).responses, SizeIs(3));
}

TEST_F(StreamTest, StreamAcksAreConfirmedOnlyUnderExactlyOnce) {
  for (const char* sub : {"eos", "std"}) {
    World world;
    SetUp(world);
    SCOPED_TRACE(sub);
    const bool exactly_once = std::string(sub) == "eos";
    const StreamId id = world.Open(sub);
    world.Publish("top", {"a", "b", "c"});
    const auto got = world.Log(id).Messages();
    const size_t before = world.Log(id).responses.size();
    pubsub::StreamingPullRequest request;
    request.ack_ids = {got[0].ack_id, "bad"};
    request.modify_deadline_ack_ids = {got[1].ack_id, got[2].ack_id, "worse"};
    request.modify_deadline_seconds = {30, 0, 30};
    world.Send(id, request);
    std::vector<std::string> acked, not_acked, modified, not_modified;
    for (size_t i = before; i < world.Log(id).responses.size(); ++i) {
      const auto& response = world.Log(id).responses[i];
      for (const auto& x : response.acknowledge_confirmation.ack_ids) acked.push_back(x);
      for (const auto& x : response.acknowledge_confirmation.invalid_ack_ids) not_acked.push_back(x);
      for (const auto& x : response.modify_ack_deadline_confirmation.ack_ids) modified.push_back(x);
      for (const auto& x : response.modify_ack_deadline_confirmation.invalid_ack_ids) not_modified.push_back(x);
    }
    if (exactly_once) {
      EXPECT_THAT(acked, ElementsAre(got[0].ack_id));
      EXPECT_THAT(not_acked, ElementsAre("bad"));
      EXPECT_THAT(modified, UnorderedElementsAre(got[1].ack_id, got[2].ack_id));
      EXPECT_THAT(not_modified, ElementsAre("worse"));
    } else {
      EXPECT_TRUE(acked.empty() && not_acked.empty() && modified.empty() && not_modified.empty());
    }
    EXPECT_EQ(world.Log(id).Messages().size(), 4u) << "the nacked one came again";
    EXPECT_FALSE(world.Log(id).closed);
    world.Gone(id);
  }
}

TEST_F(StreamTest, AConfirmationWaitsForTheCommit) {
  const StreamId id = world_.Open("eos");
  world_.Publish("top", {"a"});
  world_.journal_waits = true;
  pubsub::StreamingPullRequest request;
  request.ack_ids = AckIdsOf(Log(id).Messages());
  world_.Send(id, request);
  const size_t before = Log(id).responses.size();
  world_.HalfClose(id);
  EXPECT_FALSE(Log(id).closed) << "a confirmation is still to come";
  world_.PersistAll();
  ASSERT_EQ(Log(id).responses.size(), before + 1);
  EXPECT_EQ(Log(id).responses.back().acknowledge_confirmation.ack_ids, request.ack_ids);
  ASSERT_TRUE(Log(id).closed);
  EXPECT_TRUE(Log(id).closed->ok());
}

TEST_F(StreamTest, AHalfClosedStreamGetsNoMoreMessagesAndEndsOk) {
  const StreamId id = world_.Open("std");
  world_.writes_wait = true;
  world_.Publish("top", {"a"});
  world_.HalfClose(id);
  EXPECT_FALSE(Log(id).closed) << "a write is in flight";
  world_.Publish("top", {"b"});
  world_.WriteDone(id);
  EXPECT_THAT(DataOf(Log(id).Messages()), ElementsAre("a"));
  ASSERT_TRUE(Log(id).closed);
  EXPECT_TRUE(Log(id).closed->ok());
  world_.Gone(id);
  world_.writes_wait = false;
  EXPECT_THAT(DataOf(world_.Pull("std")), ElementsAre("b"));
}

TEST_F(StreamTest, LeasesOutliveTheirStream) {
  const StreamId id = world_.Open("eos");
  world_.Publish("top", {"m"});
  const std::string ack_id = Log(id).Messages().at(0).ack_id;
  world_.Gone(id);
  const StreamId other = world_.Open("eos");
  world_.Advance(10s - 1ns);
  EXPECT_THAT(Log(other).Messages(), IsEmpty());
  EXPECT_TRUE(world_.Ack("eos", {ack_id}).ok());
  world_.Advance(1h);
  EXPECT_THAT(Log(other).Messages(), IsEmpty());
}

TEST_F(StreamTest, DeletingTheSubscriptionClosesItsStreamsNotFound) {
  const StreamId idle = world_.Open("std");
  world_.writes_wait = true;
  const StreamId busy = world_.Open("std");
  EXPECT_TRUE(world_.Do(pubsub::Method::kDeleteSubscription, pubsub::NameRequest{World::Sub("std")}).ok());
  ASSERT_TRUE(Log(idle).closed);
  EXPECT_THAT(*Log(idle).closed, HasCode(kNotFound));
  EXPECT_THAT(*Log(idle).closed, SaysText("Resource not found (resource=std)."));
  EXPECT_FALSE(Log(busy).closed) << "its write is in flight";
  world_.WriteDone(busy);
  ASSERT_TRUE(Log(busy).closed);
  EXPECT_THAT(*Log(busy).closed, HasCode(kNotFound));
  world_.Gone(busy);
  world_.Gone(idle);
}

TEST_F(StreamTest, AStreamThatLeavesBeforeItIsClosedIsForgotten) {
  world_.writes_wait = true;
  const StreamId busy = world_.Open("std");
  EXPECT_TRUE(world_.Do(pubsub::Method::kDeleteSubscription, pubsub::NameRequest{World::Sub("std")}).ok());
  world_.Gone(busy);
  world_.WriteDone(busy);
  EXPECT_FALSE(Log(busy).closed);
}

TEST_F(StreamTest, DeletingTheTopicLeavesItsStreamsAndBacklog) {
  world_.Publish("top", {"m"});
  EXPECT_TRUE(world_.Do(pubsub::Method::kDeleteTopic, pubsub::NameRequest{World::Topic("top")}).ok());
  const StreamId id = world_.Open("eos");
  EXPECT_THAT(DataOf(Log(id).Messages()), ElementsAre("m"));
  EXPECT_TRUE(world_.Ack("eos", AckIdsOf(Log(id).Messages())).ok());
}

TEST_F(StreamTest, OutstandingMessagesAreLimitedPerStream) {
  auto first = World::First("eos");
  first.max_outstanding_messages = 2;
  const StreamId id = world_.Open(first);
  world_.Publish("top", {"a", "b", "c", "d", "e"});
  auto got = Log(id).Messages();
  ASSERT_THAT(DataOf(got), ElementsAre("a", "b"));
  EXPECT_TRUE(world_.Modify("eos", {got[0].ack_id}, 20).ok());
  EXPECT_THAT(Log(id).Messages(), SizeIs(2)) << "an extension keeps it outstanding";
  EXPECT_TRUE(world_.Ack("eos", {got[0].ack_id}).ok());
  EXPECT_THAT(DataOf(Log(id).Messages()), ElementsAre("a", "b", "c"));
  world_.Advance(10s);  // b and c expire
  got = Log(id).Messages();
  EXPECT_THAT(DataOf(got), ElementsAre("a", "b", "c", "d", "e"));
}

TEST_F(StreamTest, OutstandingBytesMayBeCrossedByTheLastMessage) {
  auto first = World::First("std");
  first.max_outstanding_bytes = 150;
  const StreamId id = world_.Open(first);
  const std::string big(100, 'x');
  world_.Publish("top", {big, big, big});
  EXPECT_THAT(Log(id).Messages(), SizeIs(2));
  EXPECT_TRUE(world_.Ack("std", {Log(id).Messages()[0].ack_id}).ok());
  EXPECT_THAT(Log(id).Messages(), SizeIs(3));
  // A message above the limit goes out when nothing is outstanding.
  first.max_outstanding_bytes = 10;
  const StreamId tiny = world_.Open(first);
  world_.Publish("top", {big, big});
  EXPECT_THAT(Log(tiny).Messages(), SizeIs(1));
}

TEST_F(StreamTest, EagerSharesWhatIsReadyAndLoneMessagesRotate) {
  std::vector<StreamId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(world_.Open("std"));
  for (const char* data : {"1", "2", "3", "4", "5"}) world_.Publish("top", {data});
  EXPECT_THAT(DataOf(Log(ids[0]).Messages()), ElementsAre("1", "4"));
  EXPECT_THAT(DataOf(Log(ids[1]).Messages()), ElementsAre("2", "5"));
  EXPECT_THAT(DataOf(Log(ids[2]).Messages()), ElementsAre("3"));
  world_.Publish("top", {"a", "b", "c", "d", "e", "f", "g"});  // ceil(7 / 3) = 3, from the third on
  EXPECT_THAT(DataOf(Log(ids[2]).responses.back().received_messages), ElementsAre("a", "b", "c"));
  EXPECT_THAT(DataOf(Log(ids[0]).responses.back().received_messages), ElementsAre("d", "e", "f"));
  EXPECT_THAT(DataOf(Log(ids[1]).responses.back().received_messages), ElementsAre("g"));
}

TEST_F(StreamTest, TheTurnSurvivesTheEndOfAnEarlierStream) {
  std::vector<StreamId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(world_.Open("std"));
  world_.Publish("top", {"1"});
  world_.Publish("top", {"2"});
  world_.Gone(ids[0]);
  world_.Publish("top", {"3"});
  EXPECT_THAT(DataOf(world_.Log(ids[2]).Messages()), ElementsAre("3"));
}

TEST_F(StreamTest, ARedeliveryGoesToAnotherStreamIfThereIsOne) {
  for (const char* sub : {"std", "eos"}) {
    World world;
    SetUp(world);
    const StreamId a = world.Open(sub);
    const StreamId b = world.Open(sub);
    world.Publish("top", {"m"});
    ASSERT_THAT(world.Log(a).Messages(), SizeIs(1));
    EXPECT_TRUE(world.Modify(sub, AckIdsOf(world.Log(a).Messages()), 0).ok());
    EXPECT_THAT(world.Log(b).Messages(), SizeIs(1));
    EXPECT_TRUE(world.Modify(sub, AckIdsOf(world.Log(b).Messages()), 0).ok());
    EXPECT_THAT(world.Log(a).Messages(), SizeIs(2));
    world.Gone(b);
    EXPECT_TRUE(world.Modify(sub, {world.Log(a).Messages()[1].ack_id}, 0).ok());
    EXPECT_THAT(world.Log(a).Messages(), SizeIs(3)) << "the only one";
    world.Gone(a);
    EXPECT_TRUE(world.Ack(sub, {world.Log(a).Messages()[2].ack_id}).ok());
  }
}

TEST_F(StreamTest, AResponseHasItsLimits) {
  Broker::Options options = World::Defaults();
  options.messages_per_response_max = 3;
  options.bytes_per_response_max = 400;
  World world(options);
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateSubscription("std", "top", false).ok());
  world.Publish("top", std::vector<std::string>(7, "m"));
  const std::string big(150, 'x'), huge(1000, 'y');
  world.Publish("top", {big, big, huge, big});
  const StreamId id = world.Open("std");
  std::vector<size_t> sizes;
  for (const auto& response : world.streams[id].responses) sizes.push_back(response.received_messages.size());
  EXPECT_THAT(sizes, ElementsAre(0, 3, 3, 3, 1, 1));
}

TEST_F(StreamTest, StreamsAreLimited) {
  Broker::Options options = World::Defaults();
  options.streams_max = 2;
  World world(options);
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateSubscription("std", "top", false).ok());
  const StreamId first = world.Open("std");
  world.Open("std");
  const StreamId third = world.Open("std");
  ASSERT_TRUE(world.streams[third].closed);
  EXPECT_THAT(*world.streams[third].closed, HasCode(kExhausted));
  world.Gone(third);
  world.Gone(first);
  EXPECT_FALSE(world.streams[world.Open("std")].closed);
}

TEST_F(StreamTest, ConfirmationsThatNobodyReadsAreLimited) {
  const StreamId id = world_.Open("eos");
  world_.writes_wait = true;
  world_.Publish("top", {"m"});
  ASSERT_TRUE(Log(id).write_in_flight);
  pubsub::StreamingPullRequest request;
  request.ack_ids.assign(50'000, "bad");
  world_.Send(id, request);
  world_.Send(id, request);
  request.ack_ids = {"bad"};
  world_.Send(id, request);
  world_.WriteDone(id);
  ASSERT_TRUE(Log(id).closed);
  EXPECT_THAT(*Log(id).closed, HasCode(kExhausted));
}

// C05
TEST_F(StreamTest, ExtendedLeasesAreNeverDeliveredTwice) {
  const StreamId streams[] = {world_.Open("eos"), world_.Open("eos")};
  world_.Publish("top", std::vector<std::string>(100, "m"));
  for (int i = 0; i < 5; ++i) {
    world_.Advance(5s);
    for (StreamId id : streams) EXPECT_TRUE(world_.Modify("eos", AckIdsOf(Log(id).Messages()), 10).ok());
  }
  size_t deliveries = 0;
  for (StreamId id : streams) {
    EXPECT_TRUE(world_.Ack("eos", AckIdsOf(Log(id).Messages())).ok());
    deliveries += Log(id).Messages().size();
  }
  world_.Advance(1h);
  EXPECT_EQ(deliveries, 100u);
  EXPECT_EQ(world_.broker.counters().redeliveries, 0u);
  EXPECT_EQ(world_.broker.counters().expired_leases, 0u);
}

class GatedStreamTest : public StreamTest {
 protected:
  static Broker::Options Gated() {
    Broker::Options options = World::Defaults();
    options.response_policy = ResponsePolicy::kGated;
    return options;
  }
  GatedStreamTest() : StreamTest(Gated()) {}
};

TEST_F(GatedStreamTest, LaterMessagesGatherUntilTheReceiptModack) {
  const StreamId id = world_.Open("eos");
  world_.Publish("top", {"a"});
  world_.Publish("top", {"b"});
  world_.Publish("top", {"c"});
  EXPECT_THAT(DataOf(Log(id).Messages()), ElementsAre("a"));
  EXPECT_TRUE(world_.Modify("eos", AckIdsOf(Log(id).Messages()), 60).ok());
  ASSERT_THAT(Log(id).responses, SizeIs(3));
  EXPECT_THAT(DataOf(Log(id).responses.back().received_messages), ElementsAre("b", "c"));
  world_.Publish("top", {"d"});
  EXPECT_TRUE(world_.Modify("eos", {Log(id).Messages()[0].ack_id}, 60).ok());
  EXPECT_THAT(Log(id).Messages(), SizeIs(3)) << "an extension of an older response opens nothing";
  EXPECT_TRUE(world_.Ack("eos", {Log(id).Messages()[2].ack_id}).ok());
  EXPECT_THAT(Log(id).Messages(), SizeIs(4)) << "an ack of one of its messages does";
}

TEST_F(GatedStreamTest, AnExpiryAndANackOpenTheGateToo) {
  const StreamId id = world_.Open("eos");
  world_.Publish("top", {"a"});
  world_.Publish("top", {"b"});
  world_.Advance(10s);
  EXPECT_THAT(DataOf(Log(id).Messages()), UnorderedElementsAre("a", "b"));
  EXPECT_TRUE(world_.Modify("eos", {Log(id).Messages()[1].ack_id}, 0).ok());
  EXPECT_GE(Log(id).Messages().size(), 3u);
}

TEST_F(GatedStreamTest, OtherStreamsTakeWhatOneCannot) {
  const StreamId a = world_.Open("eos");
  const StreamId b = world_.Open("eos");
  world_.Publish("top", {"1"});
  world_.Publish("top", {"2"});
  world_.Publish("top", {"3"});
  EXPECT_THAT(DataOf(Log(a).Messages()), ElementsAre("1"));
  EXPECT_THAT(DataOf(Log(b).Messages()), ElementsAre("2"));
  EXPECT_TRUE(world_.Modify("eos", AckIdsOf(Log(b).Messages()), 60).ok());
  EXPECT_THAT(DataOf(Log(b).Messages()), ElementsAre("2", "3"));
}

TEST_F(GatedStreamTest, AStandardSubscriptionHasNoGate) {
  const StreamId id = world_.Open("std");
  world_.Publish("top", {"a"});
  world_.Publish("top", {"b"});
  EXPECT_THAT(DataOf(Log(id).Messages()), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace hopgap::broker
