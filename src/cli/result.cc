#include "cli/result.h"

#include <utility>

#include "base/version.h"

namespace hopgap::cli {

report::Run PlannedRun(const Setup& setup, const SpanSample& sample) {
  report::Run run;
  run.version = std::string(kVersion);
  run.configuration = setup.configuration;
  run.configuration.spans_of = sample.messages();
  run.configuration.spans_total = sample.total();
  for (const lab::ArmSpec& arm : setup.lab.arms) {
    report::ArmRun planned;
    planned.group = setup.lab.groups[static_cast<size_t>(arm.group)].name;
    planned.name = arm.name;
    planned.kind = arm.kind;
    planned.client_model = arm.model;
    planned.planned = setup.lab.slots;
    run.arms.push_back(std::move(planned));
  }
  return run;
}

std::vector<report::ArmRun> ArmRuns(lab::Outcome& outcome) {
  std::vector<report::ArmRun> arms;
  for (size_t arm = 0; arm < outcome.options.arms.size(); ++arm) {
    const lab::ArmSpec& spec = outcome.options.arms[arm];
    const lab::ArmCounts& counts = outcome.arms[arm].counts;
    const lab::ArmOutcome judged = lab::Judge(outcome, arm);
    report::ArmRun run;
    run.group = outcome.options.groups[static_cast<size_t>(spec.group)].name;
    run.name = spec.name;
    run.kind = spec.kind;
    run.client_model = spec.model;
    run.planned = judged.planned;
    run.sent = judged.sent;
    run.completed = judged.completed;
    run.lost = judged.lost;
    run.duplicates = counts.duplicates;
    run.deduplicated = counts.deduplicated;
    run.reprocessed = counts.reprocessed;
    run.handler_failures = counts.handler_failures;
    run.saturated_at = judged.saturated_at;
    run.exactly_once_seen = judged.exactly_once_seen;
    run.responses = counts.responses;
    run.messages_received = counts.messages_received;
    run.verdict = {.valid = judged.valid, .reasons = judged.reasons};
    run.paths = std::move(outcome.paths[arm]);
    arms.push_back(std::move(run));
  }
  return arms;
}

}  // namespace hopgap::cli
