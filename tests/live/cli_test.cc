// The program as a user meets it: exit codes, messages, folders, signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "live/process.h"

namespace hopgap::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class CliTest : public ::testing::Test {
 protected:
  CliTest() : folder_(fs::temp_directory_path() / ("hopgap-cli-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~CliTest() override { fs::remove_all(folder_); }

  Process Hopgap(std::vector<std::string> words, std::vector<std::string> environment = {}) const {
    words.insert(words.begin(), HOPGAP_BINARY);
    return Process(words, folder_.string(), environment);
  }
  void ExpectFailure(std::vector<std::string> words, int code, const std::string& text) const {
    Process process = Hopgap(words);
    EXPECT_EQ(process.Wait(), code) << process.output();
    EXPECT_THAT(process.output(), HasSubstr(text));
  }
  // A run that ended in peace. On a loaded machine its verdict may be invalid
  // (exit code 2): these tests are about something else.
  static int Finished(Process& process) {
    const int code = process.Wait();
    EXPECT_TRUE(code == 0 || code == 2) << code << "\n" << process.output();
    return code;
  }
  std::string Read(const fs::path& path) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / path).rdbuf();
    return text.str();
  }
  std::vector<std::string> Entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
    return names;
  }

  const fs::path folder_;
};

const std::vector<std::string> kQuick = {"run", "--profile",  "none", "--work", "0ms", "--rate",
                                         "20",  "--messages", "20",   "--out",  "r"};

TEST_F(CliTest, ARunWritesItsFolderAndAnalyzeGivesTheSameFigures) {
  Process run = Hopgap(kQuick);
  const int code = Finished(run);
  for (const char* file : {"run.json", "ledger.csv", "spans.otlp.jsonl", "summary.json"}) {
    EXPECT_TRUE(fs::exists(folder_ / "r" / file)) << file;
  }
  fs::remove(folder_ / "r" / "ledger.csv");  // analyze never looks at it
  Process analyze = Hopgap({"analyze", "r", "--json"});
  ASSERT_EQ(analyze.Wait(), code) << analyze.output();
  EXPECT_EQ(nlohmann::json::parse(analyze.output()), nlohmann::json::parse(Read("r/summary.json")));
}

TEST_F(CliTest, JsonIsOneDocumentOfItsSchema) {
  std::vector<std::string> words = kQuick;
  words.push_back("--json");
  Process run = Hopgap(words);
  Finished(run);
  const nlohmann::json document = nlohmann::json::parse(run.output());
  EXPECT_EQ(document.at("schema"), "hopgap.run/1");
  for (const nlohmann::json& arm : document.at("arms")) {
    EXPECT_EQ(arm.at("completed"), 20);
    for (const char* key :
         {"until_handled_less_work_ms", "until_acked_less_work_ms", "stages_ms", "server_view_ms", "verdict"}) {
      EXPECT_TRUE(arm.contains(key)) << key;
    }
  }
}

TEST_F(CliTest, SimulationsWithOneSeedAreTheSameBytes) {
  for (const char* out : {"a", "b"}) {
    Process simulate = Hopgap({"simulate", "--messages", "20", "--out", out, "--quiet"});
    ASSERT_EQ(simulate.Wait(), 0) << simulate.output();
  }
  EXPECT_EQ(Read("a/spans.otlp.jsonl"), Read("b/spans.otlp.jsonl"));
  EXPECT_EQ(Read("a/summary.json"), Read("b/summary.json"));
  EXPECT_GT(Read("a/spans.otlp.jsonl").size(), 10'000u);
}

TEST_F(CliTest, ASampleSaysHowManyOfHowMany) {
  Process simulate = Hopgap({"simulate", "--messages", "50", "--spans", "sampled:25", "--out", "s", "--quiet"});
  ASSERT_EQ(simulate.Wait(), 0) << simulate.output();
  Process analyze = Hopgap({"analyze", "s"});
  ASSERT_EQ(analyze.Wait(), 0) << analyze.output();
  EXPECT_THAT(analyze.output(), HasSubstr("25 of 250"));
}

TEST_F(CliTest, WrongWordsNameFlagValueAndLimit) {
  ExpectFailure({"run", "--no-such-flag"}, 3, "--no-such-flag: no flag of hopgap run;");
  ExpectFailure({"run", "--mesages", "1"}, 3, "--mesages: no flag of hopgap run; did you mean --messages?");
  ExpectFailure({"sevre"}, 3, "unknown command 'sevre'; did you mean serve?");
  ExpectFailure({"bogus"}, 3, "unknown command 'bogus'; there are run, simulate,");
  ExpectFailure({"run", "--arm", "std"}, 3, "--arm std: every group has this arm anyway");
  ExpectFailure({"run", "--arm", "eos-java", "--arm", "eos-java"}, 3, "the name 'eos-java' was given before");
  ExpectFailure(
      {"run", "--only", "std,replay.java"}, 3,
      "--only replay.java: no arm has this name; they are std, eos, replay.std, replay.eos, replay.eos-overlap");
  ExpectFailure({"run", "--rate", "0"}, 3, "--rate 0: is outside [0.001, 100000]");
  ExpectFailure({"run", "--arrival", "bursts"}, 3, "--arrival bursts: is none of constant, poisson, ramp:FROM-TO");
  for (const char* bad : {"bursts:", "bursts:5", "bursts:5,10s", "bursts:5,gap"}) {
    ExpectFailure({"run", "--arrival", bad}, 3, "is not bursts:N,gap=TIME, such as bursts:10,gap=30s");
  }
  ExpectFailure({"run", "--arrival", "bursts:0,gap=1s"}, 3, "N is a whole number in [1, 1000000]");
  ExpectFailure({"run", "--arrival", "bursts:5,gap=25h"}, 3, "TIME is a time in (0, 24h]");
  ExpectFailure({"run", "--arrival", "bursts:5,gap=1s"}, 3, "no longer than the time between two messages at --rate");
  ExpectFailure({"run", "--arrival", "ramp:5"}, 3, "--arrival ramp:5: is not ramp:FROM-TO");
  ExpectFailure({"run", "--arrival", "ramp:0-5"}, 3, "FROM and TO must be messages a second in [0.001, 100000]");
  ExpectFailure({"run", "--rate", "5", "--arrival", "ramp:1-5"}, 3, "says the rates itself; leave --rate out");
  ExpectFailure({"run", "--preset", "published-5rps", "--arrival", "poisson"}, 3, "not with --preset published-5rps");
  ExpectFailure({"run", "--streams", "101"}, 3, "--streams 101: is outside [1, 100]");
  ExpectFailure({"run", "--work", "200"}, 3, "--work 200: is not a duration");
  ExpectFailure({"run", "--work", "gamma:200ms"}, 3, "--work gamma:200ms: is neither a duration nor exponential:MEAN");
  ExpectFailure({"run", "--work", "exponential:0"}, 3, "--work exponential:0: draws around 0");
  ExpectFailure({"run", "--work", "lognormal:2s"}, 3, "is not lognormal:MEDIAN,p99=TIME");
  ExpectFailure({"run", "--work", "lognormal:2s,p99=1s"}, 3, "a 99th percentile that is not above its median");
  ExpectFailure({"run", "--message-bytes", "9000001"}, 3, "--message-bytes 9000001: is outside [1, 9000000]");
  ExpectFailure({"run", "--handler-failures", "91%"}, 3, "--handler-failures 91%: is no share in [0, 0.9]");
  ExpectFailure({"run", "--processes", "--work", "exponential:1ms", "--arm", "mine:worker=x"}, 3,
                "its worker draws neither work nor failures");
  ExpectFailure({"run", "--arm", "sdt"}, 3, "unknown kind 'sdt'");
  ExpectFailure({"run", "--profile", "no-such-file.json"}, 3, "no-such-file.json");
  ExpectFailure({"run", "--messages", "1", "--duration", "1s"}, 3, "--messages and --duration");
  ExpectFailure({"run", "--target", "gcp:My"}, 3, "gcp:My: has no project id");
  ExpectFailure({"run", "--target", "localhost"}, 3, "localhost: is none of embedded, HOST:PORT");
  ExpectFailure({"run", "--dry-run"}, 3, "--dry-run: is for another --target");
  ExpectFailure({"run", "--target", "localhost:1", "--prefix", "1-"}, 3, "--prefix 1-: must begin with a letter");
  ExpectFailure({"run", "--target", "localhost:1", "--prefix", "goog-"}, 3, "--prefix goog-: must not begin with");
  ExpectFailure({"run", "--ca-file", "x.pem"}, 3, "--ca-file x.pem: needs --target tls:HOST:PORT");
  ExpectFailure({"run", "--target", "localhost:1", "--profile", "cloud-replay"}, 3, "needs the embedded broker");
  ExpectFailure({"run", "--rate", "100000", "--messages", "1000000"}, 3, "--ring-events");
  ExpectFailure({"run", "--waterfall", "nobody"}, 3, "--waterfall nobody: no such arm; use one of std, eos");
  ExpectFailure({"run", "--target", "localhost:1", "--plant", "ack=7ms"}, 3, "need the embedded broker");
  ExpectFailure({"analyze", "nothing-here"}, 3, "nothing-here: cannot be read");
  EXPECT_THAT(Entries(), ::testing::IsEmpty());
}

TEST_F(CliTest, WhatTheEnvironmentSaysIsNamed) {
  const auto output = [&](const std::string& variable, int code) {
    Process process = Hopgap({"serve", "--host", "nowhere."}, {variable});
    EXPECT_NE(process.Wait(), 0);
    EXPECT_TRUE(code == 0 || process.Wait() == code) << process.output();
    return process.output();
  };
  EXPECT_THAT(output("HOPGAP_PORT=65536", 3), HasSubstr("Value 65536 not in range 0 to 65535"));
  EXPECT_THAT(output("HOPGAP_PORT=tcp://10.0.0.1:1", 3), HasSubstr("; --port is from HOPGAP_PORT\n"));
  EXPECT_THAT(output("HOPGAP_PORTT=1", 0), HasSubstr("HOPGAP_PORTT is set, and no flag is called so: it changes "
                                                     "nothing. Did you mean HOPGAP_PORT?"));
  // A cluster sets such for a service called hopgap.
  EXPECT_THAT(output("HOPGAP_SERVICE_HOST=10.0.0.1", 0), ::testing::Not(HasSubstr("HOPGAP_SERVICE_HOST")));
}

TEST_F(CliTest, AnUnwritableOutFailsBeforeTheRunAndLeavesNothing) {
  std::ofstream(folder_ / "file") << "x";
  ExpectFailure({"run", "--messages", "1", "--out", "file/r"}, 6, "file");
  fs::create_directory(folder_ / "there");
  ExpectFailure({"run", "--messages", "1", "--out", "there"}, 6, "there");
  EXPECT_THAT(Entries(), ::testing::UnorderedElementsAre("file", "there"));
}

TEST_F(CliTest, AnUnreachableTargetIsSaidWithinSeconds) {
  ExpectFailure({"run", "--target", "127.0.0.1:1", "--out", "r"}, 4, "127.0.0.1:1");
  EXPECT_FALSE(fs::exists(folder_ / "r"));
}

TEST_F(CliTest, APortInUseIsNamed) {
  Process first = Hopgap({"serve", "--port", "0"});
  ASSERT_TRUE(first.WaitForText("PUBSUB_EMULATOR_HOST=", 10s)) << first.output();
  ASSERT_TRUE(first.WaitForText("Ctrl-C", 10s));
  const std::string listening = "listening on ";
  const size_t at = first.output().find(listening) + listening.size();
  const std::string port = first.output().substr(at, first.output().find('\n', at) - at);
  ExpectFailure({"serve", "--port", port}, 5, port);
  // The broker that runs is a target like any other, named or by environment.
  Process run = Hopgap({"run", "--work", "0ms", "--rate", "20", "--messages", "5", "--out", "r"},
                       {"PUBSUB_EMULATOR_HOST=127.0.0.1:" + port});
  Finished(run);
  EXPECT_THAT(run.output(), HasSubstr("PUBSUB_EMULATOR_HOST"));
  first.Signal(SIGTERM);
  EXPECT_EQ(first.Wait(5s), 0) << first.output();
}

TEST_F(CliTest, CtrlCReportsWhatCompleted) {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}}) {
    Process run =
        Hopgap({"run", "--profile", "none", "--work", "0ms", "--rate", "20", "--messages", "2000", "--out", "r"});
    ASSERT_TRUE(run.WaitForText("done", 20s)) << run.output();  // a progress line
    run.Signal(signal);
    EXPECT_EQ(run.Wait(20s), code) << run.output();
    EXPECT_THAT(run.output(), HasSubstr("nded early"));
    EXPECT_TRUE(nlohmann::json::parse(Read("r/run.json")).at("outcome").at("ended_early"));
    fs::remove_all(folder_ / "r");
  }
}

TEST_F(CliTest, CtrlCEndsASimulationWithWhatCompleted) {
  Process simulate = Hopgap({"simulate", "--messages", "1000000", "--rate", "100", "--profile", "none", "--out", "r"});
  ASSERT_TRUE(simulate.WaitForText("virtual seconds", 30s)) << simulate.output();
  simulate.Signal(SIGINT);
  EXPECT_EQ(simulate.Wait(60s), 130) << simulate.output();
  EXPECT_TRUE(nlohmann::json::parse(Read("r/run.json")).at("outcome").at("ended_early"));
}

TEST_F(CliTest, WithoutSpansTheLedgerIsWrittenAllTheSame) {
  std::vector<std::string> words = kQuick;
  words.insert(words.end(), {"--spans", "none"});
  Process run = Hopgap(words);
  Finished(run);
  EXPECT_TRUE(fs::exists(folder_ / "r" / "ledger.csv"));
  EXPECT_FALSE(fs::exists(folder_ / "r" / "spans.otlp.jsonl"));
  ExpectFailure({"analyze", "r"}, 3, "wrote no spans");
}

TEST_F(CliTest, SigkillLeavesNoFolderThatLooksLikeARun) {
  Process run =
      Hopgap({"run", "--profile", "none", "--work", "0ms", "--rate", "20", "--messages", "2000", "--out", "r"});
  ASSERT_TRUE(run.WaitForText("done", 20s)) << run.output();
  run.Signal(SIGKILL);
  EXPECT_EQ(run.Wait(10s), 128 + SIGKILL);
  for (const std::string& name : Entries()) EXPECT_EQ(name[0], '.') << name;
}

TEST_F(CliTest, ASaturatedArmSaysAtWhatRateAndHasItsExitCode) {
  Process run = Hopgap(
      {"simulate", "--rate", "40", "--messages", "2000", "--streams", "2", "--drain", "20s", "--no-out", "--quiet"});
  EXPECT_EQ(run.Wait(), 7) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("aturated at"));
}

TEST_F(CliTest, ClientsExplainsTheModels) {
  Process all = Hopgap({"clients"});
  EXPECT_EQ(all.Wait(), 0) << all.output();
  for (const char* name : {"go-v1", "java", "python", "node", "cpp", "pipelined", "overlap"}) {
    EXPECT_THAT(all.output(), HasSubstr(name));
  }
  Process one = Hopgap({"clients", "node"});
  EXPECT_EQ(one.Wait(), 0) << one.output();
  EXPECT_THAT(one.output(), HasSubstr("100 ms after the first or at 3000"));
  for (const std::string& text : {all.output(), one.output()}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
  EXPECT_THAT(one.output(), HasSubstr("batching.maxMilliseconds"));
  Process json = Hopgap({"clients", "--json"});
  EXPECT_EQ(json.Wait(), 0) << json.output();
  const nlohmann::json document = nlohmann::json::parse(json.output());
  EXPECT_EQ(document.at("schema"), "hopgap.clients/1");
  ASSERT_EQ(document.at("models").size(), 8u);
  for (const auto& model : document.at("models")) {
    for (const char* key : {"library", "waits_for", "gives_up", "settings"}) EXPECT_NE(model.at(key), "");
  }
  ExpectFailure({"clients", "rust"}, 3, "no client model 'rust'; the models are: go, go-v1");
}

TEST_F(CliTest, AnArmMayHaveAnyModelOrAStore) {
  Process simulate = Hopgap({"simulate", "--json", "--no-out", "--messages", "5", "--profile", "none", "--arm",
                             "eos-java", "--arm", "std-dedupe"});
  EXPECT_EQ(Finished(simulate), 0) << simulate.output();
  const nlohmann::json document = nlohmann::json::parse(simulate.output());
  const auto& arms = document.at("arms");
  ASSERT_EQ(arms.size(), 4u);
  EXPECT_EQ(arms[2].at("client_model"), "java");
  EXPECT_EQ(arms[2].at("exactly_once_seen"), true);
  EXPECT_EQ(arms[3].at("stages_ms").at("work").at("parts").at("store"), 4.0);  // 3 hops ask, the last one tells
  EXPECT_EQ(arms[3].at("deduplicated"), 0);
  ExpectFailure({"run", "--processes", "--arm", "std-dedupe"}, 3, "not with --processes");
}

TEST_F(CliTest, HelpGroupsTheCommands) {
  Process help = Hopgap({"--help"});
  EXPECT_EQ(help.Wait(), 0);
  for (const char* group : {"Measure", "Explain", "Serve", "Predict"}) EXPECT_THAT(help.output(), HasSubstr(group));
}

TEST_F(CliTest, EveryHelpFits80Columns) {
  Process all = Hopgap({"bogus"});
  all.Wait();
  const size_t from = all.output().find("there are ") + 10;
  std::istringstream names(all.output().substr(from, all.output().find(';', from) - from));
  size_t commands = 0;
  for (std::string name; names >> name; ++commands) {
    if (name.back() == ',') name.pop_back();
    Process help = Hopgap({name, "--help"});
    EXPECT_EQ(help.Wait(), 0) << name;
    std::istringstream lines(help.output());
    for (std::string line; std::getline(lines, line);) {
      const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
      EXPECT_LE(columns, 80) << name << ": " << line;
    }
  }
  EXPECT_GE(commands, 16u);
}

}  // namespace
}  // namespace hopgap::tests
