#include "stats/rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "stats/interval.h"

namespace hopgap::stats {
namespace {

constexpr double kZ975 = 1.959963984540054;
constexpr double kZ80 = 0.8416212335729143;

// How many first - second are <= value: one walk over both, since both are sorted.
uint64_t CountDifferencesUpTo(const std::vector<int64_t>& first, const std::vector<int64_t>& second, int64_t value) {
  uint64_t count = 0;
  size_t j = second.size();  // second[j..] satisfy first[i] - second[j] <= value
  for (size_t i = first.size(); i-- > 0;) {
    while (j > 0 && first[i] - second[j - 1] <= value) --j;
    count += second.size() - j;
  }
  return count;
}

bool Finite(const Sample& sample) { return !sample.empty() && sample.infinite() == 0; }

// The largest c with P(U < c) <= kTail, from the exact distribution of U:
// how many ways there are to reach each sum.
uint64_t ExactTailCount(size_t n, size_t m) {
  std::vector<double> ways(n * m + 1, 0.0);
  ways[0] = 1;
  // Gaussian binomial: multiply by (1 - q^(m+i)), divide by (1 - q^i).
  for (size_t i = 1; i <= n; ++i) {
    for (size_t u = ways.size(); u-- > m + i;) ways[u] -= ways[u - m - i];
    for (size_t u = i; u < ways.size(); ++u) ways[u] += ways[u - i];
  }
  const double total = std::accumulate(ways.begin(), ways.end(), 0.0);
  double below = 0;
  uint64_t c = 0;
  for (double w : ways) {
    if (below + w > kTail * total) break;
    below += w;
    ++c;
  }
  return c;
}

uint64_t TailCount(size_t n, size_t m) {
  if (n + m <= kExactRanksMax) return ExactTailCount(n, m);
  const auto a = static_cast<double>(n), b = static_cast<double>(m);
  const double c = a * b / 2 - kZ975 * std::sqrt(a * b * (a + b + 1) / 12);
  return c <= 0 ? 0 : static_cast<uint64_t>(c);
}

double NormalTailBothSides(double z) { return std::erfc(z / std::sqrt(2.0)); }

// P(B >= k), B binomial(n, p), by the ranks' own recurrence.
double BinomialAtLeast(size_t n, size_t k, double p) {
  if (p >= 1) return 1;
  if (p <= 0) return k == 0 ? 1 : 0;
  const double odds = p / (1 - p);
  const auto mode = std::min(n, static_cast<size_t>(static_cast<double>(n + 1) * p));
  double total = 1, at_least = mode >= k ? 1 : 0, weight = 1;
  for (size_t i = mode; i > 0 && weight > 1e-25; --i) {
    weight *= static_cast<double>(i) / static_cast<double>(n - i + 1) / odds;
    total += weight;
    if (i - 1 >= k) at_least += weight;
  }
  weight = 1;
  for (size_t i = mode; i < n && weight > 1e-25; ++i) {
    weight *= static_cast<double>(n - i) / static_cast<double>(i + 1) * odds;
    total += weight;
    if (i + 1 >= k) at_least += weight;
  }
  return at_least / total;
}

// Ranks with ties averaged.
std::vector<double> RanksOf(std::span<const int64_t> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t j = i;
    while (j < order.size() && values[order[j]] == values[order[i]]) ++j;
    for (size_t k = i; k < j; ++k) ranks[order[k]] = static_cast<double>(i + j + 1) / 2;
    i = j;
  }
  return ranks;
}

}  // namespace

int64_t KthDifference(const Sample& first, const Sample& second, uint64_t k) {
  HOPGAP_CHECK(Finite(first) && Finite(second), "differences need finite values");
  HOPGAP_CHECK(k >= 1 && k <= uint64_t{first.n()} * second.n(), "there is no such difference");
  const auto& a = first.sorted();
  const auto& b = second.sorted();
  int64_t low = a.front() - b.back(), high = a.back() - b.front();
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (CountDifferencesUpTo(a, b, middle) >= k) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::optional<HodgesLehmann> CompareShift(const Sample& first, const Sample& second) {
  if (!Finite(first) || !Finite(second)) return std::nullopt;
  const uint64_t all = uint64_t{first.n()} * second.n();
  HodgesLehmann out;
  const int64_t below = KthDifference(first, second, (all + 1) / 2);
  const int64_t above = all % 2 == 1 ? below : KthDifference(first, second, all / 2 + 1);
  out.value = below + (above - below) / 2;
  const uint64_t c = TailCount(first.n(), second.n());
  if (c >= 1) {
    out.low = KthDifference(first, second, c);
    out.high = KthDifference(first, second, all + 1 - c);
  }
  return out;
}

RankTest TestRanks(const Sample& first, const Sample& second) {
  HOPGAP_CHECK(!first.empty() && !second.empty(), "an empty sample has no ranks");
  std::vector<int64_t> all = first.sorted();
  all.insert(all.end(), second.sorted().begin(), second.sorted().end());
  const std::vector<double> ranks = RanksOf(all);
  const auto n = static_cast<double>(first.n()), m = static_cast<double>(second.n());
  RankTest out;
  for (size_t i = 0; i < first.n(); ++i) out.u += ranks[i];
  out.u -= n * (n + 1) / 2;
  std::sort(all.begin(), all.end());
  double ties = 0;
  for (size_t i = 0; i < all.size();) {
    size_t j = i;
    while (j < all.size() && all[j] == all[i]) ++j;
    const auto t = static_cast<double>(j - i);
    ties += t * t * t - t;
    i = j;
  }
  const double variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)));
  if (variance <= 0) return out;
  const double z = std::max(0.0, std::fabs(out.u - n * m / 2) - 0.5) / std::sqrt(variance);
  out.p_value = std::min(1.0, NormalTailBothSides(z));
  return out;
}

std::optional<int64_t> SmallestDetectableShift(const Sample& sample, size_t n) {
  if (!Finite(sample) || n == 0) return std::nullopt;
  // Noether: 2n values in two equal groups see P(X < Y) = 1/2 + e with 80 %.
  const double e = (kZ975 + kZ80) / std::sqrt(6.0 * static_cast<double>(n));
  const uint64_t all = uint64_t{sample.n()} * sample.n();
  const double k = std::ceil((0.5 + e) * static_cast<double>(all));
  if (e >= 0.5 || k > static_cast<double>(all)) return std::nullopt;
  return std::max<int64_t>(0, KthDifference(sample, sample, static_cast<uint64_t>(k)));
}

std::optional<int64_t> SmallestDetectablePaired(const Sample& differences) {
  const size_t n = differences.n();
  if (!Finite(differences)) return std::nullopt;
  const Ranks ranks = IntervalRanks(n, kP50);
  if (!ranks.low || !ranks.high) return std::nullopt;
  // The interval lies above 0 when its low rank does: at least n - low + 1 differences are positive.
  const size_t positive = n - *ranks.low + 1;
  double low = 0.5, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (BinomialAtLeast(n, positive, middle) >= 0.8 ? high : low) = middle;
  }
  const auto rank = static_cast<size_t>(std::ceil(high * static_cast<double>(n)));
  const int64_t median = differences.Quantile(kP50);
  return std::max<int64_t>(0, median - differences.At(n + 1 - std::clamp<size_t>(rank, 1, n)));
}

std::optional<SerialDependence> SerialDependenceOf(std::span<const int64_t> in_order) {
  if (in_order.size() < kSerialMin) return std::nullopt;
  const std::vector<double> ranks = RanksOf(in_order);
  const auto n = static_cast<double>(ranks.size());
  const double mean = (n + 1) / 2;
  double squares = 0, products = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    squares += (ranks[i] - mean) * (ranks[i] - mean);
    if (i > 0) products += (ranks[i] - mean) * (ranks[i - 1] - mean);
  }
  if (squares == 0) return std::nullopt;
  SerialDependence out{.lag1 = products / squares};
  out.effective_n = std::min(n, n * (1 - out.lag1) / (1 + out.lag1));
  return out;
}

}  // namespace hopgap::stats
