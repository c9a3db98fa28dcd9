#include "broker/catalog.h"
#include "broker/world_testing.h"
#include "pubsub/wire.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using pubsub::Method;

struct ListAnswer {
  std::vector<std::string> names;  // short
  std::string token;
};

class AdminTest : public ::testing::Test {
 protected:
  absl::StatusOr<ListAnswer> List(Method method, const std::string& parent, int32_t page_size = 0,
                                  const std::string& token = "") {
    const auto& answer = world_.Await(
        world_.Start(method, pubsub::ListRequest{.parent = parent, .page_size = page_size, .page_token = token}));
    if (!answer.status.ok()) return answer.status;
    ListAnswer list;
    pubsub::WireReader reader(answer.payload);
    while (reader.Next()) {
      if (reader.field().number == 2) list.token = reader.field().bytes;
      if (reader.field().number != 1) continue;
      std::string name(reader.field().bytes);
      if (method == Method::kListTopics) name = pubsub::DecodeTopic(name)->name;
      if (method == Method::kListSubscriptions) name = pubsub::DecodeSubscription(name)->name;
      list.names.push_back(name.substr(name.rfind('/') + 1));
    }
    EXPECT_TRUE(reader.ok());
    return list;
  }
  pubsub::Subscription Get(const std::string& id) {
    const auto& answer = world_.Await(world_.Start(Method::kGetSubscription, pubsub::NameRequest{World::Sub(id)}));
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    return *pubsub::DecodeSubscription(answer.payload);
  }
  absl::Status Delete(Method method, const std::string& name) { return world_.Do(method, pubsub::NameRequest{name}); }
  World world_;
};

TEST_F(AdminTest, TopicsAreMadeOnceFoundAndDeleted) {
  EXPECT_THAT(world_.Do(Method::kGetTopic, pubsub::NameRequest{World::Topic("top")}),
              SaysText("Resource not found (resource=top)."));
  ASSERT_TRUE(world_.CreateTopic("top").ok());
  const absl::Status again = world_.CreateTopic("top");
  EXPECT_THAT(again, HasCode(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(again, SaysText("Resource already exists in the project (resource=top)."));
  const auto& got = world_.Await(world_.Start(Method::kGetTopic, pubsub::NameRequest{World::Topic("top")}));
  ASSERT_TRUE(got.status.ok());
  EXPECT_EQ(pubsub::DecodeTopic(got.payload)->name, World::Topic("top"));
  EXPECT_TRUE(Delete(Method::kDeleteTopic, World::Topic("top")).ok());
  EXPECT_THAT(Delete(Method::kDeleteTopic, World::Topic("top")), HasCode(kNotFound));
}

// C25
TEST_F(AdminTest, BadNamesAreRefusedBeforeAnythingIsLookedUp) {
  for (const char* id : {"ab", "1abc", "goog-x", "x goog"}) {
    EXPECT_THAT(world_.CreateTopic(id), HasCode(kInvalid)) << id;
    for (Method method : {Method::kGetTopic, Method::kDeleteTopic}) {
      EXPECT_THAT(Delete(method, World::Topic(id)), HasCode(kInvalid)) << id;
    }
    for (Method method : {Method::kGetSubscription, Method::kDeleteSubscription}) {
      EXPECT_THAT(Delete(method, World::Sub(id)), HasCode(kInvalid)) << id;
    }
    EXPECT_THAT(world_.CreateSubscription(id, "none", false), HasCode(kInvalid)) << id;
  }
  EXPECT_THAT(Delete(Method::kGetTopic, World::Sub("sub")), HasCode(kInvalid)) << "a name of another kind";
}

TEST_F(AdminTest, AChangeIsAnsweredWhenItIsDurable) {
  world_.journal_waits = true;
  const CallId call =
      world_.Start(Method::kCreateTopic,
                   pubsub::CreateTopicRequest{.topic = {.name = World::Topic("top"), .labels = {}, .unknown = {}}});
  EXPECT_FALSE(world_.Answered(call));
  EXPECT_THAT(world_.awaited, ElementsAre(true));
  world_.PersistAll();
  EXPECT_TRUE(world_.Answered(call));
}

TEST_F(AdminTest, ASubscriptionNeedsItsTopicFirst) {
  EXPECT_THAT(world_.CreateSubscription("sub", "top", false), SaysText("Resource not found (resource=top)."));
  ASSERT_TRUE(world_.CreateTopic("top").ok());
  ASSERT_TRUE(world_.CreateSubscription("sub", "top", false).ok());
  EXPECT_THAT(world_.CreateSubscription("sub", "top", false), HasCode(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(world_.CreateSubscription("sub", "none", false), HasCode(kNotFound));
}

// C09
TEST_F(AdminTest, C09_TheAckDeadlineHasBoundsAndADefaultOfItsKind) {
  ASSERT_TRUE(world_.CreateTopic("top").ok());
  struct Case {
    int32_t seconds;
    bool exactly_once;
    int32_t want;  // 0: refused
  };
  int number = 0;
  for (const Case& c : {Case{0, false, 10}, Case{0, true, 60}, Case{9, false, 0}, Case{10, true, 10},
                        Case{600, false, 600}, Case{601, false, 0}, Case{-1, true, 0}}) {
    SCOPED_TRACE(c.seconds);
    const std::string id = "sub" + std::to_string(++number);
    const absl::Status status = world_.CreateSubscription(id, "top", c.exactly_once, c.seconds);
    EXPECT_THAT(status, HasCode(c.want ? kOk : kInvalid));
    if (c.want) {
      EXPECT_EQ(Get(id).ack_deadline_seconds, c.want);
    } else {
      EXPECT_THAT(status, SaysText("(ack_deadline=" + std::to_string(c.seconds) +
                                   "). The ack deadline must be between 10 and 600 seconds."));
    }
  }
}

TEST_F(AdminTest, ADeletedTopicLeavesItsSubscriptionsAndTheirBacklog) {
  ASSERT_TRUE(world_.CreateTopic("top").ok());
  ASSERT_TRUE(world_.CreateSubscription("sub", "top", false).ok());
  world_.Publish("top", {"m"});
  ASSERT_TRUE(Delete(Method::kDeleteTopic, World::Topic("top")).ok());
  EXPECT_EQ(Get("sub").topic, "_deleted-topic_");
  ASSERT_TRUE(world_.CreateTopic("top").ok());
  world_.Publish("top", {"n"});
  EXPECT_EQ(Get("sub").topic, "_deleted-topic_") << "a new topic of that name is another topic";
  EXPECT_THAT(DataOf(world_.Pull("sub")), ElementsAre("m"));
  EXPECT_TRUE(Delete(Method::kDeleteSubscription, World::Sub("sub")).ok());
  EXPECT_THAT(Delete(Method::kDeleteSubscription, World::Sub("sub")), HasCode(kNotFound));
}

TEST_F(AdminTest, ListsComeInPagesThatSurviveTheDeletionOfTheirBoundary) {
  for (const char* id : {"delta", "alpha", "charlie", "bravo", "echo"}) ASSERT_TRUE(world_.CreateTopic(id).ok());
  auto page = List(Method::kListTopics, "projects/p", 2);
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(page->names, ElementsAre("alpha", "bravo"));
  ASSERT_TRUE(Delete(Method::kDeleteTopic, World::Topic("bravo")).ok());
  page = List(Method::kListTopics, "projects/p", 2, page->token);
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(page->names, ElementsAre("charlie", "delta"));
  page = List(Method::kListTopics, "projects/p", 2, page->token);
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(page->names, ElementsAre("echo"));
  EXPECT_EQ(page->token, "");
  EXPECT_THAT(List(Method::kListTopics, "projects/other")->names, IsEmpty());
}

TEST_F(AdminTest, SubscriptionsAreListedByProjectAndByTopic) {
  ASSERT_TRUE(world_.CreateTopic("one").ok());
  ASSERT_TRUE(world_.CreateTopic("two").ok());
  ASSERT_TRUE(world_.CreateSubscription("bbb", "one", false).ok());
  ASSERT_TRUE(world_.CreateSubscription("aaa", "one", true).ok());
  ASSERT_TRUE(world_.CreateSubscription("ccc", "two", true).ok());
  EXPECT_THAT(List(Method::kListSubscriptions, "projects/p")->names, ElementsAre("aaa", "bbb", "ccc"));
  const auto page = List(Method::kListTopicSubscriptions, World::Topic("one"), 1);
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(page->names, ElementsAre("aaa"));
  EXPECT_THAT(List(Method::kListTopicSubscriptions, World::Topic("one"), 1, page->token)->names, ElementsAre("bbb"));
  EXPECT_THAT(List(Method::kListTopicSubscriptions, World::Topic("none")).status(), HasCode(kNotFound));
  EXPECT_THAT(List(Method::kListSubscriptions, "p").status(), HasCode(kInvalid));
  EXPECT_THAT(List(Method::kListTopics, "projects/p", 1, page->token).status(), HasCode(kInvalid))
      << "another list's token";
}

TEST_F(AdminTest, PageSizesAndTokensAreChecked) {
  for (int i = 0; i < 101; ++i) ASSERT_TRUE(world_.CreateTopic("t" + std::to_string(1000 + i)).ok());
  EXPECT_THAT(List(Method::kListTopics, "projects/p", 0)->names, SizeIs(100)) << "the default page";
  EXPECT_THAT(List(Method::kListTopics, "projects/p", 1000)->names, SizeIs(101));
  for (int32_t size : {-1, 1001}) {
    EXPECT_THAT(List(Method::kListTopics, "projects/p", size).status(),
                SaysText("The value for page_size is out of bounds. You passed " + std::to_string(size) +
                         " in the request, but the value must be between 0 and 1000."));
  }
  EXPECT_THAT(List(Method::kListTopics, "projects/p", 1, "garbage").status(),
              SaysText("Invalid page token given (token=garbage)."));
}

TEST_F(AdminTest, LabelsAreChecked) {
  const std::string a63(63, 'a'), a64(64, 'a');
  struct Case {
    std::map<std::string, std::string> labels;
    const char* text;
  };
  std::map<std::string, std::string> l64, l65;
  for (int i = 0; i < 65; ++i) (i < 64 ? l64 : l65)["k" + std::to_string(i)] = "v";
  l65.insert(l64.begin(), l64.end());
  int number = 0;
  for (const Case& c : {Case{{{"key-1_x", "Value"}}, nullptr}, Case{{{"k\xc3\xa4se", ""}}, nullptr},
                        Case{{{"Upper", "v"}}, "key \"Upper\""}, Case{{{"1a", "v"}}, "key \"1a\""},
                        Case{{{"", "v"}}, "does not conform"}, Case{{{"a b", "v"}}, "does not conform"},
                        Case{{{a63, a63}}, nullptr}, Case{{{a64, "v"}}, "does not conform"},
                        Case{{{"k", a64}}, "exceeds maximum value length 63 with a length of 64"}, Case{l64, nullptr},
                        Case{l65, "labels is too large. You passed 65"}}) {
    SCOPED_TRACE(++number);
    const absl::Status status = world_.Do(
        Method::kCreateTopic,
        pubsub::CreateTopicRequest{
            .topic = {.name = World::Topic("top" + std::to_string(number)), .labels = c.labels, .unknown = {}}});
    EXPECT_THAT(status, HasCode(c.text ? kInvalid : kOk));
    if (c.text) {
      EXPECT_THAT(status, SaysText(c.text));
    }
  }
}

TEST_F(AdminTest, PlacesAreRegisteredWhenResourcesAreMadeAndUsedAgain) {
  ASSERT_TRUE(world_.CreateTopic("top").ok());
  ASSERT_TRUE(world_.CreateSubscription("sub", "top", false).ok());
  ASSERT_THAT(world_.sink.places, SizeIs(2));
  EXPECT_EQ(world_.sink.places[0].resource, "top");
  EXPECT_EQ(world_.sink.places[1].resource, "sub");
  EXPECT_EQ(world_.sink.places[1].project, "p");
  EXPECT_EQ(world_.sink.places[1].side, trace::Place::Side::kBroker);
  ASSERT_TRUE(Delete(Method::kDeleteTopic, World::Topic("top")).ok());
  ASSERT_TRUE(world_.CreateTopic("top").ok());
  EXPECT_THAT(world_.sink.places, SizeIs(2));
}

TEST_F(AdminTest, PlacesAreLimited) {
  const Broker::Options options = World::Defaults();
  trace::NullSink sink;
  Catalog catalog(options, sink);
  const auto make = [&](const std::string& id) {
    const Incarnation incarnation = catalog.NextIncarnation();
    return catalog.AddTopic(incarnation, {.name = World::Topic(id), .labels = {}, .unknown = {}});
  };
  for (size_t i = 0; i < Catalog::kPlacesMax; ++i) {
    const std::string id = "top" + std::to_string(i);
    ASSERT_TRUE(make(id).ok());
    catalog.DeleteTopic(*catalog.FindTopic(World::Topic(id)));
  }
  EXPECT_THAT(make("one-more"), HasCode(kExhausted));
  EXPECT_TRUE(make("top7").ok()) << "an old name still has its place";
}

// Else a crash could take back what a second caller was told.
TEST_F(AdminTest, WhoFindsItDoneHearsSoOnceItIsDurable) {
  world_.journal_waits = true;
  pubsub::CreateTopicRequest create;
  create.topic.name = World::Topic("top");
  const CallId made = world_.Start(Method::kCreateTopic, create), again = world_.Start(Method::kCreateTopic, create);
  EXPECT_FALSE(world_.Answered(made));
  EXPECT_FALSE(world_.Answered(again));
  world_.PersistAll();
  EXPECT_THAT(world_.Await(made).status, HasCode(kOk));
  EXPECT_THAT(world_.Await(again).status, HasCode(absl::StatusCode::kAlreadyExists));

  world_.Start(Method::kDeleteTopic, pubsub::NameRequest{World::Topic("top")});
  const CallId late = world_.Start(Method::kDeleteTopic, pubsub::NameRequest{World::Topic("top")});
  EXPECT_FALSE(world_.Answered(late));
  world_.PersistAll();
  EXPECT_THAT(world_.Await(late).status, HasCode(kNotFound));
}

}  // namespace
}  // namespace hopgap::broker
