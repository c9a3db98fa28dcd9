#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/run.h"
#include "report/summary.h"
#include "stats/quantile_difference.h"
#include "stats/rank.h"

namespace hopgap::report {

// Two runs, arm by arm. They share no slots, so nothing is paired: what differed
// between them beside what is asked about (the machine's mood, the hour) is in
// the difference too.

struct MetricComparison {
  std::string metric;  // MetricKey
  uint64_t n_first = 0, n_second = 0;
  std::optional<int64_t> p50_first, p50_second;
  std::vector<stats::QuantileDifference> quantiles;  // second - first, of p50, p90, p95, p99 those that exist
  std::optional<stats::HodgesLehmann> shift;         // second - first
  std::optional<int64_t> detectable;                 // the smallest shift these n show in 8 of 10 comparisons
  enum class Word : uint8_t { kSlower, kFaster, kUnresolved, kNotComparable };
  Word word = Word::kNotComparable;  // the second, by the interval of the median's difference
};

struct ArmComparison {
  std::string arm;
  std::vector<MetricComparison> metrics;           // until handled, until acked, the stages
  std::vector<stats::QuantileDifference> deciles;  // until handled
};

struct RunComparison {
  std::string first, second;  // names for people, usually folders
  std::vector<ArmComparison> arms;
  std::vector<std::string> only_first, only_second;  // arms that the other run does not have
  std::vector<std::string> differing;                // configuration: "rate_per_second: 1, 5"
  std::vector<std::string> warnings;                 // why the figures may not compare
  std::vector<std::string> answer;                   // a sentence an arm
};

RunComparison CompareRuns(const Run& first, const std::string& first_name, const Run& second,
                          const std::string& second_name);
std::string_view WordName(MetricComparison::Word word);  // "slower", "faster", "not resolved", "not comparable"

// For a terminal of 80 columns.
std::string RenderComparison(const RunComparison& comparison);

}  // namespace hopgap::report
