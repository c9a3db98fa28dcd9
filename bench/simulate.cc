// How fast virtual time runs (design §5): message-hops a second of wall time,
// with nothing written, and whether two runs with one seed give one result.
#include <cstdio>
#include <string_view>

#include "base/system_clock.h"
#include "cli/setup.h"
#include "sim/world.h"

namespace hopgap {
namespace {

struct Measured {
  double hops_per_second = 0;
  uint64_t steps = 0;
  Duration sum{0};
};

absl::StatusOr<Measured> Measure(uint64_t messages) {
  cli::RunOptions options;
  options.simulated = true;
  options.messages = messages;
  absl::StatusOr<cli::Setup> setup = cli::MakeSetup(options);
  if (!setup.ok()) return setup.status();
  sim::Options sim;
  sim.lab = setup->lab;
  sim.broker = setup->broker;
  const Instant begin = SteadyNow();
  absl::StatusOr<sim::Result> result = sim::Run(std::move(sim));
  if (!result.ok()) return result.status();
  const double seconds = ToMillis(SteadyNow() - begin) / 1e3;
  Measured measured{.steps = result->steps};
  uint64_t hops = 0;
  for (const auto& arm : result->outcome.paths) {
    for (const trace::Path& path : arm) {
      hops += path.hops.size();
      measured.sum += path.until_handled;
    }
  }
  measured.hops_per_second = static_cast<double>(hops) / seconds;
  return measured;
}

int Main(bool tiny) {
  const uint64_t messages = tiny ? 200 : 20'000;
  absl::StatusOr<Measured> first = Measure(messages), second = Measure(messages);
  if (!first.ok() || !second.ok()) return 2;
  std::printf(
      "%.0f and %.0f message-hops/s of wall time (5 arms x 3 hops x %llu messages, %llu steps); same result: %s\n",
      first->hops_per_second, second->hops_per_second, static_cast<unsigned long long>(messages),
      static_cast<unsigned long long>(first->steps), first->sum == second->sum ? "yes" : "NO");
  return first->sum == second->sum && first->steps == second->steps ? 0 : 1;
}

}  // namespace
}  // namespace hopgap

int main(int argc, char** argv) { return hopgap::Main(argc > 1 && std::string_view(argv[1]) == "--tiny"); }
