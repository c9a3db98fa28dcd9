#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hopgap::stats {

// Values that have no end. A message that never finished is +infinity: it is
// counted, never dropped, since dropping it would flatter the tail.
inline constexpr int64_t kInfinite = INT64_MAX;
inline constexpr int64_t kMinusInfinite = INT64_MIN;
constexpr bool IsInfinite(int64_t value) { return value == kInfinite || value == kMinusInfinite; }

// A probability in steps of 1/100,000, so that ranks are integer arithmetic.
struct Probability {
  uint32_t parts = 0;  // of kWhole
  static constexpr uint32_t kWhole = 100'000;
  constexpr double AsDouble() const { return static_cast<double>(parts) / kWhole; }
  friend auto operator<=>(const Probability&, const Probability&) = default;
};
inline constexpr Probability kP50{50'000};
inline constexpr Probability kP90{90'000};
inline constexpr Probability kP95{95'000};
inline constexpr Probability kP99{99'000};
inline constexpr Probability kP999{99'900};

// Nanoseconds (or any integers), sorted once. Immutable.
class Sample {
 public:
  Sample() = default;
  // `unfinished` more values of +infinity are counted behind `values`.
  explicit Sample(std::vector<int64_t> values, size_t unfinished = 0);

  size_t n() const { return sorted_.size(); }
  bool empty() const { return sorted_.empty(); }
  size_t infinite() const;  // how many values are +infinity
  const std::vector<int64_t>& sorted() const { return sorted_; }

  // Order statistic, 1-based as in the literature. Requires: 1 <= rank <= n().
  int64_t At(size_t rank) const;

  // Type 7 (linear between the neighbours of 1 + p(n-1), as k6, NumPy and
  // spreadsheets do), rounded to the nearest integer, halves away from zero.
  // Infinite as soon as an infinite value has a part in it. Requires: !empty().
  int64_t Quantile(Probability p) const;

  // How many values are <= `value`.
  size_t CountUpTo(int64_t value) const;

  // Sum of the finite values. Requires: it fits 64 bits.
  int64_t FiniteSum() const;

 private:
  std::vector<int64_t> sorted_;
};

}  // namespace hopgap::stats
