#pragma once

#include <cstdint>

namespace hopgap {
inline namespace base {

// A draw of the exponential distribution with mean 1, in 2^-40 steps: -ln of the
// middle of the word's fraction (base/draw.h), at most 37.5. Integer arithmetic
// only; the same bytes on every machine. Thread-safe (no state).
inline constexpr int kExponentialBits = 40;
uint64_t ExponentialOf(uint64_t word);

}  // namespace base
}  // namespace hopgap
