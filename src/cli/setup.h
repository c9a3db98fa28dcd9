#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "broker/broker.h"
#include "cli/options.h"
#include "lab/options.h"
#include "report/run.h"

namespace hopgap::cli {

inline constexpr char kHereProject[] = "hopgap-here";
inline constexpr char kReplayProject[] = "hopgap-replay";

// What a run's options mean for each room.
struct Setup {
  lab::Options lab;
  broker::Broker::Options broker;  // embedded and simulated targets
  report::Configuration configuration;
  std::vector<std::string> arm_names;
};

// NotFound or InvalidArgument for a profile or an arm, in words.
absl::StatusOr<Setup> MakeSetup(const RunOptions& options);

// Of a group's slots: the replay's lie half a slot after those of "here".
Duration OffsetOf(const std::string& group, uint64_t millihertz);

// "none" gives an empty profile; a built-in name or a file anything else.
absl::StatusOr<broker::Profile> LoadProfile(const std::string& name);

// A key nobody can guess, for ack ids.
HashKey RandomKey();

// InvalidArgument, listing the arms, for a --waterfall that names none of them.
absl::Status CheckWaterfall(const std::string& arm, const std::vector<std::string>& arms);

// InvalidArgument for a threshold that is none, or on an arm that is none of these.
absl::Status CheckThresholds(const std::vector<std::string>& thresholds, const std::vector<std::string>& arms);

// Events that a run records at most, on the clients' and on the broker's side.
struct EventEstimate {
  uint64_t client = 0, broker = 0;
};
EventEstimate EstimateEvents(const lab::Options& options);

}  // namespace hopgap::cli
