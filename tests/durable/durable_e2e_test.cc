// hopgap serve --data: killed, stopped, started again on the same directory.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/system_clock.h"
#include "base/text.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"
#include "live/process.h"

namespace hopgap::tests {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
namespace fs = std::filesystem;
namespace wire = google::pubsub::v1;

constexpr char kTopic[] = "projects/p/topics/top";
constexpr char kEos[] = "projects/p/subscriptions/eos";
constexpr char kStandard[] = "projects/p/subscriptions/std";

class DurableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    data_ = folder_ + "/data";
    Start();
  }
  void TearDown() override {
    server_.reset();
    fs::remove_all(folder_);
  }

  void Start() {
    server_ = std::make_unique<Process>(
        std::vector<std::string>{HOPGAP_BINARY, "serve", "--port", "0", "--data", data_}, folder_);
    ASSERT_TRUE(server_->WaitForText("listening on ", 20s)) << server_->output();
    ASSERT_TRUE(server_->WaitForText("data in ", 20s)) << server_->output();
    const std::string& text = server_->output();
    const size_t at = text.find("listening on ") + sizeof("listening on ") - 1;
    const auto channel = grpc::CreateChannel("127.0.0.1:" + text.substr(at, text.find('\n', at) - at),
                                             grpc::InsecureChannelCredentials());
    publisher_ = wire::Publisher::NewStub(channel);
    subscriber_ = wire::Subscriber::NewStub(channel);
  }
  void Kill() {
    server_->Signal(SIGKILL);
    server_->Wait();
  }

  static void Limit(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{30});
  }
  void Make() {
    wire::Topic topic, made;
    topic.set_name(kTopic);
    (*topic.mutable_labels())["team"] = "blue";
    grpc::ClientContext context;
    Limit(context);
    ASSERT_TRUE(publisher_->CreateTopic(&context, topic, &made).ok());
    for (const char* name : {kEos, kStandard}) {
      wire::Subscription subscription, answer;
      subscription.set_name(name);
      subscription.set_topic(kTopic);
      subscription.set_ack_deadline_seconds(17);
      subscription.set_enable_exactly_once_delivery(name == kEos);
      grpc::ClientContext another;
      Limit(another);
      ASSERT_TRUE(subscriber_->CreateSubscription(&another, subscription, &answer).ok());
    }
  }
  std::string Publish(const std::string& data) {
    wire::PublishRequest request;
    request.set_topic(kTopic);
    wire::PubsubMessage* message = request.add_messages();
    message->set_data(data);
    (*message->mutable_attributes())["number"] = data;
    wire::PublishResponse answer;
    grpc::ClientContext context;
    Limit(context);
    const grpc::Status status = publisher_->Publish(&context, request, &answer);
    return status.ok() ? answer.message_ids(0) : "";
  }
  // All there is.
  std::vector<wire::ReceivedMessage> PullAll(const std::string& subscription) {
    std::vector<wire::ReceivedMessage> all;
    for (;;) {
      wire::PullRequest request;
      request.set_subscription(subscription);
      request.set_max_messages(1000);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // deprecated, and still served
      request.set_return_immediately(true);
#pragma GCC diagnostic pop
      wire::PullResponse answer;
      grpc::ClientContext context;
      Limit(context);
      if (!subscriber_->Pull(&context, request, &answer).ok() || answer.received_messages().empty()) return all;
      all.insert(all.end(), answer.received_messages().begin(), answer.received_messages().end());
    }
  }
  grpc::Status Ack(const std::string& subscription, const std::vector<std::string>& ids) {
    wire::AcknowledgeRequest request;
    request.set_subscription(subscription);
    for (const std::string& id : ids) request.add_ack_ids(id);
    google::protobuf::Empty answer;
    grpc::ClientContext context;
    Limit(context);
    return subscriber_->Acknowledge(&context, request, &answer);
  }

  std::string folder_ = (fs::temp_directory_path() / "hopgap-durable-XXXXXX").string();
  std::string data_;
  std::unique_ptr<Process> server_;
  std::unique_ptr<wire::Publisher::Stub> publisher_;
  std::unique_ptr<wire::Subscriber::Stub> subscriber_;
};

TEST_F(DurableTest, C38_WhatWasAnsweredBeforeAKillIsThereAfterIt) {
  ASSERT_NO_FATAL_FAILURE(Make());
  std::vector<std::string> ids;
  for (int i = 0; i < 500; ++i) ids.push_back(Publish(StrCat(i)));
  Kill();
  EXPECT_EQ(Publish("500"), "") << "nobody is there";
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::vector<wire::ReceivedMessage> first = PullAll(kStandard), eos = PullAll(kEos);
  Kill();
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::vector<wire::ReceivedMessage> second = PullAll(kStandard);
  ASSERT_GE(first.size(), 500u);
  ASSERT_LE(first.size(), 501u);
  ASSERT_EQ(second.size(), first.size());
  EXPECT_EQ(eos.size(), first.size());
  for (size_t i = 0; i < 500; ++i) {
    const wire::PubsubMessage& message = first[i].message();
    ASSERT_EQ(message.message_id(), ids[i]) << "the same ids, in the same order";
    ASSERT_EQ(message.data(), StrCat(i));
    ASSERT_EQ(message.attributes().at("number"), StrCat(i));
    ASSERT_EQ(message.publish_time().SerializeAsString(), second[i].message().publish_time().SerializeAsString());
    ASSERT_EQ(message.SerializeAsString(), second[i].message().SerializeAsString());
  }
  wire::GetTopicRequest topic;
  topic.set_topic(kTopic);
  wire::Topic found;
  grpc::ClientContext context;
  Limit(context);
  ASSERT_TRUE(publisher_->GetTopic(&context, topic, &found).ok());
  EXPECT_EQ(found.labels().at("team"), "blue");
  wire::GetSubscriptionRequest subscription;
  subscription.set_subscription(kEos);
  wire::Subscription kept;
  grpc::ClientContext another;
  Limit(another);
  ASSERT_TRUE(subscriber_->GetSubscription(&another, subscription, &kept).ok());
  EXPECT_EQ(kept.ack_deadline_seconds(), 17);
  EXPECT_TRUE(kept.enable_exactly_once_delivery());
  EXPECT_GT(std::stoull(Publish("new")), std::stoull(ids.back())) << "no id is given twice";
}

// An exactly-once ack that was answered holds over a kill; what is leased is held
// and its id goes on working; a clean stop holds what is leased and nothing else.
TEST_F(DurableTest, ExactlyOnceHoldsOverAKillAndACleanStop) {
  ASSERT_NO_FATAL_FAILURE(Make());
  for (int i = 0; i < 10; ++i) ASSERT_NE(Publish(StrCat(i)), "");
  const auto received = PullAll(kEos);
  ASSERT_EQ(received.size(), 10u);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Ack(kEos, {received[static_cast<size_t>(i)].ack_id()}).ok());
  Kill();
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_TRUE(PullAll(kEos).empty()) << "held: somebody may be working on them";
  EXPECT_TRUE(Ack(kEos, {received[0].ack_id()}).ok()) << "a repeat";
  EXPECT_TRUE(Ack(kEos, {received[4].ack_id()}).ok()) << "the newest id";
  ASSERT_NE(Publish("10"), "");
  EXPECT_EQ(PullAll(kEos).size(), 1u) << "what was never sent is not held";

  server_->Signal(SIGTERM);
  const Instant before = SteadyNow();
  EXPECT_EQ(server_->Wait(), 0) << server_->output();
  EXPECT_LT(SteadyNow() - before, 3s) << "it stops at once";
  EXPECT_THAT(server_->output(), HasSubstr("receipt modacks 0, of which 0 waited for the disk"));
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_TRUE(PullAll(kEos).empty());
  EXPECT_TRUE(Ack(kEos, {received[5].ack_id(), received[6].ack_id()}).ok());
}

TEST_F(DurableTest, ADirectoryInUseNewerOrDamagedIsRefusedByName) {
  ASSERT_NO_FATAL_FAILURE(Make());
  ASSERT_NE(Publish("a"), "");
  ASSERT_NE(Publish("b"), "");
  const auto refused = [&](const std::string& text) {
    Process second({HOPGAP_BINARY, "serve", "--port", "0", "--data", data_}, folder_);
    EXPECT_EQ(second.Wait(), 3) << second.output();
    EXPECT_THAT(second.output(), HasSubstr(text));
  };
  refused("another hopgap uses this directory");
  Kill();
  std::fstream segment(data_ + "/segment-0000000000000001", std::ios::in | std::ios::out | std::ios::binary);
  segment.seekp(64 + 40);
  segment.put('!');
  segment.close();
  refused("segment-0000000000000001, offset 64: a record is damaged here, and later ones follow");
  std::ofstream(data_ + "/journal") << "hopgap journal\nversion 9\n";
  refused("version 9 was written by a newer hopgap");
}

}  // namespace
}  // namespace hopgap::tests
