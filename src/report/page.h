#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "report/run.h"
#include "report/summary.h"
#include "stats/quantile_difference.h"
#include "stats/rank.h"
#include "trace/path.h"

namespace hopgap::report {

// What the HTML page draws beside the tables of a Summary: plain values, thinned
// to a stated size, whatever the size of the run. A pure function of the run.

inline constexpr size_t kCurvePointsMax = 400;    // of one distribution
inline constexpr size_t kOverTimeMax = 1'000;     // messages an arm drawn one by one; more: the heat map alone
inline constexpr size_t kTimeBins = 60;           // of the heat map and of lateness
inline constexpr size_t kHeightBins = 24;         // of the heat map
inline constexpr size_t kMessageHopsMax = 1'500;  // hops of messages that the page can draw
inline constexpr size_t kEveryMessageUpTo = 60;   // messages an arm that can all be drawn

// The empirical distribution of until handled, less the work.
struct Curve {
  struct Point {
    Duration value{0};
    uint64_t up_to = 0;  // values <= this one
  };
  uint64_t n = 0, unfinished = 0;
  double band = 0;  // half the height of the 95 % band of the whole curve; 0 when n == 0
  std::vector<Point> points;
};

// Mean stages of the messages whose rank is near a quantile's.
struct Composition {
  std::string quantile;  // "p50"
  uint64_t n = 0;        // messages in it
  Duration whole{0};     // totals over them
  Duration asked{0};     // of it the work that was asked for is taken off
  std::array<Duration, trace::kStages> stages{};
  trace::DispatchParts dispatch;
};

// A message that can be drawn: where it stands in its arm.
struct Mark {
  std::string label;  // "p50", "worst", or "12 of 31"
  uint64_t rank = 0;  // 1-based, among the finished
  uint64_t slot = 0;
};

struct OverTime {
  struct Point {
    Duration at{0};     // since the group's first slot
    Duration value{0};  // until handled, less the work
    uint64_t slot = 0;
  };
  std::vector<Point> points;                            // empty beyond kOverTimeMax
  std::vector<std::array<uint32_t, kHeightBins>> heat;  // by time bin, from the lowest height
  std::vector<std::optional<Duration>> late_max;        // send lateness, by time bin
};

// The first message against all others: a cold start shows here.
struct FirstMessage {
  Duration value{0};
  uint64_t rank = 0;  // among the finished, 1: the fastest
};

struct PageArm {
  std::string name;
  Curve curve;
  std::vector<Composition> compositions;
  std::vector<Mark> marks;  // by rank
  OverTime over_time;
  std::optional<FirstMessage> first;
  std::optional<stats::SerialDependence> serial;  // of until handled, by slot
};

// An arm against its group's baseline, beyond what Summary says.
struct PageComparison {
  std::string arm, baseline;
  std::vector<stats::QuantileDifference> shift;  // until handled, by decile
  std::optional<stats::HodgesLehmann> unpaired;  // where slots are not shared
  std::optional<int64_t> detectable;             // paired: the smallest median difference this n shows
};

struct Page {
  std::vector<std::string> answer;  // two sentences
  std::vector<std::string> words;   // paragraphs
  std::vector<PageArm> arms;        // as in the run
  std::vector<PageComparison> comparisons;
  // The heat map's common axes: time [0, span], heights geometric from `low` to `high`.
  Duration span{0}, low{0}, high{0};
  // Messages that can be drawn, whole: by arm, then slot.
  std::vector<trace::Path> messages;
  bool messages_cut = false;  // some marks have none: kMessageHopsMax
};

Page MakePage(const Run& run, const Summary& summary);

// The answer in two sentences: which arm is slower by how much and how surely;
// then the stage to blame and where its time came from.
std::vector<std::string> Answer(const Summary& summary);

}  // namespace hopgap::report
