#include "pubsub/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "pubsub/wire_testing.h"

namespace hopgap::pubsub {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::string kPlain = Wire("0a 01 's' 12 01 't'");

TEST(TopicTest, GoldenBytes) {
  Topic topic;
  topic.name = "t";
  topic.labels = {{"b", ""}, {"a", "1"}};
  const std::string golden = Wire("0a 01 't' 12 06 0a 01 'a' 12 01 '1' 12 05 0a 01 'b' 12 00");
  EXPECT_EQ(Encode(topic), golden);
  const absl::StatusOr<Topic> read = DecodeTopic(golden);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name, "t");
  EXPECT_EQ(read->labels, topic.labels);
  EXPECT_THAT(read->unknown, IsEmpty());
}

TEST(TopicTest, OfALabelGivenTwiceTheLastCounts) {
  const absl::StatusOr<Topic> topic = DecodeTopic(Wire("12 06 0a 01 'a' 12 01 '1' 12 06 0a 01 'a' 12 01 '2'"));
  ASSERT_TRUE(topic.ok()) << topic.status();
  EXPECT_THAT(topic->labels, ElementsAre(Pair("a", "2")));
}

TEST(SubscriptionTest, GoldenBytes) {
  Subscription subscription;
  subscription.name = "s";
  subscription.topic = "t";
  subscription.ack_deadline_seconds = 600;
  subscription.labels = {{"a", "1"}};
  subscription.enable_exactly_once_delivery = true;
  const std::string golden = Wire("0a 01 's' 12 01 't' 28 d8 04 4a 06 0a 01 'a' 12 01 '1' 80 01 01");
  EXPECT_EQ(Encode(subscription), golden);
  const absl::StatusOr<Subscription> read = SubscriptionFromRequest(golden);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name, "s");
  EXPECT_EQ(read->topic, "t");
  EXPECT_EQ(read->ack_deadline_seconds, 600);
  EXPECT_THAT(read->labels, ElementsAre(Pair("a", "1")));
  EXPECT_TRUE(read->enable_exactly_once_delivery);
}

TEST(SubscriptionTest, EveryFieldComesBack) {
  Subscription subscription;
  subscription.name = "s";
  subscription.retain_acked_messages = true;
  subscription.message_retention_duration = std::chrono::seconds{600};
  subscription.enable_message_ordering = true;
  subscription.expiration_policy = ExpirationPolicy{std::chrono::hours{24}};
  subscription.filter = "f";
  subscription.dead_letter_policy = DeadLetterPolicy{"d", 5};
  subscription.retry_policy = RetryPolicy{std::chrono::milliseconds{1500}, std::chrono::seconds{0}};
  subscription.detached = true;
  const std::string golden = Wire(
      "0a 01 's' 38 01 42 03 08 d8 04 50 01 5a 06 0a 04 08 80 a3 05 62 01 'f'"
      "6a 05 0a 01 'd' 10 05 72 0c 0a 08 08 01 10 80 ca b5 ee 01 12 00 78 01");
  EXPECT_EQ(Encode(subscription), golden);
  const absl::StatusOr<Subscription> read = SubscriptionFromRequest(golden);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->retain_acked_messages);
  EXPECT_EQ(read->message_retention_duration, std::chrono::seconds{600});
  EXPECT_TRUE(read->enable_message_ordering);
  EXPECT_EQ(read->expiration_policy, subscription.expiration_policy);
  EXPECT_EQ(read->filter, "f");
  EXPECT_EQ(read->dead_letter_policy, subscription.dead_letter_policy);
  EXPECT_EQ(read->retry_policy, subscription.retry_policy);
  EXPECT_TRUE(read->detached);
  EXPECT_EQ(Encode(*read), golden);
}

TEST(SubscriptionTest, AnEmptyPolicyIsAnotherWishThanNone) {
  EXPECT_EQ(ExpirationOf(Subscription()), std::chrono::hours{24 * 31});
  const absl::StatusOr<Subscription> never = SubscriptionFromRequest(Wire("5a 00 6a 00 72 00"));
  ASSERT_TRUE(never.ok());
  EXPECT_EQ(ExpirationOf(*never), std::nullopt);
  EXPECT_EQ(never->dead_letter_policy, DeadLetterPolicy());
  EXPECT_EQ(never->retry_policy, (RetryPolicy{std::chrono::seconds{10}, std::chrono::seconds{600}}));
  EXPECT_EQ(Encode(*never), Wire("5a 00 6a 00 72 09 0a 02 08 0a 12 03 08 d8 04"));
}

TEST(SubscriptionTest, RetentionIsByDefaultNoLongerThanTheSubscriptionMayLast) {
  Subscription subscription;
  EXPECT_EQ(RetentionOf(subscription), std::chrono::hours{24 * 7});
  subscription.expiration_policy = ExpirationPolicy{std::chrono::hours{48}};
  EXPECT_EQ(RetentionOf(subscription), std::chrono::hours{48});
  subscription.expiration_policy = ExpirationPolicy{};
  EXPECT_EQ(RetentionOf(subscription), std::chrono::hours{24 * 7});
  subscription.message_retention_duration = std::chrono::seconds{600};
  EXPECT_EQ(RetentionOf(subscription), std::chrono::seconds{600});
}

TEST(SubscriptionTest, ADurationIsWhatFits) {
  for (const char* notation : {"42 0b 10 80 ec 94 a3 fc ff ff ff ff 01", "42 06 08 01 10 80 94 eb dc 03",
                               "42 0b 08 01 10 ff ff ff ff ff ff ff ff ff 01", "42 07 08 80 e8 9e bf fd 24"}) {
    SCOPED_TRACE(notation);
    EXPECT_EQ(SubscriptionFromRequest(Wire(notation)).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(SubscriptionFromRequest(Wire("42 00"))->message_retention_duration, Duration{0});
  const auto negative = SubscriptionFromRequest(Wire("42 0b 10 ff ff ff ff ff ff ff ff ff 01"));
  ASSERT_TRUE(negative.ok()) << negative.status();
  EXPECT_EQ(negative->message_retention_duration, Duration{-1});
}

TEST(SnapshotTest, GoldenBytes) {
  Snapshot snapshot;
  snapshot.name = "n";
  snapshot.topic = "t";
  snapshot.expire_time = WallTime{Duration{5'000'000'001}};
  snapshot.labels = {{"a", "1"}};
  const std::string golden = Wire("0a 01 'n' 12 01 't' 1a 04 08 05 10 01 22 06 0a 01 'a' 12 01 '1'");
  EXPECT_EQ(Encode(snapshot), golden);
  const absl::StatusOr<Snapshot> read = DecodeSnapshot(golden + Wire("a0 06 05"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->expire_time, snapshot.expire_time);
  EXPECT_EQ(Encode(*read), golden + Wire("a0 06 05"));
}

TEST(SubscriptionTest, ShowsTheDefaultsOfAPlainPullSubscription) {
  Subscription subscription;
  subscription.name = "s";
  subscription.topic = "t";
  subscription.unknown = Wire("ca 01 00");
  // push_config {}, 10 s, retention 604800 s, expiration_policy.ttl 2678400 s, ACTIVE.
  EXPECT_EQ(EncodeForDisplay(subscription),
            Wire("0a 01 's' 12 01 't' 22 00 28 0a 42 04 08 80 f5 24 5a 07 0a 05 08 80 bd a3 01 98 01 01"));
}

TEST(SubscriptionTest, ShowsTheDeadlineItHasOrItsKindsDefault) {
  struct Case {
    int32_t seconds;
    bool exactly_once;
    int32_t want;
  };
  for (const Case& c : {Case{0, false, 10}, Case{0, true, 60}, Case{10, true, 10}, Case{600, false, 600}}) {
    SCOPED_TRACE(c.want);
    Subscription subscription;
    subscription.ack_deadline_seconds = c.seconds;
    subscription.enable_exactly_once_delivery = c.exactly_once;
    const absl::StatusOr<Subscription> shown = DecodeSubscription(EncodeForDisplay(subscription));
    ASSERT_TRUE(shown.ok());
    EXPECT_EQ(shown->ack_deadline_seconds, c.want);
    EXPECT_EQ(shown->enable_exactly_once_delivery, c.exactly_once);
  }
}

// Clients read a subscription, change its name and create it again.
TEST(SubscriptionTest, WhatIsShownMayBeCreated) {
  Subscription subscription;
  subscription.name = "s";
  subscription.topic = "t";
  const absl::StatusOr<Subscription> again = SubscriptionFromRequest(EncodeForDisplay(subscription));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->name, "s");
}

struct FieldCase {
  const char* name;
  const char* notation;
};

TEST(SubscriptionTest, RefusesByNameWhatIsNotServed) {
  for (const FieldCase& c : {
           FieldCase{"push_config", "22 03 0a 01 'u'"},
           FieldCase{"push_config", "22 02 12 00"},
           FieldCase{"push_config", "22 02 2a 00"},
           FieldCase{"bigquery_config", "92 01 00"},
           FieldCase{"cloud_storage_config", "b2 01 00"},
           FieldCase{"message_transforms", "ca 01 00"},
           FieldCase{"tags", "d2 01 00"},
           FieldCase{"bigtable_config", "da 01 00"},
       }) {
    SCOPED_TRACE(c.notation);
    const absl::Status status = SubscriptionFromRequest(kPlain + Wire(c.notation)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_EQ(MessageOf(status), StrCat("Subscription.", c.name, " is not supported yet"));
  }
}

TEST(SubscriptionTest, AcceptsDefaultsSaidAloudAndWhatOnlyTheServiceSets) {
  for (const FieldCase& c : {
           FieldCase{"empty push_config", "22 00"},
           FieldCase{"push_config with an empty endpoint", "22 02 0a 00"},
           FieldCase{"push_config of unknown fields", "22 02 30 01"},
           FieldCase{"retain_acked_messages false", "38 00"},
           FieldCase{"ordering false", "50 00"},
           FieldCase{"no filter", "62 00"},
           FieldCase{"detached false", "78 00"},
           FieldCase{"topic_message_retention_duration", "8a 01 02 08 05"},
           FieldCase{"state", "98 01 02"},
           FieldCase{"analytics_hub_subscription_info", "ba 01 03 0a 01 'l'"},
           FieldCase{"reserved number", "18 07"},
           FieldCase{"number of no field", "a2 06 01 'x'"},
           FieldCase{"a filter of another type", "60 01"},
       }) {
    SCOPED_TRACE(c.name);
    const absl::StatusOr<Subscription> got = SubscriptionFromRequest(kPlain + Wire(c.notation));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(Encode(*got), kPlain) << "nothing is stored of it";
  }
}

TEST(TopicTest, RefusesByNameWhatIsNotServed) {
  for (const FieldCase& c :
       {FieldCase{"message_storage_policy", "1a 00"}, FieldCase{"kms_key_name", "2a 01 'k'"},
        FieldCase{"schema_settings", "32 00"}, FieldCase{"ingestion_data_source_settings", "52 00"},
        FieldCase{"message_transforms", "6a 00"}, FieldCase{"tags", "72 00"}}) {
    SCOPED_TRACE(c.notation);
    const absl::Status status = TopicFromRequest(Wire("0a 01 't'") + Wire(c.notation)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_EQ(MessageOf(status), StrCat("Topic.", c.name, " is not supported yet"));
  }
}

TEST(TopicTest, AcceptsDefaultsSaidAloudAndWhatOnlyTheServiceSets) {
  for (const FieldCase& c :
       {FieldCase{"no key", "2a 00"}, FieldCase{"satisfies_pzs", "38 01"}, FieldCase{"state", "48 02"},
        FieldCase{"reserved number", "20 01"}, FieldCase{"number of no field", "f8 01 01"}}) {
    SCOPED_TRACE(c.name);
    const absl::StatusOr<Topic> got = TopicFromRequest(Wire("0a 01 't'") + Wire(c.notation));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(Encode(*got), Wire("0a 01 't'"));
  }
}

TEST(ResourcesTest, TheJournalKeepsWhatItDoesNotKnow) {
  const std::string journal = kPlain + Wire("ca 01 00 a0 06 05");
  const absl::StatusOr<Subscription> subscription = DecodeSubscription(journal);
  ASSERT_TRUE(subscription.ok());
  EXPECT_EQ(subscription->unknown, Wire("ca 01 00 a0 06 05"));
  EXPECT_EQ(Encode(*subscription), journal);

  const absl::StatusOr<Topic> topic = DecodeTopic(Wire("38 01 0a 01 't' 25 01 02 03 04"));
  ASSERT_TRUE(topic.ok());
  EXPECT_EQ(Encode(*topic), Wire("0a 01 't' 38 01 25 01 02 03 04"));
}

TEST(ResourcesTest, MalformedBytesAreInvalid) {
  for (const char* notation : {"0a 02 's'", "0a 01 ff", "12 01 ff", "4a 02 0a 05", "4a 03 0a 01 ff", "22 01 0a",
                               "42 01 08", "5a 01 0a", "5a 03 0a 01 08", "0b"}) {
    SCOPED_TRACE(notation);
    EXPECT_EQ(SubscriptionFromRequest(Wire(notation)).status().code(), absl::StatusCode::kInvalidArgument);
  }
  for (const char* notation : {"0a 02 't'", "0a 01 ff", "12 02 0a 05", "12 03 12 01 ff"}) {
    SCOPED_TRACE(notation);
    EXPECT_EQ(TopicFromRequest(Wire(notation)).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace hopgap::pubsub
