// Subscriptions and topics changed while they are in use, and taken away.

#include "broker/resource_checks.h"
#include "broker/world_testing.h"
#include "pubsub/error_details.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

using pubsub::Method;

class UpdateTest : public ::testing::Test {
 protected:
  UpdateTest() { EXPECT_TRUE(world->CreateTopic("top").ok()); }

  static pubsub::UpdateSubscriptionRequest Request(pubsub::UpdateMask mask, pubsub::Subscription body = {}) {
    body.name = World::Sub("sub");
    return {std::move(body), std::move(mask)};
  }
  absl::Status Update(pubsub::UpdateMask mask, pubsub::Subscription body = {}) {
    return world->Do(Method::kUpdateSubscription, Request(std::move(mask), std::move(body)));
  }
  CallId StartSwitch(bool exactly_once) {
    pubsub::Subscription body;
    body.enable_exactly_once_delivery = exactly_once;
    return world->Start(Method::kUpdateSubscription, Request({"enable_exactly_once_delivery"}, body));
  }
  absl::Status Switch(bool exactly_once) { return world->Await(StartSwitch(exactly_once)).status; }
  pubsub::Subscription Get(const std::string& id = "sub") {
    const auto& answer = world->Await(world->Start(Method::kGetSubscription, pubsub::NameRequest{World::Sub(id)}));
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    return *pubsub::DecodeSubscription(answer.payload);
  }
  std::string Shown() { return pubsub::Encode(Get()); }
  absl::Status Detach(const std::string& id = "sub") {
    return world->Do(Method::kDetachSubscription, pubsub::NameRequest{World::Sub(id)});
  }
  std::map<std::string, std::string> Codes(CallId call) {
    return pubsub::DecodeErrorMetadata(world->Await(call).details);
  }
  void CrashAfter(const std::vector<pubsub::Bytes>& journal, size_t count) {
    world = AfterCrash(*world, journal, count);
  }

  std::unique_ptr<World> world = std::make_unique<World>();
};

TEST_F(UpdateTest, C21_OnlyWhatTheMaskNamesChanges) {
  pubsub::Subscription made;
  made.filter = "attributes:f";
  made.labels = {{"a", "1"}};
  ASSERT_TRUE(world->Create("sub", "top", made).ok());
  const std::string before = Shown();
  pubsub::Subscription body;
  body.filter = "attributes:g";
  body.labels = {{"b", "2"}};
  EXPECT_THAT(Update({"filter"}, body), HasCode(kInvalid));
  EXPECT_THAT(Update({"filter"}, body), SaysText("the 'filter' field in the Subscription is not mutable."));
  EXPECT_THAT(Update({"filter"}, made), HasCode(kInvalid)) << "not even to the same value";
  EXPECT_THAT(Update({}, body), SaysText("must be set, and must contain a non-empty paths list."));
  EXPECT_THAT(Update({"labels", "filter"}, body), HasCode(kInvalid));
  EXPECT_EQ(Shown(), before) << "all or nothing";
  EXPECT_TRUE(Update({"labels"}, body).ok());
  EXPECT_EQ(Get().filter, "attributes:f");
  EXPECT_THAT(Get().labels, ElementsAre(Pair("b", "2")));
}

TEST_F(UpdateTest, C22_PathsAreInSnakeCaseAndOfMutableFields) {
  pubsub::Subscription made;
  made.retry_policy = pubsub::RetryPolicy{10s, 20s};
  ASSERT_TRUE(world->Create("sub", "top", made).ok());
  pubsub::Subscription body;
  body.ack_deadline_seconds = 30;
  body.labels = {{"a", "1"}};
  for (const char* path : {"ackDeadlineSeconds", "no_such_field", "topic"}) {
    EXPECT_THAT(Update({path}, body), HasCode(kInvalid)) << path;
  }
  EXPECT_TRUE(Update({"ack_deadline_seconds"}, body).ok());
  EXPECT_EQ(Get().ack_deadline_seconds, 30);
  EXPECT_THAT(Get().labels, IsEmpty()) << "in the body, not in the mask";
  EXPECT_EQ(Get().retry_policy, made.retry_policy);
  EXPECT_TRUE(Update({"retry_policy"}).ok());
  EXPECT_EQ(Get().retry_policy, std::nullopt);
  EXPECT_TRUE(Update({"ack_deadline_seconds"}).ok());
  EXPECT_EQ(Get().ack_deadline_seconds, 10) << "its default";
}

TEST_F(UpdateTest, TheMaskIsCheckedBeforeTheSubscriptionIsLookedUp) {
  EXPECT_THAT(Update({"topic"}), HasCode(kInvalid));
  EXPECT_THAT(Update({"labels"}), HasCode(kNotFound));
  pubsub::UpdateSubscriptionRequest bad{{}, {"labels"}};
  bad.subscription.name = "sub";
  EXPECT_THAT(world->Do(Method::kUpdateSubscription, bad), SaysText("Invalid resource name given"));
  pubsub::UpdateTopicRequest topic{{.name = World::Topic("none"), .labels = {}, .unknown = {}}, {"name"}};
  EXPECT_THAT(world->Do(Method::kUpdateTopic, topic), HasCode(kInvalid));
  topic.update_mask = {"labels"};
  EXPECT_THAT(world->Do(Method::kUpdateTopic, topic), HasCode(kNotFound));
}

TEST_F(UpdateTest, AnUpdateIsCheckedLikeACreateAndAnsweredWhenItIsDurable) {
  ASSERT_TRUE(world->CreateSubscription("sub", "top", false).ok());
  const std::string before = Shown();
  pubsub::Subscription body;
  body.ack_deadline_seconds = 601;
  EXPECT_THAT(Update({"ack_deadline_seconds"}, body), HasCode(kInvalid));
  body.labels = {{"Upper", ""}};
  EXPECT_THAT(Update({"labels"}, body), HasCode(kInvalid));
  body.dead_letter_policy = pubsub::DeadLetterPolicy{World::Topic("none"), 5};
  EXPECT_THAT(Update({"dead_letter_policy"}, body), HasCode(kNotFound));
  body.dead_letter_policy = pubsub::DeadLetterPolicy{World::Topic("top"), 4};
  EXPECT_THAT(Update({"dead_letter_policy"}, body), HasCode(kInvalid));
  EXPECT_EQ(Shown(), before);

  world->journal_waits = true;
  body.labels = {{"a", "1"}};
  const CallId call = world->Start(Method::kUpdateSubscription, Request({"labels"}, body));
  EXPECT_FALSE(world->Answered(call));
  world->PersistAll();
  EXPECT_THAT(pubsub::DecodeSubscription(world->Await(call).payload)->labels, ElementsAre(Pair("a", "1")));
}

TEST_F(UpdateTest, ATopicsLabelsChange) {
  pubsub::UpdateTopicRequest request{{.name = World::Topic("top"), .labels = {{"a", "1"}}, .unknown = {}}, {"labels"}};
  const auto& answer = world->Await(world->Start(Method::kUpdateTopic, request));
  ASSERT_TRUE(answer.status.ok()) << answer.status;
  EXPECT_THAT(pubsub::DecodeTopic(answer.payload)->labels, ElementsAre(Pair("a", "1")));
  request.topic.labels = {{"A", "1"}};
  EXPECT_THAT(world->Do(Method::kUpdateTopic, request), HasCode(kInvalid));
  CrashAfter(world->records, world->records.size());
  const auto& got = world->Await(world->Start(Method::kGetTopic, pubsub::NameRequest{World::Topic("top")}));
  EXPECT_THAT(pubsub::DecodeTopic(got.payload)->labels, ElementsAre(Pair("a", "1")));
}

TEST_F(UpdateTest, AnOpenStreamsLeasesFollowAChangedDeadlineOfPulls) {
  ASSERT_TRUE(world->CreateSubscription("sub", "top", false, 10).ok());
  pubsub::Subscription body;
  body.ack_deadline_seconds = 60;
  ASSERT_TRUE(Update({"ack_deadline_seconds"}, body).ok());
  world->Publish("top", {"m"});
  ASSERT_THAT(world->Pull("sub"), SizeIs(1));
  world->Advance(60s - 1ns);
  EXPECT_THAT(world->Pull("sub"), IsEmpty());
  world->Advance(1ns);
  EXPECT_THAT(world->Pull("sub"), SizeIs(1));
}

TEST_F(UpdateTest, C06_AnOpenStreamIsToldThatExactlyOnceCame) {
  pubsub::Subscription made;
  made.enable_message_ordering = true;
  ASSERT_TRUE(world->Create("sub", "top", made).ok());
  const StreamId id = world->Open("sub");
  const auto& log = world->Log(id);
  ASSERT_THAT(log.responses, SizeIs(1));
  EXPECT_FALSE(log.responses[0].properties.exactly_once_delivery_enabled);
  EXPECT_TRUE(log.responses[0].properties.message_ordering_enabled);
  world->Publish("top", {"m1"});
  ASSERT_THAT(DataOf(log.Messages()), ElementsAre("m1"));
  pubsub::StreamingPullRequest ack;
  ack.ack_ids = AckIdsOf(log.Messages());
  world->Send(id, ack);
  EXPECT_THAT(log.responses, SizeIs(2)) << "no confirmation before the switch";

  ASSERT_TRUE(Switch(true).ok());
  ASSERT_THAT(log.responses, SizeIs(3)) << "told at once, without any message";
  EXPECT_TRUE(log.responses[2].properties.exactly_once_delivery_enabled);
  EXPECT_TRUE(log.responses[2].properties.message_ordering_enabled);
  world->Publish("top", {"m2"});
  ASSERT_THAT(DataOf(log.Messages()), ElementsAre("m1", "m2"));
  ack.ack_ids = {log.Messages()[1].ack_id};
  world->Send(id, ack);
  EXPECT_EQ(log.responses.back().acknowledge_confirmation.ack_ids, ack.ack_ids);
  EXPECT_FALSE(log.closed) << "the same stream all along";

  ASSERT_TRUE(Switch(false).ok());
  EXPECT_FALSE(log.responses.back().properties.exactly_once_delivery_enabled);
}

// Ids from before the switch go on until their leases end, and are good for
// nothing afterwards.
TEST_F(UpdateTest, LeasesThatAreOutSurviveTheSwitchToExactlyOnce) {
  ASSERT_TRUE(world->CreateSubscription("sub", "top", false, 10).ok());
  world->Publish("top", {"a", "b", "c"});
  const auto out = world->Pull("sub");
  ASSERT_THAT(out, SizeIs(3));
  ASSERT_TRUE(Switch(true).ok());
  EXPECT_TRUE(world->Ack("sub", {out[0].ack_id}).ok());
  EXPECT_TRUE(world->Ack("sub", {out[0].ack_id}).ok()) << "a repeat is no error under exactly-once either";
  EXPECT_TRUE(world->Modify("sub", {out[1].ack_id}, 30).ok());
  world->Advance(10s);
  const auto again = world->Pull("sub");
  ASSERT_THAT(DataOf(again), ElementsAre("c")) << "b was extended";
  const CallId late = world->StartAck("sub", {out[2].ack_id});
  EXPECT_THAT(world->Await(late).status, HasCode(kInvalid));
  EXPECT_THAT(Codes(late), ElementsAre(Pair(out[2].ack_id, std::string(pubsub::kPermanentInvalidAckId))));
  EXPECT_TRUE(world->Ack("sub", {again[0].ack_id, out[1].ack_id}).ok());
  world->Advance(1h);
  EXPECT_THAT(world->Pull("sub"), IsEmpty());
}

TEST_F(UpdateTest, NothingIsSentBetweenTheSwitchAndItsCommit) {
  ASSERT_TRUE(world->CreateSubscription("sub", "top", false, 10).ok());
  world->Publish("top", {"new", "old"});
  const auto out = world->Pull("sub", 2);
  ASSERT_TRUE(world->Modify("sub", {out[0].ack_id, out[1].ack_id}, 0).ok());  // both are ready again
  world->Publish("top", {"later"});
  world->journal_waits = true;
  const CallId call = StartSwitch(true);
  const CallId pull = world->StartPull("sub", 10);
  EXPECT_FALSE(world->Answered(pull));
  EXPECT_FALSE(world->Answered(call));
  world->PersistAll();
  EXPECT_TRUE(world->Answered(call));
  std::vector<std::string> got;
  for (const auto& message : world->Received(pull)) got.emplace_back(message.message.data());
  world->journal_waits = false;
  for (const auto& message : world->Pull("sub")) got.emplace_back(message.message.data());
  std::sort(got.begin(), got.end());
  EXPECT_THAT(got, ElementsAre("later", "new", "old")) << "each once";
}

// Whatever record a crash cuts the switch at: an id that was given out before it
// never acks a later delivery of exactly-once.
TEST_F(UpdateTest, ACrashDuringTheSwitchLeavesNoIdThatIsGivenTwice) {
  ASSERT_TRUE(world->CreateSubscription("sub", "top", false, 10).ok());
  world->Publish("top", {"m"});
  std::vector<std::string> ids;
  for (int delivery = 0; delivery < 3; ++delivery) {
    const auto out = world->Pull("sub");
    ASSERT_THAT(out, SizeIs(1));
    ids.push_back(out[0].ack_id);
    if (delivery == 2) break;
    ASSERT_TRUE(world->Modify("sub", {ids.back()}, 0).ok());
  }
  const size_t before = world->records.size();
  ASSERT_TRUE(world->Modify("sub", {ids.back()}, 600).ok());
  ASSERT_TRUE(Switch(true).ok());
  ASSERT_THAT(world->Records<LeaseCeilingRaised>(), SizeIs(1)) << "a lease is out that is longer than L";
  const std::vector<pubsub::Bytes> journal = world->records;
  for (size_t cut = before; cut <= journal.size(); ++cut) {
    SCOPED_TRACE(cut);
    CrashAfter(journal, cut);
    const bool on = Get().enable_exactly_once_delivery;
    EXPECT_EQ(on, cut == journal.size()) << "the switch is the last record";
    if (!on) continue;
    EXPECT_THAT(world->Pull("sub"), IsEmpty()) << "whoever had it has it still";
    world->Advance(600s - 1s);
    EXPECT_THAT(world->Pull("sub"), IsEmpty());
    world->Advance(1s);
    const auto again = world->Pull("sub");
    ASSERT_THAT(again, SizeIs(1));
    for (const std::string& id : ids) EXPECT_THAT(world->Ack("sub", {id}), HasCode(kInvalid));
    EXPECT_TRUE(world->Ack("sub", {again[0].ack_id}).ok());
  }
}

TEST_F(UpdateTest, SwitchedOffItStaysExactUntilTheJournalKnows) {
  ASSERT_TRUE(world->CreateSubscription("sub", "top", true, 10).ok());
  world->Publish("top", {"a", "b"});
  const auto out = world->Pull("sub");
  ASSERT_THAT(out, SizeIs(2));
  world->journal_waits = true;
  const CallId off = StartSwitch(false);
  EXPECT_FALSE(Get().enable_exactly_once_delivery) << "what was asked for";
  EXPECT_TRUE(world->Answered(world->StartModify("sub", {out[0].ack_id}, 0)));
  const CallId pull = world->StartPull("sub", 10, /*immediately=*/true);
  EXPECT_FALSE(world->Answered(pull)) << "a redelivery's generation has to be durable first";
  const CallId late = world->StartAck("sub", {"not-an-id"});
  EXPECT_THAT(world->Await(late).status, HasCode(kInvalid));
  world->PersistAll();
  world->journal_waits = false;
  EXPECT_TRUE(world->Answered(off));
  EXPECT_THAT(DataOf(world->Received(pull)), ElementsAre("a"));
  EXPECT_TRUE(world->Ack("sub", {out[0].ack_id}).ok()) << "late ids are ignored now";
  EXPECT_TRUE(world->Ack("sub", {out[1].ack_id}).ok());
  world->Advance(1h);
  EXPECT_THAT(DataOf(world->Pull("sub")), ElementsAre("a"));
}

TEST_F(UpdateTest, SwitchesThatOvertakeEachOtherEndWhereTheLastOneSays) {
  ASSERT_TRUE(world->CreateSubscription("sub", "top", true, 10).ok());
  world->Publish("top", {"a", "b"});
  ASSERT_THAT(world->Pull("sub", 1), SizeIs(1));
  const StreamId id = world->Open("sub");
  world->journal_waits = true;
  for (bool on : {false, true, false, true, false}) StartSwitch(on);
  while (!world->waiting_tokens.empty()) world->PersistOne();
  EXPECT_FALSE(Get().enable_exactly_once_delivery);
  EXPECT_FALSE(world->Log(id).responses.back().properties.exactly_once_delivery_enabled);
  for (bool on : {true, false, true}) StartSwitch(on);
  while (!world->waiting_tokens.empty()) world->PersistOne();
  EXPECT_TRUE(Get().enable_exactly_once_delivery);
  EXPECT_TRUE(world->Log(id).responses.back().properties.exactly_once_delivery_enabled);
  world->journal_waits = false;
  world->Advance(1h);
  CrashAfter(world->records, world->records.size());
  EXPECT_TRUE(Get().enable_exactly_once_delivery);
}

TEST_F(UpdateTest, C36_ADetachedSubscriptionGetsNothingAnyMore) {
  ASSERT_TRUE(world->CreateSubscription("sub", "top", true).ok());
  ASSERT_TRUE(world->CreateSubscription("other", "top", false).ok());
  world->Publish("top", {"a", "b", "c"});
  const auto out = world->Pull("sub", 1);
  ASSERT_THAT(out, SizeIs(1));
  world->writes_wait = true;
  const StreamId stream = world->Open("sub");  // its first response is on its way
  world->writes_wait = false;
  const StreamId idle = world->Open("sub");
  ASSERT_TRUE(Detach().ok());
  EXPECT_TRUE(Detach().ok()) << "again is no error";
  for (StreamId id : {stream, idle}) {
    if (world->Log(id).write_in_flight) world->WriteDone(id);
    ASSERT_TRUE(world->Log(id).closed);
    EXPECT_THAT(*world->Log(id).closed, HasCode(kPrecondition));
  }
  const auto check = [&] {
    EXPECT_TRUE(Get().detached);
    EXPECT_EQ(Get().topic, World::Topic("top"));
    EXPECT_THAT(world->Do(Method::kPull, pubsub::PullRequest{World::Sub("sub"), true, 1}), HasCode(kPrecondition));
    const StreamId again = world->Open("sub");
    ASSERT_TRUE(world->Log(again).closed);
    EXPECT_THAT(*world->Log(again).closed, SaysText("Subscription is detached."));
    const auto& list =
        world->Await(world->Start(Method::kListTopicSubscriptions, pubsub::ListRequest{World::Topic("top"), 0, ""}));
    EXPECT_EQ(list.payload, pubsub::EncodeNames({World::Sub("other")}, "").view());
    EXPECT_THAT(world->Ack("sub", {out[0].ack_id}), HasCode(kInvalid));
    world->Publish("top", {"d"});
  };
  check();
  pubsub::Subscription body;
  body.labels = {{"a", "1"}};
  EXPECT_TRUE(Update({"labels"}, body).ok()) << "it is still there to be looked at";
  CrashAfter(world->records, world->records.size());
  check();
  EXPECT_THAT(Get().labels, ElementsAre(Pair("a", "1")));
  EXPECT_TRUE(world->Do(Method::kDeleteTopic, pubsub::NameRequest{World::Topic("top")}).ok());
  EXPECT_EQ(Get().topic, "_deleted-topic_");
  EXPECT_THAT(world->Pull("other"), SizeIs(5));
  EXPECT_TRUE(world->Do(Method::kDeleteSubscription, pubsub::NameRequest{World::Sub("sub")}).ok());
  EXPECT_TRUE(world->Do(Method::kDeleteSubscription, pubsub::NameRequest{World::Sub("other")}).ok());
  CrashAfter(world->records, world->records.size());
  EXPECT_THAT(Detach(), HasCode(kNotFound));
}

// What is on its way to the journal when the subscription is detached.
TEST_F(UpdateTest, DetachingMeetsWhatWaitsForTheJournal) {
  ASSERT_TRUE(world->CreateSubscription("sub", "top", true, 10).ok());
  world->Publish("top", {"a", "b"});
  const auto out = world->Pull("sub", 2);
  world->journal_waits = true;
  const CallId ack = world->StartAck("sub", {out[0].ack_id});
  ASSERT_TRUE(world->Answered(world->StartModify("sub", {out[1].ack_id}, 0)));
  const CallId pull = world->StartPull("sub", 1);  // waits for a generation
  const CallId publish = world->StartPublish("top", {pubsub::Message::Make("c", {})});
  const CallId detach = world->Start(Method::kDetachSubscription, pubsub::NameRequest{World::Sub("sub")});
  EXPECT_THAT(world->Await(pull).status, HasCode(kPrecondition));
  EXPECT_FALSE(world->Answered(detach));
  while (!world->waiting_tokens.empty()) world->PersistOne();
  EXPECT_TRUE(world->Answered(ack));
  EXPECT_THAT(world->Ids(publish), SizeIs(1));
  EXPECT_TRUE(world->Await(detach).status.ok());
  const auto journal = world->records;
  for (size_t cut = 0; cut <= journal.size(); ++cut) CrashAfter(journal, cut);
}

TEST_F(UpdateTest, OnlyDetachDetaches) {
  pubsub::Subscription value;
  value.detached = true;
  EXPECT_THAT(world->Create("sub", "top", value), HasCode(kInvalid));
  EXPECT_THAT(Detach("none"), HasCode(kNotFound));
}

struct Bound {
  const char* name;
  std::function<void(pubsub::Subscription&)> set;
  const char* want;  // null: good
};

void CheckBounds(std::initializer_list<Bound> bounds) {
  for (const Bound& bound : bounds) {
    SCOPED_TRACE(bound.name);
    pubsub::Subscription value;
    bound.set(value);
    const absl::Status status = CheckSubscription(value);
    EXPECT_THAT(status, HasCode(bound.want ? kInvalid : kOk));
    if (bound.want) {
      EXPECT_EQ(status.message(), bound.want);
    }
  }
}

TEST(ResourceChecksTest, C34_RetentionAndExpirationHaveBounds) {
  const auto retention = [](Duration length) {
    return [length](pubsub::Subscription& value) { value.message_retention_duration = length; };
  };
  const auto ttl = [](std::optional<Duration> length, std::optional<Duration> kept = {}) {
    return [length, kept](pubsub::Subscription& value) {
      value.expiration_policy = pubsub::ExpirationPolicy{length};
      value.message_retention_duration = kept;
    };
  };
  CheckBounds({
      {"599 s", retention(599s),
       "The value for message retention duration is out of bounds. You passed 9m59s in the request, but the value must "
       "be between 10m and 744h."},
      {"600 s", retention(600s), nullptr},
      {"a nanosecond less", retention(600s - 1ns),
       "The value for message retention duration is out of bounds. You passed 9m59.999999999s in the request, but the "
       "value must be between 10m and 744h."},
      {"31 d", retention(24h * 31), nullptr},
      {"31 d and a second", retention(24h * 31 + 1s),
       "The value for message retention duration is out of bounds. You passed 744h1s in the request, but the value "
       "must be between 10m and 744h."},
      {"negative", retention(-1500ms),
       "The value for message retention duration is out of bounds. You passed -1.5s in the request, but the value must "
       "be between 10m and 744h."},
      {"ttl 1 h", ttl(1h),
       "The value for expiration duration is too small. You passed 1h in the request, but the minimum value is 24h."},
      {"ttl 24 h", ttl(24h), nullptr},
      {"never", ttl(std::nullopt, 24h * 31), nullptr},
      {"ttl below the retention", ttl(24h, 25h),
       "The value for expiration duration is too small. You passed 24h in the request, but the minimum value is 25h."},
  });
  pubsub::Topic topic;
  topic.message_retention_duration = 599s;
  EXPECT_THAT(CheckTopic(topic), SaysText("You passed 9m59s"));
  topic.message_retention_duration = 600s;
  EXPECT_TRUE(CheckTopic(topic).ok());
}

TEST(ResourceChecksTest, C18_DeadLetterAttemptsHaveBoundsAndADefault) {
  const auto attempts = [](int32_t number, const char* topic = "projects/p/topics/d") {
    return [number, topic](pubsub::Subscription& value) {
      value.dead_letter_policy = pubsub::DeadLetterPolicy{topic, number};
    };
  };
  CheckBounds({
      {"4", attempts(4),
       "The value for max_delivery_attempts is too small. You passed 4 in the request, but the minimum value is 5."},
      {"-1", attempts(-1),
       "The value for max_delivery_attempts is too small. You passed -1 in the request, but the minimum value is 5."},
      {"5", attempts(5), nullptr},
      {"100", attempts(100), nullptr},
      {"101", attempts(101),
       "The value for max_delivery_attempts is too large. You passed 101 in the request, but the maximum value is "
       "100."},
      {"0", attempts(0), nullptr},
      {"no topic", attempts(5, ""), "dead_letter_policy.dead_letter_topic must be set, and name a topic."},
  });
  pubsub::Subscription value;
  value.dead_letter_policy = pubsub::DeadLetterPolicy{"projects/p/topics/d", 0};
  ASSERT_TRUE(CheckSubscription(value).ok());
  EXPECT_EQ(value.dead_letter_policy->max_delivery_attempts, 5);
}

TEST_F(UpdateTest, C18_AMissingDeadLetterTopicLeavesNoSubscriptionBehind) {
  pubsub::Subscription value;
  value.dead_letter_policy = pubsub::DeadLetterPolicy{World::Topic("none"), 5};
  EXPECT_THAT(world->Create("sub", "top", value), HasCode(kNotFound));
  EXPECT_THAT(Detach(), HasCode(kNotFound));
}

TEST(ResourceChecksTest, BackoffHasBounds) {
  const auto retry = [](Duration minimum, Duration maximum) {
    return [=](pubsub::Subscription& value) { value.retry_policy = pubsub::RetryPolicy{minimum, maximum}; };
  };
  CheckBounds({
      {"0 to 0", retry(0s, 0s), nullptr},
      {"0 to 600", retry(0s, 600s), nullptr},
      {"601", retry(601s, 601s),
       "The value for minimum backoff is out of bounds. You passed 10m1s in the request, but the value must be between "
       "0s and 10m."},
      {"above", retry(0s, 600s + 1ns),
       "The value for maximum backoff is out of bounds. You passed 10m0.000000001s in the request, but the value must "
       "be between 0s and 10m."},
      {"negative", retry(-1s, 600s),
       "The value for minimum backoff is out of bounds. You passed -1s in the request, but the value must be between "
       "0s "
       "and 10m."},
      {"crossed", retry(50s, 20s),
       "The value for maximum backoff is too small. You passed 20s in the request, but the minimum value is 50s."},
  });
}

}  // namespace
}  // namespace hopgap::broker
