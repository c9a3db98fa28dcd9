#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hopgap::trace {

inline constexpr uint16_t kPlannedFailure = 100;

// Why an ack or modack failed, as spans and the admin API say it, by the number
// that events carry (broker::LeaseFailure::Why). "" for 0, "unknown" for numbers
// that are none.
inline std::string_view LeaseFailureWord(uint16_t why) {
  constexpr std::array<std::string_view, 11> kWords = {"",           "malformed", "other_subscription", "expired",
                                                       "nacked",     "revoked",   "hold_ended",         "sought",
                                                       "superseded", "finished",  "unordered"};
  if (why == kPlannedFailure) return "planned";
  return why < kWords.size() ? kWords[why] : "unknown";
}

}  // namespace hopgap::trace
