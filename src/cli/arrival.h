#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "lab/schedule.h"

namespace hopgap::cli {

// --rate and --arrival, checked together.
struct ArrivalPlan {
  uint64_t millihertz = 1000;  // the mean rate
  lab::Arrival arrival;
  std::string text;  // "poisson", "ramp:5-50", "bursts:10,gap=1m"; empty: constant
};

// What --arrival says, for help texts.
inline constexpr char kArrivalHelp[] =
    "constant: evenly spread; poisson: independent gaps, drawn under --seed;\n"
    "ramp:FROM-TO: from FROM to TO messages a second, linearly, instead of --rate;\n"
    "bursts:N,gap=TIME: N messages at --rate, nothing for TIME, and again";
inline constexpr uint64_t kBurstMax = 1'000'000;
inline constexpr Duration kGapMax{std::chrono::hours{24}};

// `arrival`: "constant", "poisson", "ramp:FROM-TO" in messages a second, or
// "bursts:N,gap=TIME". `rate` is
// --rate's text. InvalidArgument names flag, value and limit, also for a --rate
// that is given beside a ramp.
absl::StatusOr<ArrivalPlan> ParseArrival(std::string_view arrival, std::string_view rate, bool rate_given,
                                         uint64_t seed);

}  // namespace hopgap::cli
