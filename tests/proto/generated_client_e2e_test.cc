// Topics, subscriptions, publish and pull as a program with generated stubs
// sees them: cases C25, C27 and the gRPC part of C30 of the case log.

#include <gmock/gmock.h>

#include "generated_client.h"

namespace hopgap::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class GeneratedClientApiTest : public GeneratedClientTest {
 protected:
  Answer Get(const std::string& id, wire::Topic& out) {
    wire::GetTopicRequest request;
    request.set_topic(Topic(id));
    return Call([&](auto& c, auto& in, auto& reply) { return publisher().GetTopic(&c, in, &reply); }, request, out);
  }
  Answer Get(const std::string& id, wire::Subscription& out) {
    wire::GetSubscriptionRequest request;
    request.set_subscription(Subscription(id));
    return Call([&](auto& c, auto& in, auto& reply) { return subscriber().GetSubscription(&c, in, &reply); }, request,
                out);
  }
  Answer DeleteTopic(const std::string& id) {
    wire::DeleteTopicRequest request;
    request.set_topic(Topic(id));
    google::protobuf::Empty out;
    return Call([&](auto& c, auto& in, auto& reply) { return publisher().DeleteTopic(&c, in, &reply); }, request, out);
  }
  Answer DeleteSubscription(const std::string& id) {
    wire::DeleteSubscriptionRequest request;
    request.set_subscription(Subscription(id));
    google::protobuf::Empty out;
    return Call([&](auto& c, auto& in, auto& reply) { return subscriber().DeleteSubscription(&c, in, &reply); },
                request, out);
  }
  Answer PublishMany(const wire::PublishRequest& request, wire::PublishResponse& out) {
    return Call([&](auto& c, auto& in, auto& reply) { return publisher().Publish(&c, in, &reply); }, request, out);
  }
  Answer PullWithMax(const std::string& id, int max_messages) {
    wire::PullRequest request;
    request.set_subscription(Subscription(id));
    request.set_max_messages(max_messages);
    wire::PullResponse out;
    return Call([&](auto& c, auto& in, auto& reply) { return subscriber().Pull(&c, in, &reply); }, request, out);
  }
};

// ---- resources ----

TEST_F(GeneratedClientApiTest, ATopicIsCreatedGotListedAndDeleted) {
  EXPECT_TRUE(CreateTopic("orders").ok());
  const Answer twice = CreateTopic("orders");
  EXPECT_EQ(twice.code, grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(twice.text, "Resource already exists in the project (resource=orders).");
  wire::Topic topic;
  EXPECT_TRUE(Get("orders", topic).ok());
  EXPECT_EQ(topic.name(), Topic("orders"));

  EXPECT_TRUE(DeleteTopic("orders").ok());
  const Answer missing = Get("orders", topic);
  EXPECT_EQ(missing.code, grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(missing.text, "Resource not found (resource=orders).");
  EXPECT_EQ(DeleteTopic("orders").code, grpc::StatusCode::NOT_FOUND);
}

TEST_F(GeneratedClientApiTest, ASubscriptionShowsItsDefaults) {
  wire::Subscription created, got;
  ASSERT_TRUE(CreateSubscription("std", {}, &created).ok());
  ASSERT_TRUE(Get("std", got).ok());
  EXPECT_EQ(got.SerializeAsString(), created.SerializeAsString());
  EXPECT_EQ(got.name(), Subscription("std"));
  EXPECT_EQ(got.topic(), Topic("orders"));
  EXPECT_EQ(got.ack_deadline_seconds(), 10);
  EXPECT_EQ(got.message_retention_duration().seconds(), 7 * 24 * 3600);
  EXPECT_EQ(got.expiration_policy().ttl().seconds(), 31 * 24 * 3600);
  EXPECT_TRUE(got.has_push_config());
  EXPECT_EQ(got.state(), wire::Subscription::ACTIVE);
  EXPECT_EQ(CreateSubscription("std", {}).code, grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(DeleteSubscription("std").ok());
  EXPECT_EQ(Get("std", got).code, grpc::StatusCode::NOT_FOUND);
}

TEST_F(GeneratedClientApiTest, ADeletedTopicLeavesItsSubscriptionAndBacklog) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  const std::string id = Publish("orders", "one");
  ASSERT_TRUE(DeleteTopic("orders").ok());
  wire::Subscription got;
  ASSERT_TRUE(Get("std", got).ok());
  EXPECT_EQ(got.topic(), "_deleted-topic_");
  EXPECT_EQ(PullOne("std").message().message_id(), id);
}

TEST_F(GeneratedClientApiTest, ASubscriptionNeedsItsTopic) {
  wire::Subscription request, response;
  request.set_name(Subscription("std"));
  request.set_topic(Topic("nowhere"));
  const Answer answer =
      Call([&](auto& c, auto& in, auto& reply) { return subscriber().CreateSubscription(&c, in, &reply); }, request,
           response);
  EXPECT_EQ(answer.code, grpc::StatusCode::NOT_FOUND);
}

TEST_F(GeneratedClientApiTest, ListsComeInPages) {
  for (const char* id : {"t-1", "t-2", "t-3"}) ASSERT_TRUE(CreateTopic(id).ok());
  wire::ListTopicsRequest request;
  request.set_project("projects/p");
  request.set_page_size(2);
  std::vector<std::string> names;
  int pages = 0;
  do {
    wire::ListTopicsResponse response;
    ASSERT_TRUE(
        Call([&](auto& c, auto& in, auto& reply) { return publisher().ListTopics(&c, in, &reply); }, request, response)
            .ok());
    EXPECT_LE(response.topics_size(), 2);
    for (const wire::Topic& topic : response.topics()) names.push_back(topic.name());
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty() && ++pages < 10);
  EXPECT_THAT(names, UnorderedElementsAre(Topic("t-1"), Topic("t-2"), Topic("t-3")));

  wire::ListTopicsResponse response;
  request.set_page_size(1001);
  request.clear_page_token();
  EXPECT_EQ(
      Call([&](auto& c, auto& in, auto& reply) { return publisher().ListTopics(&c, in, &reply); }, request, response)
          .text,
      "The value for page_size is out of bounds. You passed 1001 in the request, but the value must be between 0 "
      "and 1000.");
  request.set_page_size(1);
  request.set_page_token("garbage");
  EXPECT_EQ(
      Call([&](auto& c, auto& in, auto& reply) { return publisher().ListTopics(&c, in, &reply); }, request, response)
          .text,
      "Invalid page token given (token=garbage).");
}

TEST_F(GeneratedClientApiTest, SubscriptionsAreListedByProjectAndByTopic) {
  ASSERT_TRUE(CreateSubscription("a-1", {.topic = "orders"}).ok());
  ASSERT_TRUE(CreateSubscription("a-2", {.topic = "orders"}).ok());
  ASSERT_TRUE(CreateSubscription("b-1", {.topic = "bills"}).ok());
  wire::ListSubscriptionsRequest by_project;
  by_project.set_project("projects/p");
  wire::ListSubscriptionsResponse of_project;
  ASSERT_TRUE(Call([&](auto& c, auto& in, auto& reply) { return subscriber().ListSubscriptions(&c, in, &reply); },
                   by_project, of_project)
                  .ok());
  EXPECT_EQ(of_project.subscriptions_size(), 3);
  wire::ListTopicSubscriptionsRequest by_topic;
  by_topic.set_topic(Topic("orders"));
  wire::ListTopicSubscriptionsResponse of_topic;
  ASSERT_TRUE(Call([&](auto& c, auto& in, auto& reply) { return publisher().ListTopicSubscriptions(&c, in, &reply); },
                   by_topic, of_topic)
                  .ok());
  EXPECT_THAT(of_topic.subscriptions(), UnorderedElementsAre(Subscription("a-1"), Subscription("a-2")));
}

TEST_F(GeneratedClientApiTest, C25IdsFollowTheServicesRule) {
  struct Case {
    std::string id;
    bool fine;
  };
  for (const Case& c : {Case{"ab", false}, Case{"abc", true}, Case{"1abc", false}, Case{std::string(255, 'a'), true},
                        Case{std::string(256, 'a'), false}, Case{"goog-x", false}, Case{"x goog", false},
                        Case{"ok-._~+%ok", true}, Case{"käse", false}, Case{"", false}}) {
    SCOPED_TRACE(c.id);
    const Answer topic = CreateTopic(c.id);
    EXPECT_EQ(topic.code, c.fine ? grpc::StatusCode::OK : grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(topic.text, HasSubstr(c.fine ? "" : "Invalid resource name given (name=" + Topic(c.id) + ")"));
    const Answer subscription = CreateSubscription(c.id, {});
    EXPECT_EQ(subscription.code, c.fine ? grpc::StatusCode::OK : grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(GeneratedClientApiTest, WhatIsNotServedIsRefusedByName) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  google::protobuf::Empty nothing;
  Answer answer = Call([&](auto& c, auto& in, auto& reply) { return subscriber().ModifyPushConfig(&c, in, &reply); },
                       wire::ModifyPushConfigRequest(), nothing);
  EXPECT_EQ(answer.code, grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(answer.text, HasSubstr("Subscriber.ModifyPushConfig is not supported yet"));

  wire::Subscription pushed, response;
  pushed.set_name(Subscription("pushed"));
  pushed.set_topic(Topic("orders"));
  pushed.mutable_push_config()->set_push_endpoint("http://localhost/");
  answer = Call([&](auto& c, auto& in, auto& reply) { return subscriber().CreateSubscription(&c, in, &reply); }, pushed,
                response);
  EXPECT_EQ(answer.code, grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(answer.text, HasSubstr("Subscription.push_config is not supported yet"));
  EXPECT_EQ(Get("pushed", response).code, grpc::StatusCode::NOT_FOUND);
}

TEST_F(GeneratedClientApiTest, UpdateSnapshotAndDetachGoThrough) {
  ASSERT_TRUE(CreateTopic("orders").ok());
  wire::Subscription made;
  made.set_filter("attributes:a");
  made.set_name(Subscription("filtered"));
  made.set_topic(Topic("orders"));
  wire::Subscription reply;
  ASSERT_TRUE(
      Call([&](auto& c, auto& in, auto& out) { return subscriber().CreateSubscription(&c, in, &out); }, made, reply)
          .ok());
  EXPECT_EQ(reply.filter(), "attributes:a");
  wire::UpdateSubscriptionRequest update;
  update.mutable_subscription()->set_name(made.name());
  (*update.mutable_subscription()->mutable_labels())["k"] = "v";
  const auto send = [&](auto& c, auto& in, auto& out) { return subscriber().UpdateSubscription(&c, in, &out); };
  EXPECT_EQ(Call(send, update, reply).code, grpc::StatusCode::INVALID_ARGUMENT);
  update.mutable_update_mask()->add_paths("labels");
  ASSERT_TRUE(Call(send, update, reply).ok());
  EXPECT_EQ(reply.labels().at("k"), "v");

  wire::CreateSnapshotRequest create;
  create.set_name("projects/p/snapshots/snap");
  create.set_subscription(made.name());
  wire::Snapshot snapshot;
  ASSERT_TRUE(
      Call([&](auto& c, auto& in, auto& out) { return subscriber().CreateSnapshot(&c, in, &out); }, create, snapshot)
          .ok());
  EXPECT_EQ(snapshot.topic(), Topic("orders"));
  EXPECT_GT(snapshot.expire_time().seconds(), 0);

  wire::DetachSubscriptionRequest detach;
  detach.set_subscription(made.name());
  wire::DetachSubscriptionResponse detached;
  ASSERT_TRUE(
      Call([&](auto& c, auto& in, auto& out) { return publisher().DetachSubscription(&c, in, &out); }, detach, detached)
          .ok());
  ASSERT_TRUE(Get("filtered", reply).ok());
  EXPECT_TRUE(reply.detached());
}

// ---- publish and pull ----

TEST_F(GeneratedClientApiTest, AMessageArrivesWithEverythingThatWasSent) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  ASSERT_TRUE(CreateSubscription("eos", {.exactly_once = true}).ok());
  wire::PublishRequest request;
  request.set_topic(Topic("orders"));
  wire::PubsubMessage& sent = *request.add_messages();
  sent.set_data(std::string("\0\xFF data", 7));
  (*sent.mutable_attributes())["key"] = "välue";
  (*sent.mutable_attributes())["googclient_traceparent"] = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  // Both are the server's; whatever the publisher says is overwritten.
  sent.set_message_id("mine");
  sent.mutable_publish_time()->set_seconds(1);
  sent.GetReflection()->MutableUnknownFields(&sent)->AddVarint(2000, 5);
  wire::PublishResponse response;
  ASSERT_TRUE(PublishMany(request, response).ok());
  ASSERT_EQ(response.message_ids_size(), 1);
  EXPECT_THAT(response.message_ids(0), testing::MatchesRegex("[0-9]+"));

  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  for (const char* id : {"std", "eos"}) {
    const wire::ReceivedMessage received = PullOne(id);
    EXPECT_EQ(received.delivery_attempt(), 0) << "there is no dead-letter policy";
    EXPECT_EQ(received.message().data(), sent.data());
    EXPECT_EQ(received.message().attributes().size(), 2u);
    EXPECT_EQ(received.message().attributes().at("key"), "välue");
    EXPECT_EQ(received.message().message_id(), response.message_ids(0));
    EXPECT_NEAR(static_cast<double>(received.message().publish_time().seconds()), static_cast<double>(now.count()), 60);
    EXPECT_LE(received.ack_id().size(), 180u);
  }
}

TEST_F(GeneratedClientApiTest, IdsComeInTheOrderOfTheRequest) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  wire::PublishRequest request;
  request.set_topic(Topic("orders"));
  for (int i = 0; i < 1000; ++i) request.add_messages()->set_data(std::to_string(i));
  wire::PublishResponse response;
  ASSERT_TRUE(PublishMany(request, response).ok());
  ASSERT_EQ(response.message_ids_size(), 1000);
  std::map<std::string, std::string> data_of;
  while (data_of.size() < 1000) {
    const std::vector<wire::ReceivedMessage> messages = Pull("std", 1000);
    ASSERT_THAT(messages, testing::Not(IsEmpty()));
    for (const auto& each : messages) {
      EXPECT_TRUE(data_of.emplace(each.message().message_id(), each.message().data()).second);
    }
  }
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(data_of[response.message_ids(i)], std::to_string(i));
}

TEST_F(GeneratedClientApiTest, C27TooMuchIsRefusedWithLimitAndSize) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  wire::PublishRequest request;
  request.set_topic(Topic("orders"));
  wire::PublishResponse response;
  request.add_messages()->set_data(std::string(11'000'000, 'x'));
  Answer answer = PublishMany(request, response);
  EXPECT_EQ(answer.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(answer.text, "Request payload size exceeds the limit: 10485760 bytes.");

  // The exact border, whatever the other fields take.
  const auto resize = [&](size_t size) {
    request.mutable_messages(0)->set_data(std::string(9'999'000, 'x'));
    request.mutable_messages(0)->mutable_data()->append(size - request.ByteSizeLong(), 'y');
    ASSERT_EQ(request.ByteSizeLong(), size);
  };
  resize(10'000'001);
  answer = PublishMany(request, response);
  EXPECT_EQ(answer.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(answer.text,
            "The value for request_size is too large. You passed 10000001 in the request, but the maximum value is "
            "10000000.");
  resize(10'000'000);
  EXPECT_TRUE(PublishMany(request, response).ok());

  request.clear_messages();
  for (int i = 0; i < 1001; ++i) request.add_messages()->set_data("x");
  answer = PublishMany(request, response);
  EXPECT_EQ(answer.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(answer.text,
            "The value for message_count is too large. You passed 1001 in the request, but the maximum value is 1000.");
  const std::vector<wire::ReceivedMessage> messages = Pull("std", 1000);
  EXPECT_EQ(messages.size(), 1u) << "a refused publish left something behind";
}

TEST_F(GeneratedClientApiTest, OneBadMessageRefusesTheWholeRequest) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  wire::PublishResponse response;
  struct Case {
    const char* name;
    std::function<void(wire::PubsubMessage&)> set;
  };
  const Case cases[] = {
      {"empty", [](auto&) {}},
      {"reserved key", [](auto& m) { (*m.mutable_attributes())["google-x"] = "v"; }},
      {"empty key", [](auto& m) { (*m.mutable_attributes())[""] = "v"; }},
      {"long key", [](auto& m) { (*m.mutable_attributes())[std::string(257, 'k')] = "v"; }},
      {"long value", [](auto& m) { (*m.mutable_attributes())["k"] = std::string(1025, 'v'); }},
      {"101 attributes",
       [](auto& m) {
         for (int i = 0; i < 101; ++i) (*m.mutable_attributes())["k" + std::to_string(i)] = "v";
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    wire::PublishRequest request;
    request.set_topic(Topic("orders"));
    request.add_messages()->set_data("good");
    c.set(*request.add_messages());
    EXPECT_EQ(PublishMany(request, response).code, grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_THAT(PullNow("std", 10), IsEmpty());
  wire::PublishRequest none;
  none.set_topic(Topic("orders"));
  EXPECT_EQ(PublishMany(none, response).text,
            "The value for message_count is too small. You passed 0 in the request, but the minimum value is 1.");
  none.set_topic(Topic("nowhere"));
  none.add_messages()->set_data("x");
  EXPECT_EQ(PublishMany(none, response).code, grpc::StatusCode::NOT_FOUND);
}

TEST_F(GeneratedClientApiTest, C30AnEmptyPullIsOkAndItsMaximumPositive) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  EXPECT_THAT(Pull("std", 5), IsEmpty());
  EXPECT_THAT(PullNow("std", 5), IsEmpty());
  for (const int max_messages : {0, -1}) {
    const Answer answer = PullWithMax("std", max_messages);
    EXPECT_EQ(answer.code, grpc::StatusCode::INVALID_ARGUMENT) << max_messages;
    EXPECT_EQ(answer.text, "You have passed an invalid argument to the service (argument=max_messages).");
  }
  EXPECT_EQ(PullWithMax("nobody", 1).code, grpc::StatusCode::NOT_FOUND);
}

TEST_F(GeneratedClientApiTest, ResourcesAndUnackedMessagesSurviveARestart) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  const std::string acked = Publish("orders", "acked");
  ASSERT_TRUE(Acknowledge("std", {PullOne("std").ack_id()}).ok());
  const std::string kept = Publish("orders", "kept");
  Restart();
  wire::Subscription got;
  EXPECT_TRUE(Get("std", got).ok());
  const std::string next = Publish("orders", "next");
  EXPECT_NE(next, acked);
  EXPECT_NE(next, kept);
  std::vector<std::string> seen = {PullOne("std").message().message_id(), PullOne("std").message().message_id()};
  EXPECT_THAT(seen, UnorderedElementsAre(kept, next));
}

}  // namespace
}  // namespace hopgap::tests
