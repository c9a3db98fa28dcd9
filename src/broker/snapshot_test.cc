// Snapshots and filters: which messages a subscription and a snapshot have, and
// that the journal says so too. Ten thousand subscriptions in one broker.

#include <chrono>
#include <functional>

#include "broker/catalog.h"
#include "broker/snapshot.h"
#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

using pubsub::Method;

std::string Snap(const std::string& id) { return "projects/p/snapshots/" + id; }

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() {
    EXPECT_TRUE(world->CreateTopic("top").ok());
    EXPECT_TRUE(world->CreateSubscription("sub", "top", true).ok());
  }
  absl::Status Create(const std::string& id, const std::string& sub = "sub", pubsub::Labels labels = {}) {
    return world->Do(Method::kCreateSnapshot, pubsub::CreateSnapshotRequest{Snap(id), World::Sub(sub), labels});
  }
  absl::StatusOr<pubsub::Snapshot> Get(const std::string& id) {
    const auto& answer = world->Await(world->Start(Method::kGetSnapshot, pubsub::NameRequest{Snap(id)}));
    if (!answer.status.ok()) return answer.status;
    return pubsub::DecodeSnapshot(answer.payload);
  }
  absl::Status Delete(const std::string& id) {
    return world->Do(Method::kDeleteSnapshot, pubsub::NameRequest{Snap(id)});
  }
  std::vector<std::string> List(Method method, const std::string& parent) {
    const auto& answer = world->Await(world->Start(method, pubsub::ListRequest{parent, 0, ""}));
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    std::vector<std::string> names;
    pubsub::WireReader reader(answer.payload);
    while (reader.Next()) {
      const std::string item(reader.field().bytes);
      names.push_back(method == Method::kListSnapshots ? pubsub::DecodeSnapshot(item)->name : item);
    }
    return names;
  }
  void CrashAfter(const std::vector<pubsub::Bytes>& journal, size_t count) {
    world = AfterCrash(*world, journal, count);
  }
  std::unique_ptr<World> world = std::make_unique<World>();
};

TEST_F(SnapshotTest, ItSaysWhatWasUnackedAtThatMoment) {
  world->Publish("top", {"0", "1", "2", "3", "4"});
  const auto out = world->Pull("sub");
  ASSERT_TRUE(world->Ack("sub", {out[1].ack_id, out[3].ack_id}).ok());
  ASSERT_TRUE(Create("one", "sub", {{"a", "1"}}).ok());
  const auto records = world->Records<SnapshotCreated>();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].next, 5u);
  EXPECT_THAT(records[0].unacked, ElementsAre(SequenceRange{0, 1}, SequenceRange{2, 3}, SequenceRange{4, 5}));
  const auto shown = Get("one");
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(shown->topic, World::Topic("top"));
  EXPECT_THAT(shown->labels, ElementsAre(Pair("a", "1")));
  const WallTime published = *out[0].message.publish_time();
  EXPECT_EQ(shown->expire_time, published + 24h * 7) << "counted from its oldest unacked message";

  pubsub::Topic value;
  value.name = World::Topic("top");
  Retained retained;
  Topic topic(1, value, retained);
  const Snapshot snapshot{2, {}, topic, 5, records[0].unacked};
  std::vector<Sequence> wanted;
  for (Sequence sequence = 0; sequence < 7; ++sequence) {
    if (snapshot.Wants(sequence)) wanted.push_back(sequence);
  }
  EXPECT_THAT(wanted, ElementsAre(0, 2, 4, 5, 6)) << "what came later is unacked";
}

// An ack on its way to the journal comes before the snapshot there.
TEST_F(SnapshotTest, AnAckThatIsOnItsWayCountsAsDone) {
  world->Publish("top", {"0", "1"});
  const auto out = world->Pull("sub");
  world->journal_waits = true;
  const CallId ack = world->StartAck("sub", {out[0].ack_id});
  const CallId create =
      world->Start(Method::kCreateSnapshot, pubsub::CreateSnapshotRequest{Snap("one"), World::Sub("sub"), {}});
  EXPECT_FALSE(world->Answered(ack) || world->Answered(create));
  world->PersistAll();
  EXPECT_TRUE(world->Await(create).status.ok());
  EXPECT_THAT(world->Records<SnapshotCreated>().at(0).unacked, ElementsAre(SequenceRange{1, 2}));
  const auto journal = world->records;
  for (size_t count = 0; count <= journal.size(); ++count) CrashAfter(journal, count);
  EXPECT_TRUE(Get("one").ok());
}

TEST_F(SnapshotTest, NamesAndLists) {
  ASSERT_TRUE(world->CreateTopic("two").ok());
  ASSERT_TRUE(world->CreateSubscription("sub2", "two", false).ok());
  EXPECT_TRUE(Create("bbb").ok());
  EXPECT_TRUE(Create("aaa", "sub2").ok());
  EXPECT_THAT(Create("bbb"), HasCode(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(Create("b"), HasCode(kInvalid));
  EXPECT_THAT(Create("ccc", "none"), HasCode(kNotFound));
  EXPECT_THAT(Create("ccc", "sub", {{"A", ""}}), HasCode(kInvalid));
  EXPECT_THAT(Get("none").status(), SaysText("Resource not found (resource=none)."));
  EXPECT_THAT(List(Method::kListSnapshots, "projects/p"), ElementsAre(Snap("aaa"), Snap("bbb")));
  EXPECT_THAT(List(Method::kListTopicSnapshots, World::Topic("two")), ElementsAre(Snap("aaa")));
  EXPECT_TRUE(Delete("aaa").ok());
  EXPECT_THAT(Delete("aaa"), HasCode(kNotFound));
  EXPECT_THAT(List(Method::kListTopicSnapshots, World::Topic("two")), IsEmpty());
  ASSERT_TRUE(world->Do(Method::kDeleteTopic, pubsub::NameRequest{World::Topic("two")}).ok());
  EXPECT_THAT(Create("ccc", "sub2"), HasCode(kPrecondition)) << "its topic is deleted";
  ASSERT_TRUE(world->Do(Method::kDetachSubscription, pubsub::NameRequest{World::Sub("sub")}).ok());
  EXPECT_THAT(Create("ccc"), HasCode(kPrecondition)) << "it is detached";
}

TEST_F(SnapshotTest, LabelsAndExpiryChange) {
  ASSERT_TRUE(Create("one", "sub", {{"a", "1"}}).ok());
  const WallTime made = *Get("one")->expire_time - 24h * 7;
  pubsub::UpdateSnapshotRequest request;
  request.snapshot.name = Snap("one");
  request.snapshot.labels = {{"b", "2"}};
  request.update_mask = {"labels"};
  EXPECT_TRUE(world->Do(Method::kUpdateSnapshot, request).ok());
  EXPECT_THAT(Get("one")->labels, ElementsAre(Pair("b", "2")));
  EXPECT_EQ(Get("one")->expire_time, made + 24h * 7);
  request.update_mask = {"expire_time"};
  EXPECT_THAT(world->Do(Method::kUpdateSnapshot, request), SaysText("expire_time must be set"));
  for (const auto& [at, good] : std::vector<std::pair<WallTime, bool>>{{made, false},
                                                                       {made + 1ns, true},
                                                                       {made + 24h * 7, true},
                                                                       {made + 24h * 7 + 1ns, false},
                                                                       {WallTime::max(), false},
                                                                       {WallTime::min(), false}}) {
    request.snapshot.expire_time = at;
    EXPECT_THAT(world->Do(Method::kUpdateSnapshot, request), HasCode(good ? kOk : kInvalid));
  }
  request.update_mask = {"topic"};
  EXPECT_THAT(world->Do(Method::kUpdateSnapshot, request), SaysText("not mutable"));
  request.snapshot.name = Snap("none");
  request.update_mask = {"labels"};
  EXPECT_THAT(world->Do(Method::kUpdateSnapshot, request), HasCode(kNotFound));
}

TEST_F(SnapshotTest, ItExpiresAndLetsGoOfItsMessages) {
  world->Publish("top", {"0"});
  ASSERT_TRUE(world->Ack("sub", AckIdsOf(world->Pull("sub"))).ok());
  ASSERT_TRUE(Create("one").ok());
  ASSERT_TRUE(world->Do(Method::kDeleteSubscription, pubsub::NameRequest{World::Sub("sub")}).ok());
  ASSERT_TRUE(world->Do(Method::kDeleteTopic, pubsub::NameRequest{World::Topic("top")}).ok());
  EXPECT_EQ(Get("one")->topic, World::Topic("top")) << "kept after the topic is deleted";
  world->Advance(24h * 7 - 1ns);
  EXPECT_TRUE(Get("one").ok());
  world->Advance(1ns);
  EXPECT_THAT(Get("one").status(), HasCode(kNotFound));
  EXPECT_THAT(world->Records<SnapshotDeleted>(), SizeIs(1));
  const auto journal = world->records;
  CrashAfter(journal, journal.size());
  EXPECT_THAT(Get("one").status(), HasCode(kNotFound));
  EXPECT_EQ(world->broker.NextDeadline(), std::nullopt) << "nothing is left to expire";
}

TEST_F(SnapshotTest, ABacklogThatIsNearlyTooOldIsRefused) {
  world->Publish("top", {"0"});
  world->Advance(24h * 7 - 1h);
  EXPECT_TRUE(Create("one").ok());
  world->Advance(1ns);
  const absl::Status status = Create("two");
  EXPECT_THAT(status, HasCode(kPrecondition));
  EXPECT_THAT(status, SaysText("is 167h0.000000001s ago, and has to last for 1h"));
}

TEST(SnapshotLimitTest, ThereAreOnlySoMany) {
  Broker::Options options = World::Defaults();
  options.snapshots_max = 2;
  World world(options);
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateSubscription("sub", "top", false).ok());
  const auto create = [&](const char* id) {
    return world.Do(Method::kCreateSnapshot, pubsub::CreateSnapshotRequest{Snap(id), World::Sub("sub"), {}});
  };
  EXPECT_TRUE(create("aaa").ok());
  EXPECT_TRUE(create("bbb").ok());
  EXPECT_THAT(create("ccc"), HasCode(kExhausted));
  EXPECT_THAT(create("ccc"), SaysText("snapshots: the limit of 2 is reached."));
  EXPECT_TRUE(world.Do(Method::kDeleteSnapshot, pubsub::NameRequest{Snap("aaa")}).ok());
  EXPECT_TRUE(create("ccc").ok());
}

// A snapshot keeps what it calls unacked, and what comes later, for as long as
// it lives; the limit of retained bytes counts it.
TEST(SnapshotLimitTest, WhatItKeepsCountsAsRetained) {
  Broker::Options options = World::Defaults();
  options.retained_bytes_max = 10'000;
  World world(options);
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateSubscription("sub", "top", false).ok());
  const std::string body(4'000, 'x');
  world.Publish("top", {body});
  ASSERT_TRUE(
      world.Do(Method::kCreateSnapshot, pubsub::CreateSnapshotRequest{Snap("one"), World::Sub("sub"), {}}).ok());
  ASSERT_TRUE(world.Ack("sub", AckIdsOf(world.Pull("sub"))).ok());
  world.Publish("top", {body});
  ASSERT_TRUE(world.Ack("sub", AckIdsOf(world.Pull("sub"))).ok());
  const pubsub::PublishRequest third{World::Topic("top"), {pubsub::Message::Make(body, {})}, 0};
  EXPECT_THAT(world.Do(Method::kPublish, third), HasCode(kExhausted));
  ASSERT_TRUE(world.Do(Method::kDeleteSnapshot, pubsub::NameRequest{Snap("one")}).ok());
  EXPECT_TRUE(world.Do(Method::kPublish, third).ok());
  EXPECT_THAT(world.Pull("sub"), SizeIs(1));
}

class FilterDeliveryTest : public SnapshotTest {
 protected:
  absl::Status Filtered(const std::string& id, const std::string& filter, bool exactly_once = false) {
    pubsub::Subscription value;
    value.filter = filter;
    value.enable_exactly_once_delivery = exactly_once;
    return world->Create(id, "top", value);
  }
  void PublishLanguages() {
    std::vector<pubsub::Message> messages;
    for (const char* language : {"en", "de", "en", "fr"}) {
      messages.push_back(pubsub::Message::Make(language, {{"lang", language}}));
    }
    world->Ids(world->StartPublish("top", messages));
  }
};

TEST_F(FilterDeliveryTest, C19_WhatDoesNotMatchIsNeverInTheBacklog) {
  ASSERT_TRUE(Filtered("en1", "attributes.lang = \"en\"").ok());
  ASSERT_TRUE(Filtered("en2", "attributes.lang = \"en\"", true).ok());
  ASSERT_TRUE(Filtered("none", "attributes:nothing", true).ok());
  PublishLanguages();
  for (const char* id : {"en1", "en2"}) {
    const auto out = world->Pull(id);
    EXPECT_THAT(DataOf(out), ElementsAre("en", "en")) << id;
    EXPECT_TRUE(world->Ack(id, AckIdsOf(out)).ok());
  }
  EXPECT_THAT(world->Pull("none"), IsEmpty());
  EXPECT_THAT(DataOf(world->Pull("sub")), ElementsAre("en", "de", "en", "fr"));
  ASSERT_TRUE(
      world->Do(Method::kCreateSnapshot, pubsub::CreateSnapshotRequest{Snap("one"), World::Sub("none"), {}}).ok());
  EXPECT_THAT(world->Records<SnapshotCreated>().at(0).unacked, IsEmpty());
  const StreamId stream = world->Open("en2");
  PublishLanguages();
  EXPECT_THAT(DataOf(world->Log(stream).Messages()), ElementsAre("en", "en"));
  const auto journal = world->records;
  CrashAfter(journal, journal.size());
  EXPECT_THAT(DataOf(world->Pull("en1")), ElementsAre("en", "en"));
  EXPECT_THAT(world->Pull("none"), IsEmpty());
}

TEST_F(FilterDeliveryTest, C20_ABadFilterMakesNoSubscription) {
  EXPECT_THAT(Filtered("bad", "attributes.a = \"1\" AND attributes.b = \"2\" OR attributes.c = \"3\""),
              SaysText("Invalid filter: expected AND or parentheses"));
  EXPECT_THAT(Filtered("bad", std::string(257, '-')), HasCode(kInvalid));
  EXPECT_THAT(world->Do(Method::kGetSubscription, pubsub::NameRequest{World::Sub("bad")}), HasCode(kNotFound));
}

TEST_F(FilterDeliveryTest, AFilteredMessageDoesNotBlockItsKey) {
  pubsub::Subscription value;
  value.filter = "attributes:wanted";
  value.enable_message_ordering = true;
  ASSERT_TRUE(world->Create("ordered", "top", value).ok());
  const auto message = [](const char* data, bool wanted) {
    return pubsub::Message::Make(data,
                                 wanted ? std::vector<std::pair<std::string, std::string>>{{"wanted", ""}}
                                        : std::vector<std::pair<std::string, std::string>>{},
                                 "key");
  };
  world->Ids(
      world->StartPublish("top", {message("1", false), message("2", true), message("3", false), message("4", true)}));
  EXPECT_THAT(DataOf(world->Pull("ordered")), ElementsAre("2", "4"));
}

// Whatever record the journal is cut at, what is shown is what the records so
// far say: the same as was shown when the last of them had just been written.
TEST(ResourceReplayTest, EveryCutShowsWhatWasShownThen) {
  World world;
  struct Shown {
    size_t records;
    std::string text;
  };
  std::vector<Shown> history;
  const auto show = [](World& from) {
    std::string text;
    for (const auto& [method, parent] :
         std::vector<std::pair<Method, std::string>>{{Method::kListTopics, "projects/p"},
                                                     {Method::kListSubscriptions, "projects/p"},
                                                     {Method::kListSnapshots, "projects/p"},
                                                     {Method::kListTopicSubscriptions, World::Topic("top")},
                                                     {Method::kListTopicSnapshots, World::Topic("top")}}) {
      text += from.Await(from.Start(method, pubsub::ListRequest{parent, 0, ""})).payload + "\n";
    }
    return text;
  };
  const auto step = [&](absl::Status status) {
    EXPECT_TRUE(status.ok()) << status;
    history.push_back({world.records.size(), show(world)});
  };
  const auto name = [](const std::string& text) { return pubsub::NameRequest{text}; };
  const auto snapshot = [](const char* id, const char* sub) {
    return pubsub::CreateSnapshotRequest{Snap(id), World::Sub(sub), {{"k", "v"}}};
  };
  step(world.CreateTopic("top"));
  step(world.CreateSubscription("eos", "top", true));
  pubsub::Subscription value;
  value.filter = "attributes:a OR NOT attributes:b";
  value.enable_message_ordering = true;
  step(world.Create("std", "top", value));
  world.Publish("top", {"1", "2", "3"});
  step(world.Do(Method::kCreateSnapshot, snapshot("one", "eos")));
  pubsub::UpdateSubscriptionRequest update;
  update.subscription.name = World::Sub("std");
  update.subscription.labels = {{"a", "b"}};
  update.subscription.ack_deadline_seconds = 77;
  update.update_mask = {"labels", "ack_deadline_seconds"};
  step(world.Do(Method::kUpdateSubscription, update));
  step(world.Ack("eos", AckIdsOf(world.Pull("eos", 2))));
  step(world.Do(Method::kCreateSnapshot, snapshot("two", "eos")));
  pubsub::UpdateTopicRequest topic{{.name = World::Topic("top"), .labels = {{"x", "y"}}, .unknown = {}}, {"labels"}};
  step(world.Do(Method::kUpdateTopic, topic));
  pubsub::UpdateSnapshotRequest relabel;
  relabel.snapshot.name = Snap("two");
  relabel.update_mask = {"labels"};
  step(world.Do(Method::kUpdateSnapshot, relabel));
  step(world.Do(Method::kDetachSubscription, name(World::Sub("std"))));
  update.subscription.labels = {{"c", "d"}};
  update.update_mask = {"labels"};
  step(world.Do(Method::kUpdateSubscription, update));
  world.Publish("top", {"4"});
  step(world.Do(Method::kDeleteSnapshot, name(Snap("one"))));
  step(world.Do(Method::kDeleteSubscription, name(World::Sub("eos"))));
  step(world.Do(Method::kDeleteTopic, name(World::Topic("top"))));
  step(world.Do(Method::kDeleteSnapshot, name(Snap("two"))));
  step(world.Do(Method::kDeleteSubscription, name(World::Sub("std"))));

  const std::vector<pubsub::Bytes> journal = world.records;
  size_t compared = 0;
  for (size_t count = 0; count <= journal.size(); ++count) {
    World again;
    again.Replay(journal, count);
    const std::string text = show(again);
    for (const Shown& then : history) {
      if (then.records != count) continue;
      EXPECT_EQ(text, then.text) << "after " << count << " records";
      ++compared;
    }
  }
  EXPECT_GE(compared, history.size()) << "every step was reached";
}

// A snapshot in a journal names messages that were there.
TEST(ResourceReplayTest, ARecordThatDoesNotFitIsDataLoss) {
  pubsub::Topic topic;
  topic.name = World::Topic("top");
  pubsub::Subscription subscription;
  subscription.name = World::Sub("sub");
  subscription.filter = "attributes:a";
  pubsub::Snapshot snapshot;
  snapshot.name = Snap("one");
  const Record made = TopicCreated{.topic = 1, .value = topic};
  const Record subscribed = SubscriptionCreated{
      .subscription = 2, .topic = 1, .first = 0, .send_bound = 0, .lease_ceiling = 60s, .value = subscription};
  pubsub::Subscription bad_filter = subscription, other_filter = subscription, renamed = subscription;
  bad_filter.filter = "attributes";
  other_filter.filter = "attributes:b";
  renamed.name = World::Sub("two");
  pubsub::Topic other_topic;
  other_topic.name = World::Topic("two");
  const std::vector<Record> misfits = {
      TopicUpdated{.topic = 9, .value = topic},
      TopicUpdated{.topic = 1, .value = other_topic},
      SubscriptionUpdated{.subscription = 9, .value = subscription},
      SubscriptionUpdated{.subscription = 2, .value = renamed},
      SubscriptionUpdated{.subscription = 2, .value = other_filter},
      SubscriptionCreated{
          .subscription = 3, .topic = 1, .first = 0, .send_bound = 0, .lease_ceiling = 60s, .value = bad_filter},
      SubscriptionDetached{.subscription = 9, .as = 10},
      SubscriptionDetached{.subscription = 2, .as = 0},
      SubscriptionDetached{.subscription = 2, .as = 2},
      SnapshotCreated{.snapshot = 3, .topic = 9, .next = 0, .unacked = {}, .value = snapshot},
      SnapshotCreated{.snapshot = 3, .topic = 1, .next = 1, .unacked = {}, .value = snapshot},
      SnapshotCreated{.snapshot = 0, .topic = 1, .next = 0, .unacked = {}, .value = snapshot},
      SnapshotCreated{.snapshot = 3, .topic = 1, .next = 0, .unacked = {}, .value = {}},
      SnapshotUpdated{.snapshot = 3, .value = snapshot},
      SnapshotDeleted{.snapshot = 3},
  };
  for (const Record& misfit : misfits) {
    SCOPED_TRACE(misfit.index());
    KeepingSink sink;
    Broker broker(World::Defaults(), sink);
    const auto replay = [&](const Record& record) {
      return broker.Replay(pubsub::Bytes(pubsub::Join(EncodeRecord(record))));
    };
    ASSERT_TRUE(replay(made).ok());
    ASSERT_TRUE(replay(subscribed).ok());
    EXPECT_THAT(replay(misfit), HasCode(absl::StatusCode::kDataLoss));
  }
}

// What a publish costs depends on its own topic only. The counts are exact; the
// times are printed, not judged.
TEST(ManySubscriptionsTest, TenThousandInOneBroker) {
  constexpr int kMany = 10'000;
  World world;
  ASSERT_TRUE(world.CreateTopic("other").ok());
  ASSERT_TRUE(world.CreateTopic("top").ok());
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto start = now();
  for (int i = 0; i < kMany; ++i) {
    ASSERT_TRUE(world.CreateSubscription("sub" + std::to_string(i), i == 0 ? "top" : "other", i % 2 == 0).ok());
  }
  const auto made = now();
  constexpr int kPublishes = 1000;
  for (int i = 0; i < kPublishes; ++i) world.Publish("top", {"m"});
  const auto published = now();
  EXPECT_THAT(world.Pull("sub0"), SizeIs(1000));
  EXPECT_THAT(world.Pull("sub9999"), IsEmpty());
  world.Publish("other", {"to all"});
  const auto fanned = now();
  for (int i = 1; i < kMany; ++i) {
    ASSERT_THAT(DataOf(world.Pull("sub" + std::to_string(i))), ElementsAre("to all")) << i;
  }
  const auto microseconds = [](auto length) {
    return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(length).count() / 1000);
  };
  RecordProperty("create_us", microseconds((made - start) / kMany));
  RecordProperty("publish_us", microseconds((published - made) / kPublishes));
  RecordProperty("fan_out_us", microseconds((fanned - published) / kMany));
  std::printf("%d subscriptions: made in %s us each, a publish to a topic of one took %s us, to one of %d %s us each\n",
              kMany, microseconds((made - start) / kMany).c_str(),
              microseconds((published - made) / kPublishes).c_str(), kMany - 1,
              microseconds((fanned - published) / kMany).c_str());
}

}  // namespace
}  // namespace hopgap::broker
