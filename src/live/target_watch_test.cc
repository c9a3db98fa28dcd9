#include "live/target_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace hopgap::live {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr Instant kFirst{1000s};

// Answers every question alike, and counts them.
class OneAnswer final : public remote::Connection {
 public:
  remote::StreamRef OpenStream(remote::Handler&, uint64_t, pubsub::Slices) override { return nullptr; }
  void Call(remote::Handler&, uint64_t, pubsub::Method, const pubsub::Slices&, Duration) override {}
  void Probe(ProbeDone) override {}
  absl::Status WaitReady(Duration) override { return answer; }
  absl::StatusOr<pubsub::Bytes> CallAndWait(pubsub::Method, const pubsub::Slices&, Duration) override {
    ++asked;
    if (!answer.ok()) return answer;
    return pubsub::Bytes();
  }

  absl::Status answer;
  int asked = 0;
};

TEST(TargetWatchTest, ATargetIsGoneOnceNothingWasAnsweredForTenSeconds) {
  OneAnswer connection;
  connection.answer = absl::UnavailableError("connection refused");
  TargetWatch watch(connection, "h:1", "projects/p/topics/t");
  EXPECT_TRUE(watch.Look(kFirst + 4s, kFirst + 3s, kFirst).ok());
  EXPECT_TRUE(watch.Look(kFirst + 6s - 1ns, kFirst + 3s, kFirst).ok());
  EXPECT_EQ(connection.asked, 1) << "every two seconds, and not more often";
  EXPECT_TRUE(watch.Look(kFirst + 13s - 1ns, kFirst + 3s, kFirst).ok());
  EXPECT_FALSE(watch.answers());
  EXPECT_EQ(watch.Look(kFirst + 15s, kFirst + 3s, kFirst),
            absl::UnavailableError("the target at h:1 stopped answering 3.0 s into the run and was still silent 12.0 s "
                                   "later: connection refused"));
}

TEST(TargetWatchTest, AnAnswerOfAnyKindIsOne) {
  OneAnswer connection;
  TargetWatch watch(connection, "h:1", "projects/p/topics/t");
  Instant now = kFirst;
  for (const absl::Status& answer : {absl::OkStatus(), absl::NotFoundError("x"), absl::UnimplementedError("x"),
                                     absl::PermissionDeniedError("x"), absl::InternalError("x")}) {
    connection.answer = answer;
    now += 1h;
    EXPECT_TRUE(watch.Look(now, kFirst, kFirst).ok()) << answer;
    EXPECT_TRUE(watch.LookLast(now, kFirst, kFirst).ok()) << answer;
    EXPECT_TRUE(watch.answers());
  }
}

TEST(TargetWatchTest, AtTheEndOneQuestionDecides) {
  OneAnswer connection;
  TargetWatch watch(connection, "h:1", "projects/p/topics/t");
  connection.answer = absl::DeadlineExceededError("no answer");
  const absl::Status gone = watch.LookLast(kFirst + 5s, kNever, kFirst);
  EXPECT_EQ(gone.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(gone), HasSubstr("stopped answering 5.0 s into the run"));
  // It was started again in between: what went before is forgotten.
  connection.answer = absl::OkStatus();
  EXPECT_TRUE(watch.Look(kFirst + 7s, kFirst, kFirst).ok());
  connection.answer = absl::UnavailableError("x");
  EXPECT_TRUE(watch.Look(kFirst + 20s, kNever, kFirst).ok());
}

}  // namespace
}  // namespace hopgap::live
