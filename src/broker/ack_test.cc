#include "broker/world_testing.h"

namespace hopgap::broker {
namespace {

using ::testing::_;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class AckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world_.CreateTopic("top").ok());
    ASSERT_TRUE(world_.CreateSubscription("eos", "top", true).ok());
    ASSERT_TRUE(world_.CreateSubscription("std", "top", false).ok());
  }
  // The ack id of the one message there.
  std::string PullOne(const std::string& sub) {
    const auto messages = world_.Pull(sub, 1);
    EXPECT_THAT(messages, SizeIs(1));
    return messages.empty() ? "" : messages[0].ack_id;
  }
  std::map<std::string, std::string> MetadataOf(CallId call) {
    return pubsub::DecodeErrorMetadata(world_.Await(call).details);
  }
  World world_;
};

TEST_F(AckTest, C01_ExactlyOnceRefusesAnExpiredIdAndDeliversAgain) {
  const auto ids = world_.Publish("top", {"m"});
  const auto first = world_.Pull("eos");
  ASSERT_THAT(first, SizeIs(1));
  world_.Advance(12s);
  const CallId late = world_.StartAck("eos", {first[0].ack_id});
  EXPECT_THAT(world_.Await(late).status, HasCode(kInvalid));
  EXPECT_THAT(MetadataOf(late), ElementsAre(Pair(first[0].ack_id, pubsub::kPermanentInvalidAckId)));
  const auto second = world_.Pull("eos");
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].message.message_id(), ids[0]);
  EXPECT_NE(second[0].ack_id, first[0].ack_id);
  EXPECT_TRUE(world_.Ack("eos", {second[0].ack_id}).ok());
  world_.Advance(1000s);
  EXPECT_THAT(world_.Pull("eos"), IsEmpty());
}

TEST_F(AckTest, C02_StandardTakesAnExpiredIdAndTheMessageIsGone) {
  world_.Publish("top", {"m"});
  const std::string id = PullOne("std");
  world_.Advance(12s);
  EXPECT_TRUE(world_.Ack("std", {id}).ok());
  EXPECT_THAT(world_.Pull("std"), IsEmpty());
}

TEST_F(AckTest, StandardIgnoresAnOldIdWhileSomebodyElseHasTheMessage) {
  world_.Publish("top", {"m"});
  const std::string old = PullOne("std");
  world_.Advance(10s);
  const std::string current = PullOne("std");
  EXPECT_TRUE(world_.Ack("std", {old}).ok());
  EXPECT_TRUE(world_.Modify("std", {old}, 0).ok());
  EXPECT_TRUE(world_.Modify("std", {old}, 600).ok());
  EXPECT_THAT(world_.Pull("std"), IsEmpty());
  world_.Advance(10s);
  EXPECT_THAT(world_.Pull("std"), SizeIs(1)) << "the old id acked, nacked or extended the new lease";
}

// A lease ends at its deadline, not after it, whether or not a timer ran.
TEST_F(AckTest, ExpiryIsInclusiveAndSeenAtTheLookup) {
  struct Case {
    const char* name;
    Duration after;
    absl::StatusCode want;
  };
  for (const Case& c : {Case{"just before", 10s - 1ns, kOk}, Case{"at the deadline", 10s, kInvalid},
                        Case{"long after", 1h, kInvalid}}) {
    SCOPED_TRACE(c.name);
    for (const bool ack : {true, false}) {
      SCOPED_TRACE(ack ? "ack" : "modify");
      World world;
      ASSERT_TRUE(world.CreateTopic("top").ok());
      ASSERT_TRUE(world.CreateSubscription("eos", "top", true).ok());
      world.Publish("top", {"m"});
      const std::string id = world.Pull("eos").at(0).ack_id;
      world.now += c.after;  // no OnDeadline
      EXPECT_THAT(ack ? world.Ack("eos", {id}) : world.Modify("eos", {id}, 20), HasCode(c.want));
    }
  }
}

TEST_F(AckTest, C03_MixedBatchAcksTheGoodIdsAndCallsThemTransient) {
  world_.Publish("top", {"bad"});
  const std::string bad = PullOne("eos");
  world_.Advance(10s);
  world_.Publish("top", {"good"});
  const auto again = world_.Pull("eos");
  ASSERT_THAT(DataOf(again), UnorderedElementsAre("bad", "good"));
  const std::string good = again[DataOf(again)[0] == "good" ? 0 : 1].ack_id;
  const CallId mixed = world_.StartAck("eos", {good, bad, "nonsense"});
  EXPECT_THAT(world_.Await(mixed).status, HasCode(kInvalid));
  EXPECT_THAT(MetadataOf(mixed),
              UnorderedElementsAre(Pair(good, pubsub::kTransientUnavailable), Pair(bad, pubsub::kPermanentInvalidAckId),
                                   Pair("nonsense", pubsub::kPermanentInvalidAckId)));
  EXPECT_TRUE(world_.Ack("eos", {good}).ok()) << "the client's retry";
  world_.Advance(10s);
  EXPECT_THAT(DataOf(world_.Pull("eos")), ElementsAre("bad"));
}

TEST_F(AckTest, C04_ASupersededIdChangesNothing) {
  world_.Publish("top", {"m"});
  const std::string a1 = PullOne("eos");
  EXPECT_TRUE(world_.Modify("eos", {a1}, 0).ok());
  const std::string a2 = PullOne("eos");
  EXPECT_NE(a1, a2);
  EXPECT_THAT(world_.Ack("eos", {a1}), HasCode(kInvalid));
  EXPECT_THAT(world_.Modify("eos", {a1}, 60), HasCode(kInvalid));
  EXPECT_THAT(world_.Modify("eos", {a1}, 0), HasCode(kInvalid));
  EXPECT_THAT(world_.Pull("eos"), IsEmpty());
  EXPECT_TRUE(world_.Ack("eos", {a2}).ok());
  EXPECT_THAT(world_.Ack("eos", {a1}), HasCode(kInvalid));
}

TEST_F(AckTest, ExactlyOnceTableOfStates) {
  world_.Publish("top", {"live", "ended", "acked"});
  const auto got = world_.Pull("eos");
  ASSERT_THAT(DataOf(got), ElementsAre("live", "ended", "acked"));
  ASSERT_TRUE(world_.Modify("eos", {got[1].ack_id}, 0).ok());  // ended, not delivered again
  ASSERT_TRUE(world_.Ack("eos", {got[2].ack_id}).ok());
  const std::string never = FormatAckId(kKey, {.subscription = 2, .sequence = 999, .generation = 1});
  struct Case {
    std::string id;
    absl::StatusCode modify, nack, ack;
  };
  for (const Case& c : {Case{got[1].ack_id, kInvalid, kInvalid, kInvalid}, Case{got[2].ack_id, kInvalid, kInvalid, kOk},
                        Case{never, kInvalid, kInvalid, kInvalid}, Case{"malformed", kInvalid, kInvalid, kInvalid},
                        Case{got[0].ack_id, kOk, kOk, kInvalid}}) {
    SCOPED_TRACE(c.id);
    EXPECT_THAT(world_.Modify("eos", {c.id}, 30), HasCode(c.modify));
    EXPECT_THAT(world_.Modify("eos", {c.id}, 0), HasCode(c.nack));
    EXPECT_THAT(world_.Ack("eos", {c.id}), HasCode(c.ack));
  }
}

TEST_F(AckTest, StandardTableOfStates) {
  world_.Publish("top", {"live", "ended", "acked"});
  const auto got = world_.Pull("std");
  ASSERT_TRUE(world_.Modify("std", {got[1].ack_id}, 0).ok());
  ASSERT_TRUE(world_.Ack("std", {got[2].ack_id}).ok());
  const std::string never = FormatAckId(kKey, {.subscription = 3, .sequence = 999, .generation = 1});
  for (const std::string& id : {got[0].ack_id, got[1].ack_id, got[2].ack_id, never}) {
    EXPECT_TRUE(world_.Modify("std", {id}, 30).ok());
    EXPECT_TRUE(world_.Modify("std", {id}, 0).ok());
    EXPECT_TRUE(world_.Ack("std", {id}).ok());
    EXPECT_TRUE(world_.Ack("std", {id}).ok());
  }
  for (const absl::Status& status : {world_.Ack("std", {got[0].ack_id, "malformed"}),
                                     world_.Modify("std", {"malformed"}, 10), world_.Modify("std", {"malformed"}, 0)}) {
    EXPECT_THAT(status, HasCode(kInvalid));
    EXPECT_THAT(status, SaysText("You have passed an invalid ack ID to the service (ack_id=malformed)."));
  }
}

TEST_F(AckTest, AStandardCallWithAMalformedIdAppliesNothing) {
  world_.Publish("top", {"m"});
  const std::string id = PullOne("std");
  EXPECT_THAT(world_.Ack("std", {id, "malformed"}), HasCode(kInvalid));
  world_.Advance(10s);
  EXPECT_THAT(world_.Pull("std"), SizeIs(1));
}

TEST_F(AckTest, AnIdOfAnotherSubscriptionIsNamed) {
  world_.Publish("top", {"m"});
  const std::string id = PullOne("eos");
  const absl::Status status = world_.Ack("std", {id});
  EXPECT_THAT(status, HasCode(kInvalid));
  EXPECT_THAT(status, SaysText("projects/p/subscriptions/eos"));
  EXPECT_THAT(status, SaysText("projects/p/subscriptions/std"));
  EXPECT_THAT(world_.Ack("eos", {PullOne("std")}), HasCode(kInvalid));
  EXPECT_TRUE(world_.Ack("eos", {id}).ok());
}

TEST_F(AckTest, ARepeatedAckIsOkForEver) {
  world_.Publish("top", {"a", "b", "c"});
  const auto first = world_.Pull("eos");
  ASSERT_TRUE(world_.Ack("eos", {first[2].ack_id}).ok());
  ASSERT_TRUE(world_.Modify("eos", {first[1].ack_id}, 0).ok());
  const std::string b2 = PullOne("eos");
  ASSERT_TRUE(world_.Ack("eos", {b2}).ok());
  ASSERT_TRUE(world_.Ack("eos", {first[0].ack_id}).ok());
  world_.Advance(24h * 30);
  EXPECT_TRUE(world_.Ack("eos", {first[0].ack_id, b2, first[2].ack_id}).ok());
  EXPECT_THAT(world_.Ack("eos", {first[1].ack_id}), HasCode(kInvalid)) << "the generation that lost";
}

TEST_F(AckTest, AnAckWaitsForItsRecordAndItsRepeatForTheSame) {
  world_.Publish("top", {"m"});
  const std::string id = PullOne("eos");
  world_.journal_waits = true;
  const CallId first = world_.StartAck("eos", {id, id});
  const CallId repeat = world_.StartAck("eos", {id});
  EXPECT_FALSE(world_.Answered(first));
  EXPECT_FALSE(world_.Answered(repeat));
  EXPECT_THAT(world_.Records<Acked>(), SizeIs(1));
  // In between: no longer the client's to extend or give back, and not sent again.
  EXPECT_THAT(world_.Modify("eos", {id}, 60), HasCode(kInvalid));
  EXPECT_THAT(world_.Modify("eos", {id}, 0), HasCode(kInvalid));
  world_.Advance(1h);
  const CallId pull = world_.StartPull("eos", 1, true);
  EXPECT_THAT(world_.Received(pull), IsEmpty()) << "its lease is kept";
  world_.PersistAll();
  EXPECT_TRUE(world_.Await(first).status.ok());
  EXPECT_TRUE(world_.Await(repeat).status.ok());
}

TEST_F(AckTest, AStandardAckAndANackDoNotWaitForTheirRecords) {
  world_.Publish("top", {"a"});
  const std::string standard = PullOne("std");
  const std::string exact = PullOne("eos");
  world_.journal_waits = true;
  world_.awaited.clear();
  EXPECT_TRUE(world_.Ack("std", {standard}).ok());
  EXPECT_TRUE(world_.Modify("eos", {exact}, 0).ok());
  EXPECT_THAT(world_.awaited, ElementsAre(false, false));
  EXPECT_THAT(world_.Records<Nacked>(), SizeIs(1));
}

TEST_F(AckTest, NacksBesideAFailureAreNotAppliedSoThatTheirRetryCounts) {
  world_.Publish("top", {"m"});
  const std::string id = PullOne("eos");
  const CallId mixed = world_.StartModify("eos", {id, "bad"}, 0);
  EXPECT_THAT(world_.Await(mixed).status, HasCode(kInvalid));
  EXPECT_THAT(MetadataOf(mixed), UnorderedElementsAre(Pair(id, pubsub::kTransientUnavailable),
                                                      Pair("bad", pubsub::kPermanentInvalidAckId)));
  EXPECT_THAT(world_.Pull("eos"), IsEmpty());
  EXPECT_TRUE(world_.Modify("eos", {id}, 0).ok());
  EXPECT_THAT(world_.Pull("eos"), SizeIs(1));
}

TEST_F(AckTest, AnExtensionBesideAFailureIsApplied) {
  world_.Publish("top", {"m"});
  const std::string id = PullOne("eos");
  EXPECT_THAT(world_.Modify("eos", {id, "bad"}, 60), HasCode(kInvalid));
  world_.Advance(59s);
  EXPECT_TRUE(world_.Ack("eos", {id}).ok());
}

TEST_F(AckTest, AnExtensionMayShorten) {
  world_.Publish("top", {"m"});
  const std::string id = PullOne("eos");
  EXPECT_TRUE(world_.Modify("eos", {id}, 1).ok());
  world_.Advance(1s);
  EXPECT_THAT(world_.Ack("eos", {id}), HasCode(kInvalid));
}

// Beyond 7 KiB: ABORTED, final failures only, and the client's retries converge.
TEST_F(AckTest, FailuresThatDoNotFitATrailerAreLeftToTheRetry) {
  std::vector<std::string> data(500, "m");
  world_.Publish("top", data);
  const auto old = world_.Pull("eos");
  ASSERT_THAT(old, SizeIs(500));
  world_.Advance(10s);
  world_.Publish("top", {"good"});
  const auto fresh = world_.Pull("eos");
  const auto good = std::find_if(fresh.begin(), fresh.end(), [](const auto& m) { return m.message.data() == "good"; });
  ASSERT_NE(good, fresh.end());
  std::vector<std::string> ids = AckIdsOf(old);
  ids.push_back(good->ack_id);
  std::set<std::string> final_failures;
  int rounds = 0;
  for (; rounds < 20 && !ids.empty(); ++rounds) {
    const CallId call = world_.StartAck("eos", ids);
    const World::Answer& answer = world_.Await(call);
    if (answer.status.ok()) break;
    EXPECT_LE(answer.details.size(), pubsub::kDetailsBytesMax);
    const auto metadata = MetadataOf(call);
    if (answer.status.code() == absl::StatusCode::kAborted) {
      EXPECT_GT(metadata.size(), 50u);
      EXPECT_FALSE(metadata.contains(good->ack_id)) << "final failures only";
    } else {
      EXPECT_THAT(answer.status, HasCode(kInvalid));
    }
    std::erase_if(ids, [&](const std::string& id) {
      const auto found = metadata.find(id);
      if (found == metadata.end() || found->second != pubsub::kPermanentInvalidAckId) return false;
      final_failures.insert(id);
      return true;
    });
  }
  EXPECT_LT(rounds, 20);
  EXPECT_EQ(final_failures.size(), 500u);
  EXPECT_THAT(ids, ElementsAre(good->ack_id));
}

// The official Java client takes an id that is not listed beside others for a
// success, so it must see all of them at once.
TEST_F(AckTest, ACallerOfLargeTrailersGetsAllFailuresAtOnce) {
  world_.Publish("top", std::vector<std::string>(500, "m"));
  const std::vector<std::string> ids = AckIdsOf(world_.Pull("eos"));
  ASSERT_THAT(ids, SizeIs(500));
  world_.Advance(10s);
  const CallId call =
      world_.Start(pubsub::Method::kAcknowledge,
                   pubsub::AcknowledgeRequest{.subscription = World::Sub("eos"),
                                              .ack_ids = ids,
                                              .wire_size = 0,
                                              .details_bytes_max = pubsub::kDetailsBytesMaxOfGoAndJava});
  EXPECT_THAT(world_.Await(call).status, HasCode(kInvalid));
  const auto metadata = MetadataOf(call);
  EXPECT_EQ(metadata.size(), 500u);
  EXPECT_THAT(metadata, Each(Pair(_, pubsub::kPermanentInvalidAckId)));
}

TEST_F(AckTest, C09_ModifyDeadlineBounds) {
  struct Case {
    int32_t seconds;
    absl::StatusCode want;
  };
  for (const Case& c :
       {Case{-1, kInvalid}, Case{0, kOk}, Case{1, kOk}, Case{600, kOk}, Case{601, kInvalid}, Case{715, kInvalid}}) {
    SCOPED_TRACE(c.seconds);
    World world;
    ASSERT_TRUE(world.CreateTopic("top").ok());
    ASSERT_TRUE(world.CreateSubscription("eos", "top", true).ok());
    world.Publish("top", {"m"});
    const absl::Status status = world.Modify("eos", {world.Pull("eos").at(0).ack_id}, c.seconds);
    EXPECT_THAT(status, HasCode(c.want));
    if (c.want != kOk) {
      EXPECT_THAT(status, SaysText("(ack_deadline=" + std::to_string(c.seconds) +
                                   "). The ack deadline must be between 0 and 600 seconds."));
    }
  }
}

TEST_F(AckTest, RequestsAreCheckedBeforeAnything) {
  EXPECT_THAT(world_.Ack("eos", {}), SaysText("You have not specified an ack ID in the request."));
  EXPECT_THAT(world_.Modify("eos", {}, 10), HasCode(kInvalid));
  EXPECT_THAT(world_.Ack("none", {"x"}), HasCode(kNotFound));
  EXPECT_THAT(world_.Ack("none", {"x"}), SaysText("Resource not found (resource=none)."));
  EXPECT_THAT(world_.Ack("x y", {"x"}), HasCode(kInvalid));
  for (const auto& [size, want] : {std::pair<size_t, absl::StatusCode>{524'288, kOk}, {524'289, kInvalid}}) {
    EXPECT_THAT(
        world_.Do(pubsub::Method::kAcknowledge,
                  pubsub::AcknowledgeRequest{
                      .subscription = World::Sub("std"), .ack_ids = {FormatAckId(kKey, {3, 7, 1})}, .wire_size = size}),
        HasCode(want));
  }
}

// L: the modack path waits for the journal only above it, and then once.
TEST_F(AckTest, AReceiptModackWaitsForTheJournalOnlyAboveTheLeaseCeiling) {
  world_.Publish("top", {"m"});
  const std::string id = PullOne("eos");
  world_.journal_waits = true;
  EXPECT_TRUE(world_.Modify("eos", {id}, 60).ok());
  EXPECT_EQ(world_.broker.counters().receipt_modacks, 1u);
  EXPECT_EQ(world_.broker.counters().modacks_that_waited_for_the_journal, 0u);
  const CallId longer = world_.StartModify("eos", {id}, 61);
  EXPECT_FALSE(world_.Answered(longer));
  EXPECT_EQ(world_.broker.counters().modacks_that_waited_for_the_journal, 1u);
  EXPECT_EQ(world_.broker.counters().receipt_modacks, 1u) << "the second of this delivery is no receipt";
  ASSERT_THAT(world_.Records<LeaseCeilingRaised>(), SizeIs(1));
  EXPECT_EQ(world_.Records<LeaseCeilingRaised>()[0].ceiling, 61s);
  world_.Advance(59s);  // the lease has what L allowed
  world_.PersistAll();
  EXPECT_TRUE(world_.Await(longer).status.ok());
  EXPECT_TRUE(world_.Modify("eos", {id}, 61).ok()) << "raised for good";
  world_.journal_waits = false;
  world_.Advance(61s - 1ns);
  EXPECT_TRUE(world_.Ack("eos", {id}).ok());
}

TEST_F(AckTest, AnExtensionCountsFromWhenItWasReadWhateverItWaitedFor) {
  for (const auto& [at, want] : {std::pair{100s - 1ns, kOk}, {100s + 0ns, kInvalid}}) {
    World world;
    ASSERT_TRUE(world.CreateTopic("top").ok());
    ASSERT_TRUE(world.CreateSubscription("eos", "top", true).ok());
    world.Publish("top", {"m"});
    const std::string id = world.Pull("eos").at(0).ack_id;
    world.journal_waits = true;
    world.StartModify("eos", {id}, 100);
    world.AdvanceTo(kStart + 50s);
    world.journal_waits = false;
    world.PersistAll();
    world.AdvanceTo(kStart + at);
    EXPECT_THAT(world.Ack("eos", {id}), HasCode(want));
  }
}

TEST_F(AckTest, AnExtensionThatWaitedTooLongForTheJournalFails) {
  world_.Publish("top", {"m"});
  const std::string id = PullOne("eos");
  world_.journal_waits = true;
  const CallId longer = world_.StartModify("eos", {id}, 100);
  world_.Advance(60s);
  world_.PersistAll();
  EXPECT_THAT(world_.Await(longer).status, HasCode(kInvalid)) << "its lease of L ended meanwhile";
}

// C10
TEST_F(AckTest, ANackedMessageComesAgainAtOnce) {
  world_.Publish("top", {"m"});
  for (const char* sub : {"std", "eos"}) {
    const std::string first = PullOne(sub);
    EXPECT_TRUE(world_.Modify(sub, {first}, 0).ok());
    const std::string second = PullOne(sub);
    EXPECT_TRUE(world_.Ack(sub, {second}).ok());
    world_.Advance(1h);
    EXPECT_THAT(world_.Pull(sub), IsEmpty());
  }
  EXPECT_EQ(world_.broker.counters().redeliveries, 2u);
  EXPECT_EQ(world_.broker.counters().expired_leases, 0u);
}

}  // namespace
}  // namespace hopgap::broker
