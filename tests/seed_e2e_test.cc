// A seed goes through the same door as a client's calls.
#include "base/text.h"
#include "formats/seed_file.h"
#include "server/seeding.h"
#include "wire_fixture.h"

namespace hopgap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::string_view kSeed = R"(projects:
  hopgap:
    topics:
      orders:
        labels: {team: a}
        messages: [{data: one}, {data: two}]
      empty:
    subscriptions:
      orders-sub: {topic: orders, ack_deadline_seconds: 17}
)";

class SeedTest : public WireTest {
 protected:
  // Applies `text` before the server answers anybody.
  absl::Status Sow(std::string_view text) {
    absl::StatusOr<formats::Seed> seed = formats::ParseSeed(text);
    EXPECT_TRUE(seed.ok()) << seed.status();
    server::GrpcServer::Options options = ServerOptions();
    options.journal_records = journal_.records();
    options.prepare = [&](server::LocalCalls& broker) {
      absl::StatusOr<server::Seeded> seeded = server::ApplySeed(*seed, broker);
      if (seeded.ok()) seeded_ = *seeded;
      return seeded.status();
    };
    connection_.reset();
    server_.reset();
    absl::StatusOr<std::unique_ptr<server::GrpcServer>> started =
        server::GrpcServer::Start(std::move(options), journal_, sink_, timer_);
    if (!started.ok()) return started.status();
    server_ = *std::move(started);
    connection_ = remote_.Connect(server_->target());
    return connection_->WaitReady(10s);
  }
  std::vector<std::string> PullAll() {
    pubsub::PullRequest request;
    request.subscription = kSubscription;
    request.max_messages = 10;
    const absl::StatusOr<pubsub::Bytes> answer =
        connection_->CallAndWait(pubsub::Method::kPull, {pubsub::Encode(request)}, 30s);
    EXPECT_TRUE(answer.ok()) << answer.status();
    std::vector<std::string> bodies;
    if (!answer.ok()) return bodies;
    const auto received = pubsub::DecodePullResponse(*answer);
    for (const pubsub::ReceivedMessage& message : *received) bodies.emplace_back(message.message.data());
    return bodies;
  }

  server::Seeded seeded_;
};

TEST_F(SeedTest, WhatItHoldsIsThereForTheFirstClient) {
  ASSERT_EQ(Sow(kSeed), absl::OkStatus());
  EXPECT_EQ(seeded_.topics, 2u);
  EXPECT_EQ(seeded_.subscriptions, 1u);
  EXPECT_EQ(seeded_.messages, 2u);
  EXPECT_EQ(seeded_.found, 0u);
  EXPECT_THAT(PullAll(), ElementsAre("one", "two"));
}

TEST_F(SeedTest, AppliedAgainItFindsWhatItMadeAndPublishesNothingTwice) {
  ASSERT_EQ(Sow(kSeed), absl::OkStatus());
  ASSERT_EQ(Sow(kSeed), absl::OkStatus());
  EXPECT_EQ(seeded_.topics + seeded_.subscriptions + seeded_.messages, 0u);
  EXPECT_EQ(seeded_.found, 3u);
  EXPECT_THAT(PullAll(), ElementsAre("one", "two"));
}

TEST_F(SeedTest, WhatExistsAndDiffersIsAnErrorThatNamesTheField) {
  ASSERT_EQ(Sow(kSeed), absl::OkStatus());
  const absl::Status status =
      Sow("projects:\n  hopgap:\n    subscriptions:\n      orders-sub:\n        topic: orders\n"
          "        ack_deadline_seconds: 18\n");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.ToString(), HasSubstr("line 6: projects.hopgap.subscriptions.orders-sub.ack_deadline_seconds: "
                                           "projects/hopgap/subscriptions/orders-sub exists with another value"));
  EXPECT_EQ(Sow("projects: {hopgap: {subscriptions: {orders-sub: {topic: orders}}}}"), absl::OkStatus())
      << "what the file does not give is not compared";
}

TEST_F(SeedTest, ARefusalIsTheBrokersWithLineAndEntry) {
  absl::Status status =
      Sow("projects:\n  hopgap:\n    topics:\n      top:\n    subscriptions:\n      sub:\n"
          "        topic: top\n        ack_deadline_seconds: 9\n");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("line "));
  EXPECT_THAT(status.ToString(), HasSubstr("projects.hopgap.subscriptions.sub"));
  EXPECT_THAT(status.ToString(), HasSubstr("ack deadline"));
  status = Sow("projects: {hopgap: {subscriptions: {sub2: {topic: nobody}}}}");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.ToString(), HasSubstr("line 1: projects.hopgap.subscriptions.sub2"));
  status = Sow("projects: {hopgap: {topics: {goog-x: {}}}}");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  status =
      Sow("projects: {hopgap: {subscriptions: {sub3: {topic: orders, push_config: {push_endpoint: 'http://x'}}}}}");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.ToString(), HasSubstr("sub3.push_config: Subscription.push_config is not supported yet"));
}

TEST_F(SeedTest, OneBadMessageOfManyIsFound) {
  const absl::Status status = Sow(
      "projects:\n  hopgap:\n    topics:\n      top:\n        messages:\n          - data: good\n          - data: ''\n"
      "          - data: good\n");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("line 7: projects.hopgap.topics.top.messages[1]: "));
}

TEST_F(SeedTest, ManyMessagesGoInBatches) {
  std::string text = "projects:\n  hopgap:\n    topics:\n      orders:\n        messages:\n";
  for (int i = 0; i < 2500; ++i) text += StrCat("          - data: m", i, "\n");
  text += "    subscriptions: {orders-sub: {topic: orders}}\n";
  ASSERT_EQ(Sow(text), absl::OkStatus());
  EXPECT_EQ(seeded_.messages, 2500u);
  EXPECT_THAT(PullAll(), SizeIs(10));
}

}  // namespace
}  // namespace hopgap
