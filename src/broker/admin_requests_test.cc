#include "broker/admin_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AdminRequestsTest : public ::testing::Test {
 protected:
  void Start(bool exactly_once, Broker::Options options = World::Defaults()) {
    options.on_lease_failure = [this](Instant, const LeaseFailure& failure) { failures.push_back(failure); };
    world = std::make_unique<World>(std::move(options));
    ASSERT_EQ(world->CreateTopic("top"), absl::OkStatus());
    ASSERT_EQ(world->CreateSubscription("sub", "top", exactly_once), absl::OkStatus());
  }
  // Performs what comes of it.
  absl::StatusOr<uint64_t> Admin(const AdminRequest& request) { return world->Admin(request); }
  LeaseReport Leases() { return *world->broker.Leases(world->now, World::Sub("sub")); }

  std::vector<LeaseFailure> failures;
  std::unique_ptr<World> world;
};

TEST_F(AdminRequestsTest, AnExpiredLeaseIsRedeliveredAtOnceAndItsIdIsDead) {
  Start(/*exactly_once=*/true);
  const std::vector<std::string> ids = world->Publish("top", {"a", "b"});
  const auto first = world->Pull("sub");
  EXPECT_THAT(*Admin(ExpireLeases{.subscription = World::Sub("sub"), .message_id = ids[1]}), 1u);
  const auto again = world->Pull("sub");
  EXPECT_THAT(DataOf(again), ElementsAre("b"));
  EXPECT_THAT(world->Ack("sub", {first[1].ack_id}), HasCode(kInvalid));
  ASSERT_THAT(failures, SizeIs(1));
  EXPECT_EQ(failures[0].why, LeaseFailure::Why::kSuperseded);
  EXPECT_EQ(world->Ack("sub", {first[0].ack_id, again[0].ack_id}), absl::OkStatus());
  EXPECT_THAT(Admin(ExpireLeases{.subscription = World::Sub("sub"), .message_id = ids[1]}).status(),
              HasCode(kNotFound));
  EXPECT_EQ(*Admin(ExpireLeases{.subscription = World::Sub("sub"), .message_id = ""}), 0u);
}

TEST_F(AdminRequestsTest, PlannedFailuresChangeNothingAndEndByCount) {
  Start(/*exactly_once=*/true);
  world->Publish("top", {"a"});
  const std::string id = world->Pull("sub")[0].ack_id;
  const auto plan = [&](bool ack, bool permanent, uint32_t times) {
    return Admin(FailNext{.subscription = World::Sub("sub"), .ack = ack, .permanent = permanent, .times = times});
  };
  EXPECT_EQ(*plan(true, false, 2), 2u);
  EXPECT_THAT(world->Ack("sub", {id}), HasCode(kUnavailable));
  EXPECT_EQ(world->Modify("sub", {id}, 20), absl::OkStatus()) << "only acks were to fail";
  EXPECT_THAT(world->Ack("sub", {id}), HasCode(kUnavailable));
  EXPECT_EQ(*plan(false, true, 1), 1u);
  EXPECT_THAT(world->Modify("sub", {id}, 0), HasCode(kInvalid));
  EXPECT_THAT(Leases().leases, SizeIs(1)) << "the nack was not applied";
  EXPECT_THAT(failures, SizeIs(3));
  for (const LeaseFailure& failure : failures) EXPECT_EQ(failure.why, LeaseFailure::Why::kPlanned);
  EXPECT_EQ(world->Ack("sub", {id}), absl::OkStatus());
  EXPECT_THAT(plan(true, true, FailNext::kTimesMax + 1).status(), SaysText("times: 1000001 is outside [0, 1000000]"));
  EXPECT_EQ(*plan(true, true, 5), 5u);
  EXPECT_EQ(*plan(true, true, 0), 0u);
  EXPECT_EQ(world->Ack("sub", {id}), absl::OkStatus()) << "a repeat; nothing was planned any more";
}

TEST_F(AdminRequestsTest, PlannedFailuresOnAStreamAreConfirmedAsWhatTheyAre) {
  Start(/*exactly_once=*/true);
  world->Publish("top", {"a"});
  const StreamId stream = world->Open("sub");
  const std::string id = world->Log(stream).Messages().at(0).ack_id;
  for (const bool permanent : {false, true}) {
    ASSERT_TRUE(
        Admin(FailNext{.subscription = World::Sub("sub"), .ack = true, .permanent = permanent, .times = 1}).ok());
    pubsub::StreamingPullRequest request;
    request.ack_ids = {id};
    world->Send(stream, request);
    const pubsub::Confirmation& said = world->Log(stream).responses.back().acknowledge_confirmation;
    EXPECT_THAT(permanent ? said.invalid_ack_ids : said.temporary_failed_ack_ids, ElementsAre(id));
  }
}

TEST_F(AdminRequestsTest, APausedStreamGetsNothingUntilTheEndOfThePause) {
  Start(/*exactly_once=*/false);
  const StreamId stream = world->Open("sub");
  ASSERT_EQ(*Admin(PauseStreams{.subscription = World::Sub("sub"), .length = 5s}), 1u);
  world->Publish("top", {"a"});
  world->Advance(5s - 1ns);
  EXPECT_THAT(world->Log(stream).Messages(), IsEmpty());
  world->Advance(1ns);
  EXPECT_THAT(DataOf(world->Log(stream).Messages()), ElementsAre("a"));
  ASSERT_TRUE(Admin(PauseStreams{.subscription = World::Sub("sub"), .length = 5s}).ok());
  world->Publish("top", {"b"});
  ASSERT_TRUE(Admin(PauseStreams{.subscription = World::Sub("sub"), .length = 0s}).ok());
  EXPECT_THAT(DataOf(world->Log(stream).Messages()), ElementsAre("a", "b"));
  EXPECT_THAT(Admin(PauseStreams{.subscription = World::Sub("sub"), .length = 3601s}).status(),
              SaysText("seconds: 3601 is outside [0, 3600]"));
}

TEST_F(AdminRequestsTest, RecycledStreamsEndAsUnavailable) {
  Start(/*exactly_once=*/false);
  const StreamId one = world->Open("sub"), two = world->Open("sub");
  EXPECT_EQ(*Admin(RecycleStreams{.subscription = World::Sub("sub")}), 2u);
  EXPECT_THAT(world->Log(one).closed.value_or(absl::OkStatus()), HasCode(kUnavailable));
  EXPECT_THAT(world->Log(two).closed.value_or(absl::OkStatus()), HasCode(kUnavailable));
}

TEST_F(AdminRequestsTest, ResponsesFollowTheNewLimitAndPolicy) {
  Start(/*exactly_once=*/true);
  ASSERT_TRUE(Admin(SetResponses{.messages_max = 2, .policy = ResponsePolicy::kGated}).ok());
  world->Publish("top", {"a", "b", "c", "d", "e"});
  const StreamId stream = world->Open("sub");
  EXPECT_THAT(DataOf(world->Log(stream).Messages()), SizeIs(2)) << "the gate is shut";
  ASSERT_TRUE(Admin(SetResponses{.messages_max = {}, .policy = ResponsePolicy::kEager}).ok());
  EXPECT_THAT(DataOf(world->Log(stream).Messages()), SizeIs(5));
  for (const auto& response : world->Log(stream).responses) EXPECT_LE(response.received_messages.size(), 2u);
  EXPECT_THAT(Admin(SetResponses{.messages_max = 1001, .policy = {}}).status(),
              SaysText("messages_max: 1001 is outside [1, 1000]"));
}

TEST_F(AdminRequestsTest, TheReportSaysWhoHasWhatAndWhoWaitsForIt) {
  Start(/*exactly_once=*/true);
  pubsub::Subscription ordered;
  ordered.name = World::Sub("ordered");
  ordered.topic = World::Topic("top");
  ordered.ack_deadline_seconds = 10;
  ordered.enable_message_ordering = true;
  ASSERT_EQ(world->Do(pubsub::Method::kCreateSubscription, pubsub::CreateSubscriptionRequest{ordered}),
            absl::OkStatus());
  const std::vector<std::string> ids = world->Ids(
      world->StartPublish("top", {pubsub::Message::Make("1", {}, "key"), pubsub::Message::Make("2", {}, "key")}));
  world->Ids(world->StartPublish("top", {pubsub::Message::Make("3", {}, "other")}));
  const auto received = world->Pull("ordered", 1);
  ASSERT_THAT(received, SizeIs(1));
  world->Advance(4s);
  const LeaseReport report = *world->broker.Leases(world->now, World::Sub("ordered"));
  EXPECT_EQ(report.unacked, 3u);
  ASSERT_THAT(report.leases, SizeIs(1));
  EXPECT_EQ(report.leases[0].ack_id, received[0].ack_id);
  EXPECT_EQ(report.leases[0].message_id, ids[0]);
  EXPECT_EQ(report.leases[0].remaining, 6s);
  EXPECT_EQ(report.leases[0].generation, 1u);
  EXPECT_FALSE(report.leases[0].stream.has_value());
  ASSERT_THAT(report.blocked, SizeIs(1));
  EXPECT_EQ(report.blocked[0].ordering_key, "key");
  EXPECT_EQ(report.blocked[0].message_id, ids[0]);
  EXPECT_EQ(report.blocked[0].state, "leased");
  EXPECT_EQ(report.blocked[0].waiting, 1u);
  EXPECT_THAT(world->broker.Leases(world->now, World::Sub("nobody")).status(), HasCode(kNotFound));
}

TEST_F(AdminRequestsTest, TheReportHasALimit) {
  Start(/*exactly_once=*/false);
  for (size_t sent = 0; sent < LeaseReport::kLeasesMax + 1; sent += 1000) {
    world->Publish("top", std::vector<std::string>(1000, "x"));
  }
  while (!world->Pull("sub").empty()) continue;
  const LeaseReport report = Leases();
  EXPECT_TRUE(report.truncated);
  EXPECT_THAT(report.leases, SizeIs(LeaseReport::kLeasesMax));
  EXPECT_EQ(report.unacked, LeaseReport::kLeasesMax + 1000);
}

}  // namespace
}  // namespace hopgap::broker
