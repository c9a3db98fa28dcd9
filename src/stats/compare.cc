#include "stats/compare.h"

#include <array>
#include <cmath>
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
  static constexpr std::array<double, 30> kTable = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060,
                                                    2.2622,  2.2281, 2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199,
                                                    2.1098,  2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639,
                                                    2.0595,  2.0555, 2.0518, 2.0484, 2.0452, 2.0423};
  if (degrees <= kTable.size()) return kTable[degrees - 1];
  // Cornish-Fisher around the normal point; off by less than 1e-5 from here on.
  constexpr double kZ = 1.959963985;
  constexpr double kZ3 = kZ * kZ * kZ;
  constexpr double kZ5 = kZ3 * kZ * kZ;
  const auto d = static_cast<double>(degrees);
  return kZ + (kZ3 + kZ) / (4 * d) + (5 * kZ5 + 16 * kZ3 + 3 * kZ) / (96 * d * d);
}

}  // namespace hopgap::stats
