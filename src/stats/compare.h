#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "stats/interval.h"
#include "stats/sample.h"

namespace hopgap::stats {

// Differences of pairs that share an arrival slot (and, in a replay, the
// luck): what two arms had in common cancels out.
struct PairedDifference {
  size_t n = 0;                             // pairs with a difference
  size_t undefined = 0;                     // pairs that finished on neither side: no difference exists
  std::optional<Estimate> median;           // of the differences, exact interval; unset when n == 0
  size_t slower = 0, faster = 0, tied = 0;  // the first of the pair, against the second

  // Mean of the pairs that finished on both sides, with Student's t interval:
  // an approximation that wants means of n differences to be near normal. The
  // median's interval is the exact one.
  size_t mean_n = 0;
  int64_t mean_sum = 0;                       // exact; mean = mean_sum / mean_n
  std::optional<double> mean_low, mean_high;  // unset below two pairs

  enum class Sign : int8_t { kFaster = -1, kUnresolved = 0, kSlower = 1 };
  // Which side of 0 the median's interval lies on; unresolved if it holds 0 or
  // lacks an end (n < 6).
  Sign sign() const;
};
// first - second of each pair.
PairedDifference ComparePairs(std::span<const std::pair<int64_t, int64_t>> pairs);

// Two-sided 95 % point of Student's t. Requires: degrees >= 1.
double StudentT975(size_t degrees);

}  // namespace hopgap::stats
