#pragma once

#include <cstdint>
#include <string_view>

namespace hopgap {
inline namespace base {

// Keyed, counter-based randomness: a draw is a pure function of its key, so
// that the order in which draws are made can never matter. Integer arithmetic
// only; the same bytes on every machine. Thread-safe (no state).

// SipHash-2-4 of `text`. The key makes it unforgeable; ack ids rest on that.
struct HashKey {
  uint64_t k0 = 0;
  uint64_t k1 = 0;
};
uint64_t SipHash(HashKey key, std::string_view text);

// Mixes words into one well-spread word (each step is a bijection of the last
// word, after the finaliser of splitmix64).
uint64_t Mix(uint64_t a, uint64_t b);
inline uint64_t Mix(uint64_t a, uint64_t b, uint64_t c) { return Mix(Mix(a, b), c); }
inline uint64_t Mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d) { return Mix(Mix(a, b, c), d); }

// 64-bit FNV-1a then mixed: names into keys. Not a secret.
uint64_t HashName(std::string_view name);

// A fraction of [0, 1) in 2^-53 steps, as that integer.
inline constexpr uint64_t kFractionOne = uint64_t{1} << 53;
inline uint64_t FractionOf(uint64_t word) { return word >> 11; }

// A keyed permutation of [0, size): the position of `index`. A Feistel network
// on the next power of four, walked until the result falls inside.
// Requires: size > 0, index < size.
uint64_t Permute(uint64_t key, uint64_t size, uint64_t index);

// The midpoint of stratum Permute(key, size, index) of `size` equal parts of
// [0, 1): drawing every index of [0, size) once uses every stratum once.
// Requires: 0 < size <= 2^32, index < size.
uint64_t StratifiedFraction(uint64_t key, uint64_t size, uint64_t index);

}  // namespace base
}  // namespace hopgap
