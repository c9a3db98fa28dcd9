#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/work_law.h"
#include "trace/path.h"

namespace hopgap::report {

// Everything a report is made of, as plain values. `cli` fills it, from a run
// that just ended, a run folder's spans, or a simulation; the report is a pure
// function of it.

struct Verdict {
  bool valid = true;
  std::vector<std::string> reasons;  // why not; empty when valid
};

struct ArmRun {
  std::string group;                   // "here" or "replay"
  std::string name;                    // "std", "replay.eos-overlap": unique in the run
  std::string kind;                    // "std", "eos", "eos-overlap", without the group
  std::string client_model;            // "go"
  uint64_t planned = 0;                // slots of the schedule
  uint64_t sent = 0;                   // publish calls made
  uint64_t completed = 0;              // reached the end (handled at the last hop)
  uint64_t lost = 0;                   // published, never handled anywhere further, drain over
  uint64_t duplicates = 0;             // handled again by a hop after a successful ack or under a live lease
  uint64_t reprocessed = 0;            // copies that a retried worker published
  uint64_t handler_failures = 0;       // handlings that ended in a nack, as the configuration asked
  uint64_t deduplicated = 0;           // copies that a worker's store knew, in neither of those
  std::optional<double> saturated_at;  // completed per second, when it could not keep up
  bool exactly_once_seen = false;      // as the streams said
  uint64_t responses = 0;              // StreamingPull responses with messages
  uint64_t messages_received = 0;      // in them
  Verdict verdict;
  std::vector<trace::Path> paths;  // of completed messages, by slot
};

// A leg of the profile that was put in, for the "what is put in" lines.
struct AddedLeg {
  std::string leg;   // "publish before commit"
  std::string kind;  // "both", "standard" or "exactly-once"
  double p50_ms = 0, p95_ms = 0, mean_ms = 0;
};

struct Configuration {
  std::string command;     // "run" or "simulate"; how it was made
  bool simulated = false;  // every figure is labelled so
  bool processes = false;  // an API and a worker per hop, each a process of its own
  int hops = 3;
  WorkLaw work;                        // of every handler
  double handler_failures = 0;         // share of handlings that end in a nack
  double rate_per_second = 0;          // the mean of a ramp
  std::string arrival;                 // "poisson", "ramp:5-50", "bursts:10,gap=1m"; empty: evenly spread
  uint64_t burst = 0;                  // messages of a burst, silence between; 0: no bursts
  double rate_highest_per_second = 0;  // of a ramp more than rate_per_second; 0: not known, as of older folders
  uint64_t messages = 0;               // per arm
  uint64_t message_bytes = 0;          // of data; 0: a few
  int streams = 0;
  int64_t max_outstanding_messages = 0;
  std::string publish_mode;                // "await" or "fire"
  std::string response_policy;             // "eager" or "gated"
  std::string target;                      // "embedded", "HOST:PORT"
  std::string profile;                     // name, "none"
  bool profile_is_builtin_replay = false;  // the two held-out figures apply
  std::vector<AddedLeg> added;
  uint64_t seed = 0;
  bool stratified = false;
  std::string preset;                      // or empty
  Duration warm_up{0};                     // left out of the statistics by rule
  std::vector<std::string> thresholds;     // promises it is held to (threshold.h), as given and checked
  uint64_t spans_of = 0, spans_total = 0;  // n of N messages have spans (analyze of a sample)
};

// A run of which there are spans and nothing else (FromSpans).
struct SpansOnly {
  std::string source;              // a file or a folder
  uint64_t spans = 0;              // in it
  uint64_t traces = 0;             // with a Pub/Sub publish
  uint64_t explained = 0;          // of those: with a message in the figures
  bool due_times = false;          // else end to end begins at the publish call
  bool paired = false;             // slots are arrival slots that the arms share
  std::vector<std::string> notes;  // what was left out and why, a clause each
};

struct Run {
  std::string version;  // hopgap's
  Configuration configuration;
  std::vector<ArmRun> arms;  // in printing order, grouped
  Duration elapsed{0};
  bool ended_early = false;  // by Ctrl-C
  std::string ended_early_why;
  std::vector<std::string> notes;  // what else happened and makes no arm invalid, in sentences
  Duration loop_stall_max{0};      // the longest cycle of our own loops
  Duration clock_drift{0};         // wall minus anchored wall at the end
  std::string saved_to;            // run folder, or empty
  std::vector<std::pair<std::string, uint64_t>> saved_files;  // name, bytes
  // Its paths are those of spans_of of spans_total messages: it was read from the
  // spans of a folder that holds a sample of them.
  bool is_sample = false;
  std::optional<SpansOnly> spans_only;  // then verdicts, counts and plans mean nothing
};

}  // namespace hopgap::report
