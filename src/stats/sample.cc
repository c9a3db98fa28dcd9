#include "stats/sample.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace hopgap::stats {
namespace {

// from + (to - from) * numerator / kWhole. 128 bits: a difference of two
// instants times 100,000 leaves 64.
int64_t Between(int64_t from, int64_t to, uint64_t numerator) {
  __extension__ using Wide = __int128;
  constexpr Wide kWhole = Probability::kWhole;
  const Wide scaled = (static_cast<Wide>(to) - from) * static_cast<Wide>(numerator);
  const Wide total = static_cast<Wide>(from) * kWhole + scaled;
  const Wide half = total < 0 ? -kWhole / 2 : kWhole / 2;
  return static_cast<int64_t>((total + half) / kWhole);
}

}  // namespace

Sample::Sample(std::vector<int64_t> values, size_t unfinished) : sorted_(std::move(values)) {
  sorted_.insert(sorted_.end(), unfinished, kInfinite);
  std::sort(sorted_.begin(), sorted_.end());
}

size_t Sample::infinite() const {
  const auto first = std::lower_bound(sorted_.begin(), sorted_.end(), kInfinite);
  return static_cast<size_t>(sorted_.end() - first);
}

int64_t Sample::At(size_t rank) const {
  HOPGAP_CHECK(rank >= 1 && rank <= sorted_.size(), "an order statistic's rank is outside the sample");
  return sorted_[rank - 1];
}

int64_t Sample::Quantile(Probability p) const {
  HOPGAP_CHECK(!sorted_.empty(), "an empty sample has no quantile");
  HOPGAP_CHECK(p.parts <= Probability::kWhole, "a probability is above 1");
  const uint64_t position = (sorted_.size() - 1) * uint64_t{p.parts};
  const size_t below = static_cast<size_t>(position / Probability::kWhole);
  const uint64_t rest = position % Probability::kWhole;
  const int64_t low = sorted_[below];
  if (rest == 0) return low;
  const int64_t high = sorted_[below + 1];
  if (high == kInfinite) return kInfinite;
  if (low == kMinusInfinite) return kMinusInfinite;
  return Between(low, high, rest);
}

size_t Sample::CountUpTo(int64_t value) const {
  return static_cast<size_t>(std::upper_bound(sorted_.begin(), sorted_.end(), value) - sorted_.begin());
}

int64_t Sample::FiniteSum() const {
  int64_t sum = 0;
  for (int64_t value : sorted_) {
    if (IsInfinite(value)) continue;
    HOPGAP_CHECK(!__builtin_add_overflow(sum, value, &sum), "the sum of a sample leaves 64 bits");
  }
  return sum;
}

}  // namespace hopgap::stats
