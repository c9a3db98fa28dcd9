// A subscriber of a standard subscription: nobody waits for a receipt modack.
#include "client/test_world.h"

namespace hopgap::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using World = SubscriberWorld;
using Call = World::CallSeen;
using Callback = World::Callback;

TEST(SubscriberStandardTest, OpensEveryStreamWithTheLibrarysFieldsAndReadsAtOnce) {
  World world(World::Streams(2));
  world.Start();
  ASSERT_THAT(world.stream_actions, SizeIs(4));
  for (uint32_t stream : {0u, 1u}) {
    const auto& open = world.stream_actions[2 * stream];
    EXPECT_EQ(open.kind, Action::Kind::kOpenStream);
    EXPECT_EQ(open.stream, stream);
    EXPECT_EQ(open.request.subscription, "projects/p/subscriptions/s-name");
    EXPECT_EQ(open.request.client_id, "client-1");
    EXPECT_EQ(open.request.stream_ack_deadline_seconds, 60);
    EXPECT_EQ(open.request.max_outstanding_messages, 1000);
    EXPECT_EQ(open.request.max_outstanding_bytes, 1'000'000'000);
    EXPECT_EQ(open.request.protocol_version, 1);
    EXPECT_EQ(world.stream_actions[2 * stream + 1].kind, Action::Kind::kRead);
  }
}

// C41: on a subscription without exactly-once the callback never waits.
TEST(SubscriberStandardTest, C41_DispatchesAtOnceAndSendsTheReceiptWithTheNextTick) {
  World world;
  world.work = 1s;
  world.server = [](const Call&) { return World::Ok(20s); };
  world.Start();
  world.Respond(kStart + 30ms, {"a", "b"}, false);
  world.RunUntil(kStart + 100ms - 1ns);
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart + 30ms, "a"}, Callback{kStart + 30ms, "b"}));
  EXPECT_THAT(world.calls, IsEmpty());
  EXPECT_THAT(world.read_posted, ElementsAre(std::pair{0u, kStart + 30ms}));  // the next read is out
  world.RunUntil(kStart + 100ms);
  EXPECT_THAT(world.calls, ElementsAre(Call{kStart + 100ms, 10, {"id-a", "id-b"}}));
  EXPECT_EQ(world.calls[0].timeout, 60s);
}

TEST(SubscriberStandardTest, TicksLieOnTheStreamsPhase) {
  struct Case {
    Duration phase, received, want;
  };
  for (const Case& c : {Case{0ms, 30ms, 100ms}, Case{0ms, 100ms, 100ms}, Case{0ms, 100ms + 1ns, 200ms},
                        Case{70ms, 30ms, 70ms}, Case{70ms, 70ms, 70ms}, Case{70ms, 71ms, 170ms}}) {
    SCOPED_TRACE(c.received.count());
    Subscriber::Options options;
    options.tick_phase = {c.phase};
    World world(options);
    world.hold = true;
    world.Start();
    world.Respond(kStart + c.received, {"a"}, false);
    world.RunUntil(kStart + 1s);
    ASSERT_THAT(world.calls, SizeIs(1));
    EXPECT_EQ(world.calls[0].at, kStart + c.want);
  }
}

TEST(SubscriberStandardTest, ARunningCallHoldsBackTheNextAndMissedTicksCoalesce) {
  World world;
  world.work = 10ms;
  world.server = [](const Call& call) { return World::Ok(call.seconds > 0 ? 250ms : 5ms); };
  world.Start();
  world.Respond(kStart + 95ms, {"a"}, false);   // receipt at 100, back at 350; ack wanted at 105
  world.Respond(kStart + 230ms, {"b"}, false);  // receipt due at 300, ack wanted at 240
  world.RunUntil(kStart + 2s);
  // At 350 the kept ticks are served at once: first the acks of both, then the receipt.
  EXPECT_THAT(world.calls, ElementsAre(Call{kStart + 100ms, 10, {"id-a"}}, Call{kStart + 350ms, -1, {"id-a", "id-b"}},
                                       Call{kStart + 355ms, 10, {"id-b"}}));
}

TEST(SubscriberStandardTest, WithoutAMissedTickTheNextOneIsAwaited) {
  World world;
  world.work = 6ms;
  world.server = [](const Call&) { return World::Ok(20ms); };
  world.Start();
  world.Respond(kStart + 99ms, {"a"}, false);  // receipt 100 to 120; ack wanted at 105, after the ack ticker's 100
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.calls, ElementsAre(Call{kStart + 100ms, 10, {"id-a"}}, Call{kStart + 200ms, -1, {"id-a"}}));
}

TEST(SubscriberStandardTest, AckAndNackHaveTheirResultWhenTheirCallReturned) {
  for (bool nack : {false, true}) {
    World world;
    world.nack = nack;
    world.server = [](const Call&) { return World::Ok(7ms); };
    world.Start();
    world.Respond(kStart + 1ms, {"a"}, false);
    world.RunUntil(kStart + 1s);
    EXPECT_THAT(world.calls, testing::Contains(Call{kStart + 100ms, nack ? 0 : -1, {"id-a"}}));
    ASSERT_THAT(world.done, SizeIs(1));
    EXPECT_EQ(world.done[0].at, kStart + 107ms);
    EXPECT_TRUE(world.done[0].ok);
  }
}

TEST(SubscriberStandardTest, AFailedAckIsReportedAndNotRetried) {
  World world;
  world.server = [](const Call& call) {
    return call.seconds < 0 ? World::Error(absl::AbortedError("no")) : World::Ok(0ms);
  };
  world.Start();
  world.Respond(kStart + 1ms, {"a"}, false);
  world.RunUntil(kStart + 10s);
  EXPECT_THAT(world.AckIds(), SizeIs(1));
  ASSERT_THAT(world.done, SizeIs(1));
  EXPECT_FALSE(world.done[0].ok);
}

TEST(SubscriberStandardTest, OnlyTheFirstOfAckAndNackCounts) {
  World world;
  world.hold = true;
  world.Start();
  world.Respond(kStart, {"a"}, false);
  world.RunUntil(kStart + 1ms);
  const uint64_t id = world.handed.at(0);
  world.Do([&](Actions& out) {
    world.subscriber.Nack(world.now, id, out);
    world.subscriber.Ack(world.now, id, out);
    world.subscriber.OnCallbackReturned(world.now, id, out);
  });
  world.RunUntil(kStart + 1s);
  world.Do([&](Actions& out) { world.subscriber.Ack(world.now, id, out); });  // forgotten by now
  world.RunUntil(kStart + 2s);
  EXPECT_THAT(world.AckIds(), IsEmpty());
  EXPECT_THAT(world.Ids(0), ElementsAre("id-a"));
  EXPECT_THAT(world.done, SizeIs(1));
  EXPECT_EQ(world.subscriber.outstanding(), 0u);
}

TEST(SubscriberStandardTest, LeaseTicksExtendEveryOutstandingId) {
  World world;
  world.hold = true;
  world.Start();
  world.Respond(kStart + 1s, {"a"}, false);
  world.Respond(kStart + 7s, {"b"}, false);
  world.RunUntil(kStart + 11s);
  EXPECT_THAT(world.calls, ElementsAre(Call{kStart + 1s, 10, {"id-a"}}, Call{kStart + 5s, 10, {"id-a"}},
                                       Call{kStart + 7s, 10, {"id-b"}}, Call{kStart + 10s, 10, {"id-a", "id-b"}}));
}

TEST(SubscriberStandardTest, LeaseTicksGoOnUnseenWhileThereIsNothingToExtend) {
  World world;
  world.Start();
  world.RunUntil(kStart + 21s);
  EXPECT_EQ(world.wakeups, 0);
  world.hold = true;
  world.Respond(kStart + 22s, {"a"}, false);  // ticks at 5, 10, 15, 20, 25
  world.RunUntil(kStart + 26s);
  EXPECT_THAT(world.calls, ElementsAre(Call{kStart + 22s, 10, {"id-a"}}, Call{kStart + 25s, 10, {"id-a"}}));
}

TEST(SubscriberStandardTest, ALeaseIsAbandonedAfterMaxExtension) {
  Subscriber::Options options;
  options.model.max_extension = 10s;
  World world(options);
  world.hold = true;
  world.Start();
  world.Respond(kStart, {"a"}, false);
  world.Respond(kStart + 1ns, {"b"}, false);
  world.RunUntil(kStart + 14s);
  // At 10 s the lease of a ends in this instant, which is not yet beyond it.
  EXPECT_THAT(world.calls.back(), (Call{kStart + 10s, 10, {"id-a", "id-b"}}));
  world.RunUntil(kStart + 30s);
  EXPECT_THAT(world.calls.back().at, kStart + 10s);
  EXPECT_THAT(world.log.At(trace::What::kLeaseAbandoned), ElementsAre(kStart + 15s, kStart + 15s));
  // Whoever is late may still ack; whoever returned without an ack is forgotten.
  world.Do([&](Actions& out) {
    world.subscriber.Ack(world.now, world.handed[0], out);
    world.subscriber.OnCallbackReturned(world.now, world.handed[0], out);
    world.subscriber.OnCallbackReturned(world.now, world.handed[1], out);
    world.subscriber.Stop(world.now, out);
  });
  world.RunUntil(kStart + 31s);
  EXPECT_THAT(world.AckIds(), ElementsAre("id-a"));
  EXPECT_TRUE(world.subscriber.Stopped());
}

TEST(SubscriberStandardTest, TheDeadlineFollowsTheAckTimes) {
  World world;
  world.work = 31s + 500ms;
  world.Start();
  world.Respond(kStart, {"a"}, false);
  world.RunUntil(kStart + 40s);
  world.Respond(kStart + 40s, {"b"}, false);
  world.RunUntil(kStart + 60s);
  EXPECT_THAT(world.Ids(31), testing::Contains("id-b"));
}

TEST(SubscriberStandardTest, OneCallCarriesAtMost1000Ids) {
  World world;
  world.hold = true;
  std::vector<std::string> names(1001, "x");
  world.Start();
  world.Respond(kStart + 1ms, names, false);
  world.RunUntil(kStart + 200ms);
  ASSERT_THAT(world.calls, SizeIs(2));
  EXPECT_THAT(world.calls[0].ids, SizeIs(1000));
  EXPECT_THAT(world.calls[1].ids, SizeIs(1));
  EXPECT_EQ(world.calls[0].at, world.calls[1].at);  // in parallel
}

TEST(SubscriberStandardTest, IdleStreamsWakeForPingsOnly) {
  World world(World::Streams(60));
  world.Start();
  // Every ping is answered by an empty response.
  for (int second = 30; second <= 300; second += 30) {
    for (uint32_t stream = 0; stream < 60; ++stream) {
      world.Respond(kStart + std::chrono::seconds(second) + 1ms, {}, false, stream);
    }
  }
  world.RunUntil(kStart + 301s);
  EXPECT_EQ(world.wakeups, 10);
  EXPECT_THAT(world.Seen(Action::Kind::kSend), SizeIs(600));
  EXPECT_THAT(world.Seen(Action::Kind::kHalfCloseStream), IsEmpty());
}

TEST(SubscriberStandardTest, AMessageWithoutTraceContextLeavesNoEvents) {
  World world;
  world.Start();
  world.Respond(kStart, {}, false, 0, [](pubsub::StreamingPullResponse& response) {
    response.received_messages.push_back({.ack_id = "plain", .message = pubsub::Message::Make("m", {})});
  });
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.callbacks, SizeIs(1));
  EXPECT_THAT(world.AckIds(), ElementsAre("plain"));
  EXPECT_THAT(world.log.events, IsEmpty());
}

}  // namespace
}  // namespace hopgap::client
