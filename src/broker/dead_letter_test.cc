// Retry policies, delivery attempts, dead letters, and why an ack failed.

#include <map>
#include <set>

#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class RulesTest : public ::testing::Test {
 protected:
  RulesTest() {
    EXPECT_TRUE(world.CreateTopic("top").ok());
    EXPECT_TRUE(world.CreateTopic("dead").ok());
    EXPECT_TRUE(world.CreateSubscription("graves", "dead", false).ok());
  }
  static pubsub::Subscription DeadLetters(bool exactly_once, int32_t attempts = 5) {
    pubsub::Subscription value;
    value.ack_deadline_seconds = 10;
    value.enable_exactly_once_delivery = exactly_once;
    value.dead_letter_policy = {.dead_letter_topic = World::Topic("dead"), .max_delivery_attempts = attempts};
    return value;
  }
  // The one message that is there; nacked, with its attempt.
  int32_t NackNext(World& w, const std::string& sub = "sub") {
    const auto messages = w.Pull(sub);
    EXPECT_THAT(messages, SizeIs(1));
    if (messages.size() != 1) return -1;
    EXPECT_TRUE(w.Modify(sub, AckIdsOf(messages), 0).ok());
    return messages[0].delivery_attempt;
  }
  World world;
};

TEST_F(RulesTest, C05_WhatIsExtendedInTimeComesOnce) {
  ASSERT_TRUE(world.CreateSubscription("sub", "top", true).ok());
  const StreamId a = world.Open("sub"), b = world.Open("sub");
  for (int i = 0; i < 100; ++i) world.Publish("top", {"m" + std::to_string(i)});
  std::vector<std::string> ids;
  std::set<std::string> messages;
  for (StreamId stream : {a, b}) {
    for (const auto& message : world.Log(stream).Messages()) {
      ids.push_back(message.ack_id);
      EXPECT_TRUE(messages.emplace(message.message.message_id()).second);
    }
  }
  ASSERT_THAT(ids, SizeIs(100));
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(world.Modify("sub", ids, 10).ok());
    world.Advance(5s);
  }
  EXPECT_TRUE(world.Ack("sub", ids).ok());
  world.Advance(1h);
  EXPECT_EQ(world.Log(a).Messages().size() + world.Log(b).Messages().size(), 100u);
}

TEST_F(RulesTest, C10_WithoutAPolicyANackBringsItBackAtOnce) {
  ASSERT_TRUE(world.CreateSubscription("sub", "top", false).ok());
  world.Publish("top", {"m"});
  EXPECT_EQ(NackNext(world), 0) << "no attempts are counted without a dead-letter policy";
  const auto again = world.Pull("sub");
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_TRUE(world.Ack("sub", AckIdsOf(again)).ok());
  world.Advance(1h);
  EXPECT_THAT(world.Pull("sub"), IsEmpty());
}

TEST_F(RulesTest, C11_BackoffDoublesFromMinimumToMaximum) {
  pubsub::Subscription value;
  value.ack_deadline_seconds = 10;
  value.retry_policy = {.minimum_backoff = 10s, .maximum_backoff = 40s};
  ASSERT_TRUE(world.Create("sub", "top", value).ok());
  const StreamId stream = world.Open("sub");
  world.Publish("top", {"m"});
  const auto& log = world.Log(stream);
  Instant last = world.now;
  int failures = 0;
  for (Duration gap : {10s, 20s, 40s, 40s}) {
    SCOPED_TRACE(failures);
    // By turns a nack and an expiry; the lease of an expiry ends 10 s later.
    const bool nack = failures++ % 2 == 0;
    if (nack) {
      EXPECT_TRUE(world.Modify("sub", {log.Messages().back().ack_id}, 0).ok());
    }
    const Instant due = (nack ? last : last + 10s) + gap;
    const size_t before = log.Messages().size();
    world.AdvanceTo(due - 1ns);
    EXPECT_EQ(log.Messages().size(), before) << "too early";
    world.AdvanceTo(due);
    EXPECT_EQ(log.Messages().size(), before + 1);
    last = due;
  }
}

TEST_F(RulesTest, ABackoffRunsFromTheDeadlineHoweverFarTheClockGoes) {
  pubsub::Subscription value;
  value.ack_deadline_seconds = 10;
  value.retry_policy = {.minimum_backoff = 30s, .maximum_backoff = 600s};
  ASSERT_TRUE(world.Create("sub", "top", value).ok());
  world.Publish("top", {"a", "b"});
  ASSERT_THAT(world.Pull("sub"), SizeIs(2));
  world.now = kStart + 39s;
  world.Tick();
  EXPECT_THAT(world.Pull("sub"), IsEmpty());
  world.now = kStart + 60s;  // one step over the deadline and the backoff
  world.Tick();
  EXPECT_THAT(DataOf(world.Pull("sub")), ElementsAre("a", "b"));
}

TEST_F(RulesTest, AKeyWaitsForTheBackoffOfItsHead) {
  pubsub::Subscription value;
  value.ack_deadline_seconds = 60;
  value.enable_message_ordering = true;
  value.retry_policy = {.minimum_backoff = 20s, .maximum_backoff = 20s};
  ASSERT_TRUE(world.Create("sub", "top", value).ok());
  world.PublishKeyed("top", "k", {"m1", "m2"});
  world.PublishKeyed("top", "other", {"o1"});
  const auto messages = world.Pull("sub");
  ASSERT_THAT(DataOf(messages), ElementsAre("m1", "m2", "o1"));
  EXPECT_TRUE(world.Modify("sub", {messages[0].ack_id}, 0).ok());
  world.Advance(20s - 1ns);
  EXPECT_THAT(world.Pull("sub"), IsEmpty());
  world.Advance(1ns);
  EXPECT_THAT(DataOf(world.Pull("sub")), ElementsAre("m1", "m2"));
}

TEST_F(RulesTest, C16_TheLastAttemptGoesToTheDeadLetterTopic) {
  for (const bool exactly_once : {false, true}) {
    SCOPED_TRACE(exactly_once);
    World w;
    ASSERT_TRUE(w.CreateTopic("top").ok());
    ASSERT_TRUE(w.CreateTopic("dead").ok());
    ASSERT_TRUE(w.CreateSubscription("graves", "dead", exactly_once).ok());
    ASSERT_TRUE(w.Create("sub", "top", DeadLetters(exactly_once)).ok());
    w.Advance(123ms);
    const auto ids = w.Ids(w.StartPublish("top", {pubsub::Message::Make("hello", {{"tenant", "t7"}}, "key")}));
    for (int32_t attempt = 1; attempt <= 5; ++attempt) EXPECT_EQ(NackNext(w), attempt);
    w.Advance(1h);
    EXPECT_THAT(w.Pull("sub"), IsEmpty()) << "no sixth delivery";
    const auto graves = w.Pull("graves");
    ASSERT_THAT(graves, SizeIs(1));
    EXPECT_EQ(graves[0].message.data(), "hello");
    EXPECT_EQ(graves[0].message.ordering_key(), "key");
    EXPECT_NE(graves[0].message.message_id(), ids[0]);
    EXPECT_EQ(graves[0].delivery_attempt, 0);
    EXPECT_THAT(
        graves[0].message.Attributes(),
        UnorderedElementsAre(Pair("tenant", "t7"), Pair("CloudPubSubDeadLetterSourceDeliveryCount", "5"),
                             Pair("CloudPubSubDeadLetterSourceSubscription", "sub"),
                             Pair("CloudPubSubDeadLetterSourceSubscriptionProject", "p"),
                             Pair("CloudPubSubDeadLetterSourceTopicPublishTime", "2023-11-14T22:13:20.123+00:00")));
    EXPECT_EQ(w.broker.counters().dead_lettered, 1u);
  }
}

TEST_F(RulesTest, C17_NacksAndExpiredLeasesCountAndExtensionsDoNot) {
  ASSERT_TRUE(world.Create("sub", "top", DeadLetters(false)).ok());
  world.Publish("top", {"m"});
  EXPECT_EQ(NackNext(world), 1);
  EXPECT_EQ(NackNext(world), 2);
  auto third = world.Pull("sub");
  ASSERT_THAT(third, SizeIs(1));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(world.Modify("sub", AckIdsOf(third), 10).ok());
  world.Advance(10s);
  EXPECT_EQ(world.Pull("sub").at(0).delivery_attempt, 4);
  world.Advance(10s);
  EXPECT_EQ(world.Pull("sub").at(0).delivery_attempt, 5);
}

TEST_F(RulesTest, C12_AKeyIsFreeOnceItsHeadIsDeadLettered) {
  auto value = DeadLetters(false);
  value.enable_message_ordering = true;
  ASSERT_TRUE(world.Create("sub", "top", value).ok());
  const StreamId stream = world.Open("sub");
  size_t seen = 0;
  const auto nack_all = [&] {
    for (auto messages = world.Log(stream).Messages(); seen < messages.size();
         messages = world.Log(stream).Messages()) {
      std::vector<std::string> ids;
      for (; seen < messages.size(); ++seen) ids.push_back(messages[seen].ack_id);
      EXPECT_TRUE(world.Modify("sub", ids, 0).ok());
    }
  };
  for (int round = 0; round < 20; ++round) {
    for (int key = 0; key < 50; ++key) {
      world.PublishKeyed("top", "k" + std::to_string(key), {"a1"});
      world.PublishKeyed("top", "k" + std::to_string(key), {"a2"});
    }
    nack_all();
  }
  EXPECT_EQ(world.broker.counters().dead_lettered, 20u * 50 * 2);
  std::map<std::string, std::vector<std::string>> graves;
  for (const auto& m : world.Pull("graves", 10'000)) {
    graves[std::string(m.message.ordering_key())].emplace_back(m.message.data());
  }
  ASSERT_THAT(graves, SizeIs(50));
  for (const auto& [key, data] : graves) {
    ASSERT_THAT(data, SizeIs(40));
    for (size_t i = 0; i < data.size(); ++i) EXPECT_EQ(data[i], i % 2 == 0 ? "a1" : "a2") << "out of order";
  }
  world.PublishKeyed("top", "k1", {"a3"});
  EXPECT_EQ(world.Log(stream).Messages().back().message.data(), "a3");
}

TEST_F(RulesTest, WhatWasAckedBehindADeadLetterIsFinishedWithIt) {
  auto value = DeadLetters(false);
  value.enable_message_ordering = true;
  ASSERT_TRUE(world.Create("sub", "top", value).ok());
  world.PublishKeyed("top", "k", {"m1"});
  for (int i = 0; i < 4; ++i) NackNext(world);
  const auto last = world.Pull("sub");
  world.PublishKeyed("top", "k", {"m2"});
  ASSERT_THAT(last, SizeIs(1));
  world.Advance(5s);
  EXPECT_THAT(world.Pull("sub"), IsEmpty());
  EXPECT_TRUE(world.Modify("sub", AckIdsOf(last), 0).ok());
  const auto next = world.Pull("sub");
  EXPECT_THAT(DataOf(next), ElementsAre("m2"));
  EXPECT_EQ(next[0].delivery_attempt, 1);
}

TEST_F(RulesTest, WithoutItsDeadLetterTopicAMessageGoesOnBeingDelivered) {
  ASSERT_TRUE(world.Create("sub", "top", DeadLetters(false)).ok());
  ASSERT_TRUE(world.Do(pubsub::Method::kDeleteTopic, pubsub::NameRequest{World::Topic("dead")}).ok());
  world.Publish("top", {"m"});
  for (int32_t attempt = 1; attempt <= 7; ++attempt) EXPECT_EQ(NackNext(world), attempt);
  ASSERT_TRUE(world.CreateTopic("dead").ok());
  ASSERT_TRUE(world.CreateSubscription("new", "dead", false).ok());
  EXPECT_EQ(NackNext(world), 8);
  EXPECT_THAT(world.Pull("sub"), IsEmpty()) << "tried again at the next failure";
  EXPECT_THAT(world.Pull("new"), SizeIs(1));
}

TEST_F(RulesTest, AForwardAndItsRemovalAreOneRecord) {
  for (const bool exactly_once : {false, true}) {
    World w;
    ASSERT_TRUE(w.CreateTopic("top").ok());
    ASSERT_TRUE(w.CreateTopic("dead").ok());
    ASSERT_TRUE(w.CreateSubscription("graves", "dead", exactly_once).ok());
    ASSERT_TRUE(w.Create("sub", "top", DeadLetters(exactly_once)).ok());
    w.Publish("top", {"m"});
    const size_t published = w.records.size();
    std::string last_id;
    for (int i = 0; i < 5; ++i) {
      last_id = w.Pull("sub").at(0).ack_id;
      EXPECT_TRUE(w.Modify("sub", {last_id}, 0).ok());
    }
    if (exactly_once) {
      EXPECT_THAT(w.Ack("sub", {last_id}), HasCode(kInvalid)) << "a dead letter is no ack of it";
    }
    for (size_t count = published; count <= w.records.size(); ++count) {
      SCOPED_TRACE(count);
      World after;
      after.Replay(w.records, count);
      after.Advance(60s);
      const size_t there = after.Pull("sub").size(), forwarded = after.Pull("graves").size();
      EXPECT_EQ(there + forwarded, 1u) << "lost or doubled";
    }
  }
}

TEST_F(RulesTest, ACrashForgetsAtMostTheAttemptsThatWereNotDown) {
  ASSERT_TRUE(world.Create("sub", "top", DeadLetters(false)).ok());
  world.Publish("top", {"m"});
  std::vector<size_t> durable;
  for (int i = 0; i < 4; ++i) {
    NackNext(world);
    durable.push_back(world.records.size());
  }
  for (size_t failures = 1; failures <= 4; ++failures) {
    World after;
    after.Replay(world.records, durable[failures - 1]);
    EXPECT_EQ(after.Pull("sub").at(0).delivery_attempt, static_cast<int32_t>(failures) + 1);
    World less;
    less.Replay(world.records, durable[failures - 1] - 1);
    EXPECT_EQ(less.Pull("sub").at(0).delivery_attempt, static_cast<int32_t>(failures)) << "given twice, none skipped";
  }
}

TEST_F(RulesTest, TheEndOfAHoldIsNoAttemptAndANackInItIsOne) {
  ASSERT_TRUE(world.Create("sub", "top", DeadLetters(true)).ok());
  world.Publish("top", {"m"});
  const auto first = world.Pull("sub");
  ASSERT_THAT(first, SizeIs(1));
  {
    World after;
    after.Replay(world.records, world.records.size());
    after.Advance(60s);
    EXPECT_EQ(after.Pull("sub").at(0).delivery_attempt, 1);
  }
  World after;
  after.Replay(world.records, world.records.size());
  EXPECT_TRUE(after.Modify("sub", AckIdsOf(first), 0).ok());
  EXPECT_EQ(after.Pull("sub").at(0).delivery_attempt, 2);
}

// It failed, that is in the journal, and its next generation is not: after a crash it is held once more.
TEST_F(RulesTest, ANackInAHoldCountsNotAgainWhatHadFailedBeforeTheCrash) {
  auto value = DeadLetters(true);
  value.retain_acked_messages = true;
  ASSERT_TRUE(world.Create("sub", "top", value).ok());
  world.Publish("top", {"m"});
  // With a seek the generations go on, and the attempts begin again.
  EXPECT_TRUE(world.Ack("sub", AckIdsOf(world.Pull("sub"))).ok());
  const pubsub::SeekRequest seek{.subscription = World::Sub("sub"), .target = kWall - 1s};
  ASSERT_TRUE(world.Do(pubsub::Method::kSeek, seek).ok());
  const auto second = world.Pull("sub");
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].delivery_attempt, 1);
  world.journal_waits = true;
  world.Advance(11s);
  while (world.Records<DeliveriesFailed>().empty()) world.PersistOne();
  const auto failed = std::find_if(world.records.begin(), world.records.end(), [](const pubsub::Bytes& bytes) {
    return std::holds_alternative<DeliveriesFailed>(*DecodeRecord(bytes));
  });
  World after;
  after.Replay(world.records, static_cast<size_t>(failed - world.records.begin()) + 1);
  EXPECT_TRUE(after.Modify("sub", AckIdsOf(second), 0).ok());
  EXPECT_EQ(after.Pull("sub").at(0).delivery_attempt, 2);
}

TEST_F(RulesTest, ANackInAHoldCountsIfOnlyTheDeliveryBeforeItHadFailed) {
  ASSERT_TRUE(world.Create("sub", "top", DeadLetters(true)).ok());
  world.Publish("top", {"m"});
  EXPECT_EQ(NackNext(world), 1);
  const auto second = world.Pull("sub");
  ASSERT_THAT(second, SizeIs(1));
  for (const bool checkpointed : {false, true}) {
    SCOPED_TRACE(checkpointed);
    const size_t before = world.records.size();
    if (checkpointed) world.Do([](Broker& broker, Actions& out) { broker.StartCheckpoint({}, out); });
    World after;
    for (size_t i = checkpointed ? before : 0; i < world.records.size(); ++i) {
      ASSERT_TRUE(after.broker.Replay(world.records[i]).ok()) << i;
    }
    ASSERT_TRUE(after.broker.ReplayDone(after.now).ok());
    EXPECT_TRUE(after.Modify("sub", AckIdsOf(second), 0).ok());
    EXPECT_EQ(after.Pull("sub").at(0).delivery_attempt, 3);
  }
}

// Exactly-once on `sub`, on or off.
absl::Status Turn(World& in, bool exactly_once) {
  pubsub::Subscription body;
  body.name = World::Sub("sub");
  body.enable_exactly_once_delivery = exactly_once;
  return in.Do(pubsub::Method::kUpdateSubscription,
               pubsub::UpdateSubscriptionRequest{body, {"enable_exactly_once_delivery"}});
}

// One that nobody had between the crash and the switch.
TEST_F(RulesTest, ANackBeforeACrashIsNotOneOfTheFirstExactlyOnceDeliveryAfterIt) {
  ASSERT_TRUE(world.CreateSubscription("sub", "top", true).ok());
  world.Publish("top", {"m"});
  const std::vector<std::string> nacked = AckIdsOf(world.Pull("sub"));
  EXPECT_TRUE(world.Modify("sub", nacked, 0).ok());
  ASSERT_TRUE(Turn(world, false).ok());
  const auto again = AfterCrash(world, world.records, world.records.size());
  ASSERT_TRUE(Turn(*again, true).ok());
  const std::vector<std::string> sent = AckIdsOf(again->Pull("sub"));
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_NE(sent, nacked);
  const auto held = AfterCrash(*again, again->records, again->records.size());
  EXPECT_THAT(held->Pull("sub"), IsEmpty()) << "it is held for who has it";
  EXPECT_TRUE(held->Ack("sub", sent).ok());
}

TEST_F(RulesTest, ANackUnderExactlyOnceIsNotOneOfTheStandardDeliveryAfterACrash) {
  ASSERT_TRUE(world.CreateSubscription("sub", "top", true).ok());
  world.Publish("top", {"m"});
  EXPECT_TRUE(world.Modify("sub", AckIdsOf(world.Pull("sub")), 0).ok());
  ASSERT_TRUE(Turn(world, false).ok());
  const auto standard = AfterCrash(world, world.records, world.records.size());
  EXPECT_THAT(standard->Pull("sub"), SizeIs(1));
  ASSERT_TRUE(Turn(*standard, true).ok());
  const auto held = AfterCrash(*standard, standard->records, standard->records.size());
  EXPECT_THAT(held->Pull("sub"), IsEmpty()) << "it is held for who has it";
  held->Advance(60s);
  EXPECT_THAT(held->Pull("sub"), SizeIs(1));
}

// The journal hears of standard deliveries at the switch only, and then also which of them had failed.
TEST_F(RulesTest, AStandardDeliveryThatFailedBeforeTheSwitchIsNotCountedAgainInAHold) {
  ASSERT_TRUE(world.Create("sub", "top", DeadLetters(false)).ok());
  world.Publish("top", {"m"});
  EXPECT_EQ(NackNext(world), 1);
  const auto second = world.Pull("sub");
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].delivery_attempt, 2);
  world.Advance(11s);
  ASSERT_TRUE(Turn(world, true).ok());
  const auto held = AfterCrash(world, world.records, world.records.size());
  EXPECT_TRUE(held->Modify("sub", AckIdsOf(second), 0).ok());
  EXPECT_EQ(held->Pull("sub").at(0).delivery_attempt, 3);
}

// One that is out at the switch has not failed yet.
TEST_F(RulesTest, AStandardDeliveryThatIsOutAtTheSwitchMayFailInAHold) {
  ASSERT_TRUE(world.Create("sub", "top", DeadLetters(false)).ok());
  world.Publish("top", {"m"});
  EXPECT_EQ(NackNext(world), 1);
  const auto second = world.Pull("sub");
  ASSERT_TRUE(Turn(world, true).ok());
  const auto held = AfterCrash(world, world.records, world.records.size());
  EXPECT_TRUE(held->Modify("sub", AckIdsOf(second), 0).ok());
  EXPECT_EQ(held->Pull("sub").at(0).delivery_attempt, 3);
}

TEST_F(RulesTest, AFailedIdSaysWhy) {
  std::vector<LeaseFailure> failures;
  auto options = World::Defaults();
  options.on_lease_failure = [&](Instant, const LeaseFailure& failure) { failures.push_back(failure); };
  World w(options);
  ASSERT_TRUE(w.CreateTopic("top").ok());
  ASSERT_TRUE(w.CreateSubscription("sub", "top", true).ok());
  ASSERT_TRUE(w.CreateSubscription("other", "top", true).ok());
  w.Publish("top", {"m"});
  const std::string others = w.Pull("other").at(0).ack_id, first = w.Pull("sub").at(0).ack_id;
  w.AdvanceTo(kStart + 12s);
  const CallId late = w.StartAck("sub", {first});
  EXPECT_THAT(w.Await(late).status, SaysText("its lease expired 2.000 s ago"));
  const std::string second = w.Pull("sub").at(0).ack_id;
  EXPECT_FALSE(w.Ack("sub", {first}).ok());
  EXPECT_TRUE(w.Modify("sub", {second}, 0).ok());
  w.Advance(1500ms);
  EXPECT_FALSE(w.Modify("sub", {second}, 30).ok());
  EXPECT_FALSE(w.Ack("sub", {"nonsense"}).ok());
  EXPECT_FALSE(w.Ack("sub", {others}).ok());
  const std::string third = w.Pull("sub").at(0).ack_id;
  EXPECT_TRUE(w.Ack("sub", {third}).ok());
  EXPECT_FALSE(w.Ack("sub", {second}).ok());

  using Why = LeaseFailure::Why;
  ASSERT_THAT(failures, SizeIs(6));
  const auto check = [&](size_t i, Why why, std::optional<Duration> ago, uint32_t generation, uint32_t newest) {
    SCOPED_TRACE(i);
    EXPECT_EQ(failures[i].why, why);
    EXPECT_EQ(failures[i].ago, ago);
    EXPECT_EQ(failures[i].generation, generation);
    EXPECT_EQ(failures[i].newest, newest);
    EXPECT_EQ(failures[i].subscription, World::Sub("sub"));
  };
  check(0, Why::kExpired, 2s, 1, 1);
  check(1, Why::kSuperseded, 2s, 1, 2);
  check(2, Why::kNacked, 1500ms, 2, 2);
  check(3, Why::kMalformed, std::nullopt, 0, 0);
  check(4, Why::kOtherSubscription, std::nullopt, 0, 0);
  check(5, Why::kFinished, std::nullopt, 2, 0);
  EXPECT_EQ(failures[0].message_id, "1");
  EXPECT_TRUE(failures[0].ack);
  EXPECT_FALSE(failures[2].ack);
  EXPECT_THAT(Describe(failures[1]), ::testing::HasSubstr("delivery 2 of the message counts now"));
}

// A client that dies may have any number of messages; a segment of the journal has not room for any number.
TEST(LargeRecordTest, FailuresOfManyAtOnceAreSeveralRecordsOfOneGroup) {
  Broker::Options options = World::Defaults();
  options.deliveries_per_record_max = 3;
  World world(std::move(options));
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateTopic("dead").ok());
  pubsub::Subscription value;
  value.ack_deadline_seconds = 10;
  value.dead_letter_policy = {.dead_letter_topic = World::Topic("dead"), .max_delivery_attempts = 5};
  ASSERT_TRUE(world.Create("sub", "top", value).ok());
  for (int i = 0; i < 8; ++i) world.Publish("top", {"m" + std::to_string(i)});
  EXPECT_THAT(world.Pull("sub"), SizeIs(8));
  world.Advance(1h);
  std::vector<size_t> sizes;
  std::set<Sequence> failed;
  for (const DeliveriesFailed& record : world.Records<DeliveriesFailed>()) {
    sizes.push_back(record.deliveries.size());
    for (const AckedDelivery& delivery : record.deliveries) failed.insert(delivery.sequence);
  }
  EXPECT_THAT(sizes, ElementsAre(3, 3, 2));
  EXPECT_THAT(failed, SizeIs(8));
}

}  // namespace
}  // namespace hopgap::broker
