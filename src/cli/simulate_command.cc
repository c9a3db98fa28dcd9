#include <CLI/CLI.hpp>

#include <absl/strings/str_format.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/against.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/folder.h"
#include "cli/present.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "cli/setup.h"
#include "cli/signals.h"
#include "report/text.h"
#include "sim/world.h"

namespace hopgap::cli {
namespace {

constexpr size_t kRpcEventsMax = 4'000'000;  // kept for RPC spans; beyond, a run writes none

int SimulateCommand(const RunOptions& options) {
  absl::StatusOr<Setup> setup = MakeSetup(options);
  if (!setup.ok()) return Fail(kBadConfiguration, MessageOf(setup.status()));
  absl::StatusOr<Folder> folder = Folder::Create(options);
  if (!folder.ok()) return Fail(kOutputUnwritable, MessageOf(folder.status()));
  const SpanSample sample(options.spans, options.seed, options.messages, setup->lab.arms.size());
  report::Run run = PlannedRun(*setup, sample);
  const bool silent = options.quiet || options.document();
  if (!silent) std::fputs(report::RenderHeader(run).c_str(), stdout);
  std::fflush(stdout);

  ProgressPrinter printer(silent);
  sim::Options sim;
  sim.lab = setup->lab;
  sim.broker = setup->broker;
  sim.drain = options.drain;
  sim.planted_wire = options.plants.wire;
  std::vector<trace::Event> rpc_events;
  const bool spans = folder->wanted() && !sample.none();
  if (spans) {
    sim.message_spans = [&](uint64_t slot, std::vector<trace::Span>& message) {
      if (sample.Takes(slot)) folder->AddSpans(message);
    };
    if (sample.all()) {
      sim.rpc_events = [&](const trace::Event& event) {
        if (rpc_events.size() <= kRpcEventsMax) rpc_events.push_back(event);
      };
    }
  }
  sim.stop_asked = StopReason;
  Instant next_word = SteadyNow() + std::chrono::seconds{1};
  const uint64_t total = options.messages * setup->lab.arms.size();
  sim.progress = [&](Duration passed, uint64_t settled) {
    if (SteadyNow() < next_word) return;
    next_word = SteadyNow() + std::chrono::seconds{1};
    printer.Say(absl::StrFormat("%.0f virtual seconds, %d of %d messages", ToMillis(passed) / 1e3, settled, total));
  };
  absl::StatusOr<sim::Result> result = sim::Run(std::move(sim));
  if (!result.ok()) return Fail(CodeOf(result.status()), MessageOf(result.status()));
  if (spans && rpc_events.size() <= kRpcEventsMax) {
    folder->AddRpcSpans(rpc_events, {result->anchor, result->places});
  }
  folder->AddLedger(result->outcome);
  run.elapsed = result->outcome.end - result->outcome.first;
  run.ended_early = result->outcome.ended_early;
  run.ended_early_why = result->outcome.ended_early_why;
  run.arms = ArmRuns(result->outcome);
  return FinishRun(std::move(run), *folder, PresentationOf(options));
}

}  // namespace

void AddSimulate(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand("simulate", "the same experiment in virtual time: seconds for hours");
  command->group("Predict");
  auto against = std::make_shared<std::string>();
  command->add_option("--against", *against,
                      "simulate what this run folder was, and print its measurement beside it (and --profile)");
  commands.push_back({command, [flags = RunFlags(*command, true), command, against] {
                        if (!against->empty()) return SimulateAgainst(*command, *against);
                        absl::StatusOr<RunOptions> options = flags.Finish();
                        return options.ok() ? SimulateCommand(*options)
                                            : Fail(kBadConfiguration, MessageOf(options.status()));
                      }});
}

}  // namespace hopgap::cli
