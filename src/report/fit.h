#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "report/run.h"
#include "stats/sample.h"
#include "trace/event.h"

namespace hopgap::report {

// What a service added to a run's calls, read from its paths: samples by leg and
// kind, from which a profile is written. Nothing is read from the delays that a
// run of ours knows it was given: only instants that any trace has.

struct FittedLeg {
  trace::DelayLeg leg{};
  std::string name;      // as in profile files: "publish_before_commit"
  std::string kind;      // "both", "standard" or "exactly_once"
  stats::Sample delays;  // nanoseconds, none below 0; of warm calls, where the two are told apart
  stats::Sample cold;    // of calls after disuse, if FitOptions::cold_after says what that is
  uint64_t clipped = 0;  // came out below 0 and were taken as 0
  std::string how;       // between which instants; empty when not observed
  std::string missing;   // why there is no sample; empty when there is one
};

struct Fit {
  std::string group;                                           // whose arms these are
  std::vector<FittedLeg> legs;                                 // all eight, observed or not
  std::array<std::optional<double>, 2> messages_per_response;  // standard, exactly-once
  std::optional<Duration> cold_after;                          // as asked
  std::vector<std::string> assumed;  // what the spans do not show and had to be chosen, a sentence each
  const FittedLeg* Find(trace::DelayLeg leg, bool exactly_once) const;
  bool Observed(bool exactly_once) const;  // any leg of the kind's own
};

struct FitOptions {
  // Empty: the run's last group ("replay" of a run of ours, which has another
  // service than "here").
  std::string group{};
  // What the simulated network takes in one direction. It is taken off, so that
  // a simulation of the profile gives the observed times again.
  Duration one_way{0};
  // A call is cold, and counts apart, if its topic (publishes) or subscription
  // (the others) had none of its kind for so long, or none before it. Unset: none is.
  std::optional<Duration> cold_after{};
  // Every which message is taken, by arrival slot.
  enum class Part : uint8_t { kAll, kEven, kOdd };
  Part part = Part::kAll;
};

// One arm of each kind is taken where the arms share their luck (a run of ours);
// of spans alone every arm is. Delays of a call with several messages count once.
Fit FitRun(const Run& run, const FitOptions& options);

// The slots that FitRun() takes.
bool InPart(FitOptions::Part part, uint64_t slot);

// What the fit saw and what it did not, lines for a terminal.
std::string RenderFit(const Fit& fit);

}  // namespace hopgap::report
