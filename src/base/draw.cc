#include "base/draw.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace hopgap {
inline namespace base {
namespace {

struct SipState {
  uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void Absorb(uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

uint64_t LoadLittleEndian(const char* at, size_t count) {
  uint64_t word = 0;
  for (size_t i = 0; i < count; ++i) {
    word |= static_cast<uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  return word;
}

uint64_t Finalise(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

uint64_t SipHash(HashKey key, std::string_view text) {
  SipState s{0x736f6d6570736575u ^ key.k0, 0x646f72616e646f6du ^ key.k1, 0x6c7967656e657261u ^ key.k0,
             0x7465646279746573u ^ key.k1};
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) s.Absorb(LoadLittleEndian(text.data() + at, 8));
  const uint64_t length = static_cast<uint64_t>(text.size() & 0xff) << 56;
  s.Absorb(length | LoadLittleEndian(text.data() + at, text.size() - at));
  s.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) s.Round();
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t Mix(uint64_t a, uint64_t b) { return Finalise(Finalise(a) ^ b); }

uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return Finalise(hash);
}

uint64_t Permute(uint64_t key, uint64_t size, uint64_t index) {
  HOPGAP_CHECK(size > 0 && index < size, "index outside the permutation");
  const int half = static_cast<int>(std::bit_width(size - 1) + 1) / 2;
  if (half == 0) return 0;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  uint64_t at = index;
  do {
    uint64_t left = at >> half;
    uint64_t right = at & mask;
    for (uint64_t round = 0; round < 6; ++round) {
      const uint64_t next = left ^ (Mix(key, round, right) & mask);
      left = right;
      right = next;
    }
    at = (left << half) | right;
  } while (at >= size);
  return at;
}

uint64_t StratifiedFraction(uint64_t key, uint64_t size, uint64_t index) {
  HOPGAP_CHECK(size <= (uint64_t{1} << 32), "more strata than 2^32");
  const uint64_t stratum = Permute(key, size, index);
  // (stratum + 1/2) / size in 2^-53 steps; 128 bits hold the product.
  const auto numerator = static_cast<unsigned __int128>(2 * stratum + 1) * kFractionOne;
  return static_cast<uint64_t>(numerator / (2 * size));
}

}  // namespace base
}  // namespace hopgap
