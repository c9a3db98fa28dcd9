// hopgap run --processes beside hopgap run, and what becomes of processes that
// misbehave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "live/process.h"

namespace hopgap::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class ProcessesTest : public ::testing::Test {
 protected:
  ProcessesTest() : folder_(fs::temp_directory_path() / ("hopgap-processes-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~ProcessesTest() override { fs::remove_all(folder_); }

  Process Hopgap(std::vector<std::string> words) const {
    words.insert(words.begin(), HOPGAP_BINARY);
    return Process(words, folder_.string(), {"TMPDIR=" + folder_.string()});
  }
  json Result(const std::vector<std::string>& words) const {
    Process process = Hopgap(words);
    const int code = process.Wait(120s);
    EXPECT_TRUE(code == 0 || code == 2) << code << "\n" << process.output();  // 2: a busy machine
    return json::parse(process.output(), nullptr, false);
  }
  std::string Read(const fs::path& path) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / path).rdbuf();
    return text.str();
  }

  const fs::path folder_;
};

const std::vector<std::string> kRun = {"run", "--work", "20ms", "--rate", "5", "--messages", "10", "--json"};

// The delays that were put in are drawn by message and hop, so they come out
// alike, whoever receives, but for two messages that met in one publish call
// (which takes the larger delay): what the stages call added can only agree if
// every span of every process was found and joined.
TEST_F(ProcessesTest, WhatWasPutInComesOutAsInOneProcess) {
  const json one = Result(With(kRun, {"--no-out"})), many = Result(With(kRun, {"--processes", "--out", "r"}));
  ASSERT_TRUE(one.is_object() && many.is_object());
  EXPECT_TRUE(many.at("configuration").at("processes"));
  ASSERT_EQ(one.at("arms").size(), many.at("arms").size());
  for (size_t arm = 0; arm < one.at("arms").size(); ++arm) {
    const json &here = one.at("arms")[arm], &there = many.at("arms")[arm];
    SCOPED_TRACE(here.at("name"));
    EXPECT_EQ(there.at("name"), here.at("name"));
    EXPECT_EQ(there.at("completed"), 10);
    EXPECT_EQ(there.at("duplicates"), 0);
    EXPECT_EQ(there.at("exactly_once_seen"), here.at("exactly_once_seen"));
    EXPECT_THAT(there.at("responses").get<int>(), ::testing::AllOf(::testing::Ge(25), ::testing::Le(30)));
    EXPECT_EQ(there.at("remainder_ms_mean"), 0.0);
    for (const char* stage : {"publish_rpc", "delivery_gap", "dispatch_gap"}) {
      const double want = here.at("stages_ms").at(stage).at("added_mean");
      EXPECT_NEAR(there.at("stages_ms").at(stage).at("added_mean").get<double>(), want, 0.5 + std::abs(want) * 0.1)
          << stage;
    }
  }
  Process analyze = Hopgap({"analyze", "r", "--json"});
  analyze.Wait();
  EXPECT_EQ(json::parse(analyze.output(), nullptr, false), json::parse(Read("r/summary.json"), nullptr, false));
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().filename(), "r") << "a good run leaves only its folder";
  }
}

TEST_F(ProcessesTest, AProgramThatEndsAtItsStartIsSaidAndItsLogIsKept) {
  Process run = Hopgap({"run", "--processes", "--profile", "none", "--messages", "2", "--no-out", "--arm",
                        "mine:worker=echo my own last words; false"});
  EXPECT_EQ(run.Wait(60s), 4) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("of mine ended"));
  EXPECT_THAT(run.output(), HasSubstr("my own last words"));
  EXPECT_THAT(run.output(), HasSubstr("the processes' logs are in " + folder_.string()));
}

TEST_F(ProcessesTest, AWorkerOfItsOwnNeedsProcesses) {
  Process run = Hopgap({"run", "--arm", "mine:worker=x"});
  EXPECT_EQ(run.Wait(), 3);
  EXPECT_THAT(run.output(), HasSubstr("--arm mine:worker=x: a worker of its own needs --processes"));
}

// Any program that keeps the contract is an arm: here our own worker, started as
// somebody else's.
TEST_F(ProcessesTest, AnyProgramCanBeAWorker) {
  const json result =
      Result({"run", "--processes", "--profile", "none", "--work", "20ms", "--rate", "5", "--messages", "10", "--json",
              "--no-out", "--arm", std::string("mine:worker=") + HOPGAP_BINARY + " worker"});
  ASSERT_TRUE(result.is_object());
  const json& mine = result.at("arms").back();
  EXPECT_EQ(mine.at("name"), "mine");
  EXPECT_EQ(mine.at("completed"), 10);
  EXPECT_EQ(mine.at("exactly_once_seen"), true);
}

// The draws are keyed, so that processes that share only a seed draw what one process would.
TEST_F(ProcessesTest, EveryProcessDrawsTheSameWorkAndFailures) {
  const json result = Result({"run", "--processes", "--profile", "none", "--work", "exponential:20ms",
                              "--handler-failures", "20%", "--rate", "20", "--messages", "10", "--json", "--no-out"});
  ASSERT_TRUE(result.is_object());
  ASSERT_EQ(result.at("arms").size(), 2u);
  for (const json& arm : result.at("arms")) {
    SCOPED_TRACE(arm.at("name"));
    EXPECT_EQ(arm.at("completed"), 10);
    EXPECT_EQ(arm.at("duplicates"), 0);
    EXPECT_GT(arm.at("handler_failures"), 0);
    EXPECT_EQ(arm.at("handler_failures"), result.at("arms")[0].at("handler_failures"));
    const double asked = arm.at("asked_work_ms_mean"), worked = arm.at("stages_ms").at("work").at("mean");
    EXPECT_GE(worked, asked);
    EXPECT_NEAR(worked, asked, 30);  // three handlers on a machine that does other things too
  }
}

// Which process of this test's has `variable` in its environment; 0: none.
pid_t ProcessWith(const std::string& variable) {
  for (const auto& process : fs::directory_iterator("/proc")) {
    std::ostringstream environment;
    environment << std::ifstream(process.path() / "environ").rdbuf();
    if (environment.str().find(variable) != std::string::npos) return std::stoi(process.path().filename().string());
  }
  return 0;
}

TEST_F(ProcessesTest, AKilledWorkerMakesItsArmInvalidAndItsFolderSaysSo) {
  Process run = Hopgap({"run", "--processes", "--profile", "none", "--work", "0ms", "--rate", "5", "--messages", "20",
                        "--drain", "3s", "--out", "r"});
  ASSERT_TRUE(run.WaitForText("late p99", 60s)) << run.output();
  const pid_t victim = ProcessWith("/std-hop2.ready");
  ASSERT_GT(victim, 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  run.Wait(120s);
  const std::string what = "s into the run worker 2 of std ended (signal 9): ";
  const auto has_it = ::testing::Contains(HasSubstr(what));
  const json document = json::parse(Read("r/run.json"), nullptr, false), std_arm = document.at("arms")[0];
  EXPECT_EQ(std_arm.at("verdict").at("valid"), false);
  EXPECT_THAT(std_arm.at("verdict").at("reasons").get<std::vector<std::string>>(), has_it);
  EXPECT_THAT(document.at("outcome").at("notes").get<std::vector<std::string>>(),
              ::testing::Contains("of its processes 1 ended unasked and were started again"));
  EXPECT_THAT(json::parse(Read("r/summary.json")).at("verdict").at("reasons").get<std::vector<std::string>>(), has_it);
  EXPECT_THAT(Read("r/report.html"), HasSubstr(what));
  Process analyze = Hopgap({"analyze", "r"});
  EXPECT_THAT(analyze.Wait(), ::testing::AnyOf(2, 7)) << analyze.output();
  EXPECT_THAT(analyze.output(), HasSubstr("worker 2 of std ended"));
}

// A target that is gone has lost nothing that the books could tell.
TEST_F(ProcessesTest, ATargetThatDiesEndsTheRunWithItsOwnCode) {
  for (const bool processes : {false, true}) {
    SCOPED_TRACE(processes);
    Process serve = Hopgap({"serve", "--port", "0"});
    ASSERT_TRUE(serve.WaitForText("stop with Ctrl-C", 20s)) << serve.output();
    const size_t at = serve.output().find("EMULATOR_HOST=") + 14;
    const std::string target = serve.output().substr(at, serve.output().find('\n', at) - at);
    const std::string folder = processes ? "p" : "h";
    Process run = Hopgap(With({"run", "--target", target, "--work", "0ms", "--rate", "10", "--messages", "30",
                               "--drain", "1s", "--out", folder},
                              processes ? std::vector<std::string>{"--processes"} : std::vector<std::string>{}));
    ASSERT_TRUE(run.WaitForText("late p99", 60s)) << run.output();
    serve.Signal(SIGKILL);
    EXPECT_EQ(run.Wait(120s), 4) << run.output();
    EXPECT_THAT(run.output(), HasSubstr("hopgap: the target at " + target + " stopped answering "));
    const json outcome = json::parse(Read(folder + "/run.json")).at("outcome");
    EXPECT_EQ(outcome.at("ended_early"), true);
    EXPECT_THAT(outcome.at("ended_early_why").get<std::string>(), HasSubstr("stopped answering"));
    Process analyze = Hopgap({"analyze", folder});
    EXPECT_EQ(analyze.Wait(), 2) << "what completed, and not valid";
    EXPECT_THAT(analyze.output(), HasSubstr("stopped answering"));
  }
}

TEST_F(ProcessesTest, CtrlCReportsWhatCompletedAndLeavesNoProcessBehind) {
  Process run = Hopgap(
      {"run", "--processes", "--profile", "none", "--work", "0ms", "--rate", "10", "--messages", "500", "--out", "r"});
  ASSERT_TRUE(run.WaitForText("late p99", 60s)) << run.output();
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(60s), 130) << run.output();
  EXPECT_TRUE(json::parse(Read("r/run.json")).at("outcome").at("ended_early"));
  for (const auto& process : fs::directory_iterator("/proc")) {
    std::ostringstream environment;
    environment << std::ifstream(process.path() / "environ").rdbuf();
    EXPECT_EQ(environment.str().find("HOPGAP_READY_FILE=" + folder_.string()), std::string::npos) << process.path();
  }
}

}  // namespace
}  // namespace hopgap::tests
