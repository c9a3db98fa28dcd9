#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stats/sample.h"

namespace hopgap::formats {

// What `hopgap load` saw of one URL. Lengths in nanoseconds, from the slot's
// due instant.
struct LoadTarget {
  std::string name;
  uint64_t sent = 0, answered = 0, failed = 0, not_sent = 0;
  std::string last_error;
  uint32_t users = 0;  // at the end; 0: not bounded
  std::string advice;  // what to ask for instead of slots that were not sent; or empty
  stats::Sample late, answer;
};

// The document of `hopgap load --json`, schema hopgap.load/1, described in
// docs/json.md. A quantile that n does not support is null.
std::string LoadJson(const std::vector<LoadTarget>& targets, uint64_t millihertz, std::string_view arrival,
                     uint64_t slots);

}  // namespace hopgap::formats
