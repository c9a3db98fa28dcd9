#include "stats/quantile_difference.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace hopgap::stats {
namespace {

// The distance from a value to its limit; infinite where the limit is.
double Distance(int64_t from, int64_t to) {
  if (IsInfinite(to)) return std::numeric_limits<double>::infinity();
  return std::fabs(static_cast<double>(to - from));
}

// value -/+ the distance, or the infinity on that side.
int64_t Shifted(int64_t value, double distance, int sign) {
  if (IsInfinite(value)) return value;
  if (std::isinf(distance)) return sign > 0 ? kInfinite : kMinusInfinite;
  return value + sign * static_cast<int64_t>(std::llround(distance));
}

int64_t Minus(int64_t first, int64_t second) {
  if (IsInfinite(first)) return first;
  return IsInfinite(second) ? kMinusInfinite : first - second;
}

}  // namespace

std::optional<QuantileDifference> CompareEstimates(const Estimate& first, const Estimate& second, Probability p) {
  if (IsInfinite(first.value) && IsInfinite(second.value)) return std::nullopt;
  QuantileDifference out{
      .p = p, .value = Minus(first.value, second.value), .supported = first.supported && second.supported};
  // An infinite quantile has no distance to its limits; the other one's are finite.
  if (IsInfinite(out.value)) {
    if (first.low && second.high) out.low = IsInfinite(*first.low) ? kInfinite : Minus(*first.low, *second.high);
    if (first.high && second.low) out.high = Minus(*first.high, *second.low);
    return out;
  }
  if (first.low && second.high) {
    const double down = std::hypot(Distance(first.value, *first.low), Distance(second.value, *second.high));
    out.low = Shifted(out.value, down, -1);
  }
  if (first.high && second.low) {
    const double up = std::hypot(Distance(first.value, *first.high), Distance(second.value, *second.low));
    out.high = Shifted(out.value, up, 1);
  }
  return out;
}

std::optional<QuantileDifference> CompareQuantile(const Sample& first, const Sample& second, Probability p) {
  const std::optional<Estimate> a = EstimateQuantile(first, p), b = EstimateQuantile(second, p);
  return a && b ? CompareEstimates(*a, *b, p) : std::nullopt;
}

std::vector<QuantileDifference> ShiftFunction(const Sample& first, const Sample& second) {
  std::vector<QuantileDifference> out;
  for (const uint32_t percent : {10u, 20u, 30u, 40u, 50u, 60u, 70u, 80u, 90u, 95u}) {
    const auto d = CompareQuantile(first, second, Probability{percent * (Probability::kWhole / 100)});
    if (d) out.push_back(*d);
  }
  return out;
}

std::optional<QuantileRatio> QuantileRatioOf(const Sample& first, const Sample& second, Probability p) {
  const std::optional<Estimate> a = EstimateQuantile(first, p), b = EstimateQuantile(second, p);
  if (!a || !b || a->value <= 0 || b->value <= 0 || IsInfinite(a->value) || IsInfinite(b->value)) return std::nullopt;
  const auto log_of = [](int64_t value) {
    return IsInfinite(value) ? std::numeric_limits<double>::infinity() : std::log(static_cast<double>(value));
  };
  const double log_a = log_of(a->value), log_b = log_of(b->value);
  QuantileRatio out{.value = std::exp(log_a - log_b), .supported = a->supported && b->supported};
  if (a->low && *a->low > 0 && b->high) {
    out.low = std::exp(log_a - log_b - std::hypot(log_a - log_of(*a->low), log_of(*b->high) - log_b));
  }
  if (a->high && b->low && *b->low > 0) {
    out.high = std::exp(log_a - log_b + std::hypot(log_of(*a->high) - log_a, log_b - log_of(*b->low)));
  }
  return out;
}

double DistributionBand(size_t n) {
  HOPGAP_CHECK(n > 0, "an empty sample has no distribution");
  constexpr double kLog40 = 3.6888794541139363;  // ln(2 / 0.05)
  return std::sqrt(kLog40 / (2 * static_cast<double>(n)));
}

}  // namespace hopgap::stats
