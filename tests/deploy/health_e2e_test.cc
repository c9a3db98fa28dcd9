// `hopgap health`, on which the health checks of containers rest: it must say no when something is not well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "live/process.h"
#include "server/http_server.h"

namespace hopgap::tests {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

Process Hopgap(std::vector<std::string> words) {
  words.insert(words.begin(), HOPGAP_BINARY);
  return Process(words, std::filesystem::temp_directory_path().string());
}

struct Answer {
  int code = -1;
  std::string text;
};
Answer Health(std::vector<std::string> words) {
  words.insert(words.begin(), "health");
  Process process = Hopgap(words);
  const int code = process.Wait(30s);
  return {code, process.output()};
}

// A server whose /readyz says what the test wants.
class Service {
 public:
  explicit Service(uint16_t port = 0) {
    server::HttpServer::Options options;
    options.port = port;
    auto started = server::HttpServer::Start(options, [this](const server::HttpCall& call) {
      ++asked_;
      server::HttpReply reply;
      reply.status = call.path == "/readyz" ? status_.load() : 404;
      reply.body = "the topic is not there";
      return reply;
    });
    EXPECT_TRUE(started.ok()) << started.status();
    if (started.ok()) server_ = *std::move(started);
  }
  std::string Url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  uint16_t port() const { return server_->port(); }
  void Say(int status) { status_ = status; }
  int asked() const { return asked_; }

 private:
  std::atomic<int> status_ = 200, asked_ = 0;
  std::unique_ptr<server::HttpServer> server_;
};

TEST(HealthTest, AServiceIsWellIfReadyzAnswers200) {
  Service service;
  const Answer well = Health({service.Url()});
  EXPECT_EQ(well.code, 0) << well.text;
  EXPECT_EQ(service.asked(), 1);

  service.Say(503);
  const Answer ill = Health({service.Url()});
  EXPECT_EQ(ill.code, 4);
  EXPECT_THAT(ill.text, HasSubstr("answers 503: the topic is not there"));
}

TEST(HealthTest, APathThatIsGivenIsAsked) {
  Service service;
  EXPECT_EQ(Health({service.Url() + "/readyz"}).code, 0);
  EXPECT_THAT(Health({service.Url() + "/other"}).text, HasSubstr("answers 404"));
}

TEST(HealthTest, ABrokerIsWellWhileItServes) {
  Process broker = Hopgap({"serve", "--port", "0"});
  const std::string before = "PUBSUB_EMULATOR_HOST=";
  ASSERT_TRUE(broker.WaitForText("added delays", 10s)) << broker.output();
  const size_t begin = broker.output().find(before) + before.size();
  const std::string target = broker.output().substr(begin, broker.output().find('\n', begin) - begin);

  const Answer well = Health({target});
  EXPECT_EQ(well.code, 0) << well.text;
  broker.Signal(SIGTERM);
  EXPECT_EQ(broker.Wait(), 0);
  const Answer gone = Health({target});
  EXPECT_EQ(gone.code, 4);
  EXPECT_THAT(gone.text, HasSubstr(target));
}

TEST(HealthTest, ItWaitsUntilItIsWellAndNoLonger) {
  Service service;
  service.Say(503);
  Process waits = Hopgap({"health", "--wait", "60s", service.Url()});
  while (service.asked() < 2) {
    ASSERT_FALSE(waits.WaitForText("answers", 50ms)) << waits.output();  // it has not given up
  }
  service.Say(200);
  EXPECT_EQ(waits.Wait(30s), 0) << waits.output();

  service.Say(503);
  EXPECT_EQ(Health({"--wait", "300ms", service.Url()}).code, 4);
}

TEST(HealthTest, WrongSettingsAreRefusedAndNotAskedAgain) {
  EXPECT_THAT(Health({"--wait", "soon"}).text, HasSubstr("--wait soon"));
  const Answer no_host = Health({"--wait", "60s", "http://"});
  EXPECT_EQ(no_host.code, 3);
  EXPECT_THAT(no_host.text, HasSubstr("has no host"));
}

}  // namespace
}  // namespace hopgap::tests
