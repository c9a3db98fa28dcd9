#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace hopgap::client {

// How long messages took from receipt to ack, in whole seconds, cumulative and
// never forgetting, as the Go library keeps it to choose its lease length.
class AckTimeDistribution {
 public:
  // Times are clamped to [min, max].
  AckTimeDistribution(Duration min, Duration max);

  void Add(Duration taken);

  // Nearest rank, in seconds; 0 while nothing was added. `percentile` in (0, 1].
  int32_t Percentile(double percentile) const;

 private:
  int64_t min_seconds_, max_seconds_;
  std::vector<uint64_t> counts_;  // by seconds above the minimum
  uint64_t total_ = 0;
};

}  // namespace hopgap::client
