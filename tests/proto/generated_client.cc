#include "generated_client.h"

#include <ostream>
#include <utility>

#include "base/system_clock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace hopgap::tests {
namespace {

// A message may have 10 MB, and gRPC clients take 4 MiB by default.
constexpr int kMessageBytesMax = 20 << 20;

}  // namespace

void KeepingJournal::Append(broker::PersistToken token, std::vector<pubsub::Slices> records, bool /*awaited*/,
                            Done done) {
  {
    const std::lock_guard lock(mu_);
    for (const pubsub::Slices& record : records) records_.emplace_back(pubsub::Join(record));
  }
  done(token, {});
}

std::vector<pubsub::Bytes> KeepingJournal::records() const {
  const std::lock_guard lock(mu_);
  return records_;
}

void PrintTo(const Answer& answer, std::ostream* out) {
  *out << "code " << answer.code << " \"" << answer.text << "\"";
  for (const auto& [id, code] : answer.ack_failures) *out << " " << id << ": " << code;
}

void GeneratedClientTest::SetUp() { Start(); }

void GeneratedClientTest::TearDown() {
  publisher_.reset();
  subscriber_.reset();
  server_.reset();
  timer_.reset();
}

void GeneratedClientTest::Start() {
  timer_ = std::make_unique<loop::Timer>();
  server::GrpcServer::Options options;
  options.broker.anchor = ReadAnchor();
  options.broker.ack_id_key = {1, 2};
  options.broker.pull_wait = std::chrono::seconds{2};
  options.journal_records = journal_.records();
  auto server = server::GrpcServer::Start(std::move(options), journal_, sink_, *timer_);
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);

  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  // Channels of two servers on the same port must not be one connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel = grpc::CreateCustomChannel(server_->target(), grpc::InsecureChannelCredentials(), arguments);
  publisher_ = wire::Publisher::NewStub(channel);
  subscriber_ = wire::Subscriber::NewStub(channel);
}

void GeneratedClientTest::Restart() {
  TearDown();
  Start();
}

Answer GeneratedClientTest::ToAnswer(const grpc::Status& status) {
  Answer answer{status.error_code(), status.error_message(), {}};
  google::rpc::Status details;
  if (status.error_details().empty()) return answer;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), static_cast<int>(status.error_code()));
  EXPECT_EQ(details.message(), status.error_message());
  for (const auto& any : details.details()) {
    google::rpc::ErrorInfo info;
    if (!any.UnpackTo(&info)) continue;
    EXPECT_EQ(info.reason(), "EXACTLY_ONCE_ACKID_FAILURE");
    EXPECT_EQ(info.domain(), "pubsub.googleapis.com");
    answer.ack_failures.insert(info.metadata().begin(), info.metadata().end());
  }
  return answer;
}

Answer GeneratedClientTest::CreateTopic(const std::string& id) {
  wire::Topic request, response;
  request.set_name(Topic(id));
  return Call([&](auto& context, auto& in, auto& out) { return publisher_->CreateTopic(&context, in, &out); }, request,
              response);
}

Answer GeneratedClientTest::CreateSubscription(const std::string& id, const Settings& settings,
                                               wire::Subscription* out) {
  const Answer topic = CreateTopic(settings.topic);
  if (!topic.ok() && topic.code != grpc::StatusCode::ALREADY_EXISTS) return topic;
  wire::Subscription request, response;
  request.set_name(Subscription(id));
  request.set_topic(Topic(settings.topic));
  request.set_ack_deadline_seconds(settings.ack_deadline_seconds);
  request.set_enable_exactly_once_delivery(settings.exactly_once);
  const Answer answer =
      Call([&](auto& context, auto& in, auto& reply) { return subscriber_->CreateSubscription(&context, in, &reply); },
           request, response);
  if (out != nullptr) *out = response;
  return answer;
}

std::string GeneratedClientTest::Publish(const std::string& topic_id, const std::string& data) {
  wire::PublishRequest request;
  request.set_topic(Topic(topic_id));
  request.add_messages()->set_data(data);
  wire::PublishResponse response;
  const Answer answer = Call(
      [&](auto& context, auto& in, auto& out) { return publisher_->Publish(&context, in, &out); }, request, response);
  EXPECT_TRUE(answer.ok()) << testing::PrintToString(answer);
  EXPECT_EQ(response.message_ids_size(), 1);
  return response.message_ids_size() == 1 ? response.message_ids(0) : "";
}

std::vector<wire::ReceivedMessage> GeneratedClientTest::PullWith(const wire::PullRequest& request) {
  wire::PullResponse response;
  const Answer answer = Call([&](auto& context, auto& in, auto& out) { return subscriber_->Pull(&context, in, &out); },
                             request, response);
  EXPECT_TRUE(answer.ok()) << testing::PrintToString(answer);
  return {response.received_messages().begin(), response.received_messages().end()};
}

std::vector<wire::ReceivedMessage> GeneratedClientTest::Pull(const std::string& id, int max_messages) {
  wire::PullRequest request;
  request.set_subscription(Subscription(id));
  request.set_max_messages(max_messages);
  return PullWith(request);
}

std::vector<wire::ReceivedMessage> GeneratedClientTest::PullNow(const std::string& id, int max_messages) {
  wire::PullRequest request;
  request.set_subscription(Subscription(id));
  request.set_max_messages(max_messages);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // deprecated, and still served
  request.set_return_immediately(true);
#pragma GCC diagnostic pop
  return PullWith(request);
}

wire::ReceivedMessage GeneratedClientTest::PullOne(const std::string& id) {
  const Instant give_up = SteadyNow() + kCallDeadline;
  while (SteadyNow() < give_up && !HasFailure()) {
    std::vector<wire::ReceivedMessage> messages = Pull(id, 1);
    if (!messages.empty()) return std::move(messages.front());
  }
  ADD_FAILURE() << "no message from " << id;
  return {};
}

Answer GeneratedClientTest::Acknowledge(const std::string& id, const std::vector<std::string>& ack_ids) {
  wire::AcknowledgeRequest request;
  request.set_subscription(Subscription(id));
  request.mutable_ack_ids()->Add(ack_ids.begin(), ack_ids.end());
  google::protobuf::Empty response;
  return Call([&](auto& context, auto& in, auto& out) { return subscriber_->Acknowledge(&context, in, &out); }, request,
              response);
}

Answer GeneratedClientTest::ModifyAckDeadline(const std::string& id, const std::vector<std::string>& ack_ids,
                                              int seconds) {
  wire::ModifyAckDeadlineRequest request;
  request.set_subscription(Subscription(id));
  request.mutable_ack_ids()->Add(ack_ids.begin(), ack_ids.end());
  request.set_ack_deadline_seconds(seconds);
  google::protobuf::Empty response;
  return Call([&](auto& context, auto& in, auto& out) { return subscriber_->ModifyAckDeadline(&context, in, &out); },
              request, response);
}

// Such a lease, granted later, is seen to end: its message comes again.
void GeneratedClientTest::LetOneSecondLeasesEnd() {
  ASSERT_TRUE(CreateSubscription("stopwatch", {.topic = "ticks"}).ok());
  const std::string id = Publish("ticks", "tick");
  const wire::ReceivedMessage first = PullOne("stopwatch");
  ASSERT_TRUE(ModifyAckDeadline("stopwatch", {first.ack_id()}, 1).ok());
  const wire::ReceivedMessage again = PullOne("stopwatch");
  ASSERT_EQ(again.message().message_id(), id);
  ASSERT_TRUE(Acknowledge("stopwatch", {again.ack_id()}).ok());
  google::protobuf::Empty response;
  wire::DeleteSubscriptionRequest request;
  request.set_subscription(Subscription("stopwatch"));
  const Answer deleted =
      Call([&](auto& context, auto& in, auto& out) { return subscriber_->DeleteSubscription(&context, in, &out); },
           request, response);
  ASSERT_TRUE(deleted.ok()) << testing::PrintToString(deleted);
}

}  // namespace hopgap::tests
