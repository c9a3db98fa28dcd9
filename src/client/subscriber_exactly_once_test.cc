// A subscriber of an exactly-once subscription: the stream waits for its receipt
// modacks (model go), or does not (model overlap).
#include "client/test_world.h"

namespace hopgap::client {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;
using World = SubscriberWorld;
using Call = World::CallSeen;
using Callback = World::Callback;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status Invalid() { return absl::Status(kInvalid, "some ids were invalid"); }
pubsub::AckIdFailures Transient(const std::string& id) { return {{id, std::string(pubsub::kTransientUnavailable)}}; }
pubsub::AckIdFailures Permanent(const std::string& id) { return {{id, std::string(pubsub::kPermanentInvalidAckId)}}; }
Subscriber::Options Overlap() {
  Subscriber::Options options;
  options.model = *FindModel("overlap");
  return options;
}
// Without lease ticks, where a test counts modacks.
Subscriber::Options NoExtensions() {
  Subscriber::Options options;
  options.model.first_lease_tick = 1h;
  return options;
}
// Fails the first `times` modacks (seconds > 0) or acks (seconds < 0).
std::function<World::Answer(const Call&)> FailFirst(int times, bool acks, World::Answer failure) {
  return [=, left = times](const Call& call) mutable {
    if ((call.seconds < 0) != acks || left == 0) return World::Ok(0ms);
    --left;
    return failure;
  };
}
std::vector<Call> Receipts(const World& world) {
  std::vector<Call> found;
  for (const Call& call : world.calls) {
    if (call.seconds > 0) found.push_back(call);
  }
  return found;
}
std::vector<Call> Acks(const World& world) {
  std::vector<Call> found;
  for (const Call& call : world.calls) {
    if (call.seconds < 0) found.push_back(call);
  }
  return found;
}

// C41 (a): from the very first response on.
TEST(SubscriberExactlyOnceTest, C41_a_TheCallbackAndTheNextReadWaitForTheReceipt) {
  World world;
  world.hold = true;
  world.server = [](const Call&) { return World::Ok(80ms); };
  world.Start();
  world.Respond(kStart + 30ms, {"a", "b"}, true);
  world.Respond(kStart + 40ms, {"c"}, true);
  world.RunUntil(kStart + 110ms - 1ns);
  EXPECT_THAT(world.calls, ElementsAre(Call{kStart + 30ms, 60, {"id-a", "id-b"}}));
  EXPECT_THAT(world.callbacks, IsEmpty());
  EXPECT_THAT(world.read_posted, IsEmpty());
  world.RunUntil(kStart + 110ms);
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart + 110ms, "a"}, Callback{kStart + 110ms, "b"}));
  world.RunUntil(kStart + 1s);
  // The second response was read only then, and its receipt cost another round trip.
  EXPECT_EQ(world.callbacks.back(), (Callback{kStart + 190ms, "c"}));
  const auto received = world.log.Of(trace::What::kReceivedExactlyOnce);
  ASSERT_THAT(received, SizeIs(3));
  EXPECT_EQ(received[2].at, kStart + 110ms);
  EXPECT_EQ(received[2].value, ToNanos(kStart + 110ms));  // read posted
  EXPECT_EQ(received[2].rpc, 2u);
  EXPECT_EQ(received[0].count, 2);
}

TEST(SubscriberExactlyOnceTest, EventsOfOneMessageComeInOrder) {
  World world;
  world.work = 200ms;
  world.server = [](const Call&) { return World::Ok(80ms); };
  world.Start();
  world.Respond(kStart + 30ms, {"a"}, true);
  world.RunUntil(kStart + 1s);
  using trace::What;
  std::vector<std::pair<What, Duration>> seen;
  for (const trace::Event& event : world.log.events) {
    seen.emplace_back(event.what, event.at - kStart);
    EXPECT_EQ(event.delivery, trace::DeliveryKey("id-a"));
    EXPECT_EQ(event.message, (trace::MessageKey{7, 1, 101}));
  }
  EXPECT_THAT(seen, ElementsAre(std::pair{What::kReceivedExactlyOnce, 30ms}, std::pair{What::kReceiptModackStart, 30ms},
                                std::pair{What::kReceiptModackEnd, 110ms}, std::pair{What::kFlowControlStart, 110ms},
                                std::pair{What::kFlowControlEnd, 110ms}, std::pair{What::kSchedulerStart, 110ms},
                                std::pair{What::kCallbackStart, 110ms}, std::pair{What::kAckCalled, 310ms},
                                std::pair{What::kHandlerReturned, 310ms}, std::pair{What::kAckStart, 400ms},
                                std::pair{What::kAckEnd, 480ms}));
  const auto modack = world.log.Of(What::kReceiptModackStart).at(0);
  EXPECT_EQ(modack.rpc, 1u);
  EXPECT_EQ(modack.value, 60);
  EXPECT_EQ(modack.count, 1);
  EXPECT_EQ(world.log.Of(What::kAckEnd).at(0).rpc, 2u);
}

TEST(SubscriberExactlyOnceTest, TheReceiptsOfABigResponseGoInParallelCallsOf1000) {
  World world;
  world.hold = true;
  world.server = [](const Call& call) { return World::Ok(call.ids.size() == 1000 ? 5ms : 50ms); };
  world.Start();
  std::vector<std::string> names;
  for (int i = 0; i < 1001; ++i) names.push_back(std::to_string(i));
  world.Respond(kStart, names, true);
  world.RunUntil(kStart + 50ms - 1ns);
  EXPECT_THAT(world.calls, ElementsAre(Field(&Call::ids, SizeIs(1000)), Field(&Call::ids, ElementsAre("id-1000"))));
  EXPECT_THAT(world.callbacks, IsEmpty());  // the whole response waits for the slowest
  world.RunUntil(kStart + 50ms);
  EXPECT_THAT(world.callbacks, SizeIs(1000));  // flow control holds the rest
  EXPECT_THAT(world.read_posted, IsEmpty());
}

TEST(SubscriberExactlyOnceTest, TheSenderIsNotHeldByReceipts) {
  World world(World::Streams(1));
  world.work = 10ms;
  world.server = [](const Call& call) { return World::Ok(call.seconds > 0 && call.ids[0] == "id-b" ? 10s : 0ms); };
  world.Start();
  world.Respond(kStart + 1ms, {"a"}, true);
  world.Respond(kStart + 2ms, {"b"}, true);
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(Acks(world), ElementsAre(Call{kStart + 100ms, -1, {"id-a"}}));
}

// C41 (b).
TEST(SubscriberExactlyOnceTest, C41_b_ATransientFailureIsRetriedAtOnceThenWithPauses) {
  World world;
  world.hold = true;
  world.server = FailFirst(2, false, World::Error(Invalid(), Transient("id-a"), 10ms));
  world.Start();
  world.Respond(kStart, {"a"}, true);
  world.RunUntil(kStart + 4s);
  const auto receipts = Receipts(world);
  ASSERT_THAT(receipts, SizeIs(3));
  EXPECT_EQ(receipts[1].at, kStart + 10ms);  // immediate
  EXPECT_GT(receipts[2].at, kStart + 20ms);
  EXPECT_LE(receipts[2].at, kStart + 20ms + 1s);
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{receipts[2].at, "a"}));
}

TEST(SubscriberExactlyOnceTest, AReceiptIsGivenUpAfterFourRetries) {
  World world(NoExtensions());
  world.server = FailFirst(100, false, World::Error(absl::AbortedError("later")));
  world.Start();
  world.Respond(kStart, {"a"}, true);
  world.RunUntil(kStart + 4s);
  EXPECT_THAT(world.read_posted, IsEmpty());
  world.RunUntil(kStart + 16s);  // 1 + 2 + 4 + 8 s of pauses at most
  EXPECT_THAT(Receipts(world), SizeIs(5));
  EXPECT_THAT(world.callbacks, IsEmpty());
  EXPECT_THAT(world.read_posted, SizeIs(1));
  const auto failed = world.log.At(trace::What::kReceiptFailed);
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_GT(failed[0], Receipts(world).back().at);  // the last pause is spent, too
  EXPECT_EQ(world.subscriber.outstanding(), 0u);
}

TEST(SubscriberExactlyOnceTest, OneTransientIdHoldsUpTheWholeResponse) {
  World world(NoExtensions());
  world.hold = true;
  world.server = [n = 0](const Call& call) mutable {
    if (call.seconds > 0 && n++ < 2) {
      return World::Error(absl::AbortedError("some"), {{"id-b", std::string(pubsub::kTransientUnavailable)},
                                                       {"id-c", std::string(pubsub::kPermanentInvalidAckId)}});
    }
    return World::Ok(0ms);
  };
  world.Start();
  world.Respond(kStart, {"b", "c"}, true);
  world.RunUntil(kStart + 5s);
  const auto receipts = Receipts(world);
  ASSERT_THAT(receipts, SizeIs(3));
  EXPECT_THAT(receipts[1].ids, ElementsAre("id-b"));
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{receipts[2].at, "b"}));
}

// C41 (c): no callback, nothing the user sees; the redelivery is handled as any message.
TEST(SubscriberExactlyOnceTest, C41_c_AnInvalidIdNeverReachesItsCallback) {
  World world;
  world.server = FailFirst(1, false, World::Error(Invalid(), Permanent("id-a"), 5ms));
  world.Start();
  world.Respond(kStart, {"a"}, true);
  world.Respond(kStart + 1s, {"again"}, true);
  world.RunUntil(kStart + 2s);
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart + 1s, "again"}));
  EXPECT_THAT(world.log.At(trace::What::kReceiptFailed), ElementsAre(kStart + 5ms));
  EXPECT_THAT(world.AckIds(), ElementsAre("id-again"));
  EXPECT_THAT(world.failures, IsEmpty());
}

TEST(SubscriberExactlyOnceTest, WhatAFailureMeansForUnlistedIdsFollowsTheCode) {
  struct Case {
    const char* name;
    absl::Status status;
    pubsub::AckIdFailures failures;
    std::vector<std::string> callbacks;  // of a, b
    size_t calls;
  };
  const std::vector<Case> cases = {
      {"listed invalid, rest follows INVALID_ARGUMENT", Invalid(), Permanent("id-a"), {}, 1},
      {"listed invalid, rest is retried", absl::AbortedError(""), Permanent("id-a"), {"b"}, 2},
      {"unknown text is final", absl::AbortedError(""), {{"id-a", "SOMETHING_NEW"}}, {"b"}, 2},
      {"transient by name in INVALID_ARGUMENT", Invalid(), Transient("id-a"), {"a"}, 2},
      {"bare INTERNAL", absl::InternalError(""), {}, {"a", "b"}, 2},
      {"bare DEADLINE_EXCEEDED", absl::DeadlineExceededError(""), {}, {"a", "b"}, 2},
      {"bare RESOURCE_EXHAUSTED", absl::ResourceExhaustedError(""), {}, {"a", "b"}, 2},
      {"bare PERMISSION_DENIED", absl::PermissionDeniedError(""), {}, {}, 1},
      {"bare FAILED_PRECONDITION", absl::FailedPreconditionError(""), {}, {}, 1},
      {"bare NOT_FOUND", absl::NotFoundError(""), {}, {}, 1},
      {"bare INVALID_ARGUMENT", Invalid(), {}, {}, 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    world.hold = true;
    world.server = FailFirst(1, false, World::Error(c.status, c.failures));
    world.Start();
    world.Respond(kStart, {"a", "b"}, true);
    world.RunUntil(kStart + 1s);
    std::vector<std::string> seen;
    for (const Callback& callback : world.callbacks) seen.push_back(callback.data);
    EXPECT_EQ(seen, c.callbacks);
    EXPECT_THAT(world.calls, SizeIs(c.calls));
  }
}

TEST(SubscriberExactlyOnceTest, UnavailableIsSentAgainInsideTheSameCall) {
  World world;
  world.hold = true;
  world.server = FailFirst(3, false, World::Error(absl::UnavailableError("")));
  world.Start();
  world.Respond(kStart, {"a"}, true);
  world.RunUntil(kStart + 2s);
  const auto receipts = Receipts(world);
  ASSERT_THAT(receipts, SizeIs(4));
  EXPECT_LE(receipts[1].at - receipts[0].at, 100ms);
  EXPECT_LE(receipts[2].at - receipts[1].at, 130ms);
  EXPECT_LE(receipts[3].at - receipts[2].at, 169ms);
  EXPECT_EQ(receipts[3].timeout, 60s - (receipts[3].at - kStart));
  EXPECT_THAT(world.log.Of(trace::What::kReceiptModackStart), SizeIs(1));
  EXPECT_THAT(world.log.At(trace::What::kReceiptModackEnd), ElementsAre(receipts[3].at));
}

TEST(SubscriberExactlyOnceTest, ACallEndsWithItsTimeoutHoweverOftenItWasSent) {
  World world;
  world.server = [](const Call&) { return World::Error(absl::UnavailableError("")); };
  world.Start();
  world.Respond(kStart, {"a"}, true);
  world.RunUntil(kStart + 60s - 1ns);
  EXPECT_THAT(world.log.Of(trace::What::kReceiptModackEnd), IsEmpty());
  world.RunUntil(kStart + 60s);
  const auto ends = world.log.Of(trace::What::kReceiptModackEnd);
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].value, static_cast<int>(absl::StatusCode::kDeadlineExceeded));
}

TEST(SubscriberExactlyOnceTest, AnAckIsRetriedUntilItSucceedsAndAnsweredOnce) {
  World world;
  world.server = FailFirst(3, true, World::Error(Invalid(), Transient("id-a"), 5ms));
  world.Start();
  world.Respond(kStart + 1ms, {"a"}, true);
  world.RunUntil(kStart + 10s);
  const auto acks = Acks(world);
  ASSERT_THAT(acks, SizeIs(4));
  EXPECT_EQ(acks[0].at, kStart + 100ms);
  EXPECT_EQ(acks[1].at, kStart + 105ms);  // immediate
  EXPECT_LE(acks[2].at - acks[1].at, 1s + 5ms);
  EXPECT_LE(acks[3].at - acks[2].at, 2s + 5ms);
  ASSERT_THAT(world.done, SizeIs(1));
  EXPECT_EQ(world.done[0].at, acks[3].at);
  EXPECT_TRUE(world.done[0].ok);
}

TEST(SubscriberExactlyOnceTest, AckResultsAreOfEachId) {
  World world;
  world.server = FailFirst(1, true, World::Error(absl::AbortedError(""), Permanent("id-b"), 5ms));
  world.Start();
  world.Respond(kStart + 1ms, {"a", "b"}, true);
  world.RunUntil(kStart + 1s);
  const auto acks = Acks(world);
  ASSERT_THAT(acks, SizeIs(2));
  EXPECT_THAT(acks[1].ids, ElementsAre("id-a"));
  ASSERT_THAT(world.done, SizeIs(2));
  EXPECT_EQ(world.done[0].delivery, world.handed[1]);
  EXPECT_FALSE(world.done[0].ok);
  EXPECT_TRUE(world.done[1].ok);
}

TEST(SubscriberExactlyOnceTest, AnAckIsGivenUpAfter600Seconds) {
  for (const bool nack : {false, true}) {
    World world;
    world.nack = nack;
    world.server = [](const Call& call) {
      return call.seconds > 0 ? World::Ok(0ms) : World::Error(absl::AbortedError(""));
    };
    world.Start();
    world.Respond(kStart + 1ms, {"a"}, true);
    world.RunUntil(kStart + 600s);
    EXPECT_THAT(world.done, IsEmpty());
    world.RunUntil(kStart + 600s + 65s);
    ASSERT_THAT(world.done, SizeIs(1));
    EXPECT_FALSE(world.done[0].ok);
    EXPECT_GE(world.done[0].at, kStart + 100ms + 600s);
    EXPECT_GT(world.calls.size(), 12u);
  }
}

TEST(SubscriberExactlyOnceTest, RetriesOfAcksDoNotHoldTheSender) {
  World world;
  world.server = FailFirst(5, true, World::Error(Invalid(), Transient("id-a")));
  world.Start();
  world.Respond(kStart + 1ms, {"a"}, true);
  world.Respond(kStart + 110ms, {"b"}, true);
  world.RunUntil(kStart + 60s);
  EXPECT_THAT(Acks(world), testing::Contains(Call{kStart + 200ms, -1, {"id-b"}}));
}

// C43: leases start at 60 s or more and are extended 5 s before they end.
TEST(SubscriberExactlyOnceTest, C43_LeasesAreAtLeast60SecondsAndExtendedInTime) {
  World world;
  world.work = 100s;
  world.server = [](const Call& call) { return World::Ok(call.seconds > 0 ? 20s : 0s); };
  world.Start();
  world.Respond(kStart + 1s, {"a"}, true);
  world.RunUntil(kStart + 120s);
  // First tick at 5 s; the sender is busy until 25 s; then every 60 - 5 s.
  EXPECT_THAT(Receipts(world), ElementsAre(Call{kStart + 1s, 60, {"id-a"}}, Call{kStart + 5s, 60, {"id-a"}},
                                           Call{kStart + 60s, 60, {"id-a"}}, Call{kStart + 115s, 60, {"id-a"}}));
  EXPECT_THAT(world.log.At(trace::What::kExtensionStart), ElementsAre(kStart + 5s, kStart + 60s, kStart + 115s));
}

TEST(SubscriberExactlyOnceTest, AFailedExtensionLeavesTheMessageWithItsHandler) {
  World world;
  world.work = 10s;
  world.server = [](const Call& call) {
    return call.seconds > 0 && call.at >= kStart + 5s ? World::Error(Invalid(), Permanent("id-a")) : World::Ok(0ms);
  };
  world.Start();
  world.Respond(kStart, {"a"}, true);
  world.RunUntil(kStart + 11s);
  EXPECT_THAT(Acks(world), SizeIs(1));
  ASSERT_THAT(world.done, SizeIs(1));
  EXPECT_TRUE(world.done[0].ok);
}

TEST(SubscriberExactlyOnceTest, PropertiesAreReadFromEveryResponse) {
  World world;
  world.hold = true;
  world.server = [](const Call&) { return World::Ok(50ms); };
  world.Start();
  EXPECT_FALSE(world.subscriber.properties_seen());
  world.Respond(kStart + 1ms, {"standard"}, false);
  world.Respond(kStart + 2ms, {"once"}, true);
  world.RunUntil(kStart + 3ms);
  EXPECT_TRUE(world.subscriber.exactly_once_seen());
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart + 1ms, "standard"}));
  // A response without the properties means a standard subscription, as the library reads it.
  world.Respond(kStart + 100ms, {"absent"}, true, 0,
                [](pubsub::StreamingPullResponse& response) { response.has_properties = false; });
  world.RunUntil(kStart + 1s);
  EXPECT_FALSE(world.subscriber.exactly_once_seen());
  EXPECT_TRUE(world.subscriber.properties_seen());
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart + 1ms, "standard"}, Callback{kStart + 52ms, "once"},
                                           Callback{kStart + 100ms, "absent"}));
}

TEST(SubscriberExactlyOnceTest, OtherStreamsAreNotHeldUp) {
  World world(World::Streams(2));
  world.hold = true;
  world.server = [](const Call& call) { return World::Ok(call.ids[0] == "id-a" ? 10s : 1ms); };
  world.Start();
  world.Respond(kStart, {"a"}, true, 0);
  world.Respond(kStart, {"b"}, true, 1);
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart + 1ms, "b"}));
}

TEST(SubscriberOverlapTest, TheCallbackAndTheNextReadDoNotWait) {
  World world(Overlap());
  world.hold = true;
  world.server = [](const Call&) { return World::Ok(80ms); };
  world.Start();
  world.Respond(kStart + 30ms, {"a"}, true);
  world.Respond(kStart + 40ms, {"b"}, true);
  world.RunUntil(kStart + 50ms);
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart + 30ms, "a"}, Callback{kStart + 40ms, "b"}));
  EXPECT_THAT(world.calls, ElementsAre(Call{kStart + 30ms, 60, {"id-a"}}, Call{kStart + 40ms, 60, {"id-b"}}));
}

TEST(SubscriberOverlapTest, AFailedReceiptMattersOnlyThroughTheAcksResult) {
  World world(Overlap());
  world.work = 6s;
  world.server = [](const Call&) { return World::Error(Invalid(), Permanent("id-a"), 5ms); };
  world.Start();
  world.Respond(kStart, {"a"}, true);
  world.RunUntil(kStart + 7s);
  EXPECT_THAT(world.callbacks, SizeIs(1));
  EXPECT_THAT(world.log.Of(trace::What::kReceiptFailed), IsEmpty());
  EXPECT_THAT(world.log.At(trace::What::kExtensionStart), ElementsAre(kStart + 5s));  // the lease is kept
  ASSERT_THAT(world.done, SizeIs(1));
  EXPECT_FALSE(world.done[0].ok);
}

TEST(SubscriberOverlapTest, ATransientReceiptIsRetriedBesideTheCallback) {
  World world(Overlap());
  world.work = 1s;
  world.server = FailFirst(1, false, World::Error(absl::AbortedError(""), {}, 5ms));
  world.Start();
  world.Respond(kStart, {"a"}, true);
  world.RunUntil(kStart + 2s);
  EXPECT_THAT(Receipts(world), ElementsAre(Call{kStart, 60, {"id-a"}}, Call{kStart + 5ms, 60, {"id-a"}}));
  EXPECT_THAT(world.callbacks, ElementsAre(Callback{kStart, "a"}));
}

TEST(SubscriberOverlapTest, AStandardSubscriptionIsServedAsByGo) {
  World world(Overlap());
  world.hold = true;
  world.Start();
  world.Respond(kStart + 1ms, {"a"}, false);
  world.RunUntil(kStart + 1s);
  EXPECT_THAT(world.calls, ElementsAre(Call{kStart + 100ms, 10, {"id-a"}}));
}

TEST(SubscriberExactlyOnceTest, TheSameSeedGivesTheSamePauses) {
  const auto run = [](uint64_t seed) {
    Subscriber::Options options;
    options.seed = seed;
    World world(options);
    world.server = [](const Call&) { return World::Error(absl::AbortedError("")); };
    world.Start();
    world.Respond(kStart, {"a"}, true);
    world.RunUntil(kStart + 60s);
    return world.calls;
  };
  EXPECT_THAT(run(1), ElementsAreArray(run(1)));
  EXPECT_NE(run(1), run(2));
}

}  // namespace
}  // namespace hopgap::client
