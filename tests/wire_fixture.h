#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/system_clock.h"
#include "loop/timer.h"
#include "pubsub/api.h"
#include "remote/remote.h"
#include "server/grpc_server.h"
#include "store/memory_journal.h"
#include "trace/event.h"

namespace hopgap {

using namespace std::chrono_literals;

inline constexpr char kTopic[] = "projects/hopgap/topics/orders";
inline constexpr char kSubscription[] = "projects/hopgap/subscriptions/orders-sub";

// What came back, for a test thread to wait for. A wait that lasts longer than
// anything here takes fails the test instead of hanging it.
class Mailbox final : public remote::Handler {
 public:
  static constexpr auto kPatience = 60s;
  struct Response {
    uint64_t stream = 0;
    Instant received, read_posted;
    pubsub::StreamingPullResponse body;
  };
  struct Outcome {
    absl::Status status;
    std::string details;
    pubsub::Bytes response;
  };

  void OnResponse(uint64_t stream, Instant received, Instant read_posted, pubsub::StreamingPullResponse body) override {
    std::lock_guard lock(mu_);
    responses_.push_back({stream, received, read_posted, std::move(body)});
    changed_.notify_all();
  }
  void OnStreamEnded(uint64_t stream, Instant, const absl::Status& status, const std::string& details) override {
    std::lock_guard lock(mu_);
    EXPECT_TRUE(ended_.emplace(stream, Outcome{status, details, {}}).second) << "a stream ended twice";
    changed_.notify_all();
  }
  void OnCallDone(uint64_t call, Instant, const absl::Status& status, const std::string& details,
                  pubsub::Bytes response) override {
    std::lock_guard lock(mu_);
    EXPECT_TRUE(calls_.emplace(call, Outcome{status, details, std::move(response)}).second)
        << "a call was answered twice";
    changed_.notify_all();
  }

  // The next response, of whatever stream.
  Response WaitResponse() {
    std::unique_lock lock(mu_);
    if (!changed_.wait_for(lock, kPatience, [this] { return !responses_.empty(); })) {
      ADD_FAILURE() << "no response came";
      return {};
    }
    Response response = std::move(responses_.front());
    responses_.pop_front();
    return response;
  }
  Outcome WaitEnded(uint64_t stream) { return WaitFor(ended_, stream); }
  Outcome WaitCall(uint64_t call) { return WaitFor(calls_, call); }

 private:
  Outcome WaitFor(const std::map<uint64_t, Outcome>& outcomes, uint64_t key) {
    std::unique_lock lock(mu_);
    if (!changed_.wait_for(lock, kPatience, [&] { return outcomes.contains(key); })) {
      ADD_FAILURE() << "no answer to " << key;
      return {absl::UnknownError("nothing came"), {}, {}};
    }
    return outcomes.at(key);
  }

  std::mutex mu_;
  std::condition_variable changed_;
  std::deque<Response> responses_;
  std::map<uint64_t, Outcome> ended_, calls_;
};

inline pubsub::Slices StreamRequest(std::string_view subscription) {
  pubsub::StreamingPullRequest first;
  first.subscription = subscription;
  first.stream_ack_deadline_seconds = 10;
  first.client_id = "wire-test";
  return {pubsub::Encode(first)};
}

// A broker behind a real socket on a free port, and a client of it.
class WireTest : public ::testing::Test {
 protected:
  ~WireTest() override {
    remote_.Shutdown();  // its handlers are members of the tests
  }

  server::GrpcServer::Options ServerOptions() {
    server::GrpcServer::Options options;
    options.broker.anchor = ReadAnchor();
    options.broker.ack_id_key = {1, 2};
    return options;
  }
  void Start(server::GrpcServer::Options options) {
    auto started = server::GrpcServer::Start(std::move(options), journal_, sink_, timer_);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    connection_ = remote_.Connect(server_->target());
    ASSERT_TRUE(connection_->WaitReady(10s).ok());
  }
  void Start() { Start(ServerOptions()); }

  void CreateTopicAndSubscription(bool exactly_once) {
    ASSERT_EQ(connection_->CreateTopic(kTopic), absl::OkStatus());
    pubsub::Subscription subscription;
    subscription.name = kSubscription;
    subscription.topic = kTopic;
    subscription.enable_exactly_once_delivery = exactly_once;
    ASSERT_EQ(connection_->CreateSubscription(subscription), absl::OkStatus());
  }

  static pubsub::Slices PublishOf(const std::vector<std::string>& bodies) {
    pubsub::PublishRequest request;
    request.topic = kTopic;
    for (const std::string& body : bodies) request.messages.push_back(pubsub::Message::Make(body, {}));
    return pubsub::Encode(request);
  }
  // The message ids.
  std::vector<std::string> Publish(const std::vector<std::string>& bodies) {
    auto answer = connection_->CallAndWait(pubsub::Method::kPublish, PublishOf(bodies), 30s);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *pubsub::DecodePublishResponse(answer->view()) : std::vector<std::string>{};
  }
  static pubsub::Slices AckOf(std::vector<std::string> ids) {
    pubsub::AcknowledgeRequest request;
    request.subscription = kSubscription;
    request.ack_ids = std::move(ids);
    return {pubsub::Encode(request)};
  }
  static pubsub::Slices ModackOf(std::vector<std::string> ids, int32_t seconds) {
    pubsub::ModifyAckDeadlineRequest request;
    request.subscription = kSubscription;
    request.ack_ids = std::move(ids);
    request.ack_deadline_seconds = seconds;
    return {pubsub::Encode(request)};
  }
  // Reads `stream` until a response with messages comes.
  Mailbox::Response ReadMessages(remote::Stream& stream) {
    for (;;) {
      stream.Read();
      Mailbox::Response response = mailbox_.WaitResponse();
      if (!response.body.received_messages.empty() || HasFailure()) return response;
    }
  }

  // Until the server, too, knows what has ended.
  void WaitForOpenRpcs(size_t count) {
    const Instant until = SteadyNow() + Mailbox::kPatience;
    while (server_->figures().open_rpcs != count && SteadyNow() < until) std::this_thread::yield();
    EXPECT_EQ(server_->figures().open_rpcs, count);
  }

  loop::Timer timer_;
  store::MemoryJournal journal_{store::MemoryJournal::Keep::kRecords};
  trace::NullSink sink_;
  Mailbox mailbox_;
  std::unique_ptr<server::GrpcServer> server_;
  remote::Remote remote_;
  std::unique_ptr<remote::Connection> connection_;
};

}  // namespace hopgap
