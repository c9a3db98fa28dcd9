#include "stats/interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace hopgap::stats {
namespace {

// Terms this far below the largest cannot move a tail of 2.5 %.
constexpr double kNegligible = 1e-25;

// Binomial weights around the mode, relative to it: only +, *, / of doubles, so
// the same on every machine, and no underflow of (1-p)^n for large n.
struct Weights {
  size_t first = 0;            // of the counts that have weight
  std::vector<double> weight;  // from `first` on
  double total = 0;
};

Weights BinomialWeights(size_t n, double p) {
  const double odds = p / (1 - p);
  const auto mode = std::min(n, static_cast<size_t>(static_cast<double>(n + 1) * p));
  std::vector<double> below, above;
  double weight = 1;
  for (size_t k = mode; k > 0; --k) {
    weight *= static_cast<double>(k) / static_cast<double>(n - k + 1) / odds;
    if (weight < kNegligible) break;
    below.push_back(weight);
  }
  weight = 1;
  for (size_t k = mode; k < n; ++k) {
    weight *= static_cast<double>(n - k) / static_cast<double>(k + 1) * odds;
    if (weight < kNegligible) break;
    above.push_back(weight);
  }
  Weights out;
  out.first = mode - below.size();
  out.weight.assign(below.rbegin(), below.rend());
  out.weight.push_back(1);
  out.weight.insert(out.weight.end(), above.begin(), above.end());
  for (double w : out.weight) out.total += w;
  return out;
}

// The smallest n with p^n <= bound.
size_t SmallestPower(double p, double bound) {
  HOPGAP_CHECK(p > 0 && p < 1, "a quantile lies strictly between 0 and 1");
  double power = p;
  size_t n = 1;
  for (; power > bound; ++n) power *= p;
  return n;
}

}  // namespace

Ranks IntervalRanks(size_t n, Probability p) {
  HOPGAP_CHECK(p.parts > 0 && p.parts < Probability::kWhole, "a quantile lies strictly between 0 and 1");
  Ranks ranks;
  if (n == 0) return ranks;
  const Weights weights = BinomialWeights(n, p.AsDouble());
  const double allowed = kTail * weights.total;
  // P(B < r) grows with r; below `first` it is nothing.
  double below = 0;
  size_t low = weights.first;
  for (double w : weights.weight) {
    if (below + w > allowed) break;
    below += w;
    ++low;
  }
  if (low >= 1) ranks.low = std::min(low, n);
  // P(B >= s) grows as s falls; above the last weight it is nothing.
  double above = 0;
  size_t high = weights.first + weights.weight.size();
  for (auto w = weights.weight.rbegin(); w != weights.weight.rend(); ++w) {
    if (above + *w > allowed) break;
    above += *w;
    --high;
  }
  if (high <= n) ranks.high = std::max<size_t>(high, 1);
  return ranks;
}

size_t NeededForUpperLimit(Probability p) { return SmallestPower(p.AsDouble(), kTail); }
size_t NeededToReach(Probability p) { return SmallestPower(p.AsDouble(), 1 - kReach); }

double ReachedBy(size_t n, Probability p) {
  double power = 1;
  for (size_t i = 0; i < n && power > kNegligible; ++i) power *= p.AsDouble();
  return 1 - power;
}

std::optional<Estimate> EstimateQuantile(const Sample& sample, Probability p) {
  if (sample.empty()) return std::nullopt;
  const Ranks ranks = IntervalRanks(sample.n(), p);
  Estimate out;
  out.value = sample.Quantile(p);
  if (ranks.low) out.low = sample.At(*ranks.low);
  if (ranks.high) out.high = sample.At(*ranks.high);
  const uint64_t beyond = sample.n() * uint64_t{Probability::kWhole - p.parts};
  out.supported = beyond >= Probability::kWhole || p <= kP50;
  out.needed = NeededToReach(p);
  return out;
}

}  // namespace hopgap::stats
