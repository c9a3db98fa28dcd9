// A/A: pairs of runs of one and the same arm, in virtual time. How often a table
// of hopgap would call one of the two slower. Writes Markdown; ./dev statistics
// puts it at the end of docs/statistics.md.
//
//   bench_false_alarms [--tiny]     exit code 1: more than an alarm rate of 5 % explains
#include <atomic>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/draw.h"
#include "cli/setup.h"
#include "lab/arm.h"
#include "sim/world.h"
#include "stats/compare.h"
#include "stats/quantile_difference.h"
#include "stats/rank.h"
#include "stats/sample.h"

namespace hopgap {
namespace {

constexpr uint64_t kSeed = 20261130;
constexpr char kProject[] = "hopgap-replay";
constexpr double kClaimed = 0.05;

struct Alarms {
  uint64_t pairs = 0, paired = 0, shift = 0, median = 0;
};

// Until handled, by slot.
std::map<uint64_t, int64_t> Simulate(const broker::Profile& profile, const char* kind, uint64_t slots, bool stratified,
                                     uint64_t seed) {
  sim::Options options;
  options.lab.groups = {{.name = "replay", .project = kProject}};
  options.lab.arms = {lab::ParseArm(kind, "go").value()};
  options.lab.work = std::chrono::milliseconds{200};
  options.lab.slots = slots;
  options.lab.seed = seed;
  options.broker.delays[kProject] = std::make_shared<broker::Delays>(
      broker::Delays::Options{.profile = profile, .seed = seed, .strata = stratified ? slots : 0, .planted = {}});
  const absl::StatusOr<sim::Result> result = sim::Run(std::move(options));
  std::map<uint64_t, int64_t> handled;
  if (!result.ok()) return handled;
  for (const trace::Path& path : result->outcome.paths[0]) handled.emplace(path.slot, path.until_handled.count());
  return handled;
}

// Whether 0 lies outside an interval that has both ends.
template <typename Interval>
bool Decides(const Interval& interval) {
  return interval && interval->low && interval->high && (*interval->low > 0 || *interval->high < 0);
}

void Judge(const std::map<uint64_t, int64_t>& first, const std::map<uint64_t, int64_t>& second, Alarms& out) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  std::vector<int64_t> one, other;
  for (const auto& [slot, value] : first) {
    one.push_back(value);
    if (const auto found = second.find(slot); found != second.end()) pairs.emplace_back(value, found->second);
  }
  for (const auto& [slot, value] : second) other.push_back(value);
  const stats::Sample a(std::move(one)), b(std::move(other));
  ++out.pairs;
  out.paired += stats::ComparePairs(pairs).sign() != stats::PairedDifference::Sign::kUnresolved ? 1 : 0;
  out.shift += Decides(stats::CompareShift(a, b)) ? 1 : 0;
  out.median += Decides(stats::CompareQuantile(a, b, stats::kP50)) ? 1 : 0;
}

Alarms Measure(const broker::Profile& profile, const char* kind, uint64_t slots, bool stratified, uint64_t pairs) {
  Alarms sum;
  std::mutex mutex;
  std::atomic<uint64_t> next{0};
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (uint64_t pair = next++; pair < pairs; pair = next++) {
        const auto first = Simulate(profile, kind, slots, stratified, Mix(kSeed, 2 * pair));
        const auto second = Simulate(profile, kind, slots, stratified, Mix(kSeed, 2 * pair + 1));
        const std::lock_guard lock(mutex);
        Judge(first, second, sum);
      }
    });
  }
  threads.clear();
  return sum;
}

// More than the claimed rate and three standard errors.
bool TooOften(uint64_t alarms, uint64_t of) {
  const auto n = static_cast<double>(of);
  return static_cast<double>(alarms) > kClaimed * n + 3 * std::sqrt(kClaimed * (1 - kClaimed) * n);
}

int Main(bool tiny) {
  const uint64_t pairs = tiny ? 5 : 5'000;  // of runs: twice as many runs
  const absl::StatusOr<broker::Profile> profile = cli::LoadProfile("cloud-replay");
  if (!profile.ok()) return 2;
  std::printf(
      "\n## A/A: two runs of the same arm called different (at most 0.05)\n\n"
      "Whole runs in virtual time, profile cloud-replay, 3 hops of 200 ms, 4 streams, 1/s; until handled. %llu runs a "
      "row,\n"
      "compared two by two, each with a seed of its own. Stratified, as `run` and `simulate` draw: both have nearly "
      "the\n"
      "same quantiles, so that fewer alarms are to be expected than of independent draws.\n\n"
      "| arm | n | draws | median of the pairs (tables) | Hodges-Lehmann shift (`compare`) | difference of p50 "
      "(thresholds) |\n|---|---|---|---|---|---|\n",
      static_cast<unsigned long long>(2 * pairs));
  bool bad = false;
  for (const char* kind : {"std", "eos"}) {
    for (const bool stratified : {true, false}) {
      const Alarms a = Measure(*profile, kind, 31, stratified, pairs);
      const auto share = [&](uint64_t alarms) { return static_cast<double>(alarms) / static_cast<double>(a.pairs); };
      std::printf("| %s | 31 | %s | %.3f | %.3f | %.3f |\n", kind, stratified ? "stratified" : "independent",
                  share(a.paired), share(a.shift), share(a.median));
      std::fflush(stdout);
      bad = bad || TooOften(a.paired, a.pairs) || TooOften(a.shift, a.pairs) || TooOften(a.median, a.pairs);
    }
  }
  return bad && !tiny ? 1 : 0;
}

}  // namespace
}  // namespace hopgap

int main(int argc, char** argv) { return hopgap::Main(argc > 1 && std::string_view(argv[1]) == "--tiny"); }
