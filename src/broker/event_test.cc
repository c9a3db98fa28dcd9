#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using pubsub::Message;
using trace::What;

constexpr char kParent[] = "00-0102030405060708090a0b0c0d0e0f10-1112131415161718-01";
constexpr trace::MessageKey kMessage{0x0102030405060708u, 0x090a0b0c0d0e0f10u, 0x1112131415161718u};

class EventTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world_.CreateTopic("top").ok());
    ASSERT_TRUE(world_.CreateSubscription("eos", "top", true).ok());
  }
  Message Traced(const char* parent = kParent) {
    return Message::Make("m", {{std::string(pubsub::kTraceparentAttribute), parent}});
  }
  std::vector<What> Kinds() {
    std::vector<What> kinds;
    for (const auto& event : world_.sink.events) kinds.push_back(event.what);
    return kinds;
  }
  World world_;
};

TEST_F(EventTest, TheLifeOfOneMessage) {
  const StreamId stream = world_.Open("eos");
  world_.journal_waits = true;
  world_.StartPublish("top", {Traced()});
  world_.now += 1ms;
  world_.PersistAll();
  const std::string id = world_.Log(stream).Messages().at(0).ack_id;
  world_.now += 1ms;
  ASSERT_TRUE(world_.Modify("eos", {id}, 60).ok());
  world_.now += 1ms;
  const CallId ack = world_.StartAck("eos", {id});
  world_.now += 1ms;
  world_.PersistAll();
  ASSERT_TRUE(world_.Await(ack).status.ok());
  ASSERT_THAT(Kinds(), ElementsAre(What::kAccepted, What::kCommitted, What::kPublishReplied, What::kWritten,
                                   What::kLeaseRead, What::kLeaseApplied, What::kLeaseReplied, What::kAckRead,
                                   What::kAckCommitted, What::kAckReplied));
  const uint64_t delivery = trace::DeliveryKey(id);
  for (size_t i = 0; i < world_.sink.events.size(); ++i) {
    const trace::Event& event = world_.sink.events[i];
    SCOPED_TRACE(i);
    EXPECT_EQ(event.message, kMessage);
    EXPECT_EQ(world_.sink.places[event.place].resource, i < 3 ? "top" : "eos");
    EXPECT_EQ(event.delivery, i < 3 ? 1u : delivery);
    const Duration at[] = {0ms, 1ms, 1ms, 1ms, 2ms, 2ms, 2ms, 3ms, 4ms, 4ms};
    EXPECT_EQ(event.at, kStart + at[i]);
  }
  const trace::Event& written = world_.sink.events[3];
  EXPECT_EQ(written.stream, 1);
  EXPECT_EQ(written.rpc, 1u);
  EXPECT_EQ(written.count, 1);
  EXPECT_EQ(world_.sink.events[4].value, 60);
}

TEST_F(EventTest, AReturnSaysWhy) {
  world_.StartPublish("top", {Traced()});
  const auto first = world_.Pull("eos");
  ASSERT_TRUE(world_.Modify("eos", AckIdsOf(first), 0).ok());
  const auto second = world_.Pull("eos");
  world_.Advance(10s);
  const auto returned = world_.sink.Of(What::kReturned);
  ASSERT_THAT(returned, SizeIs(2));
  EXPECT_EQ(returned[0].value, 1);
  EXPECT_EQ(returned[0].delivery, trace::DeliveryKey(first[0].ack_id));
  EXPECT_EQ(returned[1].value, 0);
  EXPECT_EQ(returned[1].delivery, trace::DeliveryKey(second[0].ack_id));
  EXPECT_THAT(world_.Ack("eos", AckIdsOf(second)), HasCode(kInvalid));
  ASSERT_THAT(world_.sink.Of(What::kAckCommitted), SizeIs(1));
  EXPECT_EQ(world_.sink.Of(What::kAckCommitted)[0].value, static_cast<int64_t>(kInvalid));
}

TEST_F(EventTest, AResponseIsNumberedAndCounted) {
  world_.Open("eos");
  const StreamId second = world_.Open("eos");
  world_.StartPublish("top", {Traced()});
  world_.StartPublish("top", {Traced(), Traced(), Traced()});
  const auto written = world_.sink.Of(What::kWritten);
  ASSERT_THAT(written, SizeIs(4));
  EXPECT_EQ(written[1].count, 2);
  EXPECT_EQ(written[1].stream, 2);
  EXPECT_EQ(written[3].stream, 1);
  EXPECT_EQ(written[3].rpc, 2u) << "its second response with messages";
  EXPECT_THAT(world_.Log(second).Messages(), SizeIs(2));
}

TEST_F(EventTest, AMessageWithoutAGoodTraceContextIsNotRecorded) {
  world_.Open("eos");
  world_.StartPublish("top", {Message::Make("m", {}), Traced("nonsense"),
                              Traced("00-00000000000000000000000000000000-1112131415161718-01")});
  EXPECT_THAT(world_.sink.events, IsEmpty());
}

}  // namespace
}  // namespace hopgap::broker
