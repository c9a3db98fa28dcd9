// A checker that looks at nothing any more would be noticed by nobody. Here the
// story of a broker that keeps its promises is told, and then one sentence of it
// is changed, as each broken promise would change it.
#include "torture/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hopgap::torture {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kSeed = 7;
constexpr size_t kStandard = 0, kEos = 1, kOrdered = 2, kDead = 3, kLetters = 4;

class CheckerTest : public ::testing::Test {
 protected:
  void Publish(uint64_t number, const std::string& key = "") {
    checker_.PublishAsked(number, Body(number).size(), key);
    checker_.PublishAnswered(number, Id(number));
    keys_[number] = key;
  }
  static std::string Id(uint64_t number) { return std::to_string(1000 + number); }
  static std::string Body(uint64_t number) { return BodyOf(kSeed, number, 50); }
  void Come(size_t subscription, uint64_t number, const std::string& ack_id) {
    Come(subscription, number, ack_id, Body(number));
  }
  void Come(size_t subscription, uint64_t number, const std::string& ack_id, const std::string& body,
            const std::string& message_id = "") {
    checker_.Received(now_, {.subscription = subscription,
                             .ack_id = ack_id,
                             .message_id = message_id.empty() ? Id(number) : message_id,
                             .data = body,
                             .key = keys_[number],
                             .lease_from = checker_.AtLeast(now_)});
  }
  void Ack(size_t subscription, const std::string& id, Outcome outcome = Outcome::kOk) {
    checker_.AckAsked(now_, subscription, id);
    checker_.AckAnswered(now_, subscription, id, outcome);
  }
  void Modack(size_t subscription, const std::string& id, Duration length, Outcome outcome = Outcome::kOk) {
    checker_.ModackAsked(now_, subscription, id, length);
    checker_.ModackAnswered(now_, subscription, id, outcome);
  }
  void Advance(Duration length) {
    checker_.AdvanceAsked(length);
    checker_.AdvanceAnswered();
  }
  void AckEverywhere(uint64_t number) {
    for (const size_t subscription : {kStandard, kEos, kOrdered, kDead}) {
      const std::string id = std::to_string(number) + "on" + std::to_string(subscription);
      Come(subscription, number, id);
      Ack(subscription, id);
    }
  }
  std::string Broken() const { return checker_.violation() ? checker_.violation()->promise : "nothing"; }

  Checker checker_{kSeed,
                   {{.name = "standard"},
                    {.name = "eos", .exactly_once = true},
                    {.name = "ordered", .exactly_once = true, .ordered = true},
                    {.name = "dead", .exactly_once = true, .forwards = true},
                    {.name = "letters", .letters = true}}};
  std::map<uint64_t, std::string> keys_;
  Instant now_{1h};
};

TEST_F(CheckerTest, ABrokerThatKeepsItsPromisesBreaksNothing) {
  Publish(1, "k");
  Publish(2, "k");
  Come(kEos, 1, "a1");
  Modack(kEos, "a1", 120s);
  Come(kOrdered, 1, "o1");
  Come(kOrdered, 2, "o2");
  Ack(kOrdered, "o1");
  checker_.AckAsked(now_, kEos, "a1");
  checker_.AckAnswered(now_, kEos, "a1", Outcome::kUnknown);
  checker_.Ended();
  Advance(121s);
  Come(kEos, 1, "a2");  // it had not been acked after all
  Ack(kEos, "a1", Outcome::kRefused);
  Ack(kEos, "a2");
  Come(kEos, 2, "b1");
  checker_.Ended();
  Ack(kEos, "b1");  // held, and the newest
  Come(kOrdered, 2, "o3");
  Ack(kOrdered, "o3");
  Come(kDead, 1, "d1");
  Modack(kDead, "d1", 0s);
  Come(kLetters, 1, "l1", Body(1), "77");
  Ack(kLetters, "l1");
  Come(kDead, 2, "d2");
  Ack(kDead, "d2");
  for (const uint64_t number : {1u, 2u}) {
    Come(kStandard, number, "s" + std::to_string(number));
    Ack(kStandard, "s" + std::to_string(number));
  }
  checker_.Ended();
  Come(kStandard, 1, "s9");  // a standard ack may be forgotten by a crash
  Ack(kStandard, "s9");
  EXPECT_EQ(checker_.backlog(), 0u);
  checker_.ExpectDrained();
  EXPECT_EQ(Broken(), "nothing") << checker_.violation()->what;
}

TEST_F(CheckerTest, FindsAnAnsweredPublishThatIsLost) {
  Publish(1);
  AckEverywhere(1);
  Publish(2);
  checker_.ExpectDrained();
  EXPECT_EQ(Broken(), "delivered until acknowledged");
}

TEST_F(CheckerTest, FindsAMessageThatOneSubscriptionNeverGot) {
  checker_.PublishAsked(1, Body(1).size(), "");  // not answered, but it was seen
  Come(kStandard, 1, "s1");
  Ack(kStandard, "s1");
  checker_.ExpectDrained();
  EXPECT_EQ(Broken(), "delivered until acknowledged");
}

TEST_F(CheckerTest, FindsAHeldMessageThatDoesNotComeWhenItsLeaseIsOver) {
  Publish(1);
  Come(kEos, 1, "a1");
  checker_.Ended();
  Advance(601s);
  checker_.ExpectArrived(checker_.AtLeast(now_), kEos);
  EXPECT_EQ(Broken(), "delivered until acknowledged");
}

TEST_F(CheckerTest, FindsOneThatComesAgainAfterItsAck) {
  Publish(1);
  Come(kEos, 1, "a1");
  Ack(kEos, "a1");
  checker_.Ended();
  Advance(601s);
  Come(kEos, 1, "a2");
  EXPECT_EQ(Broken(), "acknowledged once");
}

TEST_F(CheckerTest, FindsOneThatComesAgainLongAfterItWasDrained) {
  Publish(1);
  AckEverywhere(1);
  checker_.ExpectDrained();
  ASSERT_EQ(Broken(), "nothing");
  Come(kStandard, 1, "s9");  // allowed
  EXPECT_EQ(Broken(), "nothing");
  Come(kEos, 1, "a2");
  EXPECT_EQ(Broken(), "acknowledged once");
}

TEST_F(CheckerTest, FindsAStandardOneThatComesAgainWithoutARestart) {
  Publish(1);
  Come(kStandard, 1, "s1");
  Ack(kStandard, "s1");
  Come(kStandard, 1, "s2");
  EXPECT_EQ(Broken(), "acknowledged once");
}

TEST_F(CheckerTest, FindsASecondDeliveryUnderALiveLeaseToTheNanosecond) {
  for (const Duration passed : {59s + 999'999'999ns, Duration{60s}}) {
    Checker fresh(kSeed, {{.name = "eos", .exactly_once = true}});
    fresh.PublishAsked(1, Body(1).size(), "");
    fresh.PublishAnswered(1, Id(1));
    const std::string body = Body(1);
    fresh.Received(now_, {.ack_id = "a1", .message_id = Id(1), .data = body, .key = "", .lease_from = now_});
    fresh.Ended();  // a restart changes nothing
    fresh.Received(now_ + passed,
                   {.ack_id = "a2", .message_id = Id(1), .data = body, .key = "", .lease_from = now_ + passed});
    EXPECT_EQ(fresh.violation().has_value(), passed < 60s);
  }
}

TEST_F(CheckerTest, FindsAnExtensionThatWasForgotten) {
  Publish(1);
  Come(kEos, 1, "a1");
  Modack(kEos, "a1", 120s);
  checker_.Ended();
  Advance(119s);
  Come(kEos, 1, "a2");
  EXPECT_EQ(Broken(), "one lease at a time");
}

TEST_F(CheckerTest, AnAdvanceWithoutAnswerMayHaveEndedTheLease) {
  Publish(1);
  Come(kEos, 1, "a1");
  checker_.AdvanceAsked(60s);
  Come(kEos, 1, "a2");
  EXPECT_EQ(Broken(), "nothing");
}

TEST_F(CheckerTest, FindsAnOldIdThatAcknowledges) {
  Publish(1);
  Come(kEos, 1, "a1");
  Modack(kEos, "a1", 0s);
  Come(kEos, 1, "a2");
  Ack(kEos, "a1");
  EXPECT_EQ(Broken(), "only the live id");
}

TEST_F(CheckerTest, FindsALiveIdThatIsRefused) {
  Publish(1);
  Come(kEos, 1, "a1");
  checker_.Ended();
  Ack(kEos, "a1", Outcome::kRefused);
  EXPECT_EQ(Broken(), "the live id works");
}

TEST_F(CheckerTest, FindsALiveIdWhoseLeaseCannotBeExtended) {
  Publish(1);
  Come(kEos, 1, "a1");
  Modack(kEos, "a1", 90s, Outcome::kRefused);
  EXPECT_EQ(Broken(), "the live id works");
}

TEST_F(CheckerTest, ALeaseThatWasTakenAlongMayHaveBeenExtendedBefore) {
  Publish(1, "k");
  Publish(2, "k");
  Come(kOrdered, 1, "o1");
  Come(kOrdered, 2, "o2");
  checker_.ModackAsked(now_, kOrdered, "o2", 90s);
  Modack(kOrdered, "o1", 0s);
  Come(kOrdered, 1, "o3");  // and "o2" with it
  checker_.ModackAnswered(now_, kOrdered, "o2", Outcome::kOk);
  Ack(kOrdered, "o3");
  Ack(kOrdered, "o2", Outcome::kRefused);
  EXPECT_EQ(Broken(), "nothing");
}

TEST_F(CheckerTest, WhatALeaseTookAlongAtItsEndDoesNotComeBackWhenACrashForgotThatEnd) {
  Publish(1, "k");
  Publish(2, "k");
  Come(kOrdered, 1, "o1");
  Come(kOrdered, 2, "o2");
  Modack(kOrdered, "o2", 600s);
  Advance(121s);
  checker_.Ended();
  Ack(kOrdered, "o1");
  Ack(kOrdered, "o2", Outcome::kRefused);
  EXPECT_EQ(Broken(), "nothing");
}

TEST_F(CheckerTest, AnAckMayBeRefusedOfWhatCameAgainMeanwhile) {
  Publish(1, "k");
  Publish(2, "k");
  Come(kOrdered, 1, "o1");
  Come(kOrdered, 2, "o2");
  checker_.AckAsked(now_, kOrdered, "o2");
  Modack(kOrdered, "o1", 0s);
  Come(kOrdered, 1, "o3");
  Come(kOrdered, 2, "o4");
  checker_.AckAnswered(now_, kOrdered, "o2", Outcome::kRefused);
  EXPECT_EQ(Broken(), "nothing");
}

TEST_F(CheckerTest, FindsAnAckIdThatIsGivenTwice) {
  Publish(1);
  Publish(2);
  Come(kEos, 1, "a1");
  Come(kEos, 2, "a1");
  EXPECT_EQ(Broken(), "one ack id, one delivery");
}

TEST_F(CheckerTest, FindsOtherBytes) {
  Publish(1);
  std::string body = Body(1);
  body.back() = static_cast<char>(body.back() ^ 1);
  Come(kEos, 1, "a1", body);
  EXPECT_EQ(Broken(), "same bytes");
}

TEST_F(CheckerTest, FindsAnotherOrderingKey) {
  Publish(1, "k");
  keys_[1] = "";
  Come(kEos, 1, "a1");
  EXPECT_EQ(Broken(), "same bytes");
}

TEST_F(CheckerTest, FindsWhatNobodyPublished) {
  Come(kEos, 5, "a1");
  EXPECT_EQ(Broken(), "nothing from nowhere");
}

TEST_F(CheckerTest, FindsASecondMessageId) {
  Publish(1);
  Come(kEos, 1, "a1", Body(1), "4711");
  EXPECT_EQ(Broken(), "one id, one message");
}

TEST_F(CheckerTest, FindsTheLaterOfAKeyBeforeTheEarlier) {
  Publish(1, "k");
  Publish(2, "k");
  Come(kOrdered, 2, "o2");
  EXPECT_EQ(Broken(), "in order");
}

TEST_F(CheckerTest, FindsTheLaterOfAKeyBeforeOneThatWasNeverAnswered) {
  checker_.PublishAsked(1, Body(1).size(), "k");
  keys_[1] = "k";
  Publish(2, "k");
  Come(kOrdered, 2, "o2");
  ASSERT_EQ(Broken(), "nothing") << "perhaps 1 does not exist";
  Come(kOrdered, 1, "o1");
  EXPECT_EQ(Broken(), "in order");
}

TEST_F(CheckerTest, FindsTheLaterOfAKeyWhileTheEarlierIsHeld) {
  Publish(1, "k");
  Publish(2, "k");
  Come(kOrdered, 1, "o1");
  checker_.Ended();
  Come(kOrdered, 2, "o2");
  EXPECT_EQ(Broken(), "in order");
}

// Two acks of one id at once: the first came before its turn, the second counted.
TEST_F(CheckerTest, AnAckThatIsSentTwiceCountsIfEitherIsAnsweredOk) {
  Publish(1, "k");
  Publish(2, "k");
  Come(kOrdered, 1, "o1");
  checker_.AckAsked(now_, kOrdered, "o1");
  checker_.AckAsked(now_, kOrdered, "o1");
  checker_.AckAnswered(now_, kOrdered, "o1", Outcome::kTemporary);
  checker_.AckAnswered(now_, kOrdered, "o1", Outcome::kOk);
  checker_.Ended();
  Come(kOrdered, 2, "o2");
  EXPECT_EQ(Broken(), "nothing") << checker_.violation()->what;
  Come(kOrdered, 1, "o3");
  EXPECT_EQ(Broken(), "acknowledged once");
}

// What comes back ends the leases of what came after it of its key.
TEST_F(CheckerTest, OfAKeyWhatFollowsAMessageThatCameBackMayComeAgain) {
  Publish(1, "k");
  Publish(2, "k");
  Publish(3, "other");
  Come(kOrdered, 1, "o1");
  Come(kOrdered, 2, "o2");
  Come(kOrdered, 3, "p1");
  Modack(kOrdered, "o1", 0s);
  Ack(kOrdered, "o2", Outcome::kRefused);
  Come(kOrdered, 1, "o3");
  Come(kOrdered, 2, "o4");
  EXPECT_EQ(Broken(), "nothing") << checker_.violation()->what;
  Come(kOrdered, 3, "p2");
  EXPECT_EQ(Broken(), "one lease at a time");
}

TEST_F(CheckerTest, FindsALetterOfWhatWasAcknowledged) {
  Publish(1);
  Come(kDead, 1, "d1");
  Ack(kDead, "d1");
  Come(kLetters, 1, "l1", Body(1), "77");
  EXPECT_EQ(Broken(), "dead letters");
}

TEST_F(CheckerTest, FindsWhatIsForwardedTwice) {
  Publish(1);
  Come(kLetters, 1, "l1", Body(1), "77");
  Come(kLetters, 1, "l2", Body(1), "78");
  EXPECT_EQ(Broken(), "dead letters");
}

TEST_F(CheckerTest, FindsWhatComesAgainAfterItWasForwarded) {
  Publish(1);
  Come(kLetters, 1, "l1", Body(1), "77");
  Come(kDead, 1, "d1");
  EXPECT_EQ(Broken(), "dead letters");
}

}  // namespace
}  // namespace hopgap::torture
