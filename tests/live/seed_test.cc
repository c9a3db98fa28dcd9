// `serve --seed` as a container runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/system_clock.h"
#include "base/text.h"
#include "live/process.h"
#include "remote/http_client.h"
#include "remote/remote.h"
#include "server/listen.h"

namespace hopgap::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Free a moment ago: the probes begin before the process can say its port.
uint16_t FreePort() { return server::BoundPort(server::OpenListener("127.0.0.1", 0)->get()); }

// 50 topics and 100 subscriptions, with every field that is served.
std::string EveryField() {
  std::string text = "projects:\n  p:\n    topics:\n";
  for (int i = 0; i < 50; ++i) {
    text += StrCat("      top", i, ":\n        labels: {n: '", i, "'}\n", "        message_retention_duration: 3600s\n",
                   "        messages: [{data: 'hello', attributes: {a: b}, ordering_key: k}]\n");
  }
  text += "      dead: {}\n    subscriptions:\n";
  for (int i = 0; i < 100; ++i) {
    text += StrCat("      sub", i, ":\n        topic: top", i % 50, "\n        ack_deadline_seconds: ", 10 + i, "\n");
    text += "        labels: {a: b}\n        retain_acked_messages: true\n        message_retention_duration: 86400s\n";
    text += "        expiration_policy: {ttl: 172800s}\n        filter: attributes.a = \"b\"\n";
    text += "        dead_letter_policy: {dead_letter_topic: dead, max_delivery_attempts: 5}\n";
    text += "        retry_policy: {minimum_backoff: 1s, maximum_backoff: 600s}\n";
    text += StrCat("        enable_message_ordering: ", i % 2 == 0 ? "true" : "false", "\n");
    text += StrCat("        enable_exactly_once_delivery: ", i % 3 == 0 ? "true" : "false", "\n");
  }
  return text;
}

class ServeSeedTest : public ::testing::Test {
 protected:
  ServeSeedTest() : folder_(fs::temp_directory_path() / ("hopgap-seed-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~ServeSeedTest() override { fs::remove_all(folder_); }

  void Write(const std::string& text) const { std::ofstream(folder_ / "seed.yaml") << text; }
  Process Serve(uint16_t port, std::vector<std::string> before = {}) const {
    std::vector<std::string> words = std::move(before);
    for (const char* word : {HOPGAP_BINARY, "serve", "--seed", "seed.yaml", "--port"}) words.emplace_back(word);
    words.push_back(std::to_string(port));
    return Process(words, folder_.string());
  }
  static bool Green(uint16_t port) {
    remote::HttpClient::Options options;
    options.origin = StrCat("http://127.0.0.1:", port);
    options.connect_timeout = options.timeout = 5s;
    remote::HttpRequest request;
    request.path = "/healthz";
    const absl::StatusOr<remote::HttpResponse> response = remote::HttpClient(std::move(options)).Send(request);
    return response.ok() && response->status == 200;
  }
  static size_t Count(remote::Connection& connection, pubsub::Method method) {
    const absl::StatusOr<pubsub::Bytes> answer = connection.CallAndWait(
        method, {pubsub::Encode(pubsub::ListRequest{.parent = "projects/p", .page_size = 1000, .page_token = {}})},
        30s);
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (!answer.ok()) return 0;
    size_t count = 0;
    pubsub::WireReader reader(answer->view());
    while (reader.Next()) count += reader.field().number == 1 ? 1 : 0;
    return count;
  }

  const fs::path folder_;
};

TEST_F(ServeSeedTest, C40_GreenOnlyOnceEverySeedIsThere) {
  Write(EveryField());
  const uint16_t port = FreePort();
  const Instant begun = SteadyNow();
  Process serve = Serve(port);
  while (!Green(port)) ASSERT_LT(SteadyNow() - begun, 60s) << serve.output();
  const Duration green_after = SteadyNow() - begun;
  remote::Remote remote;
  const std::unique_ptr<remote::Connection> connection = remote.Connect(StrCat("127.0.0.1:", port));
  EXPECT_EQ(Count(*connection, pubsub::Method::kListTopics), 51u);
  EXPECT_EQ(Count(*connection, pubsub::Method::kListSubscriptions), 100u);
  // A second on a machine of its own; this one may be shared.
  EXPECT_LT(green_after, 5s);
  remote.Shutdown();
  const Instant asked = SteadyNow();
  serve.Signal(SIGTERM);
  EXPECT_EQ(serve.Wait(), 0) << serve.output();
  EXPECT_LT(SteadyNow() - asked, 5s);
  std::printf("green after %.0f ms\n", ToMillis(green_after));
}

// Signals without a handler do nothing to the first process of a namespace.
TEST_F(ServeSeedTest, C40_StopsAsTheFirstProcessOfAContainer) {
  Write("projects: {p: {topics: {top: {}}}}");
  Process probe({"unshare", "--pid", "--fork", "true"}, folder_.string());
  if (probe.Wait() != 0) GTEST_SKIP() << "no right to make a process namespace: " << probe.output();
  const uint16_t port = FreePort();
  Process serve = Serve(port, {"sh", "-c", "echo pid $$; exec unshare --pid --fork \"$@\"", "sh"});
  ASSERT_TRUE(serve.WaitForText("Server started, listening on", 60s)) << serve.output();
  const size_t at = serve.output().find("pid ");
  const std::string parent = serve.output().substr(at + 4, serve.output().find('\n', at) - at - 4);
  std::ostringstream children;
  children << std::ifstream(StrCat("/proc/", parent, "/task/", parent, "/children")).rdbuf();
  const std::optional<int> child = ParseNumber<int>(Split(children.str(), ' ').at(0));
  ASSERT_TRUE(child) << children.str();
  const Instant asked = SteadyNow();
  ASSERT_EQ(kill(*child, SIGTERM), 0);
  EXPECT_EQ(serve.Wait(), 0) << serve.output();
  EXPECT_LT(SteadyNow() - asked, 5s);
}

TEST_F(ServeSeedTest, C40_ABadSeedEndsTheProcessAndIsNamed) {
  Write(
      "projects:\n  p:\n    topics: {top: {}}\n    subscriptions:\n      good: {topic: top}\n      bad:\n        "
      "topic: top\n"
      "        filter: attributes.a === 1\n");
  Process serve = Serve(FreePort());
  EXPECT_EQ(serve.Wait(), 3);
  EXPECT_THAT(serve.output(), HasSubstr("--seed seed.yaml: line 8: projects.p.subscriptions.bad.filter: "));
}

TEST_F(ServeSeedTest, BeyondItsBacklogLimitAPublishIsRefused) {
  const auto serve = [&](const std::string& limit) {
    Process process({HOPGAP_BINARY, "serve", "--port", "0", "--seed", "seed.yaml", "--backlog-limit", limit},
                    folder_.string());
    EXPECT_EQ(process.Wait(), 3);
    return process.output();
  };
  Write(StrCat("projects: {p: {topics: {top: {messages: [{data: '", std::string(2000, 'x'),
               "'}]}}, subscriptions: {sub: {topic: top}}}}"));
  EXPECT_THAT(serve("1KiB"), HasSubstr("acknowledged yet: the limit of 1024 is reached"));
  EXPECT_THAT(serve("1023"), HasSubstr("--backlog-limit 1023: is outside [1KiB, 1TiB]"));
  EXPECT_THAT(serve("99999999999TiB"), HasSubstr("is outside [1KiB, 1TiB]"));
  EXPECT_THAT(serve("4GB"), HasSubstr("--backlog-limit 4GB: is not a size such as 512MiB"));
}

TEST_F(ServeSeedTest, AFileThatIsNoSeedIsNamedBeforeAnythingBegins) {
  Write("projects: {p: {topic: {}}}");
  Process serve = Serve(FreePort());
  EXPECT_EQ(serve.Wait(), 3);
  EXPECT_THAT(serve.output(), HasSubstr("--seed seed.yaml: line 1: projects.p: unknown key 'topic'"));
}

}  // namespace
}  // namespace hopgap::tests
