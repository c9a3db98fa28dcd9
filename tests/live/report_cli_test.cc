// The page, thresholds and comparisons as a user meets them. What the page shows is tested in a browser (web/test).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "live/process.h"

namespace hopgap::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ReportCliTest : public ::testing::Test {
 protected:
  ReportCliTest() : folder_(fs::temp_directory_path() / ("hopgap-report-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~ReportCliTest() override { fs::remove_all(folder_); }

  struct Ended {
    int code = 0;
    std::string output;
  };
  Ended Hopgap(std::vector<std::string> words) const {
    words.insert(words.begin(), HOPGAP_BINARY);
    Process process(words, folder_.string(), {});
    const int code = process.Wait();
    return {code, process.output()};
  }
  Ended Simulate(const std::string& out, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"simulate", "--quiet", "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    return Hopgap(words);
  }
  std::string Read(const fs::path& path) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / path).rdbuf();
    return text.str();
  }

  const fs::path folder_;
};

TEST_F(ReportCliTest, AFolderGivesItsPageAgainByteForByte) {
  // Spans of ten messages only: the page is of all.
  ASSERT_EQ(Simulate("r", {"--spans", "sampled:10"}).code, 0);
  const std::string page = Read("r/report.html");
  EXPECT_THAT(page, HasSubstr("hopgap.report/1"));
  EXPECT_THAT(Read("r/summary.json"), HasSubstr("\"stages_n\": 31"));
  EXPECT_EQ(Hopgap({"report", "r", "--out", "again.html"}).code, 0);
  EXPECT_EQ(Read("again.html"), page);
  fs::remove(folder_ / "r" / "report.html");
  EXPECT_EQ(Hopgap({"report", "r"}).code, 0);
  EXPECT_EQ(Read("r/report.html"), page);
}

TEST_F(ReportCliTest, ThresholdsHaveExitCodes) {
  const std::string held = "ratio(replay.eos,replay.std).until_handled.p50>2.5", open = "std.until_handled.p99<10s";
  const std::string broken = "replay.eos.until_handled.p50<100ms";
  const Ended run = Simulate("r", {"--threshold", held, "--threshold", open});
  EXPECT_EQ(run.code, 12);
  EXPECT_THAT(run.output, HasSubstr("PASS         " + held));
  EXPECT_THAT(run.output, HasSubstr("INCONCLUSIVE " + open));
  const nlohmann::json summary = nlohmann::json::parse(Read("r/summary.json"));
  EXPECT_EQ(summary.at("thresholds")[1].at("outcome"), "inconclusive");
  EXPECT_EQ(Hopgap({"report", "r"}).code, 12);  // its own
  EXPECT_EQ(Hopgap({"report", "r", "--threshold", held}).code, 0);
  EXPECT_EQ(Hopgap({"report", "r", "--threshold", open, "--threshold", broken}).code, 11);
  const Ended wrong = Simulate("other", {"--threshold", "gone.until_handled.p50<1s"});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.output, HasSubstr("no arm 'gone'; there are std, eos"));
  EXPECT_FALSE(fs::exists(folder_ / "other"));
}

TEST_F(ReportCliTest, ComparesTwoFolders) {
  ASSERT_EQ(Simulate("a").code, 0);
  ASSERT_EQ(Simulate("b", {"--seed", "7"}).code, 0);
  const Ended text = Hopgap({"compare", "a", "b", "--report", "c.html"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.output, HasSubstr("seed: 203, 7"));
  EXPECT_THAT(Read("c.html"), HasSubstr("hopgap.compare/1"));
  const Ended document = Hopgap({"compare", "a", "b", "--json"});
  EXPECT_EQ(nlohmann::json::parse(document.output).at("arms").size(), 5u);
  EXPECT_THAT(Hopgap({"compare", "a", "b", "--markdown"}).output, HasSubstr("| until_handled |"));
  EXPECT_THAT(Hopgap({"compare", "a", "b", "--csv"}).output, HasSubstr("arm,measure,n_first,n_second,"));
  EXPECT_NE(Hopgap({"compare", "a", "b", "--csv", "--markdown"}).code, 0);
  EXPECT_THAT(Hopgap({"analyze", "a", "--markdown"}).output, HasSubstr("| arm | n | unfinished |"));
  EXPECT_THAT(Hopgap({"analyze", "a/spans.otlp.jsonl", "--markdown"}).output, HasSubstr("spans alone"));
}

TEST_F(ReportCliTest, SaysWhatAFolderLacks) {
  EXPECT_EQ(Hopgap({"report", "nowhere"}).code, 3);
  ASSERT_EQ(Simulate("r").code, 0);
  std::string paths = Read("r/paths.bin");
  paths[paths.size() / 2] ^= 1;
  std::ofstream(folder_ / "r" / "paths.bin") << paths;
  const Ended changed = Hopgap({"report", "r"});
  EXPECT_EQ(changed.code, 3);
  EXPECT_THAT(changed.output, HasSubstr("checksum is wrong"));
  fs::remove(folder_ / "r" / "paths.bin");
  EXPECT_THAT(Hopgap({"report", "r"}).output, HasSubstr("hopgap analyze r --report FILE"));
  EXPECT_EQ(Hopgap({"analyze", "r", "--report", "spans.html"}).code, 0);
  EXPECT_THAT(Read("spans.html"), HasSubstr("hopgap.report/1"));
  EXPECT_EQ(Hopgap({"report", "r", "r"}).code, 3);  // two, and no --out
  EXPECT_EQ(Hopgap({"analyze", "r", "--report", "no/such/place.html"}).code, 6);
}

// Killed in the middle, then asked again: what was done is kept, and the result is that of a sweep nobody killed.
TEST_F(ReportCliTest, AKilledSweepGoesOnWhereItEndedAndDrawsItsMap) {
  const std::vector<std::string> sweep = {"sweep",      "--rate", "1,2,5",     "--streams", "1,4",
                                          "--duration", "60s",    "--threads", "1"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = sweep;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Ended whole = Hopgap(with({"--no-out", "--csv"}));
  ASSERT_EQ(whole.code, 0) << whole.output;
  std::vector<std::string> words = with({"--out", "map"});
  words.insert(words.begin(), HOPGAP_BINARY);
  Process killed(words, folder_.string(), {});
  const auto lines = [&] {
    const std::string text = Read("map/sweep.jsonl");
    return std::count(text.begin(), text.end(), '\n');
  };
  ASSERT_TRUE(killed.WaitForText("4 of 18: ", std::chrono::seconds{60})) << killed.output();
  killed.Signal(SIGKILL);
  killed.Wait();
  EXPECT_GE(lines(), 5);
  const Ended again = Hopgap(with({"--out", "map", "--csv"}));
  ASSERT_EQ(again.code, 0) << again.output;
  EXPECT_EQ(again.output, whole.output);
  EXPECT_EQ(lines(), 1 + 6 * 3);  // the plan; a standard cell and two policies for each setting
  EXPECT_THAT(Read("map/report.html"), HasSubstr("\"sweep\":{\"name\":\"map\""));
  const Ended other = Hopgap({"sweep", "--rate", "1", "--out", "map", "--seed", "9"});
  EXPECT_EQ(other.code, 6);
  EXPECT_THAT(other.output, HasSubstr("holds a sweep of another plan"));

  ASSERT_EQ(Simulate("r").code, 0);
  EXPECT_EQ(Hopgap({"report", "r", "--sweep", "map", "--out", "both.html"}).code, 0);
  EXPECT_THAT(Read("both.html"), HasSubstr("\"here\":{\"name\":\"r\",\"rate_per_second\":1.0,\"streams\":4"));
}

TEST_F(ReportCliTest, ASweepRefusesWhatItDoesNotVaryByName) {
  const auto refused = [&](const std::vector<std::string>& words, const char* why) {
    std::vector<std::string> all = {"sweep"};
    all.insert(all.end(), words.begin(), words.end());
    const Ended ended = Hopgap(all);
    EXPECT_EQ(ended.code, 3);
    EXPECT_THAT(ended.output, HasSubstr(why));
  };
  refused({"--idle-gap", "1s"}, "--idle-gap: nothing in virtual time grows cold, unless --profile has 'cold' tables");
  refused({"--cold"}, "--cold: nothing in virtual time grows cold, unless --profile has 'cold' tables");
  refused({"--message-size", "100"}, "--message-size: the simulated network takes as long for a large message");
  refused({"--live", "--message-size", "100,0"}, "--message-size 0: is no number of bytes in [1, 9000000]");
  refused({"--live", "--idle-gap", "25h"}, "--idle-gap 25h: is a list of times in [0, 24h]");
  refused({"--live", "--idle-gap", "500ms", "--rate", "1"}, "no longer than the time between two messages at 1/s");
  refused({"--burst", "5"}, "--burst: is of --idle-gap, which is not given");
  EXPECT_THAT(Hopgap({"sweep", "--live", "--rtt", "1ms"}).output, HasSubstr("--rtt: is of the simulated network"));
  EXPECT_THAT(Hopgap({"sweep", "--live", "--threads", "2"}).output, HasSubstr("cells run one after the other"));
  EXPECT_THAT(Hopgap({"sweep", "--live", "--rate", "100", "--duration", "2h"}).output,
              HasSubstr("choose a shorter --duration"));
}

// A live sweep runs its cells, and says so everywhere.
TEST_F(ReportCliTest, ASweepCanBeLive) {
  const auto before = std::chrono::steady_clock::now();
  const Ended live =
      Hopgap({"sweep",      "--live",    "--rate",         "50",     "--streams", "4",      "--response-policy",
              "eager",      "--profile", "none",           "--hops", "1",         "--work", "1ms",
              "--duration", "1s",        "--messages-min", "10",     "--out",     "live",   "--json"});
  ASSERT_EQ(live.code, 0) << live.output;
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::seconds{2}) << "two cells of a second each";
  EXPECT_THAT(live.output, HasSubstr("2 cells, one after the other on this machine: about 1 min"));
  const nlohmann::json map = nlohmann::json::parse(live.output.substr(live.output.find('{')));
  EXPECT_FALSE(map.at("simulated"));
  ASSERT_EQ(map.at("cells").size(), 2u);
  for (const nlohmann::json& cell : map.at("cells")) {
    EXPECT_EQ(cell.at("handled"), 50);
    EXPECT_TRUE(cell.at("saturated_at_per_second").is_null());
  }
  const Ended other = Hopgap({"sweep", "--rate", "50", "--out", "live"});
  EXPECT_EQ(other.code, 6);
  EXPECT_THAT(other.output, HasSubstr("another plan (simulated or live"));
}

// A message on processes of its own, and one of another size.
TEST_F(ReportCliTest, ALiveSweepMeasuresColdMessagesAndSizes) {
  const Ended live = Hopgap({"sweep",
                             "--live",
                             "--cold",
                             "--message-size",
                             "10,100000",
                             "--rate",
                             "20",
                             "--arm",
                             "eos",
                             "--streams",
                             "1",
                             "--response-policy",
                             "eager",
                             "--hops",
                             "1",
                             "--work",
                             "1ms",
                             "--profile",
                             "none",
                             "--quiet",
                             "--duration",
                             "200ms",
                             "--messages-min",
                             "3",
                             "--no-out",
                             "--json"});
  ASSERT_EQ(live.code, 0) << live.output;
  const nlohmann::json map = nlohmann::json::parse(live.output.substr(live.output.find('{')));
  ASSERT_EQ(map.at("cells").size(), 4u);
  size_t cold = 0;
  for (const nlohmann::json& cell : map.at("cells")) {
    cold += cell.at("cold") ? 1 : 0;
    EXPECT_EQ(cell.at("handled"), cell.at("cold") ? 3 : 4);
    EXPECT_TRUE(cell.at("message_bytes") == 10 || cell.at("message_bytes") == 100'000);
    EXPECT_EQ(cell.at("rate_per_second"), cell.at("cold") ? 0 : 20);
  }
  EXPECT_EQ(cold, 2u);
}

// What stands at the place of a page is kept what it is: a link a link, a pipe a pipe, an input as it was.
TEST_F(ReportCliTest, APageReplacesFilesAndNothingElse) {
  ASSERT_EQ(Simulate("r").code, 0);
  const std::string spans = (folder_ / "r" / "spans.otlp.jsonl").string();
  std::ofstream(folder_ / "real.html") << "old";
  fs::create_symlink("real.html", folder_ / "link.html");
  EXPECT_EQ(Hopgap({"analyze", spans, "--report", "link.html"}).code, 0);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.html"));
  EXPECT_THAT(Read("real.html"), StartsWith("<!doctype html>"));

  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::string piped;
  std::thread reader([&] {
    std::ifstream in(folder_ / "pipe", std::ios::binary);
    piped.assign(std::istreambuf_iterator<char>(in), {});
  });
  EXPECT_EQ(Hopgap({"analyze", spans, "--report", "pipe"}).code, 0);
  reader.join();
  EXPECT_THAT(piped, StartsWith("<!doctype html>"));
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));

  const std::string before = Read("r/spans.otlp.jsonl");
  const Ended refused = Hopgap({"analyze", spans, "--report", spans});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.output, HasSubstr("is one of the files that are to be read"));
  EXPECT_EQ(Read("r/spans.otlp.jsonl"), before);
}

// In a folder, too, what is damaged is missed; what is no trace is not.
TEST_F(ReportCliTest, ADamagedFileOfAFolderIsNamedAndMissed) {
  ASSERT_EQ(Simulate("r").code, 0);
  fs::create_directory(folder_ / "in");
  fs::copy(folder_ / "r/spans.otlp.jsonl", folder_ / "in/a.jsonl");
  std::ofstream(folder_ / "in/notes.txt") << "nothing of interest\n";
  EXPECT_EQ(Hopgap({"analyze", "in"}).code, 0);
  const std::string text = Read("in/a.jsonl");
  std::ofstream(folder_ / "in/b.jsonl") << text.substr(0, text.find('\n') / 2);
  const Ended ended = Hopgap({"analyze", "in"});
  EXPECT_EQ(ended.code, 13);
  EXPECT_THAT(ended.output, HasSubstr("in/b.jsonl: nothing could be read"));
}

// What the chosen arms say is what they say among all, and a group without arms is gone.
TEST_F(ReportCliTest, OnlySomeArms) {
  const Ended all = Hopgap({"simulate", "--csv", "--no-out"});
  const Ended some = Hopgap({"simulate", "--csv", "--no-out", "--only", "replay.eos,replay.std"});
  EXPECT_EQ(some.code, 0);
  std::istringstream lines(some.output);
  size_t rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    EXPECT_THAT(all.output, HasSubstr(line + "\n"));
    EXPECT_TRUE(rows == 0 || line.starts_with("replay.eos,") || line.starts_with("replay.std,")) << line;
  }
  EXPECT_EQ(rows, 1u + 2 * 9);
}

TEST_F(ReportCliTest, ResultsCanBePasted) {
  const Ended csv = Hopgap({"simulate", "--csv", "--no-out"});
  EXPECT_THAT(csv.output, StartsWith("arm,measure,n,unfinished,mean_ms,p50_ms,p50_low_ms,p50_high_ms,"));
  std::istringstream lines(csv.output);
  size_t rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 17) << line;
  }
  EXPECT_EQ(rows, 1u + 5 * 9);  // five arms; two wholes and seven stages
  ASSERT_EQ(Simulate("r").code, 0);
  const Ended markdown = Hopgap({"report", "r", "--markdown", "--threshold", "replay.eos.until_handled.p50<100ms"});
  EXPECT_EQ(markdown.code, 11);
  EXPECT_THAT(markdown.output, HasSubstr("**Simulated**, not measured. Valid run."));
  EXPECT_THAT(markdown.output, HasSubstr("| arm | n | unfinished | p50 |"));
  EXPECT_THAT(markdown.output, HasSubstr("- FAIL"));
}

}  // namespace
}  // namespace hopgap::tests
