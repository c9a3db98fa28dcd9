// A broker that nobody uses. `./dev bench idle` has the figures; this is what must hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/system_clock.h"
#include "base/text.h"
#include "live/process.h"
#include "live/process_figures.h"
#include "remote/http_client.h"
#include "remote/remote.h"

namespace hopgap::tests {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class Quiet final : public remote::Handler {
 public:
  void OnResponse(uint64_t, Instant, Instant, pubsub::StreamingPullResponse) override {}
  void OnStreamEnded(uint64_t, Instant, const absl::Status&, const std::string&) override {}
  void OnCallDone(uint64_t, Instant, const absl::Status&, const std::string&, pubsub::Bytes) override {}
};

size_t StreamsOf(uint16_t port, int subscription) {
  remote::HttpClient::Options options;
  options.origin = StrCat("http://127.0.0.1:", port);
  remote::HttpRequest request;
  request.path = StrCat("/admin/v1/projects/idle/subscriptions/sub-", subscription, "/leases");
  const absl::StatusOr<remote::HttpResponse> response = remote::HttpClient(std::move(options)).Send(request);
  EXPECT_TRUE(response.ok() && response->status == 200) << response.status();
  if (!response.ok()) return 0;
  const size_t at = response->body.find("\"streams\": ") + 11;
  return ParseNumber<size_t>(std::string_view(response->body).substr(at, response->body.find(',', at) - at))
      .value_or(99);
}

// Shortened: seconds instead of minutes, four rounds instead of ten.
TEST(IdleTest, C39_AnIdleBrokerCostsNothingAndKeepsNothing) {
  const fs::path folder = fs::temp_directory_path() / ("hopgap-idle-test-" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::string seed = "projects: {idle: {topics: {top-0: {}";
  for (int i = 1; i < 60; ++i) seed += StrCat(", top-", i, ": {}");
  seed += "}, subscriptions: {sub-0: {topic: top-0}";
  for (int i = 1; i < 60; ++i) seed += StrCat(", sub-", i, ": {topic: top-", i, "}");
  std::ofstream(folder / "seed.yaml") << seed << "}}}\n";
  // What AddressSanitizer holds back after a free is not the broker's to give back.
  Process serve({HOPGAP_BINARY, "serve", "--admin", "--port", "0", "--seed", "seed.yaml"}, folder.string(),
                {"ASAN_OPTIONS=quarantine_size_mb=1:thread_local_quarantine_size_kb=64"});
  ASSERT_TRUE(serve.WaitForText("PUBSUB_EMULATOR_HOST=", 60s)) << serve.output();
  const size_t at = serve.output().find("listening on ") + 13;
  const auto port = ParseNumber<uint16_t>(serve.output().substr(at, serve.output().find('\n', at) - at)).value();
  std::vector<double> resident;
  for (int round = 0; round < 4; ++round) {
    {
      Quiet handler;
      remote::Remote remote;
      std::vector<std::unique_ptr<remote::Connection>> connections;
      std::vector<remote::StreamRef> streams;
      for (int i = 0; i < 10; ++i) connections.push_back(remote.Connect(StrCat("127.0.0.1:", port)));
      for (int i = 0; i < 200; ++i) {
        pubsub::StreamingPullRequest first;
        first.subscription = StrCat("projects/idle/subscriptions/sub-", i % 60);
        first.stream_ack_deadline_seconds = 60;
        streams.push_back(connections[static_cast<size_t>(i % 10)]->OpenStream(handler, static_cast<uint64_t>(i),
                                                                               {pubsub::Encode(first)}));
        streams.back()->Read();
      }
      const Instant give_up = SteadyNow() + 60s;
      size_t open = 0;
      while (open < 200 && SteadyNow() < give_up) {
        open = 0;
        for (int i = 0; i < 60; ++i) open += StreamsOf(port, i);
      }
      ASSERT_EQ(open, 200u);
      std::this_thread::sleep_for(500ms);
      const double before = CpuSeconds(serve.pid());
      std::this_thread::sleep_for(3s);
      // 1 % of a core would be 0.03 s, and the kernel counts in hundredths.
      EXPECT_LE(CpuSeconds(serve.pid()) - before, 0.05) << "round " << round;
      remote.Shutdown();
    }
    const Instant give_up = SteadyNow() + 60s;
    size_t left = 1;
    while (left > 0 && SteadyNow() < give_up) {
      left = 0;
      for (int i = 0; i < 60; ++i) left += StreamsOf(port, i);
    }
    EXPECT_EQ(left, 0u);
    resident.push_back(ResidentMiB(serve.pid()));
  }
  for (size_t round = 2; round < resident.size(); ++round) EXPECT_LT(resident[round], resident[1] + 3) << "MiB";
  serve.Signal(SIGTERM);
  EXPECT_EQ(serve.Wait(), 0);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace hopgap::tests
