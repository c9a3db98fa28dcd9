// Flow control, scheduler, planted delays and the stop.
#include "client/test_world.h"

namespace hopgap::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;
using World = SubscriberWorld;
using Call = World::CallSeen;
using Callback = World::Callback;
using trace::What;

Subscriber::Options Limited(int64_t messages, int64_t bytes = 1'000'000, uint32_t streams = 1) {
  Subscriber::Options options;
  options.streams = streams;
  options.model.max_outstanding_messages = messages;
  options.model.max_outstanding_bytes = bytes;
  return options;
}

TEST(SubscriberFlowControlTest, AMessageWithoutCreditsHoldsItsStream) {
  World world(Limited(1));
  world.work = 100ms;
  world.Start();
  world.Respond(kStart + 1ms, {"a", "b"}, false);
  world.Respond(kStart + 2ms, {"c"}, false);
  world.RunUntil(kStart + 101ms - 1ns);
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart + 1ms, "a"}));
  EXPECT_THAT(world.read_posted, IsEmpty());  // c stays in the transport
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.callbacks,
              ElementsAre(Callback{kStart + 1ms, "a"}, Callback{kStart + 101ms, "b"}, Callback{kStart + 201ms, "c"}));
  EXPECT_THAT(world.log.At(What::kFlowControlStart), ElementsAre(kStart + 1ms, kStart + 1ms, kStart + 101ms));
  EXPECT_THAT(world.log.At(What::kFlowControlEnd), ElementsAre(kStart + 1ms, kStart + 101ms, kStart + 201ms));
  EXPECT_THAT(world.log.At(What::kReceived), ElementsAre(kStart + 1ms, kStart + 1ms, kStart + 101ms));
}

TEST(SubscriberFlowControlTest, BytesAreSharedByAllStreamsFirstComeFirstServed) {
  World world(Limited(10, 10, 3));
  world.work = 100ms;
  world.Start();
  world.Respond(kStart + 1ms, {"0123456789"}, false, 0);
  world.Respond(kStart + 2ms, {"big-big-big-big"}, false, 1);  // capped at the limit
  world.Respond(kStart + 3ms, {"s"}, false, 2);                // would fit later, but came later
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart + 1ms, "0123456789"},
                                           Callback{kStart + 101ms, "big-big-big-big"}, Callback{kStart + 201ms, "s"}));
}

// Credits come back when the callback returns, not with the ack.
TEST(SubscriberFlowControlTest, CreditsAreHeldUntilTheCallbackReturns) {
  World world(Limited(1));
  world.hold = true;
  world.Start();
  world.Respond(kStart, {"a", "b"}, false);
  world.RunUntil(kStart + 1ms);
  world.Do([&](Actions& out) { world.subscriber.Ack(world.now, world.handed[0], out); });
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.callbacks, SizeIs(1));
  world.Do([&](Actions& out) { world.subscriber.OnCallbackReturned(world.now, world.handed[0], out); });
  EXPECT_THAT(world.callbacks, SizeIs(2));
  EXPECT_THAT(world.done, SizeIs(1));
}

// C42: leases of messages that wait in the client are extended as well.
TEST(SubscriberFlowControlTest, C42_WaitingMessagesKeepTheirLeases) {
  World world(Limited(10));
  world.work = 100s;
  world.Start();
  std::vector<std::string> names;
  for (int i = 0; i < 15; ++i) names.push_back(std::to_string(i));
  world.Respond(kStart, names, true);
  EXPECT_EQ(world.stream_actions[0].request.max_outstanding_messages, 10);
  world.RunUntil(kStart + 6s);
  EXPECT_THAT(world.callbacks, SizeIs(10));
  EXPECT_THAT(world.calls.back().ids, SizeIs(15));
  world.RunUntil(kStart + 300s);
  EXPECT_THAT(world.callbacks, SizeIs(15));
  EXPECT_THAT(world.done, SizeIs(15));
}

TEST(SubscriberSchedulerTest, CallbacksOfAKeyRunOneAfterTheOther) {
  World world;
  world.work = 10ms;
  world.Start();
  world.Respond(kStart, {}, false, 0, [](pubsub::StreamingPullResponse& response) {
    response.properties.message_ordering_enabled = true;
    for (const char* name : {"k1", "k2", "q1", "free"}) {
      const std::string key = name == std::string("free") ? "" : std::string(1, name[0]);
      response.received_messages.push_back({.ack_id = name, .message = pubsub::Message::Make(name, {}, key)});
    }
  });
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart, "k1"}, Callback{kStart, "q1"}, Callback{kStart, "free"},
                                           Callback{kStart + 10ms, "k2"}));
}

TEST(SubscriberPlantedTest, EachDelayMovesItsOwnStage) {
  struct Case {
    const char* name;
    Planted planted;
    Duration flow_control, scheduler;
  };
  for (const Case& c : {Case{"none", {}, 0ms, 0ms}, Case{"flow control", {.flow_control = 7ms}, 7ms, 0ms},
                        Case{"scheduler", {.scheduler = 7ms}, 0ms, 7ms}}) {
    for (const bool exactly_once : {false, true}) {
      SCOPED_TRACE(c.name);
      Subscriber::Options options;
      options.planted = c.planted;
      World world(options);
      world.work = 20ms;
      world.server = [](const Call&) { return World::Ok(5ms); };
      world.Start();
      world.Respond(kStart + 10ms, {"a"}, exactly_once);
      world.RunUntil(kStart + 1s);
      const Instant acquire = world.log.At(What::kFlowControlStart).at(0);
      EXPECT_EQ(acquire, kStart + (exactly_once ? 15ms : 10ms));
      EXPECT_EQ(world.log.At(What::kFlowControlEnd).at(0), acquire + c.flow_control);
      EXPECT_EQ(world.log.At(What::kSchedulerStart).at(0), acquire + c.flow_control);
      EXPECT_EQ(world.log.At(What::kCallbackStart).at(0), acquire + c.flow_control + c.scheduler);
      EXPECT_EQ(world.log.At(What::kAckCalled).at(0), acquire + c.flow_control + c.scheduler + 20ms);
      EXPECT_EQ(world.log.At(What::kAckStart).at(0), kStart + 100ms);
    }
  }
}

TEST(SubscriberPlantedTest, SchedulerDelayDoesNotHoldTheStream) {
  Subscriber::Options options;
  options.planted.scheduler = 7ms;
  World world(options);
  world.Start();
  world.Respond(kStart + 1ms, {"a", "b"}, false);
  world.RunUntil(kStart + 2ms);
  EXPECT_THAT(world.read_posted, ElementsAre(std::pair{0u, kStart + 1ms}));
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart + 8ms, "a"}, Callback{kStart + 8ms, "b"}));
}

// C46, without the grace time: 5 callbacks run, 20 messages wait in the client,
// 3 acks wait for their tick.
TEST(SubscriberStopTest, C46_RunningCallbacksFinishWaitingMessagesAreNackedAcksAreFlushed) {
  for (const bool exactly_once : {false, true}) {
    SCOPED_TRACE(exactly_once);
    World world(Limited(5));
    world.hold = true;
    world.server = [](const Call&) { return World::Ok(3ms); };
    world.Start();
    std::vector<std::string> names, waiting, running;
    for (int i = 0; i < 28; ++i) {
      names.push_back(std::to_string(i));
      if (i >= 8) waiting.push_back("id-" + names.back());
      if (i < 8) running.push_back("id-" + names.back());
    }
    world.Respond(kStart + 205ms, names, exactly_once);
    world.RunUntil(kStart + 215ms);
    world.Do([&](Actions& out) {
      for (size_t i = 0; i < 3; ++i) {
        world.subscriber.Ack(world.now, world.handed[i], out);
        world.subscriber.OnCallbackReturned(world.now, world.handed[i], out);
      }
    });
    ASSERT_THAT(world.callbacks, SizeIs(8));
    world.RunUntil(kStart + 220ms);
    world.Do([&](Actions& out) { world.subscriber.Stop(world.now, out); });
    world.RunUntil(kStart + 1s);
    EXPECT_THAT(world.Ids(0), UnorderedElementsAreArray(waiting));
    EXPECT_THAT(world.AckIds(), SizeIs(3));
    EXPECT_FALSE(world.subscriber.Stopped());
    EXPECT_THAT(world.Seen(Action::Kind::kHalfCloseStream), IsEmpty());
    world.RunUntil(kStart + 1050ms);
    world.Do([&](Actions& out) {
      for (size_t i = 3; i < 8; ++i) {
        world.subscriber.Ack(world.now, world.handed[i], out);
        world.subscriber.OnCallbackReturned(world.now, world.handed[i], out);
      }
    });
    world.RunUntil(kStart + 2s);
    EXPECT_TRUE(world.subscriber.Stopped());
    EXPECT_THAT(world.AckIds(), UnorderedElementsAreArray(running));
    EXPECT_EQ(world.calls.back().at, kStart + 1050ms);  // the last ones do not wait for a tick
    EXPECT_THAT(world.Seen(Action::Kind::kHalfCloseStream), ElementsAre(kStart + 1053ms));
    EXPECT_THAT(world.callbacks, SizeIs(8));
    EXPECT_THAT(world.done, SizeIs(8));
    EXPECT_EQ(world.subscriber.NextDeadline(), std::nullopt);
    EXPECT_EQ(world.subscriber.outstanding(), 0u);
  }
}

TEST(SubscriberStopTest, AnIdleSubscriberStopsAtOnce) {
  World world(World::Streams(3));
  world.Start();
  EXPECT_FALSE(world.subscriber.Stopped());
  world.Do([&](Actions& out) { world.subscriber.Stop(world.now, out); });
  EXPECT_TRUE(world.subscriber.Stopped());
  EXPECT_THAT(world.Seen(Action::Kind::kHalfCloseStream), SizeIs(3));
  world.EndStream(kStart + 1ms, absl::OkStatus(), 0);
  world.RunUntil(kStart + 100s);
  EXPECT_THAT(world.Seen(Action::Kind::kOpenStream), SizeIs(3));  // none is opened again
  EXPECT_EQ(world.wakeups, 0);
}

TEST(SubscriberStopTest, AResponseThatStillComesIsNackedAndNothingIsReadAfterIt) {
  World world;
  world.hold = true;
  world.Start();
  world.Respond(kStart + 1ms, {"a"}, false);
  world.RunUntil(kStart + 2ms);
  world.Do([&](Actions& out) { world.subscriber.Stop(world.now, out); });
  world.Respond(kStart + 3ms, {"late"}, false);
  world.Respond(kStart + 4ms, {"later"}, false);
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.Ids(0), ElementsAre("id-late"));
  EXPECT_THAT(world.read_posted, IsEmpty());
  EXPECT_THAT(world.callbacks, SizeIs(1));
}

TEST(SubscriberStopTest, ReceiptsUnderWayAreNotWaitedForByTheirMessages) {
  World world;
  world.server = [](const Call& call) {
    return call.seconds > 0 ? World::Error(absl::AbortedError(""), {}, 50ms) : World::Ok(1ms);
  };
  world.Start();
  world.Respond(kStart, {"a"}, true);
  world.RunUntil(kStart + 10ms);
  world.Do([&](Actions& out) { world.subscriber.Stop(world.now, out); });
  world.RunUntil(kStart + 50ms);
  EXPECT_TRUE(world.subscriber.Stopped());
  EXPECT_THAT(world.Ids(0), ElementsAre("id-a"));
  EXPECT_THAT(world.Ids(60), SizeIs(1));  // not retried
  EXPECT_THAT(world.callbacks, IsEmpty());
  EXPECT_THAT(world.done, IsEmpty());
}

TEST(SubscriberStopTest, MessagesWaitingForPlantedDelaysAreNacked) {
  for (const Planted planted : {Planted{.flow_control = 7ms}, Planted{.scheduler = 7ms}}) {
    Subscriber::Options options;
    options.planted = planted;
    World world(options);
    world.Start();
    world.Respond(kStart, {"a", "b"}, false);
    world.RunUntil(kStart + 1ms);
    world.Do([&](Actions& out) { world.subscriber.Stop(world.now, out); });
    world.RunUntil(kStart + 1s);
    EXPECT_THAT(world.callbacks, IsEmpty());
    EXPECT_THAT(world.Ids(0), ElementsAre("id-a", "id-b"));
    EXPECT_TRUE(world.subscriber.Stopped());
  }
}

}  // namespace
}  // namespace hopgap::client
