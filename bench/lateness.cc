// How late the generator sends at 1,000/s, beside a bare thread that sleeps until
// the same instants of the same run: what the machine gives anybody.
//
//   bench_lateness [--tiny]     exit code 1: measured, and the target is missed
#include <algorithm>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include "base/system_clock.h"
#include "cli/setup.h"
#include "lab/verdict.h"
#include "live/run.h"
#include "stats/interval.h"
#include "stats/sample.h"

namespace hopgap {
namespace {

constexpr int kRounds = 3;
constexpr uint64_t kMillihertz = 1'000'000;
constexpr double kMoreMsMax = 0.5;  // of the generator's p99 over the bare thread's

struct Round {
  stats::Sample generator, bare;
  Duration stall{0};
};

absl::StatusOr<Round> Measure(uint64_t messages) {
  cli::RunOptions options;
  options.profile = "none";
  options.work = Duration{0};
  options.hops = 1;
  options.millihertz = kMillihertz;
  options.messages = messages;
  options.arms = {"std"};
  absl::StatusOr<cli::Setup> setup = cli::MakeSetup(options);
  if (!setup.ok()) return setup.status();
  const cli::EventEstimate events = cli::EstimateEvents(setup->lab);
  live::Options live;
  live.lab = setup->lab;
  live.broker = setup->broker;
  live.client_events = 2 * events.client;
  live.broker_events = 2 * events.broker;

  std::vector<int64_t> late;
  late.reserve(messages);
  // The run begins when it is set up; the bare thread sleeps through all of it, at the same distances.
  std::jthread bare([&](const std::stop_token& stop) {
    const lab::Schedule schedule(kMillihertz, UINT64_MAX);
    const Instant first = SteadyNow();
    for (uint64_t slot = 0; !stop.stop_requested(); ++slot) {
      const Instant due = first + schedule.DueAfter(slot);
      std::this_thread::sleep_until(std::chrono::steady_clock::time_point(due.time_since_epoch()));
      late.push_back((SteadyNow() - due).count());
    }
  });
  absl::StatusOr<live::Result> result = live::Run(std::move(live));
  bare.request_stop();
  bare.join();
  if (!result.ok()) return result.status();
  std::vector<int64_t> sent;
  lab::AppendSendLateness(result->outcome.ledger, 0, messages, messages, sent);
  return Round{stats::Sample(std::move(sent)), stats::Sample(std::move(late)), result->outcome.health.loop_stall_max};
}

double MsAt(const stats::Sample& sample, stats::Probability p) { return static_cast<double>(sample.Quantile(p)) / 1e6; }

int Main(bool tiny) {
  double best = 1e9;
  for (int i = 0; i < (tiny ? 1 : kRounds); ++i) {
    const absl::StatusOr<Round> round = Measure(tiny ? 200 : 20'000);
    if (!round.ok()) {
      std::fprintf(stderr, "bench lateness: %s\n", std::string(round.status().message()).c_str());
      return 2;
    }
    const double generator = MsAt(round->generator, stats::kP99), bare = MsAt(round->bare, stats::kP99);
    best = std::min(best, generator - bare);
    std::printf(
        "round %d  generator late p50 %.3f p99 %.3f ms (n %zu)  bare thread p50 %.3f p99 %.3f ms (n %zu)  "
        "more at p99 %+.3f ms  own stall %.2f ms\n",
        i + 1, MsAt(round->generator, stats::kP50), generator, round->generator.n(), MsAt(round->bare, stats::kP50),
        bare, round->bare.n(), generator - bare, ToMillis(round->stall));
  }
  if (tiny) return 0;
  std::printf("more at p99, best round: %+.3f ms (target <= %.1f): %s\n", best, kMoreMsMax,
              best <= kMoreMsMax ? "met" : "NOT met");
  return best <= kMoreMsMax ? 0 : 1;
}

}  // namespace
}  // namespace hopgap

int main(int argc, char** argv) { return hopgap::Main(argc > 1 && std::string_view(argv[1]) == "--tiny"); }
