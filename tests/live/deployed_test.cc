// The commands that a deployed chain is made of, and where flags come from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "live/process.h"
#include "remote/http_client.h"

namespace hopgap::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class DeployedTest : public ::testing::Test {
 protected:
  DeployedTest() : folder_(fs::temp_directory_path() / ("hopgap-deployed-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~DeployedTest() override { fs::remove_all(folder_); }

  Process Hopgap(std::vector<std::string> words, const std::vector<std::string>& environment = {}) const {
    words.insert(words.begin(), HOPGAP_BINARY);
    return Process(words, folder_.string(), environment);
  }
  // Runs to its end; the output, whatever the code.
  std::string Output(const std::vector<std::string>& words, int code, const std::vector<std::string>& more = {}) const {
    Process process = Hopgap(words, more);
    EXPECT_EQ(process.Wait(), code) << process.output();
    return process.output();
  }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  // What follows `words` in a process's output, up to the line's end.
  static std::string After(Process& process, const std::string& words) {
    EXPECT_TRUE(process.WaitForText(words, 20s)) << process.output();
    EXPECT_TRUE(process.WaitForText("\n", 1s));
    const size_t at = process.output().find(words) + words.size();
    return process.output().substr(at, process.output().find_first_of(" \n", at) - at);
  }

  const fs::path folder_;
};

// ---- where flags come from -----------------------------------------------------------------------------------------

const std::vector<std::string> kSimulate = {"simulate", "--profile", "none", "--no-out", "--json"};

TEST_F(DeployedTest, AFlagBeatsTheEnvironmentWhichBeatsTheFile) {
  Write("c.yaml", "messages: 3\nrate: 2\nhops: 1\narm: [mine:eos, more:std]\n");
  const std::vector<std::string> words = With(kSimulate, {"--config", "c.yaml", "--rate", "7"});
  const json run = json::parse(Output(words, 0, {"HOPGAP_MESSAGES=4", "HOPGAP_RATE=5"}), nullptr, false);
  ASSERT_TRUE(run.is_object());
  const json& configuration = run.at("configuration");
  EXPECT_EQ(configuration.at("rate_per_second"), 7);  // flag
  EXPECT_EQ(configuration.at("messages"), 4);         // environment
  EXPECT_EQ(configuration.at("hops"), 1);             // file
  ASSERT_EQ(run.at("arms").size(), 4u);
  EXPECT_EQ(run.at("arms")[3].at("name"), "more");  // a list is the flag several times
}

TEST_F(DeployedTest, AFileThatIsWrongNamesItselfAndTheKey) {
  Write("unknown.yaml", "mesages: 3\n");
  EXPECT_THAT(Output(With(kSimulate, {"--config", "unknown.yaml"}), 3),
              HasSubstr("unknown.yaml: mesages: no flag of hopgap simulate"));
  Write("shape.yaml", "messages: {n: 3}\n");
  EXPECT_THAT(Output(With(kSimulate, {"--config", "shape.yaml"}), 3), HasSubstr("messages: is no value or list"));
  Write("flag.yaml", "per-hop: maybe\n");
  EXPECT_THAT(Output(With(kSimulate, {"--config", "flag.yaml"}), 3), HasSubstr("'maybe' is neither true nor false"));
  Write("broken.yaml", "a: [1\n");
  EXPECT_THAT(Output(With(kSimulate, {"--config", "broken.yaml"}), 3), HasSubstr("--config broken.yaml: "));
  EXPECT_THAT(Output(With(kSimulate, {"--config", "absent.yaml"}), 3),
              HasSubstr("--config absent.yaml: cannot be read"));
  EXPECT_THAT(Output(kSimulate, 3, {"HOPGAP_RATE=0"}), HasSubstr("--rate 0: is outside"));
}

// ---- api and load --------------------------------------------------------------------------------------------------

TEST_F(DeployedTest, TheApiPublishesAndSaysSo) {
  Process serve = Hopgap({"serve", "--port", "0"});
  const std::string target = "127.0.0.1:" + After(serve, "listening on ");
  Process api = Hopgap({"api", "--target", target, "--project", "p", "--topic", "std-hop1", "--listen", "127.0.0.1:0",
                        "--log-format", "json", "--ready-file", "port"});
  ASSERT_TRUE(api.WaitForText("api listens", 20s)) << api.output();
  const std::string port = Read("port").substr(0, Read("port").find('\n'));
  remote::HttpClient client({.origin = "http://127.0.0.1:" + port});
  const auto ask = [&](const std::string& method, const std::string& path, remote::HttpHeaders headers = {}) {
    auto response =
        client.Send({.method = method, .path = path, .headers = std::move(headers), .body = {}, .content_type = {}});
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : remote::HttpResponse{};
  };
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
  EXPECT_EQ(ask("GET", "/readyz").status, 503) << "the topic is not there yet";
  EXPECT_EQ(ask("POST", "/send").status, 503);
  Output({"setup", "--target", target, "--project", "p", "--hops", "1"}, 0);
  EXPECT_EQ(ask("GET", "/readyz").status, 200);

  const remote::HttpResponse sent =
      ask("POST", "/send", {{"traceparent", "00-0123456789abcdef0123456789abcdef-00000000000000aa-01"}});
  EXPECT_EQ(sent.status, 200);
  const json answer = json::parse(sent.body, nullptr, false);
  EXPECT_EQ(answer.at("trace_id"), "0123456789abcdef0123456789abcdef");
  EXPECT_FALSE(answer.at("message_id").get<std::string>().empty());
  EXPECT_EQ(ask("GET", "/send").status, 405);
  EXPECT_EQ(ask("GET", "/other").status, 404);
  EXPECT_EQ(ask("POST", "/send", {{"Hopgap-Slot", "x"}}).status, 400);

  api.Signal(SIGTERM);
  EXPECT_EQ(api.Wait(10s), 0) << api.output();
  std::istringstream lines(api.output());
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(json::accept(line)) << line;
  EXPECT_THAT(api.output(),
              HasSubstr(R"("message":"api ends","published":"1","failed":"1","refused":"1","drained":"yes")"));
}

TEST_F(DeployedTest, LoadSendsTheScheduleToEveryUrlAndReportsIt) {
  Process serve = Hopgap({"serve", "--port", "0"});
  const std::string target = "127.0.0.1:" + After(serve, "listening on ");
  Output({"setup", "--target", target, "--project", "p", "--arm", "std", "--hops", "1"}, 0);
  Process api = Hopgap({"api", "--target", target, "--topic", "projects/p/topics/std-hop1", "--listen", "127.0.0.1:0"});
  const std::string url = "http://127.0.0.1:" + After(api, "address=127.0.0.1:") + "/send";
  const json result = json::parse(
      Output({"load", "--url", "a=" + url, "--url", "b=" + url, "--rate", "50", "--messages", "20", "--json"}, 0),
      nullptr, false);
  ASSERT_TRUE(result.is_object());
  EXPECT_EQ(result.at("schema"), "hopgap.load/1");
  ASSERT_EQ(result.at("targets").size(), 2u);
  for (const json& one : result.at("targets")) {
    EXPECT_EQ(one.at("answered"), 20);
    EXPECT_EQ(one.at("failed"), 0);
    EXPECT_EQ(one.at("answer_ms").at("n"), 20);
    EXPECT_TRUE(one.at("late_ms").at("p99").at("value").is_null()) << "20 messages say nothing of a p99";
  }
}

// C47 and C49 are lab's, in virtual time (users_test.cc).
TEST_F(DeployedTest, LoadWithABoundedNumberOfUsersDropsAndSaysSo) {
  Process serve = Hopgap({"serve", "--port", "0"});
  const std::string target = "127.0.0.1:" + After(serve, "listening on ");
  Output({"setup", "--target", target, "--project", "p", "--arm", "std", "--hops", "1"}, 0);
  Process api = Hopgap({"api", "--target", target, "--topic", "projects/p/topics/std-hop1", "--listen", "127.0.0.1:0"});
  const std::string url = "http://127.0.0.1:" + After(api, "address=127.0.0.1:") + "/send";
  const auto load = [&](std::vector<std::string> more, int code) {
    std::vector<std::string> words = {"load", "--url", url, "--rate", "20000", "--messages", "400", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return json::parse(Output(words, code), nullptr, false).at("targets")[0];
  };
  const json one = load({"--users", "1"}, 2);
  EXPECT_GT(one.at("not_sent"), 0) << "a slot each 50 us is more than one user can send";
  EXPECT_EQ(one.at("not_sent").get<int>() + one.at("sent").get<int>(), 400);
  EXPECT_EQ(one.at("answered"), one.at("sent"));
  EXPECT_EQ(one.at("users"), 1);
  EXPECT_THAT(one.at("advice").get<std::string>(), HasSubstr("slots were not sent"));
  const json more = load({"--users", "1", "--users-max", "3"}, 2);
  EXPECT_GT(more.at("users"), 1);
  EXPECT_LE(more.at("users"), 3);
  EXPECT_THAT(Output({"load", "--url", url, "--users", "3", "--users-max", "2"}, 3),
              HasSubstr("--users-max 2: is less than"));
}

TEST_F(DeployedTest, LoadThatNobodyAnswersFailsAndSaysWhy) {
  EXPECT_THAT(Output({"load", "--url", "http://127.0.0.1:1/send", "--rate", "100", "--messages", "3"}, 2),
              HasSubstr("failed 3"));
  EXPECT_THAT(Output({"load", "--url", "127.0.0.1:1"}, 3), HasSubstr("--url 127.0.0.1:1: '127.0.0.1:1' has no scheme"));
}

// ---- setup and worker ----------------------------------------------------------------------------------------------

TEST_F(DeployedTest, SetupMakesAndRemovesAndMayBeRepeated) {
  Process serve = Hopgap({"serve", "--port", "0"});
  const std::string target = "127.0.0.1:" + After(serve, "listening on ");
  const std::vector<std::string> words = {"setup", "--target", target, "--project", "p", "--hops", "2"};
  EXPECT_THAT(Output(words, 0), HasSubstr("8 topics and subscriptions made, 0 were there already"));
  EXPECT_THAT(Output(words, 0), HasSubstr("0 topics and subscriptions made, 8 were there already"));
  EXPECT_THAT(Output(With(words, {"--remove"}), 0),
              HasSubstr("8 topics and subscriptions removed, 0 were gone already"));
  EXPECT_THAT(Output(With(words, {"--remove"}), 0),
              HasSubstr("0 topics and subscriptions removed, 8 were gone already"));
}

TEST_F(DeployedTest, AWorkerWaitsForItsSubscriptionAndEndsOnSigterm) {
  Process serve = Hopgap({"serve", "--port", "0"});
  const std::string target = "127.0.0.1:" + After(serve, "listening on ");
  Process worker = Hopgap(
      {"worker", "--target", target, "--project", "p", "--subscription", "eos-hop1-sub", "--health", "127.0.0.1:0"});
  ASSERT_TRUE(worker.WaitForText("waiting for the subscription", 20s)) << worker.output();
  Output({"setup", "--target", target, "--project", "p", "--hops", "1"}, 0);
  ASSERT_TRUE(worker.WaitForText("info ready", 20s)) << worker.output();
  worker.Signal(SIGTERM);
  EXPECT_EQ(worker.Wait(10s), 0) << worker.output();
  EXPECT_THAT(worker.output(), HasSubstr("drained=yes"));
}

TEST_F(DeployedTest, ProcessesNameWhatTheyAreMissing) {
  EXPECT_THAT(Output({"worker"}, 3), HasSubstr("--target: which broker?"));
  EXPECT_THAT(Output({"worker", "--target", "localhost:1"}, 3), HasSubstr("--subscription: is required"));
  EXPECT_THAT(Output({"worker", "--target", "localhost:1", "--subscription", "s"}, 3),
              HasSubstr("--subscription s: whose?"));
  EXPECT_THAT(Output({"api", "--target", "localhost:1", "--topic", "a/b"}, 3), HasSubstr("is neither an id nor"));
  EXPECT_THAT(Output({"api", "--target", "localhost:1", "--topic", "projects/p/topics/t", "--listen", "8080"}, 3),
              HasSubstr("--listen 8080: is not HOST:PORT"));
  EXPECT_THAT(
      Output({"worker", "--target", "localhost:1", "--subscription", "projects/p/subscriptions/s", "--work", "5"}, 3),
      HasSubstr("--work 5: is not a duration"));
}

}  // namespace
}  // namespace hopgap::tests
