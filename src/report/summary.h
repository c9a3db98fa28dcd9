#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "report/run.h"
#include "report/threshold.h"
#include "stats/compare.h"
#include "stats/interval.h"
#include "trace/path.h"

namespace hopgap::report {

// Plain numbers: every table, the words and the JSON come from here and from
// nowhere else. Totals are exact integer nanoseconds over `n` messages, so that
// means add up exactly; quantiles are per message, summed over the hops.

// One stage (or one hop of it).
struct StageSummary {
  Duration total{0}, added{0}, waited{0};  // over the arm's n messages
  Duration machine() const { return total - added - waited; }
  std::optional<stats::Estimate> p50, p95;  // unset when n == 0
};

// End to end, less the configured work (hops x work). Unfinished messages are
// +infinity, at the end of the sample.
struct EndToEnd {
  uint64_t n = 0;  // finished and unfinished
  uint64_t unfinished = 0;
  std::optional<stats::Estimate> p50, p90, p95, p99;  // unset when n == 0
  std::optional<int64_t> max;                         // stats::kInfinite if a message never finished
};

// Single delivery gaps (one per message and hop) that came out negative.
struct NegativeGaps {
  uint64_t gaps = 0;  // all of them
  uint64_t negative = 0;
  uint64_t overtook = 0;     // written by the broker before the publisher had its answer: explained
  uint64_t unexplained = 0;  // written later, or the broker's spans are missing
};

// The broker's view, of messages that have it on every hop.
struct ServerSummary {
  uint64_t n = 0;
  trace::ServerView total;
  uint64_t deliveries = 0;
  uint64_t queued = 0;  // stream wait above kQueuedFrom
  Duration stream_wait_max{0};
};
// Shorter stream waits are the instrument: the read is posted again only after
// the response before it was taken apart.
inline constexpr Duration kQueuedFrom{std::chrono::milliseconds{1}};

// Messages that came in bursts: the first after each silence (slot 0 has none
// before it and is in neither), and the others.
struct AfterSilence {
  EndToEnd first, others;  // until handled, less work
};

struct ArmSummary {
  ArmRun run;               // as given, without its paths
  std::string label;        // the name without its group
  uint64_t n = 0;           // messages of all stage figures
  uint64_t unfinished = 0;  // sent, not handled at the last hop
  uint64_t warm_up = 0;     // completed, left out by rule
  EndToEnd until_handled, until_acked;
  std::optional<AfterSilence> after_silence;  // of a run in bursts
  std::array<StageSummary, trace::kStages> stages;
  std::array<uint64_t, trace::kStages>
      not_available{};            // messages of which a hop lacks the stage: its time is in the next
  Duration handled{0};            // total until handled, work included
  Duration asked{0};              // total of the work that was asked of its handlers
  Duration remainder{0};          // handled - path stages: 0 when they add up
  trace::DispatchParts dispatch;  // totals
  trace::WorkParts work;
  Duration redelivery{0};
  ServerSummary server;
  std::vector<std::array<StageSummary, trace::kStages>> hops;
  NegativeGaps gaps;
  std::optional<trace::Path> median;  // the message at the lower median until handled
  bool added_anything() const;
  // Totals of the whole path (not the ack), by origin.
  Duration added() const, waited() const;
};

// One stage, or a whole, of one arm against its group's baseline, paired by slot.
struct Difference {
  std::string group, arm, baseline;
  std::string stage;  // StageKey, "until_handled" or "until_acked"
  stats::PairedDifference pairs;
  Duration added{0}, waited{0};  // totals over the mean_n pairs; a stage only
};

// Where a published figure falls in an arm of the replay.
struct Placement {
  std::string figure;  // "3.212 s"
  std::string what;    // "until acked, work included"
  std::string arm;
  Duration value{0};
  uint64_t n = 0, below = 0;  // messages; those at or below the figure
  double percent = 0;         // 100 below / n
  bool fitted = false;        // used as input, so no test of the model
  std::string reading;        // "inside", "outside", ...
};

struct Summary {
  std::string version;
  Configuration configuration;
  Duration work{0};  // taken off end to end: hops x work, of drawn work its mean
  std::vector<ArmSummary> arms;
  std::vector<std::string> groups;      // in printing order
  std::vector<Difference> differences;  // by arm, then by stage
  std::vector<Placement> placements;
  std::string no_placements_why;      // the figures could apply, but do not
  Verdict verdict;                    // reasons carry the arm's name
  std::vector<Judgement> judgements;  // of the configured thresholds
  Duration elapsed{0};
  bool ended_early = false;
  std::string ended_early_why;
  std::vector<std::string> notes;
  Duration loop_stall_max{0}, clock_drift{0};
  std::string saved_to;
  std::vector<std::pair<std::string, uint64_t>> saved_files;
  std::optional<SpansOnly> spans_only;
  bool is_sample = false;  // of spans_of of spans_total messages

  // Whether there is a send lateness at all.
  bool due_times() const { return !spans_only || spans_only->due_times; }

  const ArmSummary* Find(std::string_view arm) const;
  const Difference* Find(std::string_view arm, std::string_view stage) const;
  std::vector<const ArmSummary*> Group(std::string_view group) const;
  // What the group's arms are compared with: its first arm of kind "std", else
  // its first arm. nullptr: no such group.
  const ArmSummary* Baseline(std::string_view group) const;
};

// Every figure of a run. Messages of the warm-up (slot / rate < warm_up) are
// left out here and counted. Of a message with several paths the one handled
// first counts. When the run ended early, what was still on its way is left
// out; otherwise it is unfinished: +infinity.
Summary Summarize(const Run& run);

}  // namespace hopgap::report
