// Opening, reopening, pings and the pong monitor.
#include <set>

#include "client/test_world.h"

namespace hopgap::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using World = SubscriberWorld;
using Kind = Action::Kind;

TEST(SubscriberStreamTest, WhichErrorsReopenTheStream) {
  struct Case {
    absl::Status status;
    bool reopens;
  };
  const std::vector<Case> cases = {
      {absl::OkStatus(), true},
      {absl::DeadlineExceededError(""), true},
      {absl::InternalError(""), true},
      {absl::AbortedError(""), true},
      {absl::UnavailableError("goaway"), true},
      {absl::UnavailableError("transport: Server shutdownNow invoked"), false},
      {absl::UnknownError("closing: received prior goaway: code: NO_ERROR, debug"), true},
      {absl::UnknownError("other"), false},
      {absl::ResourceExhaustedError(""), false},
      {absl::CancelledError(""), false},
      {absl::NotFoundError("gone"), false},
      {absl::PermissionDeniedError(""), false},
      {absl::FailedPreconditionError(""), false},
      {absl::InvalidArgumentError(""), false},
      {absl::UnauthenticatedError(""), false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.status.ToString());
    World world;
    world.Start();
    world.EndStream(kStart + 10s, c.status);
    world.RunUntil(kStart + 12s);
    const auto opened = world.Seen(Kind::kOpenStream);
    EXPECT_THAT(opened, SizeIs(c.reopens ? 2 : 1));
    EXPECT_THAT(world.failures, SizeIs(c.reopens ? 0 : 1));
    EXPECT_EQ(world.subscriber.Stopped(), !c.reopens);
    if (!c.reopens) {
      EXPECT_EQ(world.failures[0].first, kStart + 10s);
      EXPECT_THAT(world.failures[0].second, HasSubstr("the stream ended for good"));
      continue;
    }
    EXPECT_GT(opened[1], kStart + 10s);
    EXPECT_LE(opened[1], kStart + 11s);
    EXPECT_EQ(world.read_posted.at(0), opened[1]);
    EXPECT_EQ(world.stream_actions[2].request.client_id, "client-1");  // C45: the same on every stream
  }
}

TEST(SubscriberStreamTest, NoPauseIfTheReadWasPostedForLong) {
  for (const Duration posted : {30s - 1ns, Duration{30s}}) {
    World world;
    world.Start();
    world.Respond(kStart + 1s, {}, false);
    world.EndStream(kStart + 1s + posted, absl::UnavailableError(""));
    world.RunUntil(kStart + 40s);
    const Instant reopened = world.Seen(Kind::kOpenStream).at(1);
    EXPECT_EQ(reopened == kStart + 1s + posted, posted == 30s);
  }
}

TEST(SubscriberStreamTest, PausesGrowUntilAReadSucceeds) {
  World world;
  world.Start();
  Instant at = kStart;
  std::vector<Duration> pauses;
  for (int i = 0; i < 8; ++i) {
    world.EndStream(at, absl::UnavailableError(""));
    world.RunUntil(at + 30s);
    const Instant opened = world.Seen(Kind::kOpenStream).back();
    pauses.push_back(opened - at);
    at = std::max(opened + 1ms, world.now);
    if (at > opened + 30s - 1ns) at = opened + 30s - 1ns;
    world.RunUntil(at);
  }
  const std::vector<Duration> limits = {1s, 2s, 4s, 8s, 16s, 30s, 30s, 30s};
  for (size_t i = 0; i < limits.size(); ++i) EXPECT_LE(pauses[i], limits[i]);
  EXPECT_GT(*std::max_element(pauses.begin(), pauses.end()), 4s);
  world.Respond(at, {}, false);
  world.EndStream(at + 1ms, absl::UnavailableError(""));
  world.RunUntil(at + 2s);
  EXPECT_LE(world.Seen(Kind::kOpenStream).back() - (at + 1ms), 1s);
}

// C45: acks and unacked messages belong to the iterator, not to the stream.
TEST(SubscriberStreamTest, C45_MessagesAndAcksSurviveAReopen) {
  World world;
  world.work = 12s;
  world.Start();
  world.Respond(kStart + 1s, {"a"}, true);
  world.EndStream(kStart + 2s, absl::UnavailableError(""));
  world.RunUntil(kStart + 14s);
  EXPECT_THAT(world.Seen(Kind::kOpenStream), SizeIs(2));
  EXPECT_THAT(world.Ids(60), ElementsAre("id-a", "id-a"));  // receipt and the extension at 5 s
  EXPECT_THAT(world.AckIds(), ElementsAre("id-a"));
  ASSERT_THAT(world.done, SizeIs(1));
  EXPECT_TRUE(world.done[0].ok);
}

// The case at its own size.
TEST(SubscriberStreamTest, C45_AStreamThatEndsEvery15SecondsLosesAndRepeatsNothing) {
  World world;
  world.work = 2s;
  world.server = [](const World::CallSeen&) { return World::Ok(5ms); };
  world.Start();
  std::vector<std::string> ids;
  for (int i = 0; i < 180 * 50; ++i) {
    world.Respond(kStart + 20ms * i, {std::to_string(i)}, true);
    ids.push_back("id-" + std::to_string(i));
  }
  for (int i = 1; i <= 12; ++i) world.EndStream(kStart + 15s * i - 1ms, absl::UnavailableError(""));
  world.RunUntil(kStart + 190s);
  const auto opened = world.Seen(Kind::kOpenStream);
  ASSERT_THAT(opened, SizeIs(13));
  std::set<Duration> pauses;
  for (int i = 1; i <= 12; ++i) {
    const Duration pause = opened[static_cast<size_t>(i)] - (kStart + 15s * i - 1ms);
    EXPECT_GT(pause, 0s);
    EXPECT_LE(pause, 1s);
    pauses.insert(pause);
  }
  EXPECT_THAT(pauses, SizeIs(12));  // jitter
  for (const World::StreamSeen& seen : world.stream_actions) {
    if (seen.kind == Kind::kOpenStream) {
      EXPECT_EQ(seen.request.client_id, "client-1");
    }
  }
  EXPECT_THAT(world.callbacks, SizeIs(ids.size()));
  std::vector<std::string> acked = world.AckIds();
  std::sort(acked.begin(), acked.end());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(acked, ids);
  EXPECT_TRUE(std::all_of(world.done.begin(), world.done.end(), [](const auto& done) { return done.ok; }));
}

// The library notices the end of a stream when it reads.
TEST(SubscriberStreamTest, AnEndDuringTheReceiptWaitIsFoundByTheNextRead) {
  World world;
  world.server = [](const World::CallSeen&) { return World::Ok(500ms); };
  world.Start();
  world.Respond(kStart + 1s, {"a"}, true);
  world.EndStream(kStart + 1100ms, absl::UnavailableError(""));
  world.RunUntil(kStart + 1500ms - 1ns);
  EXPECT_THAT(world.Seen(Kind::kOpenStream), SizeIs(1));
  world.RunUntil(kStart + 3s);
  const auto opened = world.Seen(Kind::kOpenStream);
  ASSERT_THAT(opened, SizeIs(2));
  EXPECT_GT(opened[1], kStart + 1500ms);
  EXPECT_THAT(world.callbacks, SizeIs(1));
  EXPECT_THAT(world.read_posted, ElementsAre(std::pair{0u, opened[1]}));
}

TEST(SubscriberStreamTest, AFatalEndOfOneStreamStopsAllAndFlushesTheirAcks) {
  World world(World::Streams(2));
  world.work = 50ms;
  world.Start();
  world.Respond(kStart + 1ms, {"a"}, false, 1);
  world.EndStream(kStart + 60ms, absl::NotFoundError("no such subscription"), 0);
  world.RunUntil(kStart + 100s);
  EXPECT_THAT(world.failures, SizeIs(1));
  EXPECT_THAT(world.failures[0].second, HasSubstr("no such subscription"));
  EXPECT_THAT(world.AckIds(), ElementsAre("id-a"));
  EXPECT_TRUE(world.subscriber.Stopped());
}

TEST(SubscriberStreamTest, PingsEvery30SecondsEmptyButOnceAfterTheFlip) {
  World world;
  world.Start();
  for (int second : {31, 61, 91, 121})
    world.Respond(kStart + std::chrono::seconds(second), {}, second >= 31 && second < 91);
  world.RunUntil(kStart + 125s);
  std::vector<std::pair<Instant, int>> pings;
  for (const auto& action : world.stream_actions) {
    if (action.kind != Kind::kSend) continue;
    pings.emplace_back(action.at, action.request.stream_ack_deadline_seconds);
    EXPECT_EQ(action.request.subscription, "");
    EXPECT_EQ(action.request.client_id, "");
    EXPECT_EQ(action.request.max_outstanding_messages, 0);
  }
  EXPECT_THAT(pings, ElementsAre(std::pair{kStart + 30s, 0}, std::pair{kStart + 60s, 60}, std::pair{kStart + 90s, 0},
                                 std::pair{kStart + 120s, 10}));
}

// Ping at 30 s, looks at 40 s (10 s old: passes) and at 50 s (20 s old: closes).
TEST(SubscriberStreamTest, AnUnansweredPingHalfClosesTheStream) {
  World world;
  world.Start();
  world.RunUntil(kStart + 50s - 1ns);
  EXPECT_THAT(world.Seen(Kind::kHalfCloseStream), IsEmpty());
  world.RunUntil(kStart + 50s);
  EXPECT_THAT(world.Seen(Kind::kHalfCloseStream), ElementsAre(kStart + 50s));
  // Half-closed: the server's end makes the reopening; posted for more than 30 s, so at once.
  world.EndStream(kStart + 51s, absl::OkStatus());
  world.RunUntil(kStart + 59s);
  EXPECT_THAT(world.Seen(Kind::kOpenStream), ElementsAre(kStart, kStart + 51s));
  // A reopening does not reset the times: the next look closes again, unless something came.
  world.RunUntil(kStart + 60s);
  EXPECT_THAT(world.Seen(Kind::kHalfCloseStream), ElementsAre(kStart + 50s, kStart + 60s));
}

TEST(SubscriberStreamTest, AnyResponseIsAPong) {
  for (const Duration pong : {Duration{50s - 1ns}, Duration{50s}}) {
    World world;
    world.Start();
    world.Respond(kStart + pong, {}, false);
    world.RunUntil(kStart + 55s);
    EXPECT_THAT(world.Seen(Kind::kHalfCloseStream), IsEmpty());
  }
}

}  // namespace
}  // namespace hopgap::client
