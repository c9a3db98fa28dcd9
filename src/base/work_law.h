#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace hopgap {
inline namespace base {

// How long a handler works, message by message: a law, and draws that are pure
// functions of their key (base/draw.h), so that arms share them and whoever
// knows the law can say afterwards what was asked. Thread-safe (no state).
struct WorkLaw {
  enum class Kind : uint8_t { kFixed, kExponential, kLognormal };
  Kind kind = Kind::kFixed;
  Duration length{0};  // fixed: every message's; exponential: the mean; lognormal: the median
  Duration p99{0};     // of lognormal, above the median
  uint64_t seed = 0;   // of the draws

  WorkLaw() = default;
  template <typename Count, typename Period>
  WorkLaw(std::chrono::duration<Count, Period> fixed) : length(fixed) {}  // NOLINT: a length is a law too

  bool drawn() const { return kind != Kind::kFixed; }
  Duration mean() const;
  // "200000000ns", "exponential:200000000ns", "lognormal:200000000ns,p99=900000000ns":
  // as --work takes it.
  std::string Text() const;
  // What hop `hop` (from 1) is asked to work for the message `key`; of the same
  // message the same at every delivery. Never negative, and at most kLongestWork.
  Duration Of(uint64_t hop, uint64_t key) const;
  friend bool operator==(const WorkLaw&, const WorkLaw&) = default;
};
inline constexpr std::string_view kExponentialPrefix = "exponential:", kLognormalPrefix = "lognormal:",
                                  kP99Mark = ",p99=";
inline constexpr Duration kLongestWork{std::chrono::hours{24 * 7}};  // as long as a flag can say

}  // namespace base
}  // namespace hopgap
