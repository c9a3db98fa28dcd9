#include "stats/compare.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "base/check.h"

namespace hopgap::stats {
namespace {

void Count(int64_t difference, PairedDifference& out) {
  if (difference > 0) ++out.slower;
  if (difference < 0) ++out.faster;
  if (difference == 0) ++out.tied;
}

void SetMeanInterval(const std::vector<int64_t>& finite, PairedDifference& out) {
  if (finite.size() < 2) return;
  const auto n = static_cast<double>(finite.size());
  const double mean = static_cast<double>(out.mean_sum) / n;
  double squares = 0;
  for (int64_t d : finite) squares += (static_cast<double>(d) - mean) * (static_cast<double>(d) - mean);
  const double half = StudentT975(finite.size() - 1) * std::sqrt(squares / (n - 1) / n);
  out.mean_low = mean - half;
  out.mean_high = mean + half;
}

// From here on the expansion is closer than 1e-11.
constexpr size_t kSeriesMax = 1000;

// P(-t < T < t), Abramowitz and Stegun 26.7.3 and 26.7.4: finite sums.
double Within(double t, size_t degrees) {
  const auto d = static_cast<double>(degrees);
  const double square = d / (d + t * t);  // cos^2
  const double sine = t / std::sqrt(d + t * t);
  const bool odd = degrees % 2 == 1;
  double term = odd ? std::sqrt(square) : 1, sum = 0;
  for (size_t k = odd ? 3 : 2; k <= degrees; k += 2) {
    sum += term;
    term *= square * static_cast<double>(k - 1) / static_cast<double>(k);
  }
  if (!odd) return sine * sum;
  return (std::atan(t / std::sqrt(d)) + sine * sum) * 2 / std::numbers::pi;
}

// Around the normal point, 26.7.5.
double Expanded(double d) {
  constexpr double kZ = 1.959963984540054;
  constexpr double kZ2 = kZ * kZ, kZ3 = kZ2 * kZ, kZ5 = kZ3 * kZ2, kZ7 = kZ5 * kZ2, kZ9 = kZ7 * kZ2;
  const double first = (kZ3 + kZ) / 4, second = (5 * kZ5 + 16 * kZ3 + 3 * kZ) / 96;
  const double third = (3 * kZ7 + 19 * kZ5 + 17 * kZ3 - 15 * kZ) / 384;
  const double fourth = (79 * kZ9 + 776 * kZ7 + 1482 * kZ5 - 1920 * kZ3 - 945 * kZ) / 92160;
  return kZ + (first + (second + (third + fourth / d) / d) / d) / d;
}

}  // namespace

PairedDifference::Sign PairedDifference::sign() const {
  if (!median || !median->low || !median->high) return Sign::kUnresolved;
  if (*median->low > 0) return Sign::kSlower;
  if (*median->high < 0) return Sign::kFaster;
  return Sign::kUnresolved;
}

PairedDifference ComparePairs(std::span<const std::pair<int64_t, int64_t>> pairs) {
  PairedDifference out;
  std::vector<int64_t> differences, finite;
  for (const auto& [first, second] : pairs) {
    if (IsInfinite(first) && IsInfinite(second)) {
      ++out.undefined;
      continue;
    }
    int64_t difference = 0;
    if (IsInfinite(first)) {
      difference = kInfinite;
    } else if (IsInfinite(second)) {
      difference = kMinusInfinite;
    } else {
      difference = first - second;
      finite.push_back(difference);
      out.mean_sum += difference;
    }
    differences.push_back(difference);
    Count(difference, out);
  }
  out.n = differences.size();
  out.mean_n = finite.size();
  SetMeanInterval(finite, out);
  out.median = EstimateQuantile(Sample(std::move(differences)), kP50);
  return out;
}

double StudentT975(size_t degrees) {
  HOPGAP_CHECK(degrees >= 1, "Student's t needs a degree of freedom");
  if (degrees > kSeriesMax) return Expanded(static_cast<double>(degrees));
  double low = 1.9, high = 13;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (Within(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace hopgap::stats
