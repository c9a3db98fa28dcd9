#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "broker/broker.h"
#include "lab/options.h"
#include "lab/verdict.h"
#include "loop/recorder.h"
#include "remote/target.h"
#include "trace/event.h"
#include "trace/span.h"

namespace hopgap::live {

// What a progress line says of one group of arms.
struct GroupProgress {
  std::string group;
  struct Arm {
    std::string name;
    uint64_t sent = 0, done = 0, twice = 0;
    // Until handled of the latest messages; of none where nothing is known before the end.
    uint64_t recent_n = 0;
    Duration recent_p50{0}, recent_p99{0};

    void SetRecent(std::vector<int64_t> handled);
  };
  std::vector<Arm> arms;
  uint64_t planned = 0;  // per arm
  Duration late_p99{0};  // of the generator's publish calls so far

  // From the latenesses, in nanoseconds; leaves 0 where nothing was sent yet.
  void SetLate(std::vector<int64_t> lateness);
};
struct Progress {
  std::vector<GroupProgress> groups;
  Duration elapsed{0};  // since the first slot was due
};

struct Options {
  lab::Options lab;
  std::optional<remote::Target> target;  // authorized; none: a broker of its own, embedded
  broker::Broker::Options broker;        // embedded; the anchor is set here
  Duration planted_wire{0};              // test-only
  Duration drain{std::chrono::seconds{30}};
  size_t client_events = 0, broker_events = 0;  // capacities of the recorders
  // Sends an empty call after every second receipt modack, on its channel.
  bool probe = false;
  // Polled about ten times a second, on the calling thread: a reason to end now
  // ("SIGINT"), or empty.
  std::function<std::string()> stop_asked;
  // Once a second, on the calling thread.
  std::function<void(const Progress&)> progress;
};

struct Result {
  lab::Outcome outcome;  // without paths: see FoldPaths()
  std::unique_ptr<loop::PlaceTable> places;
  std::unique_ptr<loop::Recorder> client_events, broker_events;
  Progress last_progress;  // as it was at the end
  ClockAnchor anchor;
  Duration clock_drift{0};  // wall clock minus anchored wall at the end
  broker::Counters broker;
  std::vector<Duration> probes;          // round trips of the empty calls
  std::vector<std::string> notes;        // what else happened, in sentences
  std::vector<std::string> not_removed;  // resources that could not be removed from another target
  absl::Status failure;                  // why the target ended the run, if it did: credentials, rights, quota
};

// The whole run over real gRPC: the embedded broker, or somebody's. Blocks until
// the drain has ended. Unavailable if the target does not answer, AlreadyExists
// if a port is taken, Unauthenticated, PermissionDenied or ResourceExhausted as
// the service says; the messages say what to do. Resources that it made on
// another target are removed again, also after a failure, whose message names
// those that could not be.
absl::StatusOr<Result> Run(Options options);

// Turns the recorded events into paths. `message_spans`, if given, gets the
// spans of each message first, arm by arm in order of slots.
void FoldPaths(Result& result,
               const std::function<void(size_t arm, uint64_t slot, std::vector<trace::Span>&)>& message_spans);

}  // namespace hopgap::live
