#include "store/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace hopgap::store {
namespace {

constexpr uint32_t kReversedPolynomial = 0x82f63b78;

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = MakeTable();

#if defined(__x86_64__)
// The instruction takes three steps of the clock, and one can begin with each
// step: so three blocks are summed at once, and put together by a table that
// says what a sum becomes when a block of zeros follows.
constexpr size_t kWord = sizeof(uint64_t);
constexpr size_t kBlock = 256;

__attribute__((target("sse4.2"))) uint64_t OneBlock(uint64_t crc, const char* at) {
  for (size_t i = 0; i < kBlock; i += kWord) {
    uint64_t word = 0;
    std::memcpy(&word, at + i, kWord);
    crc = _mm_crc32_u64(crc, word);
  }
  return crc;
}

struct ZeroBlock {
  uint32_t after[4][256];  // by byte of the sum
  ZeroBlock() {
    constexpr char kZeros[kBlock] = {};
    for (size_t byte = 0; byte < 4; ++byte) {
      for (uint64_t value = 0; value < 256; ++value) {
        after[byte][value] = static_cast<uint32_t>(OneBlock(value << (8 * byte), kZeros));
      }
    }
  }
  uint64_t Behind(uint64_t crc) const {
    return after[0][crc & 0xff] ^ after[1][(crc >> 8) & 0xff] ^ after[2][(crc >> 16) & 0xff] ^
           after[3][(crc >> 24) & 0xff];
  }
};

__attribute__((target("sse4.2"))) uint32_t ByInstruction(std::string_view bytes, uint32_t before) {
  static const ZeroBlock zeros;
  uint64_t crc = ~before;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 3 * kBlock; left -= 3 * kBlock, at += 3 * kBlock) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kBlock; i += kWord) {
      uint64_t words[3];
      std::memcpy(&words[0], at + i, kWord);
      std::memcpy(&words[1], at + kBlock + i, kWord);
      std::memcpy(&words[2], at + 2 * kBlock + i, kWord);
      crc = _mm_crc32_u64(crc, words[0]);
      second = _mm_crc32_u64(second, words[1]);
      third = _mm_crc32_u64(third, words[2]);
    }
    crc = zeros.Behind(zeros.Behind(crc) ^ second) ^ third;
  }
  for (; left >= kWord; left -= kWord, at += kWord) {
    uint64_t word = 0;
    std::memcpy(&word, at, kWord);
    crc = _mm_crc32_u64(crc, word);
  }
  auto narrow = static_cast<uint32_t>(crc);
  for (; left > 0; --left, ++at) narrow = _mm_crc32_u8(narrow, static_cast<uint8_t>(*at));
  return ~narrow;
}
#endif

}  // namespace

uint32_t Crc32cByTable(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

uint32_t Crc32c(std::string_view bytes, uint32_t before) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ByInstruction(bytes, before);
#endif
  return Crc32cByTable(bytes, before);
}

}  // namespace hopgap::store
