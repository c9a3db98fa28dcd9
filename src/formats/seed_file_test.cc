#include "formats/seed_file.h"

#include <gmock/gmock.h>
#include <google/pubsub/v1/pubsub.pb.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace hopgap::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kEveryField = R"(# comments are fine
projects:
  shop:
    topics:
      orders:
        labels: {team: billing, on: "yes"}
        message_retention_duration: 600s
        messages:
          - data: "first"
            attributes: {kind: test}
            ordering_key: k
          - {data_base64: aGVsbG8=}
      orders-dead:
    subscriptions:
      billing:
        topic: orders
        ackDeadlineSeconds: 20
        retain_acked_messages: true
        message_retention_duration: 86400s
        labels: {a: b}
        enable_message_ordering: true
        expiration_policy: {}
        filter: attributes.kind = "test"
        dead_letter_policy: {dead_letter_topic: orders-dead, maxDeliveryAttempts: 7}
        retry_policy:
          minimum_backoff: 10s
          maximum_backoff: 600s
        enable_exactly_once_delivery: false
      audit:
        topic: projects/other/topics/orders
)";

TEST(SeedFileTest, EveryFieldIsReadByItsNameInTheApi) {
  const absl::StatusOr<Seed> seed = ParseSeed(kEveryField);
  ASSERT_TRUE(seed.ok()) << seed.status();
  ASSERT_THAT(seed->topics, SizeIs(2));
  google::pubsub::v1::Topic topic;
  ASSERT_TRUE(topic.ParseFromString(seed->topics[0].wire()));
  EXPECT_EQ(topic.name(), "projects/shop/topics/orders");
  EXPECT_THAT(topic.labels(), UnorderedElementsAre(Pair("team", "billing"), Pair("on", "yes")));
  EXPECT_EQ(topic.message_retention_duration().seconds(), 600);
  EXPECT_EQ(seed->topics[1].name, "projects/shop/topics/orders-dead");
  EXPECT_EQ(seed->topics[1].line, 13);

  ASSERT_THAT(seed->subscriptions, SizeIs(2));
  EXPECT_EQ(seed->subscriptions[0].entry, "projects.shop.subscriptions.billing");
  google::pubsub::v1::Subscription value;
  ASSERT_TRUE(value.ParseFromString(seed->subscriptions[0].wire()));
  EXPECT_EQ(value.topic(), "projects/shop/topics/orders");
  EXPECT_EQ(value.ack_deadline_seconds(), 20);
  EXPECT_TRUE(value.retain_acked_messages());
  EXPECT_EQ(value.message_retention_duration().seconds(), 86'400);
  EXPECT_TRUE(value.enable_message_ordering());
  EXPECT_TRUE(value.has_expiration_policy());
  EXPECT_FALSE(value.expiration_policy().has_ttl());
  EXPECT_EQ(value.filter(), "attributes.kind = \"test\"");
  EXPECT_EQ(value.dead_letter_policy().dead_letter_topic(), "projects/shop/topics/orders-dead");
  EXPECT_EQ(value.dead_letter_policy().max_delivery_attempts(), 7);
  EXPECT_EQ(value.retry_policy().minimum_backoff().seconds(), 10);
  EXPECT_EQ(value.retry_policy().maximum_backoff().seconds(), 600);
  ASSERT_TRUE(value.ParseFromString(seed->subscriptions[1].wire()));
  EXPECT_EQ(value.topic(), "projects/other/topics/orders");
}

TEST(SeedFileTest, MessagesAreTextOrBase64) {
  const absl::StatusOr<Seed> seed = ParseSeed(kEveryField);
  ASSERT_TRUE(seed.ok()) << seed.status();
  ASSERT_THAT(seed->messages, SizeIs(2));
  google::pubsub::v1::PubsubMessage message;
  ASSERT_TRUE(message.ParseFromString(seed->messages[0].wire));
  EXPECT_EQ(message.data(), "first");
  EXPECT_EQ(message.ordering_key(), "k");
  EXPECT_THAT(message.attributes(), UnorderedElementsAre(Pair("kind", "test")));
  EXPECT_EQ(seed->messages[0].topic, "projects/shop/topics/orders");
  ASSERT_TRUE(message.ParseFromString(seed->messages[1].wire));
  EXPECT_EQ(message.data(), "hello");
  EXPECT_EQ(seed->messages[1].entry, "projects.shop.topics.orders.messages[1]");
  EXPECT_EQ(seed->messages[1].line, 12);
}

TEST(SeedFileTest, WhatIsNoSeedIsNamedWithItsLine) {
  struct Case {
    std::string_view text, says;
  };
  for (const Case& c : {
           Case{"", "a seed is one YAML document"},
           Case{"projects: {}\n---\nprojects: {}\n", "a seed is one YAML document"},
           Case{"projects: [\n", "line 2: "},
           Case{"[]", "line 1: must be a map"},
           Case{"topics: {}\n", "line 1: unknown key 'topics': only 'projects'"},
           Case{"projects:\n  p:\n    topic: {}\n", "line 3: projects.p: unknown key 'topic'"},
           Case{"projects:\n  p:\n    topics: [a]\n", "line 3: projects.p.topics: must be a map"},
           Case{"projects:\n  p:\n    topics:\n      t: {}\n      t: {}\n", "line 5: projects.p.topics: 't' stands"},
           Case{"projects:\n  p:\n    topics:\n      t:\n        lables: {}\n",
                "line 5: projects.p.topics.t: unknown field 'lables'"},
           Case{"projects: {p: {subscriptions: {s: {ack_deadline_seconds: 10, ackDeadlineSeconds: 10}}}}",
                "'ack_deadline_seconds' stands here twice, in two spellings"},
           Case{"projects: {p: {subscriptions: {s: {messages: []}}}}", "unknown field 'messages'"},
           Case{"projects: {p: {topics: {t: {name: x}}}}", "the entry's key is its name"},
           Case{"projects: {p: {subscriptions: {s: {state: ACTIVE}}}}", "'state' is not for a seed to give"},
           Case{"projects: {p: {subscriptions: {s: {ack_deadline_seconds: ten}}}}",
                "projects.p.subscriptions.s.ack_deadline_seconds: is not a int32"},
           Case{"projects: {p: {subscriptions: {s: {ack_deadline_seconds: }}}}", "ack_deadline_seconds: has no value"},
           Case{"projects: {p: {subscriptions: {s: {retain_acked_messages: maybe}}}}", "is not a bool"},
           Case{"projects: {p: {subscriptions: {s: {topic: {a: b}}}}}", "s.topic: is not a string"},
           Case{"projects: {p: {subscriptions: {s: {retry_policy: {minimum: 1s}}}}}",
                "s.retry_policy: unknown field 'minimum'"},
           Case{"projects: {p: {subscriptions: {s: {retry_policy: {minimum_backoff: ten}}}}}",
                "s.retry_policy: is not"},
           Case{"projects: {p: {subscriptions: {s: {retry_policy: 3s}}}}", "s.retry_policy: must be a map"},
           Case{"projects: {p: {topics: {t: {messages: {}}}}}", "t.messages: must be a list"},
           Case{"projects: {p: {topics: {t: {messages: [x]}}}}", "t.messages[0]: must be a map"},
           Case{"projects: {p: {topics: {t: {messages: [{data: a, data_base64: YQ==}]}}}}", "not both"},
           Case{"projects: {p: {topics: {t: {messages: [{data_base64: '?'}]}}}}", "is not base64"},
           Case{"projects: {p: {topics: {t: {messages: [{message_id: '1'}]}}}}", "unknown field 'message_id'"},
           Case{"projects: {p: {topics: {t: {[a]: b}}}}", "a key must be a text"},
       }) {
    SCOPED_TRACE(c.text);
    const absl::StatusOr<Seed> seed = ParseSeed(c.text);
    ASSERT_FALSE(seed.ok());
    EXPECT_EQ(seed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(MessageOf(seed.status())), HasSubstr(c.says));
  }
}

TEST(SeedFileTest, AliasesThatMultiplyAndLargeFilesHitTheLimits) {
  std::string bomb = "projects: {p: {topics: {t: {labels: &a0 {a: b}}}, subscriptions: {s: {message_transforms: ";
  std::string list = "&b0 [a,a,a,a,a,a,a,a,a,a]";
  for (int i = 1; i < 9; ++i) {
    list = StrCat("&b", i, " [", list);
    for (int n = 0; n < 9; ++n) list += StrCat(",*b", i - 1);
    list += "]";
  }
  bomb += list + "}}}}";
  EXPECT_THAT(ParseSeed(bomb).status().ToString(), HasSubstr("more than 1000000 values"));
  EXPECT_THAT(ParseSeed(std::string(kSeedBytesMax + 1, '#')).status().ToString(), HasSubstr("at most 16777216"));
  std::string deep = "projects: {p: {subscriptions: {s: {message_transforms: ";
  for (int i = 0; i < 40; ++i) deep += "[";
  for (int i = 0; i < 40; ++i) deep += "]";
  EXPECT_THAT(ParseSeed(deep + "}}}}").status().ToString(), HasSubstr("nested more than 16 deep"));
}

TEST(SeedFileTest, AnExistingResourceIsComparedFieldByField) {
  google::pubsub::v1::Subscription existing;
  existing.set_name("projects/p/subscriptions/s");
  existing.set_ack_deadline_seconds(10);
  (*existing.mutable_labels())["a"] = "b";
  (*existing.mutable_labels())["c"] = "d";
  existing.mutable_retry_policy()->mutable_minimum_backoff()->set_seconds(10);
  const std::string wire = existing.SerializeAsString();
  const auto has = [&](std::string_view field) {
    const absl::StatusOr<Seed> seed = ParseSeed(StrCat("projects: {p: {subscriptions: {s: {", field, "}}}}"));
    EXPECT_TRUE(seed.ok()) << seed.status();
    return HasSeedField(SeedResource::Kind::kSubscription, wire, seed->subscriptions.at(0).fields.at(0));
  };
  EXPECT_TRUE(has("ack_deadline_seconds: 10"));
  EXPECT_FALSE(has("ack_deadline_seconds: 11"));
  EXPECT_TRUE(has("labels: {c: d, a: b}"));
  EXPECT_FALSE(has("labels: {a: b}"));
  EXPECT_TRUE(has("enable_exactly_once_delivery: false")) << "the default, given";
  EXPECT_FALSE(has("enable_exactly_once_delivery: true"));
  EXPECT_TRUE(has("retry_policy: {minimum_backoff: 10s}"));
  EXPECT_FALSE(has("retry_policy: {minimum_backoff: 10s, maximum_backoff: 20s}"));
  EXPECT_FALSE(has("expiration_policy: {}"));
}

TEST(SeedFileTest, BytesThatAreNoTextAreRefusedWithTheirLine) {
  const auto seed = ParseSeed("projects:\n  p:\n    topics: {to\xe2\x5f: {}}\n");
  EXPECT_EQ(seed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(seed.status().message()), "line 3: is not UTF-8");
}

TEST(SeedFileTest, OneDocumentAndNoTextWithoutEnd) {
  for (const char* text : {",projects: {}", "projects: {}\n---\nprojects: {}\n", ""}) {
    const auto seed = ParseSeed(text);
    EXPECT_EQ(seed.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace hopgap::formats
