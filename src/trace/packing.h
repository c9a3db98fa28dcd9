#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/time.h"

// Bytes of our own making that one process writes and reads again: numbers of
// seven bits a byte, the sign in the lowest bit. Differences wrap, so that
// instants of any kind come back as they were.
namespace hopgap::trace {

constexpr int64_t Difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
constexpr int64_t Sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

class PackWriter {
 public:
  explicit PackWriter(std::string& out) : out_(out) {}
  void Byte(uint8_t value) { out_ += static_cast<char>(value); }
  void Word(uint64_t value) {
    char text[10];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) text[size++] = static_cast<char>(value | 0x80);
    text[size++] = static_cast<char>(value);
    out_.append(text, size);
  }
  void Signed(int64_t value) { Word(static_cast<uint64_t>(value) << 1 ^ (value < 0 ? ~uint64_t{0} : 0)); }
  // An id: all of its bits are used.
  void Id(uint64_t value) {
    char text[sizeof value];
    std::memcpy(text, &value, sizeof value);
    out_.append(text, sizeof text);
  }
  void Text(std::string_view text) {
    Word(text.size());
    out_.append(text);
  }

 private:
  std::string& out_;
};

// After the first failure it reads zeros, and failed() says so: what comes back
// from a disk may be damaged.
class PackReader {
 public:
  explicit PackReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  uint8_t Byte() { return at_ == end_ ? Fail() : static_cast<uint8_t>(*at_++); }
  uint64_t Word() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    return Fail();
  }
  int64_t Signed() {
    const uint64_t word = Word();
    return static_cast<int64_t>(word >> 1 ^ ((word & 1) != 0 ? ~uint64_t{0} : 0));
  }
  uint64_t Id() {
    uint64_t value = 0;
    if (left() < sizeof value) return Fail();
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view Text() {
    const uint64_t size = Word();
    if (left() < size) return Fail(), std::string_view{};
    const std::string_view text(at_, size);
    at_ += size;
    return text;
  }
  // A number of things of which each takes at least a byte.
  size_t Count() {
    const uint64_t count = Word();
    return left() < count ? Fail() : static_cast<size_t>(count);
  }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  std::string_view rest() const { return {at_, left()}; }
  bool failed() const { return failed_; }

 private:
  uint8_t Fail() {
    failed_ = true;
    at_ = end_;
    return 0;
  }
  const char* at_;
  const char* end_;
  bool failed_ = false;
};

}  // namespace hopgap::trace
