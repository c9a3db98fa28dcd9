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

TEST(RoutingParamsTest, IsEmptyWithoutAResource) {
  EXPECT_EQ(RoutingParams(pubsub::Method::kStreamingPull, {}), "");
  EXPECT_EQ(RoutingParams(pubsub::Method::kStreamingPull, {pubsub::Encode(pubsub::StreamingPullRequest{})}), "");
  EXPECT_EQ(RoutingParams(pubsub::Method::kPublish, {pubsub::Bytes(std::string("\xff\xff"))}), "");
}

}  // namespace
}  // namespace hopgap::remote
