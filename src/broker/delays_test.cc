#include "broker/delays.h"

#include <set>

#include "base/draw.h"
#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using pubsub::Message;
using trace::What;

QuantileTable Flat(Duration delay) { return *QuantileTable::Make({{.fraction = 0, .delay = delay}}); }
QuantileTable Ramp(Duration to) {
  return *QuantileTable::Make({{.fraction = 0, .delay = 0ns}, {.fraction = kFractionOne, .delay = to}});
}

TEST(QuantileTableTest, PointsMustRise) {
  struct Case {
    std::vector<QuantileTable::Point> points;
    const char* text;
  };
  for (const Case& c :
       {Case{{}, "at least one point"}, Case{{{5, 1ns}}, "point 0: the first fraction must be 0"},
        Case{{{0, -1ns}}, "point 0: the delay is negative"}, Case{{{0, 2ns}, {9, 1ns}}, "point 1: the delay falls"},
        Case{{{0, 1ns}, {0, 1ns}}, "point 1: the fraction does not rise"},
        Case{{{0, 1ns}, {kFractionOne + 1, 1ns}}, "point 1: the fraction is above 1"}}) {
    const auto table = QuantileTable::Make(c.points);
    EXPECT_THAT(table.status(), HasCode(kInvalid));
    EXPECT_THAT(table.status(), SaysText(c.text));
  }
}

TEST(QuantileTableTest, LinesBetweenThePointsAndFlatAtTheEnd) {
  const QuantileTable table = *QuantileTable::Make({{0, 10ns}, {kFractionOne / 4, 20ns}, {kFractionOne / 2, 60ns}});
  EXPECT_EQ(table.At(0), 10ns);
  EXPECT_EQ(table.At(kFractionOne / 8), 15ns);
  EXPECT_EQ(table.At(kFractionOne / 4), 20ns);
  EXPECT_EQ(table.At(kFractionOne / 2), 60ns);
  EXPECT_EQ(table.At(kFractionOne - 1), 60ns);
  EXPECT_EQ(table.Mean(), 43ns);  // (15 + 40) / 4 + 60 / 2, cut
  EXPECT_EQ(QuantileTable().At(kFractionOne / 2), 0ns);
  EXPECT_TRUE(Flat(0ns).zero());
  EXPECT_EQ(Flat(7ns).Mean(), 7ns);
}

TEST(DelaysTest, ADrawKeyIsTheMessagesOwnOrItsTopicAndArrival) {
  const DrawKey own = DrawKeyFor("2.17", "projects/p/topics/t", 5);
  EXPECT_TRUE(own.from_message);
  EXPECT_EQ(own.hop, 2u);
  EXPECT_EQ(own.slot, 17u);
  for (const char* bad : {"", ".", "2.", ".17", "2", "a.b", "2.17x", "-1.2", "2.99999999999999999999"}) {
    const DrawKey key = DrawKeyFor(bad, "projects/p/topics/t", 5);
    EXPECT_FALSE(key.from_message) << bad;
    EXPECT_EQ(key.hop, HashName("projects/p/topics/t"));
    EXPECT_EQ(key.slot, 5u);
  }
}

TEST(DelaysTest, ADrawIsAFunctionOfItsKeyAlone) {
  Delays::Options options;
  options.profile.standard.fill(Ramp(1s));
  options.profile.exactly_once.fill(Ramp(2s));
  options.seed = 7;
  const Delays delays(options), same(options);
  options.seed = 8;
  const Delays other(options);
  const DrawKey key{.hop = 1, .slot = 3, .from_message = true}, next{.hop = 1, .slot = 4, .from_message = true};
  const auto draw = [&](const Delays& d, Leg leg, const DrawKey& k, uint64_t attempt) {
    return d.Draw(false, leg, k, attempt);
  };
  EXPECT_EQ(draw(delays, Leg::kAck, key, 0), draw(same, Leg::kAck, key, 0));
  EXPECT_NE(draw(delays, Leg::kAck, key, 0), draw(other, Leg::kAck, key, 0));
  EXPECT_NE(draw(delays, Leg::kAck, key, 0), draw(delays, Leg::kModack, key, 0));
  EXPECT_NE(draw(delays, Leg::kAck, key, 0), draw(delays, Leg::kAck, key, 1));
  EXPECT_NE(draw(delays, Leg::kAck, key, 0), draw(delays, Leg::kAck, next, 0));
  // Both kinds share their luck, and the publish legs are one table.
  const Duration standard = delays.Draw(false, Leg::kAck, key, 0), exact = delays.Draw(true, Leg::kAck, key, 0);
  EXPECT_LE(std::chrono::abs(exact - 2 * standard), 2ns);
  EXPECT_EQ(delays.Draw(true, Leg::kPublishBefore, key, 0), delays.Draw(false, Leg::kPublishBefore, key, 0));
}

TEST(DelaysTest, StrataUseEveryMidpointOncePerHopAndLeg) {
  Delays::Options options;
  options.profile.standard.fill(Ramp(Duration{62'000}));
  options.strata = 31;
  const Delays delays(options);
  for (const uint64_t hop : {1u, 2u}) {
    std::set<int64_t> seen;
    for (uint64_t slot = 0; slot < 31; ++slot) {
      seen.insert(delays.Draw(false, Leg::kAck, {.hop = hop, .slot = slot, .from_message = true}, 0).count());
    }
    ASSERT_EQ(seen.size(), 31u);
    int64_t want = 1000;
    for (int64_t delay : seen) {
      EXPECT_LE(std::abs(delay - want), 1);
      want += 2000;
    }
  }
}

// A broker behind which every leg is its own length.
class AddedDelayTest : public ::testing::Test {
 protected:
  static Delays::Options Legs() {
    Delays::Options options;
    options.profile.standard = {Flat(10ms), Flat(20ms), Flat(30ms), Flat(40ms), Flat(50ms)};
    options.profile.exactly_once = {Flat(1h), Flat(1h), Flat(300ms), Flat(400ms), Flat(500ms)};
    return options;
  }
  static Broker::Options With(Delays::Options delays) {
    Broker::Options options = World::Defaults();
    options.delays["p"] = std::make_shared<Delays>(std::move(delays));
    return options;
  }
  explicit AddedDelayTest(Broker::Options options = With(Legs())) : world_(std::move(options)) {}
  void SetUp() override {
    ASSERT_TRUE(world_.CreateTopic("top").ok());
    ASSERT_TRUE(world_.CreateSubscription("eos", "top", true).ok());
    ASSERT_TRUE(world_.CreateSubscription("std", "top", false).ok());
  }
  static Message Traced(const std::string& slot = "1.0", const std::string& ordering_key = "") {
    return Message::Make(
        "m",
        {{std::string(pubsub::kDrawAttribute), slot},
         {std::string(pubsub::kTraceparentAttribute), "00-0102030405060708090a0b0c0d0e0f10-1112131415161718-01"}},
        ordering_key);
  }
  Duration AnswerAfter(CallId call, Instant since) {
    world_.Advance(2s);
    return world_.Await(call).at - since;
  }
  // (leg, ns) of the delays recorded, in order.
  std::vector<std::pair<Leg, Duration>> Added() {
    std::vector<std::pair<Leg, Duration>> added;
    for (const auto& event : world_.sink.Of(What::kDelayAdded)) {
      added.emplace_back(static_cast<Leg>(event.count), Duration{event.value});
    }
    return added;
  }
  World world_;
};

TEST_F(AddedDelayTest, EveryLegMovesWhatItNames) {
  const StreamId eos = world_.Open("eos");
  const StreamId std = world_.Open("std");
  const CallId publish = world_.StartPublish("top", {Traced()});
  EXPECT_THAT(world_.records, SizeIs(3)) << "no sequence and no record before the first leg is over";
  world_.Advance(10ms);
  EXPECT_THAT(world_.Records<Published>(), SizeIs(1));
  world_.Advance(500ms);
  EXPECT_EQ(world_.Await(publish).at, kStart + 30ms);
  ASSERT_THAT(world_.Log(std).at, SizeIs(2));
  EXPECT_EQ(world_.Log(std).at[1], kStart + 40ms);
  ASSERT_THAT(world_.Log(eos).at, SizeIs(2));
  EXPECT_EQ(world_.Log(eos).at[1], kStart + 310ms);
  EXPECT_EQ(world_.Log(std).Messages()[0].message.publish_time(), (WallTime{Duration{1'700'000'000'010'000'000}}))
      << "when its commit began";

  const Instant modacked = world_.now;
  const CallId modack = world_.StartModify("eos", AckIdsOf(world_.Log(eos).Messages()), 60);
  EXPECT_EQ(AnswerAfter(modack, modacked), 400ms);
  const Instant acked = world_.now;
  const CallId ack = world_.StartAck("eos", AckIdsOf(world_.Log(eos).Messages()));
  EXPECT_EQ(AnswerAfter(ack, acked), 500ms);
  const Instant acked_std = world_.now;
  EXPECT_EQ(AnswerAfter(world_.StartAck("std", AckIdsOf(world_.Log(std).Messages())), acked_std), 50ms);
  EXPECT_THAT(Added(),
              ElementsAre(std::pair(Leg::kPublishBefore, 10ms), std::pair(Leg::kPublishAfter, 20ms),
                          std::pair(Leg::kDeliver, 300ms), std::pair(Leg::kDeliver, 30ms),
                          std::pair(Leg::kModack, 400ms), std::pair(Leg::kAck, 500ms), std::pair(Leg::kAck, 50ms)));
}

// The state changes at arrival: only the answer is late.
TEST_F(AddedDelayTest, AHeldModackCountsFromItsArrival) {
  const StreamId eos = world_.Open("eos");
  world_.StartPublish("top", {Traced()});
  world_.Advance(310ms);  // the lease of 10 s starts
  const auto ids = AckIdsOf(world_.Log(eos).Messages());
  ASSERT_THAT(ids, SizeIs(1));
  const CallId nack = world_.StartModify("eos", ids, 0);
  EXPECT_FALSE(world_.Answered(nack));
  world_.Advance(300ms);
  EXPECT_THAT(world_.Log(eos).Messages(), SizeIs(2)) << "drawn again, and out before the nack is answered";
  EXPECT_FALSE(world_.Answered(nack));
}

TEST_F(AddedDelayTest, AnAckIsFinalWhileItsAnswerIsHeld) {
  const StreamId eos = world_.Open("eos");
  world_.StartPublish("top", {Traced()});
  world_.Advance(1s);
  const CallId ack = world_.StartAck("eos", AckIdsOf(world_.Log(eos).Messages()));
  EXPECT_FALSE(world_.Answered(ack));
  EXPECT_THAT(world_.Records<Acked>(), SizeIs(1));
  world_.Advance(1h);
  EXPECT_THAT(world_.Log(eos).Messages(), SizeIs(1));
}

TEST_F(AddedDelayTest, AStreamsConfirmationIsHeldToo) {
  const StreamId eos = world_.Open("eos");
  world_.StartPublish("top", {Traced()});
  world_.Advance(1s);
  pubsub::StreamingPullRequest request;
  request.ack_ids = AckIdsOf(world_.Log(eos).Messages());
  world_.Send(eos, request);
  const Instant sent = world_.now;
  const size_t before = world_.Log(eos).responses.size();
  world_.Advance(1s);
  ASSERT_EQ(world_.Log(eos).responses.size(), before + 1);
  EXPECT_EQ(world_.Log(eos).at.back(), sent + 500ms);
}

TEST_F(AddedDelayTest, DelaysApplyByProject) {
  ASSERT_TRUE(
      world_
          .Do(pubsub::Method::kCreateTopic,
              pubsub::CreateTopicRequest{.topic = {.name = "projects/q/topics/top", .labels = {}, .unknown = {}}})
          .ok());
  EXPECT_TRUE(world_
                  .Do(pubsub::Method::kPublish,
                      pubsub::PublishRequest{.topic = "projects/q/topics/top", .messages = {Traced()}, .wire_size = 9})
                  .ok());
  EXPECT_THAT(Added(), IsEmpty());
}

TEST_F(AddedDelayTest, EveryProjectAppliesWhereThereIsNoOther) {
  Broker::Options options = World::Defaults();
  options.every_project = std::make_shared<Delays>(Legs());
  World world(options);
  ASSERT_TRUE(world.CreateTopic("top").ok());
  const CallId call = world.StartPublish("top", {Message::Make("m", {})});
  world.Advance(30ms - 1ns);
  EXPECT_FALSE(world.Answered(call));
  world.Advance(1ns);
  EXPECT_TRUE(world.Answered(call));
}

TEST_F(AddedDelayTest, HeldCallsAreLimited) {
  Broker::Options options = With(Legs());
  options.held_max = 2;
  World world(options);
  ASSERT_TRUE(world.CreateTopic("top").ok());
  ASSERT_TRUE(world.CreateSubscription("std", "top", false).ok());
  const CallId first = world.StartPublish("top", {Message::Make("m", {})});
  world.StartPublish("top", {Message::Make("m", {})});
  EXPECT_THAT(world.Await(world.StartPublish("top", {Message::Make("m", {})})).status, HasCode(kExhausted));
  world.Advance(30ms);
  EXPECT_TRUE(world.Await(first).status.ok());
  world.Advance(1s);
  const auto got = world.Pull("std");
  ASSERT_THAT(got, SizeIs(2)) << "the refused one left nothing";
  world.StartModify("std", AckIdsOf(got), 20);
  world.StartModify("std", AckIdsOf(got), 20);
  EXPECT_THAT(world.Await(world.StartAck("std", AckIdsOf(got))).status, HasCode(kExhausted));
  world.Advance(1s);
  const CallId ack = world.StartAck("std", AckIdsOf(got));
  world.Advance(50ms);
  EXPECT_TRUE(world.Await(ack).status.ok());
}

TEST_F(AddedDelayTest, HeldBytesCountAsRetained) {
  Broker::Options options = With(Legs());
  options.retained_bytes_max = 500;
  World world(options);
  ASSERT_TRUE(world.CreateTopic("top").ok());
  world.StartPublish("top", {Message::Make(std::string(400, 'x'), {})});
  EXPECT_THAT(world.Await(world.StartPublish("top", {Message::Make(std::string(400, 'x'), {})})).status,
              HasCode(kExhausted));
  world.Advance(10ms);
  world.StartPublish("top", {Message::Make(std::string(400, 'x'), {})});
}

TEST_F(AddedDelayTest, StopRefusesHeldRequestsAndSendsHeldAnswers) {
  const CallId held_answer = world_.StartPublish("top", {Traced()});
  world_.Advance(10ms);
  const CallId held_request = world_.StartPublish("top", {Traced()});
  world_.Stop();
  EXPECT_TRUE(world_.Await(held_answer).status.ok());
  EXPECT_THAT(world_.Await(held_request).status, HasCode(kUnavailable));
}

// Draws that differ: tables with a slope.
class DrawnDelayTest : public AddedDelayTest {
 protected:
  static Delays::Options Ramps() {
    Delays::Options options;
    options.profile.standard = {Ramp(1s), Ramp(1s), Ramp(1s), Ramp(1s), Ramp(1s)};
    options.profile.exactly_once = options.profile.standard;
    options.seed = 3;
    return options;
  }
  DrawnDelayTest() : AddedDelayTest(With(Ramps())), delays_(Ramps()) {}
  Duration Draw(Leg leg, uint64_t slot, uint64_t attempt = 0) {
    return delays_.Draw(true, leg, {.hop = 1, .slot = slot, .from_message = true}, attempt);
  }
  Delays delays_;
};

TEST_F(DrawnDelayTest, OfSeveralIdsTheLargestHoldsForAll) {
  const StreamId eos = world_.Open(World::First("eos", 600));
  const Duration before = std::max(Draw(Leg::kPublishBefore, 0), Draw(Leg::kPublishBefore, 1));
  const Duration after = std::max(Draw(Leg::kPublishAfter, 0), Draw(Leg::kPublishAfter, 1));
  const CallId publish = world_.StartPublish("top", {Traced("1.0"), Traced("1.1")});
  EXPECT_EQ(AnswerAfter(publish, kStart), before + after);
  world_.Advance(2s);
  const auto ids = AckIdsOf(world_.Log(eos).Messages());
  ASSERT_THAT(ids, SizeIs(2));
  const Instant start = world_.now;
  EXPECT_EQ(AnswerAfter(world_.StartModify("eos", ids, 60), start),
            std::max(Draw(Leg::kModack, 0), Draw(Leg::kModack, 1)));
}

TEST_F(DrawnDelayTest, TheAttemptCountsEarlierDrawsOfTheLeg) {
  const StreamId eos = world_.Open(World::First("eos", 600));
  world_.StartPublish("top", {Traced("1.5")});
  world_.Advance(5s);
  EXPECT_EQ(world_.Log(eos).at.back(), kStart + Draw(Leg::kPublishBefore, 5) + Draw(Leg::kDeliver, 5, 0));
  const auto ids = AckIdsOf(world_.Log(eos).Messages());
  for (uint64_t attempt = 0; attempt < 3; ++attempt) {
    const Instant start = world_.now;
    EXPECT_EQ(AnswerAfter(world_.StartModify("eos", ids, 60), start), Draw(Leg::kModack, 5, attempt));
  }
  const Instant nacked = world_.now;
  world_.StartModify("eos", ids, 0);
  world_.Advance(5s);
  EXPECT_EQ(world_.Log(eos).at.back(), nacked + Draw(Leg::kDeliver, 5, 1));
}

// The earliest due first, whatever came first; the same instant in order of arrival.
TEST_F(DrawnDelayTest, HeldPublishesCommitInTheOrderInWhichTheyAreDue) {
  std::map<Duration, uint64_t> order;
  for (uint64_t slot = 0; slot < 20; ++slot) {
    order[Draw(Leg::kPublishBefore, slot)] = slot;
    world_.StartPublish("top", {Traced("1." + std::to_string(slot))});
  }
  world_.Advance(5s);
  std::vector<std::string> want, got;
  for (const auto& [due, slot] : order) want.push_back("1." + std::to_string(slot));
  for (const Published& record : world_.Records<Published>()) {
    got.emplace_back(*record.messages.at(0).Attribute(pubsub::kDrawAttribute));
  }
  EXPECT_EQ(got, want);
}

TEST_F(DrawnDelayTest, AnOrderingKeyKeepsItsOrder) {
  for (uint64_t slot = 0; slot < 20; ++slot) {
    world_.StartPublish("top", {Traced("1." + std::to_string(slot), "key")});
  }
  world_.Advance(5s);
  const auto records = world_.Records<Published>();
  ASSERT_THAT(records, SizeIs(20));
  for (uint64_t slot = 0; slot < 20; ++slot) {
    EXPECT_EQ(records[slot].messages.at(0).Attribute(pubsub::kDrawAttribute), "1." + std::to_string(slot));
  }
}

// Draws of which some are 0: who is not late himself may not overtake who is.
class NowAndThenLateTest : public AddedDelayTest {
 protected:
  static Delays::Options SomeLate() {
    Delays::Options options;
    options.profile.standard[0] = *QuantileTable::Make({{0, 0ns}, {kFractionOne / 2, 0ns}, {kFractionOne, 10s}});
    return options;
  }
  NowAndThenLateTest() : AddedDelayTest(With(SomeLate())) {}
};

TEST_F(NowAndThenLateTest, AnOrderingKeyKeepsItsOrder) {
  for (uint64_t slot = 0; slot < 20; ++slot) {
    world_.StartPublish("top", {Traced("1." + std::to_string(slot), "key")});
  }
  world_.Advance(20s);
  const auto records = world_.Records<Published>();
  ASSERT_THAT(records, SizeIs(20));
  for (uint64_t slot = 0; slot < 20; ++slot) {
    EXPECT_EQ(records[slot].messages.at(0).Attribute(pubsub::kDrawAttribute), "1." + std::to_string(slot));
  }
}

// Legs that are cold when nobody used them for a minute, or yet.
class ColdDelayTest : public AddedDelayTest {
 protected:
  static Delays::Options ColdLegs() {
    Delays::Options options;
    options.profile.cold_after = 1min;
    options.profile.standard[0] = Flat(10ms);
    options.profile.cold_standard[0] = Flat(500ms);
    options.profile.exactly_once[2] = Flat(30ms);
    options.profile.exactly_once[3] = Flat(40ms);
    options.profile.cold_exactly_once[3] = Flat(4s);
    return options;
  }
  ColdDelayTest() : AddedDelayTest(With(ColdLegs())) {}
  Duration PublishTakes() {
    const Instant start = world_.now;
    return AnswerAfter(world_.StartPublish("top", {Traced()}), start);
  }
};

TEST_F(ColdDelayTest, ALegIsColdAtFirstAndAfterDisuse) {
  EXPECT_EQ(PublishTakes(), 500ms);
  EXPECT_EQ(PublishTakes(), 10ms);
  world_.Advance(59s - 2s);  // AnswerAfter() waits for 2 s
  EXPECT_EQ(PublishTakes(), 10ms) << "59 s";
  world_.Advance(60s - 2s);
  EXPECT_EQ(PublishTakes(), 500ms) << "60 s";
}

TEST_F(ColdDelayTest, LegsAndSubscriptionsCoolDownApart) {
  const StreamId eos = world_.Open("eos");
  PublishTakes();
  ASSERT_THAT(world_.Log(eos).at, SizeIs(2));
  EXPECT_EQ(world_.Log(eos).at[1], kStart + 530ms) << "deliver has no cold table";
  const auto ids = AckIdsOf(world_.Log(eos).Messages());
  const auto modack_takes = [&](const std::string& name) {
    const Instant start = world_.now;
    const CallId call = world_.StartModify(name, ids, 60);
    world_.Advance(5s);
    return world_.Await(call).at - start;
  };
  EXPECT_EQ(modack_takes("eos"), 4s);
  EXPECT_EQ(modack_takes("eos"), 40ms);
  PublishTakes();
  EXPECT_EQ(modack_takes("eos"), 40ms) << "a publish neither warms nor cools it";
}

}  // namespace
}  // namespace hopgap::broker
