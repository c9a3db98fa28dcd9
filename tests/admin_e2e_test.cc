// The admin API over its port, and the test clock under a real client.
#include "base/text.h"
#include "remote/http_client.h"
#include "wire_fixture.h"

namespace hopgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSubscriptionPath[] = "/admin/v1/projects/hopgap/subscriptions/orders-sub";

class AdminTest : public WireTest {
 protected:
  void StartAdmin(bool test_clock) {
    server::GrpcServer::Options options = ServerOptions();
    options.admin = true;
    options.test_clock = test_clock;
    options.failure_line = [this](const std::string& line) {
      std::lock_guard lock(mu_);
      lines_.push_back(line);
    };
    Start(std::move(options));
  }
  remote::HttpResponse Send(const std::string& method, const std::string& path, const std::string& body = "",
                            remote::HttpHeaders headers = {}, std::string type = "application/json") {
    remote::HttpClient::Options options;
    options.origin = "http://" + server_->target();
    remote::HttpRequest request;
    request.method = method;
    request.path = path;
    request.headers = std::move(headers);
    request.body = body;
    request.content_type = std::move(type);
    const absl::StatusOr<remote::HttpResponse> response = remote::HttpClient(std::move(options)).Send(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : remote::HttpResponse{};
  }
  remote::HttpResponse Post(const std::string& path, const std::string& body) { return Send("POST", path, body); }
  remote::HttpResponse Get(const std::string& path) { return Send("GET", path); }
  std::vector<pubsub::ReceivedMessage> Pull(bool immediately = false) {
    pubsub::PullRequest request;
    request.subscription = kSubscription;
    request.return_immediately = immediately;
    request.max_messages = 10;
    const absl::StatusOr<pubsub::Bytes> answer =
        connection_->CallAndWait(pubsub::Method::kPull, {pubsub::Encode(request)}, 30s);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *pubsub::DecodePullResponse(*answer) : std::vector<pubsub::ReceivedMessage>{};
  }
  absl::Status Ack(const std::string& id) {
    return connection_->CallAndWait(pubsub::Method::kAcknowledge, AckOf({id}), 30s).status();
  }

  std::mutex mu_;
  std::vector<std::string> lines_;  // guarded by mu_
};

TEST_F(AdminTest, IsOffUnlessAskedFor) {
  Start();
  const remote::HttpResponse response = Get("/admin/v1/clock");
  EXPECT_EQ(response.status, 404);
  EXPECT_THAT(response.body, HasSubstr("start the broker with --admin"));
}

TEST_F(AdminTest, APageInABrowserIsNotAnswered) {
  StartAdmin(true);
  EXPECT_EQ(Send("GET", "/admin/v1/clock", "", {{"Host", "evil.example"}}).status, 403);
  EXPECT_EQ(Send("POST", "/admin/v1/clock:advance", "{\"seconds\": 1}", {}, "text/plain").status, 400);
  EXPECT_EQ(Send("GET", "/admin/v1/clock", "", {{"Host", "localhost:1"}}).status, 200);
}

TEST_F(AdminTest, WantsTheTokenThatCallsWant) {
  server::GrpcServer::Options options = ServerOptions();
  options.admin = true;
  options.admission = server::RequireBearerToken("0123456789abcdef");
  Start(std::move(options));
  EXPECT_EQ(Get("/admin/v1/failures").status, 401);
  EXPECT_EQ(Send("GET", "/admin/v1/failures", "", {{"Authorization", "Bearer 0123456789abcdef"}}).status, 200);
}

// A lease of 60 s ends in the time of one call, and the redelivery is there.
TEST_F(AdminTest, AnAdvancedClockEndsLeasesAndMovesPublishTimes) {
  StartAdmin(true);
  CreateTopicAndSubscription(/*exactly_once=*/true);
  Publish({"one"});
  const auto first = Pull();
  ASSERT_EQ(first.size(), 1u);
  const remote::HttpResponse advanced = Post("/admin/v1/clock:advance", "{\"seconds\": 61}");
  EXPECT_EQ(advanced.status, 200) << advanced.body;
  EXPECT_THAT(advanced.body, HasSubstr("\"advanced_seconds\": 61.0"));
  const auto again = Pull();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_NE(again[0].ack_id, first[0].ack_id);
  EXPECT_EQ(Ack(first[0].ack_id).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Ack(again[0].ack_id), absl::OkStatus());
  Publish({"two"});
  const auto later = Pull();
  ASSERT_EQ(later.size(), 1u);
  EXPECT_GE(*later[0].message.publish_time() - *first[0].message.publish_time(), 61s);
  // The log and the list say why the first id failed.
  const std::string failures = Get("/admin/v1/failures").body;
  EXPECT_THAT(failures, HasSubstr("\"why\": \"superseded\""));
  EXPECT_THAT(failures, HasSubstr(first[0].ack_id));
  std::lock_guard lock(mu_);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_[0], HasSubstr("projects/hopgap/subscriptions/orders-sub: ack of ack id"));
}

// Two leases on the way of one advance: each expires at its own time, and a
// stream with room hears of it before the call is answered or just after.
TEST_F(AdminTest, DeadlinesFireInTheirOrder) {
  StartAdmin(true);
  CreateTopicAndSubscription(/*exactly_once=*/false);
  Publish({"a"});
  ASSERT_EQ(Pull().size(), 1u);
  ASSERT_EQ(Post("/admin/v1/clock:advance", "{\"seconds\": 5}").status, 200);
  Publish({"b"});
  ASSERT_EQ(Pull().size(), 1u);
  ASSERT_EQ(Post("/admin/v1/clock:advance", "{\"seconds\": 6}").status, 200);
  const auto a = Pull(true);
  ASSERT_EQ(a.size(), 1u) << "b's lease has 4 s left";
  EXPECT_EQ(a[0].message.data(), "a");
  ASSERT_EQ(Post("/admin/v1/clock:advance", "{\"seconds\": 30}").status, 200);
  const auto both = Pull(true);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].message.data(), "b");
  EXPECT_EQ(both[1].message.data(), "a");
}

TEST_F(AdminTest, WithoutATestClockTimeIsTheMachines) {
  StartAdmin(false);
  const remote::HttpResponse response = Post("/admin/v1/clock:advance", "{\"seconds\": 1}");
  EXPECT_EQ(response.status, 409);
  EXPECT_THAT(response.body, HasSubstr("--test-clock"));
  EXPECT_THAT(Get("/admin/v1/clock").body, HasSubstr("\"advanced_seconds\": 0.0"));
}

TEST_F(AdminTest, LeasesAreListedExpiredAndMadeToFail) {
  StartAdmin(false);
  CreateTopicAndSubscription(/*exactly_once=*/true);
  Publish({"one"});
  const auto first = Pull();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_THAT(Get(StrCat(kSubscriptionPath, "/leases")).body, HasSubstr(first[0].ack_id));
  EXPECT_EQ(Post(StrCat(kSubscriptionPath, ":failNext"), R"({"call": "ack", "failure": "transient"})").status, 200);
  EXPECT_EQ(Ack(first[0].ack_id).code(), absl::StatusCode::kUnavailable);
  const remote::HttpResponse expired = Post(StrCat(kSubscriptionPath, ":expireLeases"), R"({"all": true})");
  EXPECT_THAT(expired.body, HasSubstr("\"touched\": 1"));
  EXPECT_THAT(Get(StrCat(kSubscriptionPath, "/leases")).body, Not(HasSubstr(first[0].ack_id)));
  EXPECT_EQ(Pull().size(), 1u);
  EXPECT_EQ(Post("/admin/v1/projects/hopgap/subscriptions/nobody:recycleStreams", "").status, 404);
}

TEST_F(AdminTest, AResetProjectIsEmptyAndOthersAreNot) {
  StartAdmin(false);
  CreateTopicAndSubscription(/*exactly_once=*/false);
  ASSERT_EQ(connection_->CreateTopic("projects/other/topics/orders"), absl::OkStatus());
  const remote::HttpResponse reset = Post("/admin/v1/projects/hopgap:reset", "");
  EXPECT_EQ(reset.status, 200);
  EXPECT_THAT(reset.body, HasSubstr("\"touched\": 2"));
  EXPECT_EQ(connection_->CreateTopic("projects/other/topics/orders").code(), absl::StatusCode::kAlreadyExists);
  CreateTopicAndSubscription(/*exactly_once=*/false);
}

}  // namespace
}  // namespace hopgap
