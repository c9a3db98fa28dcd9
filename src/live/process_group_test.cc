#include "live/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/system_clock.h"
#include "base/text.h"

namespace hopgap::live {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ProcessGroupTest : public ::testing::Test {
 protected:
  ProcessGroupTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~ProcessGroupTest() override { std::filesystem::remove_all(folder_); }

  ProcessGroup::Member Shell(const std::string& name, const std::string& script, bool says_ready = false) const {
    ProcessGroup::Member member;
    member.name = name;
    member.start.command = {"/bin/sh", "-c", script};
    member.start.environment = {{"HOPGAP_READY_FILE", folder_ + "/" + name + ".ready"}};
    member.start.log_file = folder_ + "/" + name + ".log";
    if (says_ready) member.ready_file = folder_ + "/" + name + ".ready";
    return member;
  }
  static bool Never() { return false; }
  // Tends until `enough` says so or half a minute has passed.
  template <typename Enough>
  bool TendUntil(const Enough& enough) {
    for (const Instant give_up = SteadyNow() + 30s; SteadyNow() < give_up; std::this_thread::sleep_for(10ms)) {
      group_.Tend(SteadyNow());
      if (enough()) return true;
    }
    return false;
  }

  std::string folder_ = ::testing::TempDir() + "hopgap-group-XXXXXX";
  ProcessGroup group_;
};

TEST_F(ProcessGroupTest, ItIsReadyWhenEveryReadyFileIsThere) {
  ASSERT_TRUE(group_.Start(Shell("a", "echo 4711 >$HOPGAP_READY_FILE; exec sleep 600", true)).ok());
  ASSERT_TRUE(group_.Start(Shell("b", "exec sleep 600")).ok());  // does not say
  const absl::Status ready = group_.WaitReady(SteadyNow() + 30s, Never);
  ASSERT_TRUE(ready.ok()) << ready;
  EXPECT_EQ(group_.ReadyText(0), "4711");
  EXPECT_THAT(group_.Stop(SteadyNow() + 30s), IsEmpty());
}

TEST_F(ProcessGroupTest, WhatEndsBeforeItIsReadyIsNamedWithItsLastWords) {
  ASSERT_TRUE(group_.Start(Shell("a", "echo first; echo the reason; echo; exit 3", true)).ok());
  const absl::Status ready = group_.WaitReady(SteadyNow() + 30s, Never);
  EXPECT_EQ(ready.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(ready), HasSubstr("a ended at its start (exit status 3): the reason"));
}

TEST_F(ProcessGroupTest, WhatIsNotReadyInTimeIsNamed) {
  ASSERT_TRUE(group_.Start(Shell("a", "exec sleep 600", true)).ok());
  EXPECT_THAT(MessageOf(group_.WaitReady(SteadyNow(), Never)), HasSubstr("a was not ready in time: it wrote nothing"));
  EXPECT_EQ(group_.WaitReady(SteadyNow() + 1h, [] { return true; }).code(), absl::StatusCode::kCancelled);
}

TEST_F(ProcessGroupTest, WhatIsKilledIsStartedAgainAndCounted) {
  ASSERT_TRUE(group_.Start(Shell("a", "exec sleep 600")).ok());
  const pid_t first = group_.pid(0);
  ASSERT_EQ(kill(first, SIGKILL), 0);
  ASSERT_TRUE(TendUntil([&] { return group_.restarts() == 1; }));
  EXPECT_NE(group_.pid(0), first);
  EXPECT_EQ(group_.last_end(), "a ended (signal 9): it wrote nothing");
  EXPECT_EQ(group_.failure(), "");
  ASSERT_THAT(group_.ends(), SizeIs(1));
  EXPECT_EQ(group_.ends()[0].member, 0u);
  EXPECT_TRUE(group_.ends()[0].started_again);
}

// Nobody tends any more, so it is found at the end.
TEST_F(ProcessGroupTest, WhatEndedJustBeforeTheStopIsNotedToo) {
  ASSERT_TRUE(group_.Start(Shell("a", "exec sleep 600")).ok());
  ASSERT_TRUE(group_.Start(Shell("b", "echo why; exit 3")).ok());
  siginfo_t ended{};  // waits, and leaves it to be waited for
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(group_.pid(1)), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(group_.Stop(SteadyNow() + 30s), IsEmpty());
  ASSERT_THAT(group_.ends(), SizeIs(1));
  EXPECT_EQ(group_.ends()[0].member, 1u);
  EXPECT_EQ(group_.ends()[0].what, "b ended (exit status 3): why");
  EXPECT_FALSE(group_.ends()[0].started_again);
}

TEST_F(ProcessGroupTest, WhatDoesNotEndInTimeIsKilledAndNamed) {
  ASSERT_TRUE(
      group_.Start(Shell("deaf", "trap '' TERM; echo 1 >$HOPGAP_READY_FILE; while :; do sleep 1; done", true)).ok());
  ASSERT_TRUE(group_.WaitReady(SteadyNow() + 30s, Never).ok());
  EXPECT_THAT(group_.Stop(SteadyNow() + 50ms), ElementsAre("deaf"));
}

TEST_F(ProcessGroupTest, AChildGetsNoneOfOurOwnSettings) {
  setenv("HOPGAP_LEAK", "1", 1);
  setenv("OTEL_LEAK", "1", 1);
  ASSERT_TRUE(
      group_
          .Start(Shell("a", "echo \"${HOPGAP_LEAK-none} ${OTEL_LEAK-none}\" >$HOPGAP_READY_FILE; exec sleep 600", true))
          .ok());
  ASSERT_TRUE(group_.WaitReady(SteadyNow() + 30s, Never).ok());
  EXPECT_EQ(group_.ReadyText(0), "none none");
  unsetenv("HOPGAP_LEAK");
  unsetenv("OTEL_LEAK");
}

}  // namespace
}  // namespace hopgap::live
