#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/dry_run.h"
#include "cli/exit_codes.h"
#include "cli/folder.h"
#include "cli/present.h"
#include "cli/process_run.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "cli/setup.h"
#include "cli/signals.h"
#include "live/run.h"
#include "report/text.h"

namespace hopgap::cli {
namespace {

// The recorders' share of --ring-events, or why they are too small.
absl::StatusOr<EventEstimate> Capacities(const RunOptions& options, const lab::Options& lab) {
  const EventEstimate needed = EstimateEvents(lab);
  const uint64_t total = needed.client + (options.embedded() ? needed.broker : 0);
  if (total > options.ring_events) {
    return absl::InvalidArgumentError(StrCat(
        "--ring-events ", options.ring_events, ": this run records up to ", total,
        " events (64 bytes each); raise it to that, or use fewer messages, or hopgap simulate, which needs no ring"));
  }
  // Twice that where the ring has it: redeliveries and retries record more.
  const uint64_t spare = std::min<uint64_t>(2, options.ring_events / total);
  return EventEstimate{needed.client * spare, options.embedded() ? needed.broker * spare : 1};
}

void PrintHeader(const RunOptions& options, const Setup& setup, const report::Run& run) {
  if (options.quiet || options.document()) return;
  std::fputs(report::RenderHeader(run).c_str(), stdout);
  if (options.target_from_environment) {
    std::printf("TARGET  %s, from PUBSUB_EMULATOR_HOST\n", options.target.c_str());
  }
  if (options.remote) {
    std::printf("TARGET  topics and subscriptions %s…, removed at the end\n", setup.lab.resource_prefix.c_str());
  }
  std::fflush(stdout);
}

// Exactly-once is a promise within one region, and the global endpoint may take
// the publisher and the subscriber to different ones.
void WarnOfGlobalEndpoint(const RunOptions& options, const lab::Options& lab) {
  const bool exactly_once =
      std::any_of(lab.arms.begin(), lab.arms.end(), [](const lab::ArmSpec& arm) { return arm.exactly_once; });
  if (!exactly_once || !options.remote || !options.remote->global_endpoint()) return;
  std::fprintf(stderr,
               "hopgap: exactly-once holds within one region, and the global endpoint chooses regions for you: "
               "give --endpoint REGION-pubsub.googleapis.com\n");
}

live::Options LiveOptions(const RunOptions& options, Setup& setup, const EventEstimate& capacities) {
  live::Options live;
  live.lab = setup.lab;
  live.target = options.remote;
  live.broker = setup.broker;
  live.broker.ack_id_key = RandomKey();
  live.planted_wire = options.plants.wire;
  live.drain = options.drain;
  live.client_events = capacities.client;
  live.broker_events = capacities.broker;
  live.stop_asked = StopReason;
  return live;
}

void FoldAndWrite(live::Result& result, const SpanSample& sample, Folder& folder) {
  folder.AddLedger(result.outcome);
  if (!folder.wanted() || sample.none()) return live::FoldPaths(result, nullptr);
  live::FoldPaths(result, [&](size_t, uint64_t slot, std::vector<trace::Span>& message) {
    if (sample.Takes(slot)) folder.AddSpans(message);
  });
  if (sample.all()) {
    folder.AddRpcSpans(result.client_events->events(), {result.anchor, result.places->Snapshot()});
  }
}

// The exit code of a run that ended, with what the target has to do with it.
int Ended(int code, const live::Result& result) {
  for (const std::string& name : result.not_removed) {
    std::fprintf(stderr, "hopgap: could not remove %s\n", name.c_str());
  }
  return result.failure.ok() ? code : Fail(CodeOfTarget(result.failure), MessageOf(result.failure));
}

// In one process: record, then fold.
absl::StatusOr<live::Result> RunHere(live::Options live, const SpanSample& sample, Folder& folder) {
  absl::StatusOr<live::Result> result = live::Run(std::move(live));
  if (result.ok()) FoldAndWrite(*result, sample, folder);
  return result;
}

absl::StatusOr<live::Result> RunApart(live::Options live, const SpanSample& sample, Folder& folder) {
  absl::StatusOr<live::Result> result =
      RunAsProcesses(std::move(live), [&](uint64_t slot, std::vector<trace::Span>& message) {
        if (folder.wanted() && sample.Takes(slot)) folder.AddSpans(message);
      });
  if (result.ok()) folder.AddLedger(result->outcome);
  return result;
}

int RunCommand(RunOptions options) {
  absl::StatusOr<Setup> setup = MakeSetup(options);
  if (!setup.ok()) return Fail(kBadConfiguration, MessageOf(setup.status()));
  const absl::StatusOr<EventEstimate> capacities = Capacities(options, setup->lab);
  if (!capacities.ok()) return Fail(kBadConfiguration, MessageOf(capacities.status()));
  WarnOfGlobalEndpoint(options, setup->lab);
  if (options.dry_run) {
    std::fputs(DryRunText(setup->lab, *options.remote).c_str(), stdout);
    return kOk;
  }
  if (options.remote) {
    if (absl::Status status = remote::Authorize(*options.remote); !status.ok()) {
      return Fail(CodeOfTarget(status), MessageOf(status));
    }
  }
  absl::StatusOr<Folder> folder = Folder::Create(options);
  if (!folder.ok()) return Fail(kOutputUnwritable, MessageOf(folder.status()));
  const SpanSample sample(options.spans, options.seed, options.messages, setup->lab.arms.size());
  report::Run run = PlannedRun(*setup, sample);
  PrintHeader(options, *setup, run);

  ProgressPrinter printer(options.quiet || options.document());
  live::Options live = LiveOptions(options, *setup, *capacities);
  live.progress = [&](const live::Progress& progress) { printer.Show(progress); };
  absl::StatusOr<live::Result> result =
      options.processes ? RunApart(std::move(live), sample, *folder) : RunHere(std::move(live), sample, *folder);
  if (!result.ok()) return Fail(CodeOfTarget(result.status()), MessageOf(result.status()));

  run.elapsed = result->outcome.end - result->outcome.first;
  run.ended_early = result->outcome.ended_early;
  run.ended_early_why = result->outcome.ended_early_why;
  run.notes = result->notes;
  run.loop_stall_max = result->outcome.health.loop_stall_max;
  run.clock_drift = result->clock_drift;
  run.arms = ArmRuns(result->outcome);
  printer.Finish(run, result->last_progress);
  const int code = FinishRun(std::move(run), *folder, PresentationOf(options));
  return Ended(code, *result);
}

}  // namespace

void AddRun(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand("run", "standard and exactly-once chains, side by side, here and in replay");
  command->group("Measure");
  commands.push_back({command, [flags = RunFlags(*command, false)] {
                        absl::StatusOr<RunOptions> options = flags.Finish();
                        return options.ok() ? RunCommand(*std::move(options))
                                            : Fail(kBadConfiguration, MessageOf(options.status()));
                      }});
}

}  // namespace hopgap::cli
