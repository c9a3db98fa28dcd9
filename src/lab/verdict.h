#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "lab/experiment.h"
#include "trace/path.h"

namespace hopgap::lab {

// The limits of a valid run are report/limits.h's.
//
// Without any progress for this long at the end of the drain, what is missing is lost, not queued.
inline constexpr Duration kProgressWindow{std::chrono::seconds{5}};

// What the instrument itself did wrong.
struct Health {
  uint64_t events_overflowed = 0;  // of the recording ring
  Duration loop_stall_max{0};      // longest cycle of strands, pollers, timer
  std::string loop_stalled;        // which loop that was
  Duration clock_drift{0};         // what the wall clock moved against the steady one
};

// A run that has ended, live or simulated.
struct Outcome {
  Options options;
  Ledger ledger;
  struct Arm {
    ArmCounts counts;
    bool exactly_once_seen = false;  // every stream said so
    // Why it is not valid beside what the books say: a process was killed, say.
    std::vector<std::string> incidents;
  };
  std::vector<Arm> arms;
  std::vector<std::vector<trace::Path>> paths;  // by arm, in order of slots
  Health health;
  Instant first = kNever;  // the first slot's due
  Instant end = kNever;    // when the drain ended
  bool ended_early = false;
  std::string ended_early_why;
};

struct ArmOutcome {
  uint64_t planned = 0, sent = 0, completed = 0;
  uint64_t unfinished = 0;             // sent, not handled at the end when the drain ended
  uint64_t lost = 0;                   // unfinished, with nothing moving any more
  uint64_t late = 0;                   // slots sent over kLateAfter late
  std::optional<double> saturated_at;  // messages a second at the end, when unfinished but moving
  bool exactly_once_seen = false;
  bool valid = true;
  std::vector<std::string> reasons;  // why it is not
};

// What the experiment counted and wrote down; its ledger is taken away.
void TakeBooks(Experiment& experiment, Outcome& outcome);

// The same incident in every arm.
void AddIncident(Outcome& outcome, std::string_view incident);

ArmOutcome Judge(const Outcome& outcome, size_t arm);

// Appends the send lateness of the arm's first `sent` slots (the last
// `slots_max` of them), by the ledger, in order of slots.
void AppendSendLateness(const Ledger& ledger, size_t arm, uint64_t sent, uint64_t slots_max, std::vector<int64_t>& out);
// Appends until handled of the latest slots that the last hop has handled, `most`
// of them, among the last `slots_max` of the `sent` ones.
void AppendRecentHandled(const Ledger& ledger, size_t arm, uint64_t sent, uint64_t slots_max, size_t most,
                         std::vector<int64_t>& out);

}  // namespace hopgap::lab
