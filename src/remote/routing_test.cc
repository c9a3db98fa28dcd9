#include "remote/routing.h"

#include <gtest/gtest.h>

#include <string>

namespace hopgap::remote {
namespace {

TEST(RoutingParamsTest, NamesTheResourceAsTheOfficialClientsDo) {
  pubsub::PublishRequest publish;
  publish.topic = "projects/p/topics/a~b%c";
  publish.messages.push_back(pubsub::Message::Make(std::string(1 << 20, 'x'), {}));
  EXPECT_EQ(RoutingParams(pubsub::Method::kPublish, pubsub::Encode(publish)), "topic=projects%2Fp%2Ftopics%2Fa~b%25c");

  pubsub::StreamingPullRequest first;
  first.subscription = "projects/p/subscriptions/s";
  first.client_id = "c";
  EXPECT_EQ(RoutingParams(pubsub::Method::kStreamingPull, {pubsub::Encode(first)}),
            "subscription=projects%2Fp%2Fsubscriptions%2Fs");
}

TEST(RoutingParamsTest, AnUpdateIsRoutedByTheNameInsideItsResource) {
  const auto update = [](std::string_view wire) {
    return RoutingParams(pubsub::Method::kUpdateTopic, {pubsub::Bytes(std::string(wire))});
  };
  EXPECT_EQ(update(std::string_view("\x0a\x05\x0a\x03\x61/b", 7)), "topic.name=a%2Fb");
  EXPECT_EQ(update(std::string_view("\x0a\x02\x10\x01", 4)), "") << "a resource without a name";
}

TEST(RoutingParamsTest, IsEmptyWithoutAResource) {
  EXPECT_EQ(RoutingParams(pubsub::Method::kStreamingPull, {}), "");
  EXPECT_EQ(RoutingParams(pubsub::Method::kStreamingPull, {pubsub::Encode(pubsub::StreamingPullRequest{})}), "");
  EXPECT_EQ(RoutingParams(pubsub::Method::kPublish, {pubsub::Bytes(std::string("\xff\xff"))}), "");
}

}  // namespace
}  // namespace hopgap::remote
