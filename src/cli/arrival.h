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
  std::string text;  // "poisson", "ramp:5-50"; empty: constant
};

// What --arrival says, for help texts.
inline constexpr char kArrivalHelp[] =
    "constant: evenly spread; poisson: independent gaps, drawn under --seed;\n"
    "ramp:FROM-TO: from FROM to TO messages a second, linearly, instead of --rate";

// `arrival`: "constant", "poisson", "ramp:FROM-TO" in messages a second. `rate` is
// --rate's text. InvalidArgument names flag, value and limit, also for a --rate
// that is given beside a ramp.
absl::StatusOr<ArrivalPlan> ParseArrival(std::string_view arrival, std::string_view rate, bool rate_given,
                                         uint64_t seed);

}  // namespace hopgap::cli
