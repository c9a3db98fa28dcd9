// Leases and acks as a program with generated stubs sees them: cases C01-C04,
// C09 and C10 of the case log.

#include <gmock/gmock.h>

#include <future>

#include "base/system_clock.h"
#include "generated_client.h"

namespace hopgap::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kInvalid = "PERMANENT_FAILURE_INVALID_ACK_ID";
constexpr const char* kSomeInvalid = "Some acknowledgement ids in the request were invalid.";

class GeneratedClientLeaseTest : public GeneratedClientTest {
 protected:
  void ExpectInvalid(const Answer& answer, const std::string& ack_id) {
    EXPECT_EQ(answer.code, grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(answer.text, HasSubstr(kSomeInvalid));
    EXPECT_THAT(answer.ack_failures, ElementsAre(Pair(ack_id, kInvalid)));
  }
};

TEST_F(GeneratedClientLeaseTest, C01AnExpiredExactlyOnceIdIsInvalidAndTheMessageComesAgain) {
  ASSERT_TRUE(CreateSubscription("eos", {.exactly_once = true, .ack_deadline_seconds = 10}).ok());
  const std::string id = Publish("orders", "one");
  const wire::ReceivedMessage first = PullOne("eos");
  EXPECT_EQ(first.message().message_id(), id);
  ASSERT_TRUE(ModifyAckDeadline("eos", {first.ack_id()}, 1).ok());
  LetOneSecondLeasesEnd();

  ExpectInvalid(Acknowledge("eos", {first.ack_id()}), first.ack_id());
  ExpectInvalid(ModifyAckDeadline("eos", {first.ack_id()}, 60), first.ack_id());
  const wire::ReceivedMessage second = PullOne("eos");
  EXPECT_EQ(second.message().message_id(), id);
  EXPECT_EQ(second.message().data(), "one");
  EXPECT_NE(second.ack_id(), first.ack_id());
  EXPECT_TRUE(Acknowledge("eos", {second.ack_id()}).ok());
  EXPECT_TRUE(Acknowledge("eos", {second.ack_id()}).ok()) << "a repeated ack keeps its answer";
  ExpectInvalid(Acknowledge("eos", {first.ack_id()}), first.ack_id());
  EXPECT_THAT(PullNow("eos", 10), IsEmpty());
}

TEST_F(GeneratedClientLeaseTest, C02AnExpiredStandardIdIsNeverInvalid) {
  ASSERT_TRUE(CreateSubscription("std", {.ack_deadline_seconds = 10}).ok());
  Publish("orders", "one");
  const wire::ReceivedMessage first = PullOne("std");
  ASSERT_TRUE(ModifyAckDeadline("std", {first.ack_id()}, 1).ok());
  LetOneSecondLeasesEnd();

  EXPECT_TRUE(Acknowledge("std", {first.ack_id()}).ok());
  EXPECT_TRUE(Acknowledge("std", {first.ack_id()}).ok());
  EXPECT_TRUE(ModifyAckDeadline("std", {first.ack_id()}, 60).ok());
}

// The published ack deadline itself, on both kinds at once.
TEST_F(GeneratedClientLeaseTest, C01C02ALeaseOfTenSecondsEndsAfterTenSeconds) {
  ASSERT_TRUE(CreateSubscription("eos", {.exactly_once = true, .ack_deadline_seconds = 10}).ok());
  ASSERT_TRUE(CreateSubscription("std", {.ack_deadline_seconds = 10}).ok());
  const auto length_of_lease = [this](const std::string& id) {
    const Instant asked = SteadyNow();
    const wire::ReceivedMessage first = PullOne(id);
    const Instant received = SteadyNow();
    const wire::ReceivedMessage second = PullOne(id);
    EXPECT_EQ(second.message().message_id(), first.message().message_id());
    EXPECT_GE(SteadyNow() - asked, std::chrono::seconds{10}) << id;
    EXPECT_LT(SteadyNow() - received, std::chrono::seconds{12}) << id;
  };
  Publish("orders", "one");
  auto eos = std::async(std::launch::async, length_of_lease, "eos");
  length_of_lease("std");
  eos.get();
}

TEST_F(GeneratedClientLeaseTest, C03AMixedBatchAcksTheValidIdForGood) {
  ASSERT_TRUE(CreateSubscription("eos", {.exactly_once = true, .ack_deadline_seconds = 600}).ok());
  const std::string valid_id = Publish("orders", "a");
  const wire::ReceivedMessage a = PullOne("eos");
  const std::string expired_id = Publish("orders", "b");
  const wire::ReceivedMessage b = PullOne("eos");
  ASSERT_EQ(a.message().message_id(), valid_id);
  ASSERT_TRUE(ModifyAckDeadline("eos", {b.ack_id()}, 1).ok());
  LetOneSecondLeasesEnd();

  const Answer answer = Acknowledge("eos", {a.ack_id(), b.ack_id()});
  EXPECT_EQ(answer.code, grpc::StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(answer.ack_failures.contains(b.ack_id()));
  EXPECT_EQ(answer.ack_failures.at(b.ack_id()), kInvalid);
  // Listed as transient or not at all: whichever, a retry of it succeeds.
  if (answer.ack_failures.contains(a.ack_id())) {
    EXPECT_THAT(answer.ack_failures.at(a.ack_id()), testing::StartsWith("TRANSIENT_"));
  }
  EXPECT_TRUE(Acknowledge("eos", {a.ack_id()}).ok());

  const wire::ReceivedMessage again = PullOne("eos");
  EXPECT_EQ(again.message().message_id(), expired_id);
  EXPECT_TRUE(Acknowledge("eos", {again.ack_id()}).ok());
  EXPECT_THAT(PullNow("eos", 10), IsEmpty());

  Restart();
  EXPECT_THAT(PullNow("eos", 10), IsEmpty()) << "an acked message came back after a restart";
  EXPECT_TRUE(Acknowledge("eos", {a.ack_id()}).ok()) << "a repeat works also after a restart";
}

TEST_F(GeneratedClientLeaseTest, C04OnlyTheNewestIdCounts) {
  ASSERT_TRUE(CreateSubscription("eos", {.exactly_once = true, .ack_deadline_seconds = 10}).ok());
  Publish("orders", "one");
  const wire::ReceivedMessage first = PullOne("eos");
  ASSERT_TRUE(ModifyAckDeadline("eos", {first.ack_id()}, 0).ok());
  const wire::ReceivedMessage second = PullOne("eos");
  EXPECT_EQ(second.message().message_id(), first.message().message_id());
  EXPECT_NE(second.ack_id(), first.ack_id());

  ExpectInvalid(Acknowledge("eos", {first.ack_id()}), first.ack_id());
  ExpectInvalid(ModifyAckDeadline("eos", {first.ack_id()}, 60), first.ack_id());
  ExpectInvalid(ModifyAckDeadline("eos", {first.ack_id()}, 0), first.ack_id());
  EXPECT_THAT(PullNow("eos", 10), IsEmpty()) << "a late call ended the newer lease";
  EXPECT_TRUE(Acknowledge("eos", {second.ack_id()}).ok());
  EXPECT_THAT(PullNow("eos", 10), IsEmpty());
}

// The id that failed must not have changed the lease's length either: the
// second lease still ends after the one second it was given.
TEST_F(GeneratedClientLeaseTest, C04ALateExtensionDoesNotStretchTheNewerLease) {
  ASSERT_TRUE(CreateSubscription("eos", {.exactly_once = true, .ack_deadline_seconds = 10}).ok());
  Publish("orders", "one");
  const wire::ReceivedMessage first = PullOne("eos");
  ASSERT_TRUE(ModifyAckDeadline("eos", {first.ack_id()}, 0).ok());
  const wire::ReceivedMessage second = PullOne("eos");
  ASSERT_TRUE(ModifyAckDeadline("eos", {second.ack_id()}, 1).ok());
  ExpectInvalid(ModifyAckDeadline("eos", {first.ack_id()}, 60), first.ack_id());
  LetOneSecondLeasesEnd();
  EXPECT_EQ(PullNow("eos", 10).size(), 1u);
}

TEST_F(GeneratedClientLeaseTest, C09DeadlinesOutsideTheRangeAreRefusedWithTheirValue) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  const std::string id = Publish("orders", "one");
  const wire::ReceivedMessage message = PullOne("std");
  for (const int seconds : {715, 601, -1}) {
    const Answer answer = ModifyAckDeadline("std", {message.ack_id()}, seconds);
    EXPECT_EQ(answer.code, grpc::StatusCode::INVALID_ARGUMENT) << seconds;
    EXPECT_EQ(answer.text, "Invalid ack deadline given (ack_deadline=" + std::to_string(seconds) +
                               "). The ack deadline must be between 0 and 600 seconds.");
  }
  EXPECT_TRUE(ModifyAckDeadline("std", {message.ack_id()}, 600).ok());
  EXPECT_THAT(PullNow("std", 10), IsEmpty());
  EXPECT_TRUE(ModifyAckDeadline("std", {message.ack_id()}, 0).ok());
  const std::vector<wire::ReceivedMessage> again = PullNow("std", 10);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].message().message_id(), id);
}

TEST_F(GeneratedClientLeaseTest, C09ASubscriptionsDeadlineIsZeroOrTenToSixHundred) {
  for (const int seconds : {9, 1, 601, -1}) {
    const Answer answer = CreateSubscription("refused", {.ack_deadline_seconds = seconds});
    EXPECT_EQ(answer.code, grpc::StatusCode::INVALID_ARGUMENT) << seconds;
    EXPECT_EQ(answer.text, "Invalid ack deadline given (ack_deadline=" + std::to_string(seconds) +
                               "). The ack deadline must be between 10 and 600 seconds.");
  }
  struct Case {
    const char* id;
    bool exactly_once;
    int asked;
    int stored;
  };
  for (const Case& c : {Case{"std-0", false, 0, 10}, Case{"eos-0", true, 0, 60}, Case{"std-10", false, 10, 10},
                        Case{"eos-10", true, 10, 10}, Case{"std-600", false, 600, 600}}) {
    wire::Subscription created;
    EXPECT_TRUE(
        CreateSubscription(c.id, {.exactly_once = c.exactly_once, .ack_deadline_seconds = c.asked}, &created).ok());
    EXPECT_EQ(created.ack_deadline_seconds(), c.stored) << c.id;
  }
}

TEST_F(GeneratedClientLeaseTest, C10ANackedMessageComesAgainAtOnceAndAckedNeverMore) {
  for (const bool exactly_once : {false, true}) {
    SCOPED_TRACE(exactly_once);
    const std::string id = exactly_once ? "eos" : "std";
    ASSERT_TRUE(CreateSubscription(id, {.exactly_once = exactly_once, .topic = "topic-of-" + id}).ok());
    Publish("topic-of-" + id, "one");
    const wire::ReceivedMessage first = PullOne(id);
    const Instant nacked = SteadyNow();
    ASSERT_TRUE(ModifyAckDeadline(id, {first.ack_id()}, 0).ok());
    const wire::ReceivedMessage second = PullOne(id);
    EXPECT_LT(SteadyNow() - nacked, std::chrono::seconds{1});
    EXPECT_EQ(second.message().message_id(), first.message().message_id());
    EXPECT_TRUE(Acknowledge(id, {second.ack_id()}).ok());
    EXPECT_THAT(PullNow(id, 10), IsEmpty());
  }
}

TEST_F(GeneratedClientLeaseTest, MalformedAndMissingIdsAreRefused) {
  ASSERT_TRUE(CreateSubscription("std", {}).ok());
  EXPECT_EQ(Acknowledge("std", {}).text, "You have not specified an ack ID in the request.");
  const Answer malformed = Acknowledge("std", {"not-an-ack-id"});
  EXPECT_EQ(malformed.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(malformed.text, "You have passed an invalid ack ID to the service (ack_id=not-an-ack-id).");
  EXPECT_EQ(Acknowledge("nobody", {"x"}).code, grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Acknowledge("nobody", {"x"}).text, "Resource not found (resource=nobody).");
}

}  // namespace
}  // namespace hopgap::tests
