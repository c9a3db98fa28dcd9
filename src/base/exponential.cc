#include "base/exponential.h"

#include <bit>

#include "base/draw.h"

namespace hopgap {
inline namespace base {

// -log2 bit by bit (a square doubles the logarithm), then times ln 2: no
// floating-point library has a say in it.
uint64_t ExponentialOf(uint64_t word) {
  constexpr unsigned __int128 kLn2 = 762123384786;  // 2^40 ln 2
  const uint64_t value = 2 * FractionOf(word) + 1;  // of 2^54
  const int whole = static_cast<int>(std::bit_width(value)) - 1;
  uint64_t mantissa = value << (63 - whole);  // [1, 2) in 2^-63 steps
  uint64_t log2 = static_cast<uint64_t>(whole);
  for (int bit = 0; bit < kExponentialBits; ++bit) {
    const auto square = static_cast<uint64_t>((static_cast<unsigned __int128>(mantissa) * mantissa) >> 64);  // 2^-62
    const bool two = (square >> 63) != 0;
    log2 = 2 * log2 + (two ? 1 : 0);
    mantissa = two ? square : square << 1;
  }
  const uint64_t below = (uint64_t{54} << kExponentialBits) - log2;
  return static_cast<uint64_t>((below * kLn2) >> kExponentialBits);
}

}  // namespace base
}  // namespace hopgap
