#include "broker/checkpoint.h"

#include <random>

#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

using Journal = std::vector<pubsub::Bytes>;

Broker::Options SmallSlices() {
  Broker::Options options = World::Defaults();
  options.checkpoint_messages_per_slice = 3;
  return options;
}

void StartCheckpoint(World& world) {
  world.Do([](Broker& broker, Actions& out) { broker.StartCheckpoint({}, out); });
}

// The state as a checkpoint writes it.
std::vector<std::string> StateOf(World& world) {
  const size_t before = world.records.size();
  StartCheckpoint(world);
  std::vector<std::string> state;
  for (size_t i = before; i < world.records.size(); ++i) state.emplace_back(world.records[i].view());
  return state;
}

std::vector<std::string> StateAfter(const Journal& journal, size_t first, size_t end) {
  World world(World::Defaults());
  for (size_t i = first; i < end; ++i) {
    const absl::Status status = world.broker.Replay(journal[i]);
    EXPECT_TRUE(status.ok()) << "record " << i << ": " << status;
  }
  const absl::Status done = world.broker.ReplayDone(world.now);
  EXPECT_TRUE(done.ok()) << done;
  return StateOf(world);
}

// Everything that changes the durable state, drawn from a seed; the journal is
// slow, so that much is on its way when a checkpoint begins and between its slices.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed), world(SmallSlices()) {
    EXPECT_TRUE(world.CreateTopic("tp0").ok());
    EXPECT_TRUE(world.CreateSubscription("eos", "tp0", true).ok());
    EXPECT_TRUE(world.CreateSubscription("std", "tp0", false).ok());
    world.journal_waits = true;
    for (int step = 0; step < 300; ++step) Step();
    world.PersistAll();
  }

 private:
  uint64_t Draw(uint64_t bound) { return engine_() % bound; }
  std::string AnySub() { return Draw(3) == 0 ? "std" : Draw(4) == 0 ? "sub" + std::to_string(Draw(4)) : "eos"; }

  void Step() {
    switch (Draw(12)) {
      case 0:
      case 1: {
        std::vector<pubsub::Message> messages;
        for (uint64_t i = 0; i <= Draw(4); ++i) messages.push_back(pubsub::Message::Make("m" + std::to_string(i), {}));
        world.StartPublish("tp" + std::to_string(Draw(3)), std::move(messages));
        return;
      }
      case 2:
      case 3: return Pull();
      case 4:
      case 5: return Ack();
      case 6: return Nack();
      case 7: world.Advance(std::chrono::seconds{Draw(9)}); return;
      case 8: return Change();
      case 9:
        if (!world.broker.checkpointing()) StartCheckpoint(world);
        return;
      default:
        for (uint64_t i = 0; i < Draw(4) && !world.waiting_tokens.empty(); ++i) world.PersistOne();
    }
  }

  void Pull() {
    const std::string sub = AnySub();
    const CallId call = world.StartPull(sub, static_cast<int32_t>(1 + Draw(4)), true);
    world.PersistAll();
    if (!world.Answered(call) || !world.Await(call).status.ok()) return;
    for (const auto& received : world.Received(call)) ids_.emplace_back(sub, received.ack_id);
  }
  void Ack() {
    if (ids_.empty()) return;
    const auto [sub, id] = ids_[Draw(ids_.size())];
    world.StartAck(sub, {id});
  }
  void Nack() {
    if (ids_.empty()) return;
    const auto [sub, id] = ids_[Draw(ids_.size())];
    world.StartModify(sub, {id}, Draw(3) == 0 ? 120 : 0);
  }
  void Change() {
    const std::string n = std::to_string(Draw(4));
    switch (Draw(4)) {
      case 0: {
        pubsub::Topic value;
        value.name = World::Topic("tp" + n);
        world.Start(pubsub::Method::kCreateTopic, pubsub::CreateTopicRequest{value});
        return;
      }
      case 1: world.Start(pubsub::Method::kDeleteTopic, pubsub::NameRequest{World::Topic("tp" + n)}); return;
      case 2: world.Start(pubsub::Method::kDeleteSubscription, pubsub::NameRequest{World::Sub("sub" + n)}); return;
      default: {
        pubsub::Subscription value;
        value.name = World::Sub("sub" + n);
        value.topic = World::Topic("tp" + std::to_string(Draw(3)));
        value.enable_exactly_once_delivery = Draw(2) == 0;
        world.Start(pubsub::Method::kCreateSubscription, pubsub::CreateSubscriptionRequest{value});
      }
    }
  }

  std::mt19937_64 engine_;
  std::vector<std::pair<std::string, std::string>> ids_;

 public:
  World world;
};

// The promise of a checkpoint: beginning at it leads to the same state as
// beginning at the first record, wherever the journal ends.
TEST(CheckpointTest, TheNewestCompleteOneAndTheTailGiveTheStateOfTheWholeJournalAtEveryRecord) {
  size_t compared = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Random run(seed);
    const Journal& journal = run.world.records;
    std::optional<size_t> began, newest;
    for (size_t i = 0; i < journal.size(); ++i) {
      const RecordKind kind = KindOf(journal[i].view());
      if (kind == RecordKind::kCheckpointBegan) began = i;
      if (kind == RecordKind::kCheckpointEnded) newest = began;
      if (!newest) continue;
      SCOPED_TRACE("records " + std::to_string(i + 1) + ", checkpoint at " + std::to_string(*newest));
      ASSERT_THAT(StateAfter(journal, *newest, i + 1), ElementsAreArray(StateAfter(journal, 0, i + 1)));
      ++compared;
    }
  }
  EXPECT_GT(compared, 500u);
}

// What is emitted but not durable yet stands before the checkpoint: the state
// that it writes has to hold it.
TEST(CheckpointTest, AcksPublishesGenerationsAndBoundsThatAreOnTheirWayAreInIt) {
  World world;
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateSubscription("eos", "top", true).ok());
  world.Publish("top", {"a", "b", "c"});
  const auto received = world.Pull("eos");
  ASSERT_TRUE(world.Modify("eos", {received[1].ack_id}, 0).ok());
  world.journal_waits = true;
  world.StartAck("eos", {received[0].ack_id});
  world.StartPublish("top", {pubsub::Message::Make("d", {})});
  world.StartPull("eos", 10);
  StartCheckpoint(world);
  world.PersistAll();
  size_t began = 0;
  while (KindOf(world.records[began].view()) != RecordKind::kCheckpointBegan) ++began;
  EXPECT_THAT(StateAfter(world.records, began, world.records.size()),
              ElementsAreArray(StateAfter(world.records, 0, world.records.size())));
  World after;
  Journal tail(world.records.begin() + static_cast<std::ptrdiff_t>(began), world.records.end());
  ASSERT_NO_FATAL_FAILURE(after.Replay(tail, tail.size()));
  after.Advance(60s);
  EXPECT_THAT(DataOf(after.Pull("eos")), ::testing::UnorderedElementsAre("b", "c", "d"));
}

TEST(CheckpointTest, ACheckpointWithoutItsEndOrWithoutABodyIsRefusedByName) {
  World world;
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateSubscription("eos", "top", true).ok());
  world.Publish("top", {"a"});
  const size_t began = world.records.size();
  StartCheckpoint(world);
  World cut;
  for (size_t i = began; i + 1 < world.records.size(); ++i) ASSERT_TRUE(cut.broker.Replay(world.records[i]).ok());
  EXPECT_THAT(cut.broker.ReplayDone(kStart), SaysText("it ends inside the checkpoint"));
  World empty;
  absl::Status status;
  for (size_t i = began; i < world.records.size() && status.ok(); ++i) {
    if (KindOf(world.records[i].view()) != RecordKind::kBodiesCopied) status = empty.broker.Replay(world.records[i]);
  }
  EXPECT_THAT(status, SaysText("the body of message 0 of topic 1 is missing"));
}

TEST(CheckpointTest, AStopEndsItAndTheLeasesStandLast) {
  World world(SmallSlices());
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateSubscription("eos", "top", true).ok());
  world.Publish("top", {"a", "b", "c", "d", "e", "f", "g"});
  world.journal_waits = true;
  StartCheckpoint(world);
  world.PersistOne();
  world.Stop();
  world.PersistAll();
  EXPECT_FALSE(world.broker.checkpointing());
  EXPECT_TRUE(std::holds_alternative<CleanStop>(*DecodeRecord(world.records.back())));
}

TEST(CheckpointTest, ACleanStopThatTheJournalCutsInTheMiddleIsNone) {
  World world;
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateSubscription("eos", "top", true).ok());
  world.Publish("top", {"a"});
  ASSERT_EQ(world.Pull("eos").size(), 1u);
  for (const bool cut : {true, false}) {
    World after;
    for (const pubsub::Bytes& record : world.records) ASSERT_TRUE(after.broker.Replay(record).ok());
    ASSERT_TRUE(
        after.broker.Replay(pubsub::Bytes(pubsub::Join(EncodeRecord(CleanStop{.leases = {}, .more = true})))).ok());
    if (!cut) {
      ASSERT_TRUE(after.broker.Replay(pubsub::Bytes(pubsub::Join(EncodeRecord(CleanStop{})))).ok());
    }
    ASSERT_TRUE(after.broker.ReplayDone(after.now).ok());
    EXPECT_EQ(after.Pull("eos").size(), cut ? 0u : 1u) << "half a list of leases lets nothing go";
  }
}

TEST(CheckpointRecordTest, EveryKindComesBackAsItWas) {
  const std::vector<BodiesStored::Item> places = {{3, {.segment = 9, .frame = 64, .offset = 20}, 100},
                                                  {4, {.segment = 9, .frame = 64, .offset = 123}, 5},
                                                  {9, {.segment = 9, .frame = 4096, .offset = 0}, 1},
                                                  {10, {.segment = 9, .frame = 4096, .offset = 0}, 7},
                                                  {11, {.segment = 9, .frame = 64, .offset = 0}, 7},
                                                  {1u << 31, {.segment = 2, .frame = 1u << 31, .offset = 5}, 0},
                                                  {1ull << 61, {.segment = 3, .frame = 0, .offset = 5}, 9}};
  const pubsub::Slices wire = EncodeCheckpointRecord(BodiesStored{.topic = 5, .items = places});
  const auto back = DecodeCheckpointRecord(pubsub::Bytes(pubsub::Join(wire)));
  ASSERT_TRUE(back.ok()) << back.status();
  const auto& items = std::get<BodiesStored>(*back).items;
  ASSERT_EQ(items.size(), places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(items[i].sequence, places[i].sequence);
    EXPECT_EQ(items[i].place, places[i].place);
    EXPECT_EQ(items[i].length, places[i].length);
  }
  const auto ended = DecodeCheckpointRecord(
      pubsub::Bytes(pubsub::Join(EncodeCheckpointRecord(CheckpointEnded{.segments = {1, 5, 1ull << 40}}))));
  EXPECT_THAT(std::get<CheckpointEnded>(*ended).segments, ElementsAre(1, 5, 1ull << 40));
  EXPECT_EQ(KindOf(EncodeRecord(Published{.topic = 1, .first = 0, .messages = {}})[0].view()), RecordKind::kPublished);
  EXPECT_EQ(KindOf(EncodeRecord(TopicDeleted{.topic = 1})[0].view()), RecordKind::kOrdinary);
  EXPECT_EQ(KindOf(""), RecordKind::kOrdinary);
}

TEST(CheckpointRecordTest, BytesThatAreCutOrOverflowAreRefused) {
  const std::string good = pubsub::Join(
      EncodeCheckpointRecord(AckedRanges{.subscription = 1, .from = 5, .to = 1000, .intervals = {{6, 7}, {300, 900}}}));
  ASSERT_TRUE(DecodeCheckpointRecord(pubsub::Bytes(good)).ok());
  for (const AckedRanges& bad : {AckedRanges{1, 5, 1000, {{6, 1001}}}, AckedRanges{1, 5, 1000, {{6, 6}}},
                                 AckedRanges{1, 5, 4, {}}, AckedRanges{1, ~0ull, ~0ull, {{~0ull, 3}}}}) {
    EXPECT_FALSE(DecodeCheckpointRecord(pubsub::Bytes(pubsub::Join(EncodeCheckpointRecord(bad)))).ok());
  }
  std::mt19937_64 engine(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    bytes[engine() % bytes.size()] = static_cast<char>(engine());
    bytes.resize(1 + engine() % bytes.size());
    bytes[1] = static_cast<char>(64 + engine() % 10);
    (void)DecodeCheckpointRecord(pubsub::Bytes(bytes));  // no crash, whatever it says
  }
}

}  // namespace
}  // namespace hopgap::broker
