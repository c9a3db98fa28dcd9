#include "formats/lognormal.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/draw.h"

namespace hopgap::formats {
namespace {

constexpr double kLowestZ = -5;  // one draw in 3.5 million lies below

double Probability(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// Bisection: slow, short, and exact to the last bit that matters.
double ZOf(double probability) {
  double low = -9, high = 9;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (Probability(middle) < probability ? low : high) = middle;
  }
  return high;
}

}  // namespace

std::vector<broker::QuantileTable::Point> LognormalPoints(double p50_ms, double sigma, double cut, size_t points) {
  HOPGAP_CHECK(p50_ms > 0 && sigma >= 0 && cut > 0.5 && cut < 1 && points >= 3, "no lognormal table");
  const auto one = static_cast<double>(kFractionOne);
  const double top = ZOf(cut);
  std::vector<double> steps;
  for (size_t i = 0; i + 2 < points; ++i) {
    steps.push_back(kLowestZ + (top - kLowestZ) * static_cast<double>(i) / static_cast<double>(points - 3));
  }
  steps.insert(std::lower_bound(steps.begin(), steps.end(), 0.0), 0.0);
  std::vector<broker::QuantileTable::Point> table = {{.fraction = 0, .delay = Duration{0}}};
  for (const double z : steps) {
    const auto fraction = static_cast<uint64_t>(std::llround(Probability(z) * one));
    const Duration delay{std::llround(p50_ms * 1e6 * std::exp(sigma * z))};
    if (fraction > table.back().fraction) table.push_back({.fraction = fraction, .delay = delay});
  }
  return table;
}

}  // namespace hopgap::formats
