// `hopgap run --target gcp:PROJECT` against a service that asks for tokens, has
// quotas, and can end a login at a bad moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "gcp/fake_google.h"

namespace hopgap::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace std::chrono_literals;

class GcpRunTest : public ::testing::Test {
 protected:
  Process Run(std::vector<std::string> words, const std::string& credentials = "") {
    std::vector<std::string> all = {HOPGAP_BINARY, "run", "--work", "0ms", "--rate", "20"};
    if (words.back() != "--no-out") all.insert(all.end(), {"--out", "r"});
    const std::vector<std::string> target = google_.TargetFlags();
    all.insert(all.end(), target.begin(), target.end());
    all.insert(all.end(), words.begin(), words.end());
    return Process(all, folder_.path(), google_.Environment(credentials));
  }
  nlohmann::json Outcome() { return nlohmann::json::parse(folder_.Read("r/run.json")).at("outcome"); }

  FakeGoogle google_;
  Folder folder_;
};

TEST_F(GcpRunTest, RunsOverTlsRenewsItsTokenAndLeavesNothing) {
  google_.TokensLive(2s);
  Process run = Run({"--messages", "60", "--prefix", "test-"});
  const int code = run.Wait();
  EXPECT_TRUE(code == 0 || code == 2) << code << "\n" << run.output();  // 2: a loaded machine
  EXPECT_THAT(run.output(), HasSubstr("120 of 120 messages completed"));
  // 3 s of messages, and set-up before them, on tokens of 2 s.
  EXPECT_GE(google_.tokens_given(), 2);
  EXPECT_EQ(google_.calls("CreateTopic"), 6);
  EXPECT_EQ(google_.calls("CreateSubscription"), 6);
  EXPECT_THAT(google_.ResourcesLeft(), IsEmpty());
}

TEST_F(GcpRunTest, ADryRunTouchesNothing) {
  Process run = Run({"--messages", "50", "--dry-run", "--prefix", "test-"});
  EXPECT_EQ(run.Wait(), 0) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("projects/my-project/topics/test-std-hop1\n"));
  EXPECT_THAT(run.output(), HasSubstr("projects/my-project/subscriptions/test-eos-hop3-sub  (exactly-once)\n"));
  EXPECT_THAT(run.output(), HasSubstr("300 published and as many delivered (2 arms × 3 hops × 50)"));
  EXPECT_THAT(run.output(), HasSubstr("approximate: list prices of"));
  EXPECT_EQ(google_.tokens_given(), 0);
  EXPECT_EQ(google_.calls("CreateTopic"), 0);
}

TEST_F(GcpRunTest, ALoginThatWasRevokedSaysHowToLogIn) {
  google_.RefuseTokens();
  Process run = Run({"--messages", "5"}, google_.UserFile());
  EXPECT_EQ(run.Wait(), 8) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("invalid_grant: Token has been expired or revoked."));
  EXPECT_THAT(run.output(), HasSubstr("gcloud auth application-default login"));
}

TEST_F(GcpRunTest, CredentialsThatEndDuringTheRunEndIt) {
  google_.TokensLive(3s);
  Process run = Run({"--messages", "400"}, google_.UserFile());
  ASSERT_TRUE(run.WaitForText("done", 20s)) << run.output();  // a progress line
  google_.RefuseTokens();
  EXPECT_EQ(run.Wait(), 8) << run.output();
  EXPECT_TRUE(Outcome().at("ended_early"));
  // Without a token nothing can be removed; that is said, name by name.
  EXPECT_THAT(run.output(), HasSubstr("could not remove projects/my-project/topics/hopgap-"));
}

TEST_F(GcpRunTest, ATokenThatTheServiceRefusesIsSaid) {
  google_.RejectGivenTokens();
  Process run = Run({"--messages", "5"});
  EXPECT_EQ(run.Wait(), 8) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("Request had invalid authentication credentials.; sent was service account of "));
}

TEST_F(GcpRunTest, AQuotaThatIsUsedUpAtSetUpRemovesWhatWasMade) {
  google_.LimitCalls("CreateSubscription", 2);
  Process run = Run({"--messages", "5"});
  EXPECT_EQ(run.Wait(), 9) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("Insufficient tokens for quota 'requests' and limit 'per minute'.; a quota is "));
  EXPECT_THAT(google_.ResourcesLeft(), IsEmpty());
}

TEST_F(GcpRunTest, AQuotaThatIsUsedUpDuringTheRunEndsItWithWhatCompleted) {
  google_.LimitCalls("Publish", 60);
  Process run = Run({"--messages", "400"});
  EXPECT_EQ(run.Wait(), 9) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("a quota is used up"));
  EXPECT_TRUE(Outcome().at("ended_early"));
  EXPECT_THAT(google_.ResourcesLeft(), IsEmpty());
}

TEST_F(GcpRunTest, CtrlCRemovesEverything) {
  Process run = Run({"--messages", "2000"});
  ASSERT_TRUE(run.WaitForText("done", 20s)) << run.output();
  EXPECT_THAT(google_.ResourcesLeft(), Not(IsEmpty()));
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(20s), 130) << run.output();
  EXPECT_THAT(google_.ResourcesLeft(), IsEmpty());
}

TEST_F(GcpRunTest, CtrlCDuringSetUpRemovesWhatWasMadeSoFar) {
  std::mutex mu;  // until the process is there to be signalled
  std::unique_lock lock(mu);
  std::unique_ptr<Process> run;
  google_.When("CreateSubscription", 2, [&] {
    std::lock_guard wait(mu);
    run->Signal(SIGINT);
  });
  run.reset(new Process(Run({"--messages", "5"})));
  lock.unlock();
  EXPECT_EQ(run->Wait(20s), 130) << run->output();
  EXPECT_LT(google_.calls("CreateSubscription"), 6);
  EXPECT_EQ(google_.calls("Publish"), 0);
  EXPECT_THAT(google_.ResourcesLeft(), IsEmpty());
}

TEST_F(GcpRunTest, WhatWasThereBeforeIsLeftAlone) {
  Process first = Run({"--messages", "2000", "--prefix", "mine-"});
  ASSERT_TRUE(first.WaitForText("done", 20s)) << first.output();
  Process second = Run({"--messages", "5", "--prefix", "mine-", "--no-out"});
  EXPECT_EQ(second.Wait(), 3) << second.output();
  EXPECT_THAT(second.output(), HasSubstr("projects/my-project/topics/mine-std-hop1 exists already"));
  EXPECT_EQ(google_.calls("DeleteTopic"), 0);
  first.Signal(SIGINT);
  EXPECT_EQ(first.Wait(20s), 130) << first.output();
}

TEST_F(GcpRunTest, ACertificateThatNobodyTrustsIsNamedAsAReason) {
  std::vector<std::string> words = {HOPGAP_BINARY, "run", "--no-out"};
  for (const std::string& word : google_.TargetFlags()) words.push_back(word);
  words.back() = folder_.Write("other.pem", Certificate::Make("somebody else").certificate);
  Process run(words, folder_.path(), google_.Environment());
  EXPECT_EQ(run.Wait(), 4) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("--ca-file"));
}

}  // namespace
}  // namespace hopgap::tests
