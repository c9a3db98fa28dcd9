// Retention, expiration, seek.

#include <random>
#include <set>

#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr WallTime kWallStart{Duration{1'700'000'000'000'000'000}};

class SeekTest : public ::testing::Test {
 protected:
  SeekTest() { EXPECT_TRUE(world.CreateTopic("top").ok()); }
  static pubsub::Subscription Plain(bool exactly_once = false) {
    pubsub::Subscription value;
    value.ack_deadline_seconds = 10;
    value.enable_exactly_once_delivery = exactly_once;
    return value;
  }
  static WallTime Wall(const World& w) { return kWallStart + (w.now - kStart); }
  static CallId StartSeek(World& w, const std::string& sub, WallTime to) {
    return w.Start(pubsub::Method::kSeek, pubsub::SeekRequest{.subscription = World::Sub(sub), .target = to});
  }
  static absl::Status Seek(World& w, const std::string& sub, WallTime to) {
    return w.Await(StartSeek(w, sub, to)).status;
  }
  static absl::Status SeekTo(World& w, const std::string& sub, const std::string& snapshot) {
    return w.Do(pubsub::Method::kSeek,
                pubsub::SeekRequest{.subscription = World::Sub(sub), .target = "projects/p/snapshots/" + snapshot});
  }
  static absl::Status TakeSnapshot(World& w, const std::string& name, const std::string& sub) {
    return w.Do(pubsub::Method::kCreateSnapshot,
                pubsub::CreateSnapshotRequest{
                    .name = "projects/p/snapshots/" + name, .subscription = World::Sub(sub), .labels = {}});
  }
  void AckAll(World& w, const std::string& sub) {
    const auto messages = w.Pull(sub);
    if (!messages.empty()) {
      EXPECT_TRUE(w.Ack(sub, AckIdsOf(messages)).ok());
    }
  }
  static absl::Status CreateKeepingTopic(World& w, const std::string& id, Duration retention) {
    pubsub::Topic topic;
    topic.name = World::Topic(id);
    topic.message_retention_duration = retention;
    return w.Do(pubsub::Method::kCreateTopic, pubsub::CreateTopicRequest{.topic = topic});
  }
  World world;
};

TEST_F(SeekTest, C34_AnUnackedMessageGoesAfterTheRetention) {
  ASSERT_TRUE(world.CreateTopic("dead").ok());
  ASSERT_TRUE(world.CreateSubscription("graves", "dead", false).ok());
  auto value = Plain();
  value.message_retention_duration = 600s;
  value.dead_letter_policy = {.dead_letter_topic = World::Topic("dead"), .max_delivery_attempts = 5};
  ASSERT_TRUE(world.Create("sub", "top", value).ok());
  world.Publish("top", {"m"});
  world.AdvanceTo(kStart + 600s - 1ns);
  EXPECT_THAT(world.Pull("sub"), SizeIs(1));
  world.AdvanceTo(kStart + 601s);
  world.Advance(1h);
  EXPECT_THAT(world.Pull("sub"), IsEmpty());
  EXPECT_THAT(world.Pull("graves"), IsEmpty()) << "too old is not dead-lettered";
  World after;
  after.now = world.now;
  after.Replay(world.records, world.records.size());
  EXPECT_THAT(after.Pull("sub"), IsEmpty());
  World early;  // the same journal without the record, at a time when the clock says so
  early.now = world.now;
  early.Replay(world.records, world.records.size() - world.Records<RetentionPassed>().size());
  EXPECT_THAT(early.Pull("sub"), IsEmpty());
}

TEST_F(SeekTest, TheMemoryOfWhatIsTooOldIsGivenBack) {
  auto options = World::Defaults();
  options.retained_bytes_max = 100'000;
  World w(options);
  ASSERT_TRUE(w.CreateTopic("top").ok());
  auto value = Plain(true);
  value.message_retention_duration = 600s;
  value.retain_acked_messages = true;
  ASSERT_TRUE(w.Create("sub", "top", value).ok());
  for (int round = 0; round < 5; ++round) {
    SCOPED_TRACE(round);
    for (int i = 0; i < 9; ++i) w.Publish("top", {std::string(10'000, 'x')});
    EXPECT_THAT(w.Await(w.StartPublish("top", {pubsub::Message::Make(std::string(10'000, 'x'), {})})).status,
                HasCode(kExhausted));
    EXPECT_TRUE(w.Ack("sub", AckIdsOf(w.Pull("sub", 4))).ok());
    w.Advance(600s);
  }
  EXPECT_THAT(w.Pull("sub"), IsEmpty());
}

TEST_F(SeekTest, ALeaseThatIsOutWhenItsMessageGoesIsVoid) {
  auto value = Plain(true);
  value.message_retention_duration = 600s;
  value.ack_deadline_seconds = 600;
  ASSERT_TRUE(world.Create("sub", "top", value).ok());
  auto first = World::First("sub", 600);
  first.max_outstanding_messages = 1;
  const StreamId stream = world.Open(first);
  world.Publish("top", {"old"});
  world.Advance(300s);
  world.Publish("top", {"new"});
  const auto old = world.Log(stream).Messages();
  ASSERT_THAT(DataOf(old), ElementsAre("old"));
  EXPECT_TRUE(world.Modify("sub", AckIdsOf(old), 600).ok());
  world.Advance(301s);
  EXPECT_THAT(DataOf(world.Log(stream).Messages()), ElementsAre("old", "new")) << "its credit is free";
  EXPECT_THAT(world.Ack("sub", AckIdsOf(old)), SaysText("too old"));
}

// While the record of its next generation was on its way, seeks finished with a message and brought it back: the one
// after that counts, and nobody may have the message as the first one.
TEST_F(SeekTest, OfTwoGenerationsUnderWayTheNewestIsSent) {
  auto value = Plain(true);
  value.retain_acked_messages = true;
  ASSERT_TRUE(world.Create("sub", "top", value).ok());
  world.Publish("top", {"m"});
  EXPECT_TRUE(world.Modify("sub", AckIdsOf(world.Pull("sub")), 0).ok());
  world.journal_waits = true;
  const CallId pull = world.StartPull("sub", 1);
  ASSERT_THAT(world.Records<Redelivered>(), SizeIs(1)) << "the second generation, on its way";
  world.Advance(1s);
  StartSeek(world, "sub", Wall(world));
  StartSeek(world, "sub", kWallStart);
  ASSERT_THAT(world.Records<Redelivered>(), SizeIs(2)) << "and the third";
  for (int i = 0; i < 3; ++i) world.PersistOne();
  EXPECT_FALSE(world.Answered(pull)) << "the third is not on the disk yet";
  world.PersistAll();
  const auto sent = world.Received(pull);
  ASSERT_THAT(sent, SizeIs(1));

  const auto after = AfterCrash(world, world.records, world.records.size());
  EXPECT_TRUE(after->Ack("sub", AckIdsOf(sent)).ok()) << "it is held for who has it";
  EXPECT_THAT(after->Pull("sub"), IsEmpty());
}

TEST_F(SeekTest, C31_SeekToNowLosesNothingThatComesAfter) {
  ASSERT_TRUE(world.Create("sub", "top", Plain()).ok());
  for (int i = 0; i < 500; ++i) {
    const std::string number = std::to_string(i);
    world.Publish("top", {"before" + number});
    world.Advance(1ns);
    ASSERT_TRUE(Seek(world, "sub", Wall(world)).ok());
    if (i % 2 == 0) world.Advance(1ms);  // else at the very instant of the seek
    world.Publish("top", {"after" + number});
    const auto messages = world.Pull("sub");
    ASSERT_THAT(DataOf(messages), ElementsAre("after" + number));
    ASSERT_TRUE(world.Ack("sub", AckIdsOf(messages)).ok());
  }
}

TEST_F(SeekTest, C32_WhatIsRetainedComesAgainAndNothingElse) {
  for (const bool exactly_once : {false, true}) {
    for (const bool retain : {false, true}) {
      SCOPED_TRACE(retain);
      World w;
      ASSERT_TRUE(w.CreateTopic("top").ok());
      auto value = Plain(exactly_once);
      value.retain_acked_messages = retain;
      ASSERT_TRUE(w.Create("sub", "top", value).ok());
      const auto ids = w.Publish("top", {"1", "2", "3", "4", "5"});
      const auto old = w.Pull("sub");
      ASSERT_TRUE(w.Ack("sub", AckIdsOf(old)).ok());
      ASSERT_TRUE(Seek(w, "sub", kWallStart - 1h).ok());
      const auto again = w.Pull("sub");
      if (!retain) {
        EXPECT_THAT(again, IsEmpty());
        continue;
      }
      EXPECT_THAT(DataOf(again), ElementsAre("1", "2", "3", "4", "5"));
      EXPECT_EQ(again[0].message.message_id(), ids[0]);
      if (exactly_once) {
        EXPECT_THAT(w.Ack("sub", {old[0].ack_id}), HasCode(kInvalid)) << "an id from before the seek";
      }
      EXPECT_TRUE(w.Ack("sub", AckIdsOf(again)).ok());
      w.Advance(1h);
      EXPECT_THAT(w.Pull("sub"), IsEmpty());
    }
  }
}

TEST_F(SeekTest, ATopicKeepsMessagesForSubscriptionsThatCameLater) {
  ASSERT_TRUE(CreateKeepingTopic(world, "kept", 1h).ok());
  world.Publish("kept", {"1"});
  world.Advance(30min);
  world.Publish("kept", {"2"});
  ASSERT_TRUE(world.Create("late", "kept", Plain()).ok());
  EXPECT_THAT(world.Pull("late"), IsEmpty()) << "it has to ask";
  ASSERT_TRUE(Seek(world, "late", kWallStart).ok());
  const auto both = world.Pull("late");
  EXPECT_THAT(DataOf(both), ElementsAre("1", "2"));
  EXPECT_TRUE(world.Ack("late", AckIdsOf(both)).ok());
  world.AdvanceTo(kStart + 1h);
  ASSERT_TRUE(Seek(world, "late", kWallStart).ok());
  EXPECT_THAT(DataOf(world.Pull("late")), ElementsAre("2")) << "the topic let go of 1";
  World after;
  after.now = world.now;
  after.Replay(world.records, world.records.size());
  EXPECT_THAT(DataOf(after.Pull("late")), ElementsAre("2"));
}

TEST_F(SeekTest, AnUnackedMessageLivesAsLongAsItsTopicKeepsIt) {
  ASSERT_TRUE(CreateKeepingTopic(world, "kept", 2h).ok());
  auto value = Plain();
  value.message_retention_duration = 600s;
  ASSERT_TRUE(world.Create("sub", "kept", value).ok());
  world.Publish("kept", {"m"});
  world.AdvanceTo(kStart + 2h - 1s);
  EXPECT_THAT(world.Pull("sub"), SizeIs(1));
  world.AdvanceTo(kStart + 2h + 11s);
  EXPECT_THAT(world.Pull("sub"), IsEmpty());
}

TEST_F(SeekTest, APurgeVoidsLeasesAndFreesTheirCredit) {
  ASSERT_TRUE(world.Create("sub", "top", Plain(true)).ok());
  auto first = World::First("sub");
  first.max_outstanding_messages = 2;
  const StreamId stream = world.Open(first);
  world.Publish("top", {"1", "2", "3"});
  const auto out = world.Log(stream).Messages();
  ASSERT_THAT(out, SizeIs(2));
  world.Advance(1s);
  ASSERT_TRUE(Seek(world, "sub", Wall(world)).ok());
  EXPECT_THAT(world.Ack("sub", {out[0].ack_id}), HasCode(kInvalid));
  world.Publish("top", {"4", "5"});
  EXPECT_THAT(DataOf(world.Log(stream).Messages()), ElementsAre("1", "2", "4", "5"));
}

TEST_F(SeekTest, ALeaseOfWhatStaysUnackedGoesOn) {
  ASSERT_TRUE(world.Create("sub", "top", Plain(true)).ok());
  world.Publish("top", {"1"});
  world.Advance(1s);
  world.Publish("top", {"2"});
  const auto out = world.Pull("sub");
  ASSERT_THAT(out, SizeIs(2));
  ASSERT_TRUE(Seek(world, "sub", Wall(world)).ok());
  EXPECT_THAT(world.Ack("sub", {out[0].ack_id}), HasCode(kInvalid));
  EXPECT_TRUE(world.Ack("sub", {out[1].ack_id}).ok());
}

TEST_F(SeekTest, ASoughtKeyStartsAgainInOrder) {
  for (const bool exactly_once : {false, true}) {
    World w;
    ASSERT_TRUE(w.CreateTopic("top").ok());
    auto value = Plain(exactly_once);
    value.enable_message_ordering = true;
    value.retain_acked_messages = true;
    ASSERT_TRUE(w.Create("sub", "top", value).ok());
    w.PublishKeyed("top", "k", {"1", "2", "3", "4"});
    const auto out = w.Pull("sub", 3);
    ASSERT_TRUE(w.Ack("sub", {out[0].ack_id}).ok());
    ASSERT_TRUE(Seek(w, "sub", kWallStart).ok());
    EXPECT_THAT(DataOf(w.Pull("sub")), ElementsAre("1", "2", "3", "4")) << "2 and 3 were out";
  }
}

TEST_F(SeekTest, AttemptsOfWhatComesBackToLifeStartAgain) {
  ASSERT_TRUE(world.CreateTopic("dead").ok());
  auto value = Plain();
  value.retain_acked_messages = true;
  value.dead_letter_policy = {.dead_letter_topic = World::Topic("dead"), .max_delivery_attempts = 5};
  ASSERT_TRUE(world.Create("sub", "top", value).ok());
  world.Publish("top", {"m"});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(world.Modify("sub", AckIdsOf(world.Pull("sub")), 0).ok());
  const auto fourth = world.Pull("sub");
  EXPECT_EQ(fourth.at(0).delivery_attempt, 4);
  EXPECT_TRUE(world.Ack("sub", AckIdsOf(fourth)).ok());
  ASSERT_TRUE(Seek(world, "sub", kWallStart).ok());
  EXPECT_EQ(world.Pull("sub").at(0).delivery_attempt, 1);
}

TEST_F(SeekTest, AFilteredMessageIsNeverBroughtBack) {
  auto value = Plain();
  value.filter = "attributes:yes";
  value.retain_acked_messages = true;
  ASSERT_TRUE(CreateKeepingTopic(world, "kept", 1h).ok());
  ASSERT_TRUE(world.Create("sub", "kept", value).ok());
  world.StartPublish("kept", {pubsub::Message::Make("no", {}), pubsub::Message::Make("yes", {{"yes", ""}})});
  AckAll(world, "sub");
  ASSERT_TRUE(Seek(world, "sub", kWallStart).ok());
  EXPECT_THAT(DataOf(world.Pull("sub")), ElementsAre("yes"));
}

TEST_F(SeekTest, ASnapshotBringsBackWhatWasUnackedAndAllThatCameLater) {
  for (const bool exactly_once : {false, true}) {
    World w;
    ASSERT_TRUE(w.CreateTopic("top").ok());
    ASSERT_TRUE(w.CreateTopic("foreign").ok());
    ASSERT_TRUE(w.Create("sub", "top", Plain(exactly_once)).ok());
    ASSERT_TRUE(w.Create("other", "top", Plain(exactly_once)).ok());
    ASSERT_TRUE(w.Create("stranger", "foreign", Plain(exactly_once)).ok());
    w.Publish("top", {"1", "2", "3"});
    const auto out = w.Pull("sub", 2);
    ASSERT_TRUE(w.Ack("sub", {out[0].ack_id}).ok());
    ASSERT_TRUE(TakeSnapshot(w, "snap", "sub").ok());
    EXPECT_TRUE(w.Ack("sub", {out[1].ack_id}).ok());
    AckAll(w, "sub");
    AckAll(w, "other");
    w.Publish("top", {"4"});
    AckAll(w, "sub");
    AckAll(w, "other");
    EXPECT_THAT(SeekTo(w, "stranger", "snap"), HasCode(absl::StatusCode::kFailedPrecondition));
    EXPECT_THAT(SeekTo(w, "sub", "none"), HasCode(kNotFound));
    ASSERT_TRUE(SeekTo(w, "sub", "snap").ok());
    EXPECT_THAT(DataOf(w.Pull("sub")), ElementsAre("2", "3", "4"));
    ASSERT_TRUE(SeekTo(w, "other", "snap").ok());
    EXPECT_THAT(DataOf(w.Pull("other")), ElementsAre("2", "3", "4")) << "also where nobody took it";
    World after;
    after.Replay(w.records, w.records.size());
    after.Advance(60s);
    EXPECT_THAT(DataOf(after.Pull("sub")), UnorderedElementsAre("2", "3", "4"));
  }
}

TEST_F(SeekTest, ASeekNeedsATarget) {
  ASSERT_TRUE(world.Create("sub", "top", Plain()).ok());
  EXPECT_THAT(world.Do(pubsub::Method::kSeek, pubsub::SeekRequest{.subscription = World::Sub("sub"), .target = {}}),
              HasCode(kInvalid));
  EXPECT_THAT(Seek(world, "missing", kWallStart), HasCode(kNotFound));
}

TEST_F(SeekTest, AnAckOrAPublishOnItsWayToTheJournalWhenASeekComes) {
  for (const bool back : {false, true}) {
    SCOPED_TRACE(back);
    World w;
    ASSERT_TRUE(w.CreateTopic("top").ok());
    auto value = Plain(true);
    value.retain_acked_messages = true;
    ASSERT_TRUE(w.Create("sub", "top", value).ok());
    w.Publish("top", {"1"});
    const auto out = w.Pull("sub");
    w.journal_waits = true;
    const CallId ack = w.StartAck("sub", AckIdsOf(out)),
                 publish = w.StartPublish("top", {pubsub::Message::Make("2", {})});
    const CallId seek = StartSeek(w, "sub", back ? kWallStart : kWallStart + 1h);
    EXPECT_FALSE(w.Answered(seek));
    w.PersistAll();
    EXPECT_TRUE(w.Await(ack).status.ok());
    EXPECT_TRUE(w.Await(publish).status.ok());
    EXPECT_TRUE(w.Await(seek).status.ok());
    w.journal_waits = false;
    const auto now = w.Pull("sub");
    if (back) {
      EXPECT_THAT(DataOf(now), UnorderedElementsAre("1", "2"));
    } else {
      EXPECT_THAT(now, IsEmpty());
    }
  }
}

// Seeks back and forth between everything else; a journal cut anywhere rebuilds
// what a seek that was answered said, and no id is given twice.
TEST_F(SeekTest, EveryPrefixOfTheJournalRebuildsWhatWasAnswered) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    World w;
    ASSERT_TRUE(w.CreateTopic("top").ok());
    auto value = Plain(seed % 2 == 0);
    value.retain_acked_messages = true;
    value.enable_message_ordering = seed % 3 == 0;
    ASSERT_TRUE(w.Create("sub", "top", value).ok());
    std::map<std::string, size_t> sent;  // ack ids, and the records that were down then
    std::vector<WallTime> times{kWallStart};
    std::vector<std::string> out;
    for (int i = 0; i < 80; ++i) {
      switch (random() % 6) {
        case 0: w.PublishKeyed("top", random() % 2 == 0 ? "k" : "", {"m", "m"}); break;
        case 1:
        case 2:
          for (const auto& message : w.Pull("sub", 2)) {
            EXPECT_TRUE(sent.emplace(message.ack_id, w.records.size()).second) << "an id came twice";
            out.push_back(message.ack_id);
          }
          break;
        case 3:
          if (!out.empty()) w.StartAck("sub", {out[random() % out.size()]});
          break;
        case 4:
          w.Advance(1s);
          times.push_back(Wall(w));
          break;
        default: EXPECT_TRUE(Seek(w, "sub", times[random() % times.size()]).ok());
      }
    }
    for (size_t count = 2; count <= w.records.size(); count += 1 + random() % 3) {
      SCOPED_TRACE(count);
      World after;
      after.now = w.now;
      after.Replay(w.records, count);
      after.Advance(60s);
      std::set<std::string> ids;
      for (const auto& message : after.Pull("sub", 10'000)) {
        EXPECT_TRUE(ids.insert(std::string(message.message.message_id())).second);
        const auto before = sent.find(message.ack_id);
        if (value.enable_exactly_once_delivery && before != sent.end()) {
          EXPECT_GT(before->second, count) << "an id that was given before the crash is given again";
        }
      }
    }
    // All of it: what is there now is what is there after a restart.
    World after;
    after.now = w.now;
    after.Replay(w.records, w.records.size());
    w.Advance(600s);
    after.Advance(600s);
    std::multiset<std::string> want, got;
    for (const auto& m : w.Pull("sub", 10'000)) want.emplace(m.message.message_id());
    for (const auto& m : after.Pull("sub", 10'000)) got.emplace(m.message.message_id());
    EXPECT_EQ(got, want);
  }
}

TEST_F(SeekTest, ASubscriptionThatNobodyUsesIsDeleted) {
  auto value = Plain();
  value.message_retention_duration = 600s;
  value.expiration_policy = {.ttl = 24h};
  ASSERT_TRUE(world.Create("idle", "top", value).ok());
  ASSERT_TRUE(world.Create("pulled", "top", value).ok());
  ASSERT_TRUE(world.Create("streamed", "top", value).ok());
  value.expiration_policy = pubsub::ExpirationPolicy{};
  ASSERT_TRUE(world.Create("kept", "top", value).ok());
  const StreamId stream = world.Open("streamed");
  world.Advance(23h);
  world.Pull("pulled");
  const auto listed = [&] {
    const CallId call =
        world.Start(pubsub::Method::kListTopicSubscriptions,
                    pubsub::ListRequest{.parent = World::Topic("top"), .page_size = 0, .page_token = {}});
    std::string payload = world.Await(call).payload;
    std::set<std::string> found;
    for (const char* id : {"idle", "pulled", "streamed", "kept"}) {
      if (payload.find(std::string("/") + id) != std::string::npos) found.insert(id);
    }
    return found;
  };
  world.AdvanceTo(kStart + 24h - 1ns);
  EXPECT_THAT(listed(), SizeIs(4));
  world.AdvanceTo(kStart + 24h);
  EXPECT_THAT(listed(), UnorderedElementsAre("pulled", "streamed", "kept"));
  world.AdvanceTo(kStart + 47h);
  EXPECT_THAT(listed(), UnorderedElementsAre("streamed", "kept"));
  world.AdvanceTo(kStart + 100h);
  world.Gone(stream);
  world.Advance(24h - 1ns);
  EXPECT_THAT(listed(), UnorderedElementsAre("streamed", "kept")) << "it was in use until the stream went";
  world.Advance(1ns);
  EXPECT_THAT(listed(), UnorderedElementsAre("kept"));
  EXPECT_THAT(world.Records<SubscriptionDeleted>(), SizeIs(3));
}

}  // namespace
}  // namespace hopgap::broker
