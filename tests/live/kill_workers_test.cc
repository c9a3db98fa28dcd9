// Workers that are killed at random, again and again, under exactly-once: what
// their ledgers say afterwards. HOPGAP_TORTURE_SECONDS sets for how long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/system_clock.h"
#include "base/text.h"
#include "formats/hop_ledger_csv.h"
#include "lab/hop_ledger.h"
#include "live/child.h"
#include "live/load.h"
#include "live/process_group.h"

namespace hopgap::tests {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int kHops = 3;
constexpr uint64_t kMillihertz = 20'000;

class KillWorkersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    ASSERT_TRUE(Start({.name = "serve", .start = Words({"serve", "--port", "0"}, {}), .ready_file = {}}));
    target_ = StrCat("127.0.0.1:", WaitFor("serve.log", "listening on "));
    Finish({"setup", "--target", target_, "--project", "p", "--arm", "eos"});
    first_worker_ = group_.size();
    for (int hop = 1; hop <= kHops; ++hop) {
      std::map<std::string, std::string> more = {{"HOPGAP_SUBSCRIPTION", StrCat("eos-hop", hop, "-sub")},
                                                 {"HOPGAP_HOP", StrCat(hop)},
                                                 {"HOPGAP_WORK", "20ms"},
                                                 {"HOPGAP_LEDGER", Path(StrCat("hop", hop, ".csv"))}};
      if (hop < kHops) more["HOPGAP_NEXT_TOPIC"] = StrCat("eos-hop", hop + 1);
      ASSERT_TRUE(Start({.name = StrCat("worker", hop), .start = Words({"worker"}, more), .ready_file = {}}));
    }
    ASSERT_TRUE(Start({.name = "api",
                       .start = Words({"api"}, {{"HOPGAP_TOPIC", "eos-hop1"},
                                                {"HOPGAP_LISTEN", "127.0.0.1:0"},
                                                {"HOPGAP_READY_FILE", Path("api.ready")}}),
                       .ready_file = Path("api.ready")}));
    ASSERT_TRUE(group_.WaitReady(SteadyNow() + 30s, [] { return false; }).ok());
    api_port_ = group_.ReadyText(group_.size() - 1);
  }
  void TearDown() override {
    group_.Stop(SteadyNow() + 30s);
    if (HasFailure()) {
      std::printf("the logs and ledgers are in %s\n", folder_.c_str());
    } else {
      fs::remove_all(folder_);
    }
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  live::Child::Options Words(std::vector<std::string> words, std::map<std::string, std::string> environment) {
    words.insert(words.begin(), HOPGAP_BINARY);
    environment.insert({{"HOPGAP_TARGET", target_}, {"HOPGAP_PROJECT", "p"}, {"HOPGAP_ARM", "eos"}});
    return {.command = std::move(words), .environment = std::move(environment), .log_file = {}};
  }
  bool Start(live::ProcessGroup::Member member) {
    member.start.log_file = Path(member.name + ".log");
    const absl::Status status = group_.Start(std::move(member));
    EXPECT_TRUE(status.ok()) << status;
    return status.ok();
  }
  void Finish(const std::vector<std::string>& words) {
    live::Child::Options options = Words(words, {});
    options.log_file = Path("once.log");
    absl::StatusOr<live::Child> child = live::Child::Start(options);
    ASSERT_TRUE(child.ok()) << child.status();
    ASSERT_TRUE(child->Wait(SteadyNow() + 20s));
    ASSERT_TRUE(child->ended_well()) << words.front();
  }
  // What follows `words` in a log, up to the line's end.
  std::string WaitFor(const std::string& log, const std::string& words) {
    for (const Instant give_up = SteadyNow() + 20s; SteadyNow() < give_up; std::this_thread::sleep_for(10ms)) {
      std::ifstream file(Path(log));
      for (std::string line; std::getline(file, line);) {
        if (const size_t at = line.find(words); at != std::string::npos) return line.substr(at + words.size());
      }
    }
    ADD_FAILURE() << log << " never said '" << words << "'";
    return "";
  }

  std::vector<lab::HopLine> Lines() const {
    std::vector<lab::HopLine> lines;
    for (int hop = 1; hop <= kHops; ++hop) {
      const auto read = formats::ReadHopLedger(Path(StrCat("hop", hop, ".csv")));
      if (!read.ok()) continue;  // not begun yet
      lines.insert(lines.end(), read->begin(), read->end());
    }
    return lines;
  }

  std::string folder_ = ::testing::TempDir() + "hopgap-kill-XXXXXX", target_ = "127.0.0.1:1", api_port_;
  live::ProcessGroup group_;
  size_t first_worker_ = 0;
};

TEST_F(KillWorkersTest, NothingIsLostAndNothingIsHandledAfterItsAck) {
  const char* seconds = std::getenv("HOPGAP_TORTURE_SECONDS");
  const auto length = std::chrono::seconds{seconds == nullptr ? 6 : std::atoi(seconds)};
  const auto seed = std::random_device{}();
  std::printf("seed %u: kills for %lld s, then up to %d s until all leases have ended\n", seed,
              static_cast<long long>(length.count()), seconds == nullptr ? 240 : 370);
  std::fflush(stdout);
  std::mt19937 random{seed};

  live::Load::Options options;
  options.targets = {{.name = "eos", .url = {"http://127.0.0.1:" + api_port_, "/send"}}};
  options.millihertz = kMillihertz;
  options.slots = lab::Schedule::SlotsIn(kMillihertz, length);
  options.anchor = ReadAnchor();
  live::Load load(options);
  load.Start(SteadyNow());
  uint64_t kills = 0;
  const Instant end = SteadyNow() + length;
  for (Instant next = SteadyNow() + 500ms; SteadyNow() < end || !load.AllSent();) {
    group_.Tend(SteadyNow());
    if (SteadyNow() >= next && SteadyNow() < end) {
      const pid_t victim = group_.pid(first_worker_ + random() % kHops);
      kills += kill(victim, SIGKILL) == 0 ? 1 : 0;
      next = SteadyNow() + 300ms + std::chrono::milliseconds{random() % 1200};
    }
    std::this_thread::sleep_for(10ms);
  }
  ASSERT_EQ(load.figures(0).answered, options.slots) << load.figures(0).last_error;
  ASSERT_EQ(group_.failure(), "");
  ASSERT_GE(kills, 3u) << "too few to mean anything";
  std::printf("%llu kills; waiting for what was leased\n", static_cast<unsigned long long>(kills));
  std::fflush(stdout);

  // A killed worker's leases last 60 s; a message may meet that at every hop.
  lab::HopFindings findings;
  for (const Instant give_up = SteadyNow() + 240s; SteadyNow() < give_up; std::this_thread::sleep_for(200ms)) {
    group_.Tend(SteadyNow());
    findings = lab::CheckHops(Lines(), kHops, options.slots);
    if (findings.missing == 0) break;
  }
  // Copies whose leases still run come later; a long run waits for those too.
  std::printf("%llu messages have not reached the end; waiting for late copies\n",
              static_cast<unsigned long long>(findings.missing));
  std::fflush(stdout);
  for (const Instant until = SteadyNow() + (seconds == nullptr ? 0s : 130s); SteadyNow() < until;) {
    group_.Tend(SteadyNow());
    std::this_thread::sleep_for(200ms);
  }
  EXPECT_TRUE(group_.Stop(SteadyNow() + 30s).empty()) << "a process did not end on SIGTERM";
  findings = lab::CheckHops(Lines(), kHops, options.slots);
  std::printf("%llu messages, %llu kills, %llu redelivered, %llu reprocessed\n",
              static_cast<unsigned long long>(options.slots), static_cast<unsigned long long>(kills),
              static_cast<unsigned long long>(findings.redelivered),
              static_cast<unsigned long long>(findings.reprocessed));
  EXPECT_EQ(findings.missing, 0u) << "slots that never reached the end";
  EXPECT_FALSE(findings.Broken()) << ::testing::PrintToString(findings.examples);
}

}  // namespace
}  // namespace hopgap::tests
