#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PullTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world_.CreateTopic("top").ok());
    ASSERT_TRUE(world_.CreateSubscription("eos", "top", true).ok());
    ASSERT_TRUE(world_.CreateSubscription("std", "top", false).ok());
  }
  World world_;
};

TEST_F(PullTest, C30_MaxMessagesIsAtLeastOneAndCappedAtAThousand) {
  for (int32_t bad : {0, -1}) {
    const absl::Status status = world_.Await(world_.StartPull("std", bad)).status;
    EXPECT_THAT(status, HasCode(kInvalid));
    EXPECT_THAT(status, SaysText("You have passed an invalid argument to the service (argument=max_messages)."));
  }
  world_.Publish("top", std::vector<std::string>(1000, "m"));
  world_.Publish("top", {"m"});
  EXPECT_THAT(world_.Received(world_.StartPull("std", 5000)), SizeIs(1000));
  EXPECT_THAT(world_.Received(world_.StartPull("std", 5000)), SizeIs(1));
}

TEST_F(PullTest, WaitsForAMessage) {
  const CallId waits[] = {world_.StartPull("std", 5), world_.StartPull("eos", 5)};
  world_.Advance(3s);
  for (CallId call : waits) EXPECT_FALSE(world_.Answered(call));
  world_.Publish("top", {"m"});
  for (CallId call : waits) EXPECT_THAT(world_.Received(call), SizeIs(1));
}

TEST_F(PullTest, TheWaitEndsExactly) {
  const CallId call = world_.StartPull("std", 5);
  EXPECT_EQ(world_.broker.NextDeadline(), kStart + 10s);
  world_.Advance(10s - 1ns);
  EXPECT_FALSE(world_.Answered(call));
  world_.Advance(1ns);
  EXPECT_THAT(world_.Received(call), IsEmpty());
  EXPECT_GT(world_.broker.NextDeadline().value_or(kNever), world_.now + 24h) << "only retention and expiration";
}

TEST_F(PullTest, AnImmediatePullDoesNotWait) {
  EXPECT_THAT(world_.Received(world_.StartPull("std", 5, true)), IsEmpty());
  EXPECT_THAT(world_.Received(world_.StartPull("eos", 5, true)), IsEmpty());
  // But for a commit that is under way on its behalf.
  world_.Publish("top", {"m"});
  world_.journal_waits = true;
  const CallId call = world_.StartPull("eos", 5, true);
  EXPECT_FALSE(world_.Answered(call));
  world_.PersistAll();
  EXPECT_THAT(world_.Received(call), SizeIs(1));
}

TEST_F(PullTest, PullsAreServedInTheOrderOfArrival) {
  const CallId first = world_.StartPull("std", 1);
  const CallId second = world_.StartPull("std", 1);
  world_.Publish("top", {"a"});
  EXPECT_TRUE(world_.Answered(first));
  EXPECT_FALSE(world_.Answered(second));
}

TEST_F(PullTest, ACancelledPullTakesNothing) {
  const CallId call = world_.StartPull("std", 1);
  world_.Cancel(call);
  EXPECT_GT(world_.broker.NextDeadline().value_or(kNever), world_.now + 24h) << "only retention and expiration";
  world_.Publish("top", {"m"});
  world_.Advance(1min);
  EXPECT_FALSE(world_.Answered(call));
  EXPECT_THAT(world_.Pull("std"), SizeIs(1));
}

TEST_F(PullTest, ACallThatWasCancelledGetsNoAnswer) {
  world_.journal_waits = true;
  const CallId call = world_.StartPublish("top", {pubsub::Message::Make("m", {})});
  world_.Cancel(call);
  world_.PersistAll();
  EXPECT_FALSE(world_.Answered(call));
}

TEST_F(PullTest, TheLeaseIsTheSubscriptionsDeadline) {
  ASSERT_TRUE(world_.CreateSubscription("long", "top", false, 25).ok());
  world_.Publish("top", {"m"});
  ASSERT_THAT(world_.Pull("long"), SizeIs(1));
  world_.Advance(25s - 1ns);
  EXPECT_THAT(world_.Pull("long"), IsEmpty());
  world_.Advance(1ns);
  EXPECT_THAT(world_.Pull("long"), SizeIs(1));
}

TEST_F(PullTest, AnExpiredMessageGoesToAWaitingPullAtTheDeadline) {
  for (const char* sub : {"std", "eos"}) {
    World world;
    ASSERT_TRUE(world.CreateTopic("top").ok());
    ASSERT_TRUE(world.CreateSubscription("std", "top", false).ok());
    ASSERT_TRUE(world.CreateSubscription("eos", "top", true).ok());
    world.Publish("top", {"m"});
    ASSERT_THAT(world.Pull(sub), SizeIs(1));
    world.Advance(5s);
    const CallId call = world.StartPull(sub, 1);
    world.Advance(6s);
    EXPECT_THAT(world.Received(call), SizeIs(1));
    EXPECT_EQ(world.Await(call).at, kStart + 10s);
    EXPECT_EQ(world.broker.counters().expired_leases, 1u);
    EXPECT_EQ(world.broker.counters().redeliveries, 1u);
  }
}

// A redelivery is written only when its generation is durable.
TEST_F(PullTest, ARedeliveryWaitsForItsGeneration) {
  world_.Publish("top", {"m"});
  const auto first = world_.Pull("eos");
  ASSERT_TRUE(world_.Modify("eos", AckIdsOf(first), 0).ok());
  EXPECT_THAT(world_.Records<Redelivered>(), IsEmpty()) << "nobody wants it yet";
  world_.journal_waits = true;
  const CallId call = world_.StartPull("eos", 1);
  EXPECT_THAT(world_.Records<Redelivered>(), SizeIs(1));
  EXPECT_FALSE(world_.Answered(call));
  world_.PersistAll();
  ASSERT_THAT(world_.Received(call), SizeIs(1));
  EXPECT_EQ(ParseAckId(kKey, world_.Received(call)[0].ack_id)->generation, 2u);
}

TEST_F(PullTest, WaitingPullsAreLimited) {
  Broker::Options options = World::Defaults();
  options.waiting_pulls_max = 2;
  World world(options);
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateTopic("full").ok());
  ASSERT_TRUE(world.CreateSubscription("std", "top", false).ok());
  ASSERT_TRUE(world.CreateSubscription("full", "full", false).ok());
  const CallId first = world.StartPull("std", 1);
  world.StartPull("std", 1);
  EXPECT_THAT(world.Await(world.StartPull("std", 1)).status, HasCode(kExhausted));
  world.Publish("full", {"m"});
  EXPECT_THAT(world.Received(world.StartPull("full", 1)), SizeIs(1)) << "what does not have to wait is not limited";
  EXPECT_THAT(world.Await(world.StartPull("full", 1)).status, HasCode(kExhausted));
  world.Cancel(first);
  EXPECT_FALSE(world.Answered(world.StartPull("std", 1)));
  world.Advance(10s);
  for (int i = 0; i < 3; ++i) world.Await(world.StartPull("std", 1, true));
}

TEST_F(PullTest, DeletingTheSubscriptionAnswersItsPullsNotFound) {
  const CallId call = world_.StartPull("std", 1);
  ASSERT_TRUE(world_.Do(pubsub::Method::kDeleteSubscription, pubsub::NameRequest{World::Sub("std")}).ok());
  EXPECT_THAT(world_.Await(call).status, HasCode(kNotFound));
  EXPECT_THAT(world_.Await(world_.StartPull("std", 1)).status, HasCode(kNotFound));
  EXPECT_GT(world_.broker.NextDeadline().value_or(kNever), world_.now + 24h) << "only retention and expiration";
}

TEST_F(PullTest, StopAnswersPullsClosesStreamsAndRefusesNewWork) {
  const CallId pull = world_.StartPull("std", 1);
  const StreamId stream = world_.Open("eos");
  world_.writes_wait = true;
  const StreamId busy = world_.Open("eos");
  world_.Stop();
  EXPECT_THAT(world_.Received(pull), IsEmpty());
  ASSERT_TRUE(world_.Log(stream).closed);
  EXPECT_THAT(*world_.Log(stream).closed, HasCode(kUnavailable));
  world_.WriteDone(busy);
  ASSERT_TRUE(world_.Log(busy).closed);
  EXPECT_THAT(*world_.Log(busy).closed, HasCode(kUnavailable));
  EXPECT_THAT(world_.CreateTopic("new"), HasCode(kUnavailable));
  EXPECT_THAT(*world_.Log(world_.Open("eos")).closed, HasCode(kUnavailable));
  EXPECT_THAT(world_.Records<CleanStop>(), SizeIs(1));
  EXPECT_GT(world_.broker.NextDeadline().value_or(kNever), world_.now + 24h) << "only retention and expiration";
}

TEST_F(PullTest, AnEarlyWakeUpDoesNothing) {
  world_.Publish("top", {"m"});
  ASSERT_THAT(world_.Pull("std"), SizeIs(1));
  for (int i = 0; i < 3; ++i) world_.Tick();
  EXPECT_EQ(world_.broker.counters().expired_leases, 0u);
  EXPECT_EQ(world_.broker.NextDeadline(), kStart + 10s);
}

}  // namespace
}  // namespace hopgap::broker
