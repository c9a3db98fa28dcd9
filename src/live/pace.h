#pragma once

#include <cstdint>

#include "base/time.h"

// How the two kinds of run, in one process and in many, wait and report.
namespace hopgap::live {

inline constexpr Duration kReachable{std::chrono::seconds{5}};  // to answer at all
inline constexpr Duration kBeforeFirstSlot{std::chrono::milliseconds{500}};
inline constexpr Duration kPoll{std::chrono::milliseconds{50}};
inline constexpr Duration kReport{std::chrono::seconds{1}};
inline constexpr uint64_t kLatenessMax = 50'000;  // slots looked at for a progress line

}  // namespace hopgap::live
