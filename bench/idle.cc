// What a broker costs that nobody uses (design §5): 500 open StreamingPulls and
// no traffic. A process of its own is measured, ours holds the streams.
//
//   bench_idle [--tiny] [--seconds N] [--rounds N]   exit code 1: measured, and a target is missed
//
// --rounds: opens and closes 200 streams on 60 subscriptions so often (case C39)
// and prints the memory after each.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/system_clock.h"
#include "base/text.h"
#include "live/child.h"
#include "live/process_figures.h"
#include "remote/http_client.h"
#include "remote/remote.h"
#include "server/listen.h"

namespace hopgap {
namespace {

using namespace std::chrono_literals;

constexpr double kCpuPerMinuteMax = 0.6, kResidentMiBMax = 40, kReadyMsMax = 100;
constexpr int kSubscriptions = 60;

struct Flags {
  int streams = 500;
  int seconds = 60;
  int rounds = 0;
};

// Streams are only held.
class Quiet final : public remote::Handler {
 public:
  void OnResponse(uint64_t, Instant, Instant, pubsub::StreamingPullResponse) override {}
  void OnStreamEnded(uint64_t, Instant, const absl::Status&, const std::string&) override {}
  void OnCallDone(uint64_t, Instant, const absl::Status&, const std::string&, pubsub::Bytes) override {}
};

// The clients of one round: ten connections, as processes of ten streams and more would have.
class Clients {
 public:
  Clients(const std::string& target, int streams) {
    for (int i = 0; i < 10; ++i) connections_.push_back(remote_.Connect(target));
    for (int i = 0; i < streams; ++i) {
      pubsub::StreamingPullRequest first;
      first.subscription = StrCat("projects/idle/subscriptions/sub-", i % kSubscriptions);
      first.stream_ack_deadline_seconds = 60;
      first.client_id = StrCat("client-", i);
      streams_.push_back(connections_[static_cast<size_t>(i) % connections_.size()]->OpenStream(
          handler_, static_cast<uint64_t>(i), {pubsub::Encode(first)}));
      streams_.back()->Read();
    }
  }
  ~Clients() { remote_.Shutdown(); }

 private:
  Quiet handler_;
  remote::Remote remote_;
  std::vector<std::unique_ptr<remote::Connection>> connections_;
  std::vector<remote::StreamRef> streams_;
};

bool Green(const std::string& target) {
  remote::HttpClient::Options options;
  options.origin = "http://" + target;
  options.connect_timeout = options.timeout = 5s;
  remote::HttpRequest request;
  request.path = "/healthz";
  const absl::StatusOr<remote::HttpResponse> response = remote::HttpClient(std::move(options)).Send(request);
  return response.ok() && response->status == 200;
}

std::string SeedText() {
  std::string text = "projects:\n  idle:\n    topics:\n";
  for (int i = 0; i < kSubscriptions; ++i) text += StrCat("      top-", i, ":\n");
  text += "    subscriptions:\n";
  for (int i = 0; i < kSubscriptions; ++i) text += StrCat("      sub-", i, ": {topic: top-", i, "}\n");
  return text;
}

// From the start of the process to the first green answer; how long the 60
// topics and 60 subscriptions take is in it.
absl::StatusOr<live::Child> StartBroker(const std::filesystem::path& folder, uint16_t port, const std::string& target,
                                        double& ready_ms) {
  std::ofstream(folder / "seed.yaml") << SeedText();
  const Instant begun = SteadyNow();
  absl::StatusOr<live::Child> child = live::Child::Start(
      {.command = {HOPGAP_BINARY, "serve", "--port", std::to_string(port), "--seed", (folder / "seed.yaml").string()},
       .environment = {},
       .log_file = (folder / "log").string()});
  if (!child.ok()) return child;
  while (!Green(target)) {
    if (child->Poll() || SteadyNow() - begun > 30s) return absl::UnavailableError("the broker did not become ready");
    std::this_thread::sleep_for(1ms);
  }
  ready_ms = ToMillis(SteadyNow() - begun);
  return child;
}

int Measure(const Flags& flags, const std::filesystem::path& folder) {
  const uint16_t port = server::BoundPort(server::OpenListener("127.0.0.1", 0)->get());
  const std::string target = StrCat("127.0.0.1:", port);
  double ready_ms = 0;
  absl::StatusOr<live::Child> broker = StartBroker(folder, port, target, ready_ms);
  if (!broker.ok()) {
    std::fprintf(stderr, "%s\n", broker.status().ToString().c_str());
    return 2;
  }
  std::printf("ready after %.0f ms (target < %.0f), 60 topics and 60 subscriptions seeded; %.1f MiB resident\n",
              ready_ms, kReadyMsMax, tests::ResidentMiB(broker->pid()));
  double per_minute = 0, resident = 0;
  {
    const Clients clients(target, flags.streams);
    std::this_thread::sleep_for(2s);  // what opening costs is not idling
    const double before = tests::CpuSeconds(broker->pid());
    std::this_thread::sleep_for(std::chrono::seconds{flags.seconds});
    per_minute = (tests::CpuSeconds(broker->pid()) - before) * 60 / flags.seconds;
    resident = tests::ResidentMiB(broker->pid());
  }
  std::printf("%d idle streams over %d s: %.2f CPU-s a minute (target < %.1f), %.1f MiB resident (target < %.0f)\n",
              flags.streams, flags.seconds, per_minute, kCpuPerMinuteMax, resident, kResidentMiBMax);
  for (int round = 1; round <= flags.rounds; ++round) {
    {
      const Clients clients(target, 200);
      std::this_thread::sleep_for(std::chrono::seconds{flags.seconds});
    }
    std::this_thread::sleep_for(500ms);
    std::printf("round %d of %d: %.1f MiB resident after 200 streams came and went\n", round, flags.rounds,
                tests::ResidentMiB(broker->pid()));
  }
  broker->Signal(SIGTERM);
  broker->Wait(SteadyNow() + 10s);
  const bool met = ready_ms < kReadyMsMax && per_minute < kCpuPerMinuteMax && resident < kResidentMiBMax;
  return met ? 0 : 1;
}

}  // namespace
}  // namespace hopgap

int main(int argc, char** argv) {
  hopgap::Flags flags;
  bool tiny = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--tiny") {
      tiny = true;
      flags = {.streams = 20, .seconds = 1, .rounds = 1};
    } else if (i + 1 < argc && (flag == "--seconds" || flag == "--rounds")) {
      (flag == "--seconds" ? flags.seconds : flags.rounds) = std::max(1, std::atoi(argv[++i]));
    } else {
      std::fprintf(stderr, "usage: bench_idle [--tiny] [--seconds N] [--rounds N]\n");
      return 2;
    }
  }
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("hopgap-idle-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const int code = hopgap::Measure(flags, folder);
  std::filesystem::remove_all(folder);
  // A tiny run shows that it runs; its figures mean nothing.
  return tiny && code == 1 ? 0 : code;
}
