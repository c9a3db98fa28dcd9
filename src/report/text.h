#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "report/run.h"
#include "report/summary.h"

namespace hopgap::report {

// Everything a terminal shows of a run. Pure functions; UTF-8 without colour;
// every line ends with a newline and fits `width` columns.

struct TextOptions {
  bool per_hop = false;
  int width = 80;               // of waterfall and paragraphs; below kWidthMin it is kWidthMin
  std::string waterfall_arm{};  // by name; empty or unknown: the last exactly-once arm, else the first
};
inline constexpr int kWidthMin = 80;  // tables need them
inline constexpr int kWidthMax = 200;

// Before the run: what it is about to do, and what is put in. Needs the
// configuration and the arms' groups, names and kinds, nothing of their results.
std::string RenderHeader(const Run& run);

// After a rate: "", " (poisson)" or, of a ramp, " on average (ramp:5-50)".
// "200 ms", "exponential 200 ms" (the mean), "lognormal 200 ms (p99 900 ms)".
std::string WorkText(const Configuration& c);
// What a table says it takes off: "600 ms", or "each message's own" of drawn work.
std::string TakenOffText(const Summary& summary);
std::string ArrivalText(const Configuration& c);

// Set when the exactly-once arms that wait for their lease cannot keep up:
// rate > streams / mean added modack. Part of the header.
std::optional<std::string> CapacityWarning(const Run& run);

// One group, while it runs and once more at its end.
struct Progress {
  struct Arm {
    std::string label{};  // "std"
    uint64_t planned = 0, sent = 0, done = 0;
    double done_per_second = 0;  // of late
    // Until handled of the latest `recent_n` messages.
    uint64_t recent_n = 0;
    Duration recent_p50{0}, recent_p99{0};
  };
  std::string group{};
  std::vector<Arm> arms{};
  Duration late_p99{0};  // of the slots so far
  uint64_t lost = 0, duplicates = 0;
  Duration elapsed{0};
  bool ended = false;  // then `valid` is known
  bool valid = true;
};
// One line without a newline, at most `width` columns.
std::string RenderProgressLine(const Progress& progress, int width = 80);
// All groups in one line of at most `width` columns, without a newline: for a log.
std::string RenderProgressBrief(const std::vector<Progress>& groups, int width = 80);
// All groups and arms, a line each, for a terminal of `width` columns; then
// `warnings`. Narrow ones lose columns from the right. `colour`: by ANSI codes.
struct LiveLines {
  std::string text;
  int lines = 0;
};
LiveLines RenderLive(const std::vector<Progress>& groups, const std::vector<std::string>& warnings, int width,
                     bool colour);

// After the run: tables, waterfall, words and what to type next.
std::string RenderText(const Summary& summary, const TextOptions& options);

}  // namespace hopgap::report
