// `hopgap doctor`: what it says of a machine and of targets, good and bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gcp/fake_google.h"

namespace hopgap::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DoctorTest : public ::testing::Test {
 protected:
  Process Doctor(std::vector<std::string> words, const std::string& credentials = "") {
    words.insert(words.begin(), {HOPGAP_BINARY, "doctor"});
    return Process(words, folder_.path(), google_.Environment(credentials));
  }

  FakeGoogle google_;
  Folder folder_;
};

TEST_F(DoctorTest, WithoutATargetItLooksAtTheMachine) {
  Process doctor = Doctor({"--json"});
  EXPECT_EQ(doctor.Wait(), 0) << doctor.output();
  const nlohmann::json document = nlohmann::json::parse(doctor.output());
  EXPECT_EQ(document.at("schema"), "hopgap.doctor/1");
  std::vector<std::string> subjects;
  for (const nlohmann::json& check : document.at("checks")) subjects.push_back(check.at("subject"));
  EXPECT_EQ(subjects, (std::vector<std::string>{"clock sync", "timer jitter", "CPU limits"}));
  EXPECT_EQ(google_.tokens_given(), 0);
}

TEST_F(DoctorTest, AGoodTargetIsGoodAndLeftAsItWas) {
  Process doctor = Doctor(google_.TargetFlags());
  EXPECT_EQ(doctor.Wait(), 0) << doctor.output();
  for (const char* line :
       {"ok    credentials: service account of the metadata server 127.0.0.1:", "ok    target: 127.0.0.1:",
        "ok    broker: a hopgap broker", "warn  region: 127.0.0.1:", "ok    exactly-once: on"}) {
    EXPECT_THAT(doctor.output(), HasSubstr(line));
  }
  EXPECT_EQ(google_.calls("CreateTopic"), 1);
  EXPECT_THAT(google_.ResourcesLeft(), IsEmpty());
}

TEST_F(DoctorTest, WhatFailsHasItsExitCode) {
  Process nobody = Doctor({"--target", "127.0.0.1:1"});
  EXPECT_EQ(nobody.Wait(), 4) << nobody.output();
  EXPECT_THAT(nobody.output(), HasSubstr("fail  target: nothing that speaks gRPC answers at 127.0.0.1:1"));

  google_.LimitCalls("CreateTopic", 0);
  Process quota = Doctor(google_.TargetFlags());
  EXPECT_EQ(quota.Wait(), 9) << quota.output();
  EXPECT_THAT(quota.output(), HasSubstr("fail  exactly-once: "));

  google_.RefuseTokens();
  Process revoked = Doctor(google_.TargetFlags(), google_.UserFile());
  EXPECT_EQ(revoked.Wait(), 8) << revoked.output();
  EXPECT_THAT(revoked.output(), HasSubstr("fail  credentials: the user credentials"));
  EXPECT_THAT(revoked.output(), Not(HasSubstr("exactly-once")));  // makes no sense any more

  Process wrong = Doctor({"--target", "nonsense"});
  EXPECT_EQ(wrong.Wait(), 3) << wrong.output();
}

}  // namespace
}  // namespace hopgap::tests
