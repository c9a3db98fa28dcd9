#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "broker/planted.h"
#include "sim/checkers.h"
#include "sim/fault_plan.h"

namespace hopgap::sim {

struct FaultOptions {
  uint64_t seed = 1;
  // Test-only: a bug that the checkers have to find.
  broker::Planted planted = broker::Planted::kNone;
  store::Planted store_planted = store::Planted::kNone;
  // Over the real journal, whatever the seed says.
  bool over_store = false;
  Checkers::Log log;  // null: nobody reads along
};

struct FaultResult {
  std::optional<Checkers::Violation> violation;
  Checkers::Tally tally;
  uint64_t steps = 0;  // events of the virtual world
  std::string plan;    // in words
};

// One seed: a broker over a disk and a network that fail as the seed says, and
// clients that publish, hold, ack, nack, extend, repeat, die and come back; then
// the faults stop and everything has to drain. A pure function of its options.
FaultResult RunFaults(const FaultOptions& options);

}  // namespace hopgap::sim
