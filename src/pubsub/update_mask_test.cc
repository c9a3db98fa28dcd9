#include "pubsub/update_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "pubsub/wire_testing.h"

namespace hopgap::pubsub {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Subscription Full() {
  Subscription value;
  value.name = "s";
  value.topic = "t";
  value.ack_deadline_seconds = 30;
  value.labels = {{"a", "1"}};
  value.filter = "attributes:f";
  value.retain_acked_messages = true;
  value.message_retention_duration = 600s;
  value.expiration_policy = ExpirationPolicy{24h};
  value.dead_letter_policy = DeadLetterPolicy{"d", 7};
  value.retry_policy = RetryPolicy{1s, 2s};
  value.enable_exactly_once_delivery = true;
  value.unknown = Wire("a0 06 05");
  return value;
}

absl::Status Update(UpdateMask mask, const Subscription& from, Subscription& to) {
  return ApplyUpdate(UpdateSubscriptionRequest{from, std::move(mask)}, to);
}

TEST(UpdateMaskTest, AnUnsetValueResetsItsField) {
  const Subscription empty;
  Subscription to = Full();
  ASSERT_TRUE(Update({"ack_deadline_seconds", "labels", "retain_acked_messages", "message_retention_duration",
                      "expiration_policy", "dead_letter_policy", "retry_policy", "enable_exactly_once_delivery"},
                     empty, to)
                  .ok());
  Subscription want;
  want.name = "s";
  want.topic = "t";
  want.filter = "attributes:f";
  want.unknown = Wire("a0 06 05");
  EXPECT_EQ(Encode(to), Encode(want));
}

TEST(UpdateMaskTest, WhatThePathsDoNotNameNeverChanges) {
  Subscription from = Full();
  from.labels = {{"b", "2"}};
  from.filter = "another";
  from.unknown = Wire("92 01 00");  // a bigquery_config
  Subscription to = Full();
  ASSERT_TRUE(Update({"labels"}, from, to).ok());
  EXPECT_THAT(to.labels, ElementsAre(Pair("b", "2"))) << "replaced as a whole";
  to.labels = Full().labels;
  EXPECT_EQ(Encode(to), Encode(Full()));
}

TEST(UpdateMaskTest, APathIntoAPolicyChangesThatPart) {
  Subscription from;
  from.retry_policy = RetryPolicy{5s, 6s};
  from.dead_letter_policy = DeadLetterPolicy{"e", 9};
  from.expiration_policy = ExpirationPolicy{48h};
  Subscription to = Full();
  ASSERT_TRUE(
      Update({"retry_policy.minimum_backoff", "dead_letter_policy.max_delivery_attempts", "expiration_policy.ttl"},
             from, to)
          .ok());
  EXPECT_EQ(to.retry_policy, (RetryPolicy{5s, 2s}));
  EXPECT_EQ(to.dead_letter_policy, (DeadLetterPolicy{"d", 9}));
  EXPECT_EQ(to.expiration_policy, (ExpirationPolicy{48h}));
  ASSERT_TRUE(Update({"retry_policy.maximum_backoff", "dead_letter_policy.dead_letter_topic"}, from, to).ok());
  EXPECT_EQ(to.retry_policy, (RetryPolicy{5s, 6s}));
  EXPECT_EQ(to.dead_letter_policy, (DeadLetterPolicy{"e", 9}));
  ASSERT_TRUE(Update({"retry_policy.maximum_backoff", "expiration_policy.ttl"}, Subscription(), to).ok());
  EXPECT_EQ(to.retry_policy, (RetryPolicy{5s, 600s})) << "its default";
  EXPECT_EQ(to.expiration_policy, ExpirationPolicy()) << "never";
  Subscription none;
  ASSERT_TRUE(Update({"retry_policy.maximum_backoff"}, Subscription(), none).ok());
  EXPECT_EQ(none.retry_policy, std::nullopt);
}

TEST(UpdateMaskTest, C21_C22_BadMasksInTheServicesWords) {
  struct Case {
    UpdateMask mask;
    const char* want;
  };
  const char* prefix = "Invalid update_mask provided in the UpdateSubscriptionRequest: ";
  const auto check = [&](const Case& c) {
    Subscription to = Full();
    const absl::Status status = Update(c.mask, Full(), to);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(MessageOf(status), c.mask.empty() ? std::string(c.want) : StrCat(prefix, c.want));
  };
  check({{}, "The update_mask in the UpdateSubscriptionRequest must be set, and must contain a non-empty paths list."});
  for (const std::string field : {"name", "topic", "filter", "enable_message_ordering", "detached", "state", "tags",
                                  "topic_message_retention_duration", "analytics_hub_subscription_info"}) {
    check({{field}, StrCat("the '", field, "' field in the Subscription is not mutable.").c_str()});
    check({{"labels", field}, StrCat("the '", field, "' field in the Subscription is not mutable.").c_str()});
  }
  for (const std::string path : {"ackDeadlineSeconds", "no_such_field", "", "*", "labels.a", "retry_policy.nope",
                                 "retry_policy.", "push_configx"}) {
    check({{path},
           StrCat("'", path,
                  "' is not a known Subscription field. Note that field paths must be of the form 'push_config' rather "
                  "than 'pushConfig'.")
               .c_str()});
  }
}

TEST(UpdateMaskTest, WhatIsNotServedIsNamedOnlyIfItIsAskedFor) {
  Subscription from;
  from.unknown = Wire("22 03 0a 01 'u' 92 01 00");
  Subscription to = Full();
  EXPECT_TRUE(Update({"labels"}, from, to).ok());
  EXPECT_EQ(Update({"push_config"}, from, to),
            absl::UnimplementedError("Subscription.push_config is not supported yet"));
  EXPECT_EQ(Update({"bigquery_config"}, from, to),
            absl::UnimplementedError("Subscription.bigquery_config is not supported yet"));
  EXPECT_EQ(Update({"push_config.push_endpoint"}, from, to),
            absl::UnimplementedError("Subscription.push_config.push_endpoint is not supported yet"));
  from.unknown = Wire("22 00");
  EXPECT_TRUE(Update({"push_config", "bigquery_config"}, from, to).ok()) << "cleared, as it is";
}

TEST(UpdateMaskTest, TopicsAndSnapshots) {
  Topic topic;
  topic.labels = {{"a", "1"}};
  topic.message_retention_duration = 600s;
  UpdateTopicRequest request;
  request.topic.labels = {{"b", "2"}};
  request.update_mask = {"message_retention_duration"};
  ASSERT_TRUE(ApplyUpdate(request, topic).ok());
  EXPECT_EQ(topic.message_retention_duration, std::nullopt);
  EXPECT_THAT(topic.labels, ElementsAre(Pair("a", "1")));
  request.update_mask = {"labels", "schema_settings"};
  ASSERT_TRUE(ApplyUpdate(request, topic).ok());
  EXPECT_THAT(topic.labels, ElementsAre(Pair("b", "2")));
  request.topic.unknown = Wire("32 00");
  EXPECT_EQ(ApplyUpdate(request, topic), absl::UnimplementedError("Topic.schema_settings is not supported yet"));
  request.update_mask = {"schemaSettings"};
  EXPECT_EQ(MessageOf(ApplyUpdate(request, topic)),
            "Invalid update_mask provided in the UpdateTopicRequest: 'schemaSettings' is not a known Topic field. Note "
            "that field paths must be of the form 'schema_settings' rather than 'schemaSettings'.");
  request.update_mask = {"name"};
  EXPECT_EQ(MessageOf(ApplyUpdate(request, topic)),
            "Invalid update_mask provided in the UpdateTopicRequest: the 'name' field in the Topic is not mutable.");

  Snapshot snapshot;
  snapshot.labels = {{"a", "1"}};
  snapshot.expire_time = WallTime{5s};
  UpdateSnapshotRequest update;
  update.update_mask = {"labels"};
  ASSERT_TRUE(ApplyUpdate(update, snapshot).ok());
  EXPECT_THAT(snapshot.labels, IsEmpty());
  EXPECT_EQ(snapshot.expire_time, WallTime{5s});
  update.update_mask = {"topic"};
  EXPECT_EQ(ApplyUpdate(update, snapshot).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace hopgap::pubsub
