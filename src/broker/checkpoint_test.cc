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
  const DeliveryStates states{1, 5, 90, {{5, 3, 2, 1, 2}, {6, 1, 0, 0, 0}, {80, 4, 0, 3, 4}}};
  const auto same = DecodeCheckpointRecord(pubsub::Bytes(pubsub::Join(EncodeCheckpointRecord(states))));
  ASSERT_TRUE(same.ok()) << same.status();
  for (size_t i = 0; i < states.items.size(); ++i) {
    const DeliveryStates::Item &got = std::get<DeliveryStates>(*same).items.at(i), &want = states.items[i];
    EXPECT_EQ(std::tie(got.sequence, got.generation, got.nacked, got.failures, got.failed),
              std::tie(want.sequence, want.generation, want.nacked, want.failures, want.failed));
  }
  EXPECT_EQ(KindOf(EncodeRecord(Published{.topic = 1, .first = 0, .messages = {}})[0].view()), RecordKind::kPublished);
  EXPECT_EQ(KindOf(EncodeRecord(TopicDeleted{.topic = 1})[0].view()), RecordKind::kOrdinary);
  EXPECT_EQ(KindOf(""), RecordKind::kOrdinary);
}

TEST(CheckpointRecordTest, ARecordOfTwoTypesIsRefused) {
  // What it is filed under is the first, what it would be read as the last.
  const auto joined = [](const pubsub::Slices& first, const pubsub::Slices& second) {
    return pubsub::Bytes(pubsub::Join(first) + pubsub::Join(second));
  };
  const pubsub::Slices began = EncodeCheckpointRecord(CheckpointBegan{2, 18});
  const pubsub::Slices ended = EncodeCheckpointRecord(CheckpointEnded{.segments = {1}});
  EXPECT_EQ(DecodeCheckpointRecord(joined(began, ended)).status().message(), "checkpoint record: two types");
  const pubsub::Slices deleted = EncodeRecord(TopicDeleted{.topic = 1});
  EXPECT_EQ(DecodeRecord(joined(deleted, deleted)).status().message(), "journal record: two types");
}

TEST(CheckpointRecordTest, BytesThatAreCutOrOverflowAreRefused) {
  using Which = SequenceSet::Which;
  const auto wire = [](const CheckpointRecord& record) { return pubsub::Join(EncodeCheckpointRecord(record)); };
  const std::string good = wire(SequenceSet{1, Which::kKept, 5, 1000, {{6, 7}, {300, 900}}});
  ASSERT_TRUE(DecodeCheckpointRecord(pubsub::Bytes(good)).ok());
  pubsub::Snapshot snapshot;
  snapshot.name = "projects/p/snapshots/s";
  ASSERT_TRUE(DecodeCheckpointRecord(pubsub::Bytes(wire(SnapshotPart{3, 1, 9, {{1, 9}}, snapshot}))).ok());
  for (const CheckpointRecord& bad : std::initializer_list<CheckpointRecord>{
           SequenceSet{1, Which::kKept, 5, 1000, {{6, 1001}}}, SequenceSet{1, Which::kKept, 5, 1000, {{6, 6}}},
           SequenceSet{1, Which::kFinished, 5, 4, {}}, SequenceSet{1, Which::kEnded, ~0ull, ~0ull, {{~0ull, 3}}},
           SequenceSet{1, static_cast<Which>(3), 5, 1000, {}}, SnapshotPart{3, 1, 8, {{1, 9}}, snapshot},
           DeliveryStates{1, 5, 7, {{7, 1, 0, 0, 0}}}, DeliveryStates{1, 7, 5, {}}}) {
    EXPECT_FALSE(DecodeCheckpointRecord(pubsub::Bytes(wire(bad))).ok());
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
