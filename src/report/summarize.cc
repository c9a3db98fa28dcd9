#include <algorithm>
#include <utility>

#include "report/arm_paths.h"
#include "report/differences.h"
#include "report/placements.h"
#include "report/summary.h"

namespace hopgap::report {
namespace {

using trace::HopTimes;
using trace::Path;
using trace::Stage;

Stage StageAt(int i) { return static_cast<Stage>(i); }

EndToEnd MakeEndToEnd(const stats::Sample& sample) {
  EndToEnd out;
  out.n = sample.n();
  out.unfinished = sample.infinite();
  out.p50 = stats::EstimateQuantile(sample, stats::kP50);
  out.p90 = stats::EstimateQuantile(sample, stats::kP90);
  out.p95 = stats::EstimateQuantile(sample, stats::kP95);
  out.p99 = stats::EstimateQuantile(sample, stats::kP99);
  if (!sample.empty()) out.max = sample.sorted().back();
  return out;
}

void SetEndToEnd(const ArmPaths& counted, const AskedWork& work, ArmSummary& out) {
  for (const Path* path : counted.paths) {
    out.handled += path->until_handled;
    out.asked += work.Of(*path);
  }
  out.until_handled = MakeEndToEnd(SampleOf(counted, {Metric::Kind::kUntilHandled}, work));
  out.until_acked = MakeEndToEnd(SampleOf(counted, {Metric::Kind::kUntilAcked}, work));
}

// Of messages that were handled: which one an unfinished message is, nobody says.
void SetAfterSilence(const ArmPaths& counted, uint64_t burst, const AskedWork& work, ArmSummary& out) {
  if (burst == 0) return;
  std::vector<int64_t> first, others;
  for (const Path* path : counted.paths) {
    if (path->slot == 0) continue;
    (path->slot % burst == 0 ? first : others).push_back((path->until_handled - work.Of(*path)).count());
  }
  out.after_silence = {.first = MakeEndToEnd(stats::Sample(std::move(first))),
                       .others = MakeEndToEnd(stats::Sample(std::move(others)))};
}

void SetQuantiles(std::vector<int64_t> lengths, StageSummary& out) {
  const stats::Sample sample(std::move(lengths));
  out.p50 = stats::EstimateQuantile(sample, stats::kP50);
  out.p95 = stats::EstimateQuantile(sample, stats::kP95);
}

// `of` gives the stage's time of one path: the sum, or one hop.
template <typename Of>
StageSummary SummarizeStage(const Paths& paths, Of of) {
  StageSummary out;
  std::vector<int64_t> lengths;
  lengths.reserve(paths.size());
  for (const Path* path : paths) {
    const trace::StageTime time = of(*path);
    out.total += time.length;
    out.added += time.added;
    out.waited += time.waited;
    lengths.push_back(time.length.count());
  }
  SetQuantiles(std::move(lengths), out);
  return out;
}

void SetStages(const Paths& paths, ArmSummary& out) {
  out.remainder = out.handled;
  for (int i = 0; i < trace::kStages; ++i) {
    const Stage stage = StageAt(i);
    StageSummary& sum = out.stages[static_cast<size_t>(i)];
    sum = SummarizeStage(paths, [stage](const Path& p) { return p.StageTimeSum(stage); });
    if (i < trace::kPathStages) out.remainder -= sum.total;
  }
  const size_t hops = paths.empty() ? 0 : paths[0]->hops.size();
  out.hops.resize(hops);
  // Of paths with one hop the sums are that hop's.
  const auto single = [](const Path* path) { return path->hops.size() == 1; };
  if (hops == 1 && std::all_of(paths.begin(), paths.end(), single)) {
    out.hops[0] = out.stages;
    return;
  }
  for (size_t hop = 0; hop < hops; ++hop) {
    for (size_t i = 0; i < trace::kStages; ++i) {
      out.hops[hop][i] = SummarizeStage(
          paths, [hop, i](const Path& p) { return hop < p.hops.size() ? p.hops[hop].stages[i] : trace::StageTime{}; });
    }
  }
}

void AddParts(const HopTimes& hop, ArmSummary& out) {
  out.dispatch.lease_wait += hop.dispatch.lease_wait;
  out.dispatch.lease_batching += hop.dispatch.lease_batching;
  out.dispatch.flow_control += hop.dispatch.flow_control;
  out.dispatch.scheduler += hop.dispatch.scheduler;
  out.dispatch.other += hop.dispatch.other;
  out.work.handler += hop.work.handler;
  out.work.ack_wait += hop.work.ack_wait;
  out.work.store += hop.work.store;
  out.redelivery += hop.redelivery_wait;
}

void AddGap(const HopTimes& hop, NegativeGaps& out) {
  ++out.gaps;
  if (hop.stages[static_cast<size_t>(Stage::kDeliveryGap)].length >= Duration{0}) return;
  ++out.negative;
  if (hop.written && *hop.written < hop.publish_end) {
    ++out.overtook;
  } else {
    ++out.unexplained;
  }
}

void AddServerView(const Path& path, ServerSummary& out) {
  const bool whole = !path.hops.empty() && std::all_of(path.hops.begin(), path.hops.end(),
                                                       [](const HopTimes& hop) { return hop.server.has_value(); });
  if (!whole) return;
  ++out.n;
  for (const HopTimes& hop : path.hops) {
    const trace::ServerView& view = *hop.server;
    out.total.accept += view.accept;
    out.total.commit += view.commit;
    out.total.queue += view.queue;
    out.total.stream_wait += view.stream_wait;
    out.total.wire += view.wire;
    ++out.deliveries;
    if (view.stream_wait > kQueuedFrom) ++out.queued;
    out.stream_wait_max = std::max(out.stream_wait_max, view.stream_wait);
  }
}

// The lower median, so that it is a message that happened.
std::optional<Path> MedianPath(const Paths& paths, const AskedWork& work) {
  if (paths.empty()) return std::nullopt;
  return *ByLength(paths, work)[(paths.size() - 1) / 2];
}

// A copy that never copies the paths, which may be hundreds of megabytes.
ArmRun WithoutPaths(const ArmRun& arm) {
  ArmRun out;
  out.group = arm.group;
  out.name = arm.name;
  out.kind = arm.kind;
  out.client_model = arm.client_model;
  out.planned = arm.planned;
  out.sent = arm.sent;
  out.completed = arm.completed;
  out.lost = arm.lost;
  out.duplicates = arm.duplicates;
  out.reprocessed = arm.reprocessed;
  out.handler_failures = arm.handler_failures;
  out.deduplicated = arm.deduplicated;
  out.saturated_at = arm.saturated_at;
  out.exactly_once_seen = arm.exactly_once_seen;
  out.responses = arm.responses;
  out.messages_received = arm.messages_received;
  out.verdict = arm.verdict;
  return out;
}

ArmSummary SummarizeArm(const ArmRun& arm, const ArmPaths& counted, const Run& run) {
  const Paths& paths = counted.paths;
  ArmSummary out;
  out.run = WithoutPaths(arm);
  const std::string prefix = arm.group + ".";
  out.label = arm.name.starts_with(prefix) ? arm.name.substr(prefix.size()) : arm.name;
  out.n = paths.size();
  out.warm_up = counted.warm_up;
  out.unfinished = counted.unfinished;
  SetEndToEnd(counted, AskedWork(run.configuration), out);
  SetAfterSilence(counted, run.configuration.burst, AskedWork(run.configuration), out);
  SetStages(paths, out);
  for (const Path* path : paths) {
    unsigned missing = 0;  // of any hop, a bit for each stage
    for (const HopTimes& hop : path->hops) {
      missing |= hop.missing;
      AddParts(hop, out);
      AddGap(hop, out.gaps);
    }
    for (size_t i = 0; i < trace::kStages; ++i) out.not_available[i] += missing >> i & 1;
    AddServerView(*path, out.server);
  }
  out.median = MedianPath(paths, AskedWork(run.configuration));
  return out;
}

void SetVerdict(const Run& run, Summary& out) {
  for (const ArmRun& arm : run.arms) {
    if (arm.verdict.valid) continue;
    out.verdict.valid = false;
    for (const std::string& reason : arm.verdict.reasons) out.verdict.reasons.push_back(arm.name + ": " + reason);
  }
}

// A threshold on an arm that a run read from spans turns out not to have is not judged.
void SetJudgements(const Run& run, Summary& out) {
  std::vector<std::string> arms;
  for (const ArmRun& arm : run.arms) arms.push_back(arm.name);
  for (const std::string& text : run.configuration.thresholds) {
    const absl::StatusOr<Threshold> threshold = ParseThreshold(text);
    if (threshold.ok() && CheckThreshold(*threshold, arms).ok()) out.judgements.push_back(Judge(*threshold, run));
  }
}

}  // namespace

Summary Summarize(const Run& run) {
  Summary out;
  out.version = run.version;
  out.configuration = run.configuration;
  out.work = AskedWork(run.configuration).mean();
  out.elapsed = run.elapsed;
  out.ended_early = run.ended_early;
  out.ended_early_why = run.ended_early_why;
  out.notes = run.notes;
  out.loop_stall_max = run.loop_stall_max;
  out.clock_drift = run.clock_drift;
  out.saved_to = run.saved_to;
  out.saved_files = run.saved_files;
  out.spans_only = run.spans_only;
  out.is_sample = run.is_sample;
  SetVerdict(run, out);
  std::vector<Paths> paths;
  for (const ArmRun& arm : run.arms) {
    ArmPaths counted = Count(arm, run);
    out.arms.push_back(SummarizeArm(arm, counted, run));
    paths.push_back(std::move(counted.paths));
    const bool known = std::find(out.groups.begin(), out.groups.end(), arm.group) != out.groups.end();
    if (!known) out.groups.push_back(arm.group);
  }
  SetDifferences(paths, out);
  SetPlacements(paths, out);
  SetJudgements(run, out);
  return out;
}

}  // namespace hopgap::report
