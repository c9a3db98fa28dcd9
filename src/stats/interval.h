#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "stats/sample.h"

namespace hopgap::stats {

// Exact intervals for quantiles, from order statistics: nothing is assumed of
// the distribution but that the values are independent. Bootstrap intervals
// were rejected: at n = 31 the usual one covers p95 in 79 of 100 cases, not 95.

// Each side of an interval may miss with at most this probability: 2.5 %, so
// that two sides make 95 % and a lone lower limit holds with 97.5 %.
inline constexpr double kTail = 0.025;
// Confidence with which the largest value must reach a quantile for n to be
// called large enough for it.
inline constexpr double kReach = 0.95;

// 1-based ranks of the order statistics that enclose the quantile. A side is
// unset where no rank of a sample of this size can promise it.
struct Ranks {
  std::optional<size_t> low, high;
};
// low: the largest rank r with P(B < r) <= kTail; high: the smallest rank s with
// P(B >= s) <= kTail; B is binomial(n, p). Requires: 0 < p < 1.
Ranks IntervalRanks(size_t n, Probability p);

// The smallest n whose interval has a finite upper end: p^n <= kTail.
size_t NeededForUpperLimit(Probability p);
// The smallest n whose largest value reaches the quantile with kReach.
size_t NeededToReach(Probability p);
// The probability that the largest of n values reaches the quantile: 1 - p^n.
double ReachedBy(size_t n, Probability p);

// A quantile and what supports it.
struct Estimate {
  int64_t value = 0;            // type 7; may be infinite
  std::optional<int64_t> low;   // unset: n is too small for a lower limit
  std::optional<int64_t> high;  // unset: n is too small for an upper limit; kInfinite: unfinished messages reach it
  // False where fewer than one value is to be expected beyond the quantile:
  // then `value` says no more than the largest value does, and is not printed.
  bool supported = false;
  size_t needed = 0;  // n that reaches the quantile with kReach
  bool one_sided() const { return low.has_value() && !high.has_value(); }
};
// nullopt for an empty sample.
std::optional<Estimate> EstimateQuantile(const Sample& sample, Probability p);

}  // namespace hopgap::stats
