// hopgap-faults [--seed N | --first N --seeds N | --seconds S] [--planted NAME] [--store 1] [--log 1] [--progress 1]: runs seeds of
// the fault world. The first broken promise ends it, with the line that replays it.
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/system_clock.h"
#include "base/text.h"
#include "sim/fault_world.h"
#include "sim/planted_bugs.h"

namespace hopgap {
namespace {

struct Arguments {
  uint64_t first = 1, seeds = 1000;
  uint64_t seconds = 0;   // > 0: until then, whatever `seeds`
  bool progress = false;  // a line a minute
  bool one = false;       // a single seed: say what it was
  sim::PlantedBug planted{broker::Planted::kNone, ""};
  bool store = false;  // every seed over the real journal
  bool log = false;    // print what crosses the broker's door
};

constexpr Duration kProgressEvery = std::chrono::minutes{1};

char g_replay[64];  // for the handler of a failed check

void OnAbort(int) {
  const char text[] = "a check of the code failed; replay with: ./dev soak --seed ";
  (void)!::write(2, text, sizeof text - 1);
  (void)!::write(2, g_replay, std::strlen(g_replay));
  (void)!::write(2, "\n", 1);
  std::_Exit(1);
}

std::optional<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--planted") {
      for (const sim::PlantedBug& planted : sim::kPlantedBugs) {
        if (planted.name == argv[i + 1]) arguments.planted = planted;
      }
      if (arguments.planted.name.empty()) return std::nullopt;
      continue;
    }
    const std::optional<uint64_t> value = ParseNumber<uint64_t>(argv[i + 1]);
    if (!value) return std::nullopt;
    if (name == "--seed") {
      arguments.first = *value;
      arguments.seeds = 1;
      arguments.one = true;
    } else if (name == "--progress") {
      arguments.progress = *value != 0;
    } else if (name == "--store") {
      arguments.store = *value != 0;
    } else if (name == "--log") {
      arguments.log = *value != 0;
    } else if (name == "--first") {
      arguments.first = *value;
    } else if (name == "--seeds") {
      arguments.seeds = *value;
    } else if (name == "--seconds") {
      arguments.seconds = *value;
    } else {
      return std::nullopt;
    }
  }
  if (argc % 2 == 0) return std::nullopt;
  return arguments;
}

struct Totals {
  uint64_t seeds = 0, steps = 0, deliveries = 0, redeliveries = 0, crashes = 0, acks = 0, refused = 0;
  void Add(const sim::FaultResult& result) {
    ++seeds;
    steps += result.steps;
    deliveries += result.tally.deliveries;
    redeliveries += result.tally.redeliveries;
    crashes += result.tally.crashes;
    acks += result.tally.acks_ok;
    refused += result.tally.acks_refused;
  }
};

void Report(const sim::FaultResult& result, uint64_t seed) {
  std::printf("broken: %s, at %.6f s: %s\nplan: %s\nreplay with: ./dev soak --seed %llu\n",
              result.violation->promise.c_str(), ToMillis(result.violation->at - Instant{}) / 1e3,
              result.violation->what.c_str(), result.plan.c_str(), static_cast<unsigned long long>(seed));
}

int Main(int argc, char** argv) {
  const std::optional<Arguments> arguments = Parse(argc, argv);
  if (!arguments) {
    std::fputs(
        "usage: hopgap-faults [--seed N | --first N] [--seeds N | --seconds S] [--planted NAME] [--store 1] [--log 1] "
        "[--progress 1]\n",
        stderr);
    return 2;
  }
  std::signal(SIGABRT, OnAbort);
  const Instant begin = SteadyNow();
  Instant next_line = begin + kProgressEvery;
  Totals totals;
  const auto goes_on = [&] {
    if (arguments->seconds == 0) return totals.seeds < arguments->seeds;
    return SteadyNow() - begin < std::chrono::seconds{arguments->seconds};
  };
  for (uint64_t seed = arguments->first; goes_on(); ++seed) {
    std::snprintf(g_replay, sizeof g_replay, "%llu", static_cast<unsigned long long>(seed));
    sim::FaultOptions options{.seed = seed,
                              .planted = arguments->planted.bug,
                              .store_planted = arguments->planted.store,
                              .over_store = arguments->store || arguments->planted.over_store,
                              .log = {}};
    if (arguments->log) {
      options.log = [](Instant now, const std::string& line) {
        std::printf("%12.6f %s\n", ToMillis(now - Instant{}) / 1e3, line.c_str());
      };
    }
    const sim::FaultResult result = sim::RunFaults(options);
    totals.Add(result);
    if (arguments->progress && SteadyNow() >= next_line) {
      next_line += kProgressEvery;
      std::fprintf(stderr, "%llu seeds up to %llu, %llu deliveries, %llu ends of the process\n",
                   static_cast<unsigned long long>(totals.seeds), static_cast<unsigned long long>(seed),
                   static_cast<unsigned long long>(totals.deliveries), static_cast<unsigned long long>(totals.crashes));
    }
    if (arguments->one) std::printf("%s\n", result.plan.c_str());
    if (result.violation) return Report(result, seed), 1;
  }
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "%llu seeds from %llu without a broken promise, in %.1f s: %llu events, %llu deliveries (%llu again), %llu acks "
      "answered OK, %llu refused, %llu ends of the process\n",
      number(totals.seeds), number(arguments->first), ToMillis(SteadyNow() - begin) / 1e3, number(totals.steps),
      number(totals.deliveries), number(totals.redeliveries), number(totals.acks), number(totals.refused),
      number(totals.crashes));
  return 0;
}

}  // namespace
}  // namespace hopgap

int main(int argc, char** argv) { return hopgap::Main(argc, argv); }
