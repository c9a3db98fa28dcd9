#pragma once

#include <cstdint>
#include <string>

#include "base/text.h"
#include "base/time.h"

// How the two kinds of run, in one process and in many, wait and report.
namespace hopgap::live {

inline constexpr Duration kReachable{std::chrono::seconds{5}};  // to answer at all
inline constexpr Duration kBeforeFirstSlot{std::chrono::milliseconds{500}};
inline constexpr Duration kPoll{std::chrono::milliseconds{50}};
inline constexpr Duration kReport{std::chrono::seconds{1}};
inline constexpr uint64_t kLatenessMax = 50'000;  // slots looked at for a progress line
inline constexpr size_t kRecentMax = 200;         // messages an arm in its rolling quantiles

// "12.3 s"
inline std::string Seconds(Duration length) {
  const int64_t tenths = std::chrono::duration_cast<std::chrono::milliseconds>(length).count() / 100;
  return StrCat(tenths / 10, ".", tenths % 10, " s");
}

// "12.3 s into the run", or "before the run's first message".
inline std::string IntoRun(Instant at, Instant first) {
  return at < first ? "before the run's first message" : StrCat(Seconds(at - first), " into the run");
}

}  // namespace hopgap::live
