#include "lab/verdict.h"

#include <absl/strings/str_format.h>

#include <algorithm>

#include "base/text.h"
#include "report/layout.h"
#include "report/limits.h"

namespace hopgap::lab {
namespace {

struct Progress {
  Instant last = kNever;         // the last handler entry on any hop
  uint64_t finished_lately = 0;  // at the last hop, within kProgressWindow of the end
};

Progress ProgressOf(const Ledger& ledger, size_t arm, Instant end) {
  Progress progress;
  for (uint64_t slot = 0; slot < ledger.slots(); ++slot) {
    for (int hop = 1; hop <= ledger.hops(); ++hop) {
      const Instant entry = ledger.At(arm, slot, hop).handler_entry;
      if (entry == kNever) continue;
      if (progress.last == kNever || entry > progress.last) progress.last = entry;
      if (hop == ledger.hops() && entry > end - kProgressWindow) ++progress.finished_lately;
    }
  }
  return progress;
}

void JudgeUnfinished(const Outcome& outcome, size_t arm, ArmOutcome& result) {
  if (result.unfinished == 0 || outcome.ended_early) return;
  const Progress progress = ProgressOf(outcome.ledger, arm, outcome.end);
  const bool moving = progress.last != kNever && progress.last > outcome.end - kProgressWindow;
  if (!moving) {
    result.lost = result.unfinished;
    result.reasons.push_back(StrCat(result.lost, " of ", result.sent,
                                    " messages were lost: published, and nothing moved in the last ",
                                    std::chrono::duration_cast<std::chrono::seconds>(kProgressWindow).count(), " s"));
    return;
  }
  const double seconds = static_cast<double>(kProgressWindow.count()) / 1e9;
  result.saturated_at = static_cast<double>(progress.finished_lately) / seconds;
  result.reasons.push_back(absl::StrFormat("saturated at %s/s: %d of %d messages were unfinished when the drain ended",
                                           report::PerSecond(*result.saturated_at), result.unfinished, result.sent));
}

void JudgeInstrument(const Outcome& outcome, ArmOutcome& result) {
  const Health& health = outcome.health;
  if (health.events_overflowed > 0) {
    result.reasons.push_back(StrCat("the recording ring overflowed by ", health.events_overflowed, " events"));
  }
  if (health.loop_stall_max > report::kLoopStallMax) {
    result.reasons.push_back(absl::StrFormat("our own %s stalled for %.0f ms (limit %.0f ms)", health.loop_stalled,
                                             ToMillis(health.loop_stall_max), ToMillis(report::kLoopStallMax)));
  }
}

// Its worker's spans carry the wall clock's instants, the others' do not.
void JudgeClock(Duration drift, ArmOutcome& result) {
  if (drift <= report::kClockDriftMax && drift >= -report::kClockDriftMax) return;
  result.reasons.push_back(
      absl::StrFormat("the machine's wall clock moved by %.0f ms, and with it the spans of the arm's own worker (limit "
                      "%.0f ms)",
                      ToMillis(drift), ToMillis(report::kClockDriftMax)));
}

}  // namespace

void TakeBooks(Experiment& experiment, Outcome& outcome) {
  outcome.options = experiment.options();
  outcome.ledger = experiment.TakeLedger();
  outcome.arms.resize(outcome.options.arms.size());
  for (size_t arm = 0; arm < outcome.arms.size(); ++arm) {
    outcome.arms[arm].counts = experiment.counts(arm);
    outcome.arms[arm].exactly_once_seen = experiment.ExactlyOnceSeen(arm);
  }
}

void AddIncident(Outcome& outcome, std::string_view incident) {
  for (Outcome::Arm& arm : outcome.arms) arm.incidents.emplace_back(incident);
}

// Slots are sent in order.
void AppendSendLateness(const Ledger& ledger, size_t arm, uint64_t sent, uint64_t slots_max,
                        std::vector<int64_t>& out) {
  for (uint64_t slot = sent - std::min(sent, slots_max); slot < sent; ++slot) {
    const LedgerRow& row = ledger.At(arm, slot, 1);
    out.push_back((row.publish_call - row.due).count());
  }
}

void AppendRecentHandled(const Ledger& ledger, size_t arm, uint64_t sent, uint64_t slots_max, size_t most,
                         std::vector<int64_t>& out) {
  const size_t full = out.size() + most;
  for (uint64_t slot = sent; slot > sent - std::min(sent, slots_max) && out.size() < full; --slot) {
    const LedgerRow& last = ledger.At(arm, slot - 1, ledger.hops());
    if (last.handler_return != kNever) out.push_back((last.handler_return - ledger.At(arm, slot - 1, 1).due).count());
  }
}

ArmOutcome Judge(const Outcome& outcome, size_t arm) {
  const ArmCounts& counts = outcome.arms[arm].counts;
  ArmOutcome result{.planned = outcome.options.slots,
                    .sent = counts.sent,
                    .completed = counts.completed,
                    .unfinished = counts.sent - counts.completed,
                    .saturated_at = {},
                    .exactly_once_seen = outcome.arms[arm].exactly_once_seen,
                    .reasons = {}};
  std::vector<int64_t> lateness;
  AppendSendLateness(outcome.ledger, arm, counts.sent, counts.sent, lateness);
  result.late = static_cast<uint64_t>(
      std::count_if(lateness.begin(), lateness.end(), [](int64_t late) { return late > report::kLateFrom.count(); }));
  if (static_cast<double>(result.late) > report::kLateShareMax * static_cast<double>(counts.sent)) {
    result.reasons.push_back(absl::StrFormat("%d of %d slots were sent over %.0f ms late (at most %.0f %% may be)",
                                             result.late, counts.sent, ToMillis(report::kLateFrom),
                                             100 * report::kLateShareMax));
  }
  const std::vector<std::string>& incidents = outcome.arms[arm].incidents;
  result.reasons.insert(result.reasons.end(), incidents.begin(), incidents.end());
  JudgeUnfinished(outcome, arm, result);
  if (counts.duplicates > 0) {
    result.reasons.push_back(StrCat(counts.duplicates, " messages were handled twice"));
  }
  if (counts.publish_failures > 0) result.reasons.push_back(StrCat(counts.publish_failures, " publishes failed"));
  if (!counts.failure.empty()) result.reasons.push_back(StrCat("a subscriber stopped: ", counts.failure));
  if (outcome.options.arms[arm].exactly_once && !result.exactly_once_seen) {
    result.reasons.push_back(
        "exactly-once was asked for, but the streams did not say so: this is no exactly-once result");
  }
  JudgeInstrument(outcome, result);
  if (!outcome.options.arms[arm].worker.empty()) JudgeClock(outcome.health.clock_drift, result);
  result.valid = result.reasons.empty();
  return result;
}

}  // namespace hopgap::lab
