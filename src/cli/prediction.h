#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "broker/broker.h"
#include "broker/delays.h"
#include "lab/options.h"
#include "report/run.h"
#include "trace/path.h"

namespace hopgap::cli {

// One chain in virtual time, for commands that want its numbers and write no
// folder. Chains of one seed share their luck, so that they can be paired.
struct VirtualChain {
  lab::ArmSpec arm;
  broker::Profile profile;  // what its broker adds
  int hops = 3;
  Duration work{0};
  uint64_t millihertz = 1000;  // the mean rate
  lab::Arrival arrival{};
  uint64_t slots = 31;
  uint64_t message_bytes = 0;  // of data; only a real network takes longer for more
  uint32_t streams = 4;
  int64_t max_outstanding_messages = 1000;
  lab::PublishMode publish = lab::PublishMode::kAwait;
  Duration offset{0};  // of its slots, as of the group that it was a part of
  bool gated = false;
  // Each message alone, by a client and a broker that are new: see InRounds().
  bool alone = false;
  uint64_t seed = 0;
  std::optional<Duration> one_way = {};  // of the modelled network; unset: SimulatedOneWay()
};

// The chain as a lab and a broker take it.
lab::Options LabOf(const VirtualChain& chain);
void SetBrokerOf(const VirtualChain& chain, broker::Broker::Options& broker);

// What sim::Run models in one direction, unless told otherwise.
Duration SimulatedOneWay();

// Simulates it. `saturated_at` is set if messages were unfinished when the drain
// ended, or if the backlog grew to the end (lab::SaturatedAt). Thread-safe.
// `stop_asked` may be empty; what it returns ends the run, which is Cancelled.
absl::StatusOr<report::ArmRun> Predict(const VirtualChain& chain, const std::function<std::string()>& stop_asked);

// How Predict() and Measure() do a chain that is `alone`: `round` for each of its
// messages, as a chain of one slot and a seed of its own. The paths' slots count on.
absl::StatusOr<report::ArmRun> InRounds(
    const VirtualChain& chain, const std::function<absl::StatusOr<report::ArmRun>(const VirtualChain& one)>& round);

// The same by hand: means of the legs, one after the other, and what a message
// waits for a stream that is busy with another's receipt modack. An order of
// magnitude, to hold a simulation against. Lengths are over all hops.
struct Formula {
  std::array<Duration, trace::kStages> stages{};
  // Messages a second that a client can take which waits for its receipt modack:
  // streams x messages per response / modack round trip. Unset: it does not wait.
  std::optional<double> capacity;
  Duration modack{0};           // mean round trip of the receipt modack
  uint32_t streams_needed = 0;  // for the chain's rate; 0: it does not wait
};
Formula ByHand(const VirtualChain& chain, double messages_per_response);

// A run's own plan, so that it can be simulated: of the arms of `group`, or of
// its last group. What had to be chosen is said in `assumed`.
struct Plan {
  std::vector<VirtualChain> chains;  // without profiles
  std::vector<const report::ArmRun*> arms;
  std::vector<std::string> assumed;
};
// InvalidArgument if there is no such group, or none of its arms can be planned.
absl::StatusOr<Plan> PlanOf(const report::Run& run, const std::string& group, std::optional<uint32_t> streams);

}  // namespace hopgap::cli
