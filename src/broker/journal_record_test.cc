#include "broker/journal_record.h"

#include "broker/world_testing.h"
#include "pubsub/wire.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::string Wire(const Record& record) { return pubsub::Join(EncodeRecord(record)); }
absl::StatusOr<Record> Decode(std::string wire) { return DecodeRecord(pubsub::Bytes(std::move(wire))); }

// One of every type, with every field set.
std::vector<Record> OneOfEach() {
  pubsub::Topic topic;
  topic.name = World::Topic("top");
  topic.labels = {{"k", "v"}};
  topic.message_retention_duration = 600s;
  pubsub::Snapshot snapshot;
  snapshot.name = "projects/p/snapshots/snap";
  snapshot.topic = topic.name;
  snapshot.expire_time = WallTime{5s};
  snapshot.labels = {{"k", "v"}};
  pubsub::Subscription subscription;
  subscription.name = World::Sub("sub");
  subscription.topic = World::Topic("top");
  subscription.ack_deadline_seconds = 60;
  subscription.labels = {{"k", "v"}};
  subscription.enable_exactly_once_delivery = true;
  subscription.enable_message_ordering = true;
  subscription.filter = "attributes:a";
  subscription.dead_letter_policy = {World::Topic("dead"), 5};
  subscription.retry_policy = {10s, 20s};
  const std::vector<AckedDelivery> deliveries{{0, 1}, {~0ull, ~0u}};
  return {
      TopicCreated{.topic = 1, .value = topic},
      TopicDeleted{.topic = ~0ull},
      SubscriptionCreated{
          .subscription = 2, .topic = 1, .first = 3, .send_bound = 4, .lease_ceiling = 60s, .value = subscription},
      SubscriptionDeleted{.subscription = 2},
      Published{.topic = 1,
                .first = 7,
                .messages = {pubsub::Message::Make("a", {{"k", "v"}}).Accepted("12", WallTime{Duration{99}}),
                             pubsub::Message::Make("b", {})}},
      Published{.topic = 1, .first = 9, .messages = {}},
      Acked{.subscription = 2, .deliveries = deliveries},
      Redelivered{.subscription = 2, .deliveries = deliveries},
      SendBoundRaised{.subscription = 2, .bound = ~0ull},
      LeaseCeilingRaised{.subscription = 2, .ceiling = 600s},
      Nacked{.subscription = 2, .deliveries = deliveries},
      LeaseLength{.subscription = 2, .delivery = {5, 6}, .length = 7s},
      CleanStop{.leases = {{.subscription = 2, .delivery = {5, 6}, .remaining = 7s},
                           {.subscription = 3, .delivery = {0, 1}, .remaining = 1ns}}},
      CleanStop{},
      TopicUpdated{.topic = 1, .value = topic},
      SubscriptionUpdated{.subscription = 2, .value = subscription},
      SubscriptionDetached{.subscription = 2, .as = 6},
      SnapshotCreated{
          .snapshot = 4, .topic = 1, .next = ~0ull, .unacked = {{0, 1}, {5, 6}, {7, ~0ull}}, .value = snapshot},
      SnapshotCreated{.snapshot = 5, .topic = 1, .next = 0, .unacked = {}, .value = snapshot},
      SnapshotUpdated{.snapshot = 4, .value = snapshot},
      SnapshotDeleted{.snapshot = 4},
      Published{.topic = 1,
                .first = 9,
                .messages = {pubsub::Message::Make("a", {}).Accepted("12", WallTime{Duration{99}})},
                .dead_lettered_by = 2,
                .dead_lettered = {{~0ull, 5}}},
      DeliveriesFailed{.subscription = 2, .deliveries = deliveries},
      Sought{.subscription = 2, .next = 100, .unacked = {{3, 5}, {99, 100}}},
      Sought{.subscription = 2, .next = 0, .unacked = {}},
      RetentionPassed{.owner = 1, .before = ~0ull},
  };
}

TEST(JournalRecordTest, EveryTypeComesBack) {
  std::set<size_t> types;
  for (const Record& record : OneOfEach()) {
    SCOPED_TRACE(record.index());
    types.insert(record.index());
    const std::string wire = Wire(record);
    const auto back = Decode(wire);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->index(), record.index());
    EXPECT_EQ(Wire(*back), wire);
  }
  EXPECT_EQ(types.size(), std::variant_size_v<Record>);
}

TEST(JournalRecordTest, FieldsComeBackAsTheyWere) {
  const auto records = OneOfEach();
  const auto made = std::get<SubscriptionCreated>(*Decode(Wire(records[2])));
  EXPECT_EQ(made.subscription, 2u);
  EXPECT_EQ(made.topic, 1u);
  EXPECT_EQ(made.first, 3u);
  EXPECT_EQ(made.send_bound, 4u);
  EXPECT_EQ(made.lease_ceiling, 60s);
  EXPECT_EQ(made.value.name, World::Sub("sub"));
  EXPECT_TRUE(made.value.enable_exactly_once_delivery);
  const auto published = std::get<Published>(*Decode(Wire(records[4])));
  EXPECT_EQ(published.first, 7u);
  ASSERT_THAT(published.messages, SizeIs(2));
  EXPECT_EQ(published.messages[0].data(), "a");
  EXPECT_EQ(published.messages[0].message_id(), "12");
  EXPECT_EQ(published.messages[0].publish_time(), (WallTime{Duration{99}}));
  EXPECT_EQ(published.messages[0].Attribute("k"), "v");
  const auto acked = std::get<Acked>(*Decode(Wire(records[6])));
  ASSERT_THAT(acked.deliveries, SizeIs(2));
  EXPECT_EQ(acked.deliveries[1].sequence, ~0ull);
  EXPECT_EQ(acked.deliveries[1].generation, ~0u);
  EXPECT_EQ(std::get<LeaseCeilingRaised>(*Decode(Wire(records[9]))).ceiling, 600s);
  const auto length = std::get<LeaseLength>(*Decode(Wire(records[11])));
  EXPECT_EQ(length.delivery.sequence, 5u);
  EXPECT_EQ(length.delivery.generation, 6u);
  EXPECT_EQ(length.length, 7s);
  const auto stop = std::get<CleanStop>(*Decode(Wire(records[12])));
  ASSERT_THAT(stop.leases, SizeIs(2));
  EXPECT_EQ(stop.leases[0].subscription, 2u);
  EXPECT_EQ(stop.leases[0].remaining, 7s);
  EXPECT_EQ(stop.leases[1].remaining, 1ns);
}

TEST(JournalRecordTest, ASnapshotComesBackWithItsRanges) {
  const auto records = OneOfEach();
  const auto snapshot = std::get<SnapshotCreated>(*Decode(Wire(records[17])));
  EXPECT_EQ(snapshot.snapshot, 4u);
  EXPECT_EQ(snapshot.topic, 1u);
  EXPECT_EQ(snapshot.next, ~0ull);
  EXPECT_THAT(snapshot.unacked, ElementsAre(SequenceRange{0, 1}, SequenceRange{5, 6}, SequenceRange{7, ~0ull}));
  EXPECT_EQ(snapshot.value.expire_time, WallTime{5s});
  const auto updated = std::get<SubscriptionUpdated>(*Decode(Wire(records[15])));
  EXPECT_EQ(updated.value.filter, "attributes:a");
  EXPECT_TRUE(updated.value.enable_message_ordering);
}

// Ranges that overlap, are empty, or go beyond the snapshot's end.
TEST(JournalRecordTest, ASnapshotWithBadRangesIsAnError) {
  for (const std::vector<SequenceRange>& bad : std::vector<std::vector<SequenceRange>>{
           {{0, 11}}, {{3, 3}}, {{11, 12}}, {{0, 2}, {2, 3}}, {{5, 6}, {3, 4}}, {{0, 2}, {8, 12}}}) {
    EXPECT_THAT(
        Decode(Wire(SnapshotCreated{.snapshot = 4, .topic = 1, .next = 10, .unacked = bad, .value = {}})).status(),
        HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST(JournalRecordTest, UnknownFieldsAreSkipped) {
  for (const Record& record : OneOfEach()) {
    const std::string wire = Wire(record);
    std::string more = wire;
    pubsub::WireWriter writer(more);
    writer.Varint(100, 7);
    writer.Text(101, "later");
    const auto back = Decode(more);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(Wire(*back), wire);
  }
}

TEST(JournalRecordTest, UnknownTypesAreAnError) {
  for (uint64_t type : {0u, 19u, 1000u}) {
    std::string wire;
    pubsub::WireWriter(wire).Varint(1, type);
    EXPECT_THAT(Decode(wire).status(), HasCode(absl::StatusCode::kDataLoss));
    EXPECT_THAT(Decode(wire).status(), SaysText("unknown type " + std::to_string(type)));
  }
  EXPECT_THAT(Decode("").status(), HasCode(absl::StatusCode::kDataLoss));
}

// A cut record is an error or (between two fields) a smaller one; never a crash.
TEST(JournalRecordTest, TruncationNeverReadsPastTheEnd) {
  for (const Record& record : OneOfEach()) {
    const std::string wire = Wire(record);
    for (size_t length = 0; length < wire.size(); ++length) {
      const auto back = Decode(wire.substr(0, length));
      if (!back.ok()) {
        EXPECT_THAT(back.status(), HasCode(absl::StatusCode::kDataLoss));
      }
    }
  }
}

// Bodies are the published bytes themselves.
TEST(JournalRecordTest, ABodyIsNotCopied) {
  const pubsub::Message message = pubsub::Message::Make(std::string(1'000'000, 'x'), {}).Accepted("1", WallTime{});
  const pubsub::Slices slices = EncodeRecord(Published{.topic = 1, .first = 0, .messages = {message}});
  const char* body = message.wire_slices()[0].view().data();
  EXPECT_TRUE(
      std::any_of(slices.begin(), slices.end(), [body](const pubsub::Bytes& b) { return b.view().data() == body; }));
}

TEST(JournalRecordTest, ABadMessageInsideIsAnError) {
  std::string wire;
  pubsub::WireWriter writer(wire);
  writer.Varint(1, 5);
  writer.Varint(2, 1);
  writer.Text(3, "\xff\xff");
  EXPECT_THAT(Decode(wire).status(), HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace hopgap::broker
