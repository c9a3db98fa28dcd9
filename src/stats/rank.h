#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "stats/sample.h"

namespace hopgap::stats {

// Comparisons of two samples that share no slots, by ranks: nothing is assumed
// of the distributions, and one outlier moves nothing. Exact integers: no
// n x m list is ever made.

// The k-th smallest of all first - second, 1-based. Requires: both finite, not
// empty, 1 <= k <= first.n() * second.n().
int64_t KthDifference(const Sample& first, const Sample& second, uint64_t k);

// By how much `first` is shifted against `second`: the median of all n x m
// differences, with the interval that inverts the rank-sum test. Its ranks are
// exact up to kExactRanksMax values in all, beyond that normal.
struct HodgesLehmann {
  int64_t value = 0;
  std::optional<int64_t> low, high;  // unset: too few values
};
inline constexpr size_t kExactRanksMax = 100;
// nullopt: a sample is empty or holds a message that never finished.
std::optional<HodgesLehmann> CompareShift(const Sample& first, const Sample& second);

// The rank-sum test (Mann and Whitney), two-sided: normal, with the corrections
// for ties and continuity. Infinite values rank last, as ties.
struct RankTest {
  double u = 0;  // pairs in which the first is larger, ties half
  double p_value = 1;
};
// Requires: neither is empty.
RankTest TestRanks(const Sample& first, const Sample& second);

// The smallest shift of a sample's values that n values a side would have shown
// in 8 of 10 runs, by the rank-sum test at 5 % (Noether's approximation, on the
// sample's own differences). nullopt: none, however large; or an unfinished message.
std::optional<int64_t> SmallestDetectableShift(const Sample& sample, size_t n);

// The same of pairs: the smallest median difference whose exact interval would
// have lain off 0 in 8 of 10 runs, the differences spread as they did. nullopt:
// too few pairs to show any.
std::optional<int64_t> SmallestDetectablePaired(const Sample& differences);

// Correlation of the ranks of neighbours in time (Spearman, lag 1), and how many
// independent values so many dependent ones are worth: n (1 - r) / (1 + r), at
// most n. Intervals assume independence; this says how far that holds.
struct SerialDependence {
  double lag1 = 0;
  double effective_n = 0;
};
// nullopt below kSerialMin values, or when all are equal.
inline constexpr size_t kSerialMin = 10;
std::optional<SerialDependence> SerialDependenceOf(std::span<const int64_t> in_order);

}  // namespace hopgap::stats
