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
  pubsub::Subscription subscription;
  subscription.name = World::Sub("sub");
  subscription.topic = World::Topic("top");
  subscription.ack_deadline_seconds = 60;
  subscription.labels = {{"k", "v"}};
  subscription.enable_exactly_once_delivery = true;
  const std::vector<AckedDelivery> deliveries{{0, 1}, {~0ull, ~0u}};
  return {
      TopicCreated{.topic = 1, .value = {.name = World::Topic("top"), .labels = {{"k", "v"}}, .unknown = {}}},
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
  for (uint64_t type : {0u, 13u, 1000u}) {
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
