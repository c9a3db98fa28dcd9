#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

// Private to this room.
namespace hopgap::formats {

// Reads JSON text from front to back, once, as what the caller expects to stand
// there. Anything else, and any text with an escape, is a false: the caller then
// takes the reader over the document's tree, which reads all JSON and names faults.
// What is read or passed over is checked like JSON, but for UTF-8.
//
// Requires: '\n' or '\0' after the text, and kPadding bytes that may be read.
class JsonCursor {
 public:
  static constexpr size_t kPadding = 64;
  static constexpr int kDepthMax = 64;  // of what is passed over

  explicit JsonCursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  const char* at() const { return at_; }
  void BackTo(const char* at) { at_ = at; }

  // The next character but blanks, which is not taken.
  char Next() {
    while (*at_ == ' ' || *at_ == '\t' || *at_ == '\r') ++at_;
    return *at_;
  }
  bool Is(char wanted) {
    if (*at_ != wanted && Next() != wanted) return false;
    ++at_;
    return true;
  }
  bool AtEnd() {
    Next();
    return at_ == end_;
  }
  // Exactly these characters, of which there are at most kPadding.
  bool Starts(std::string_view wanted) {
    if (std::memcmp(at_, wanted.data(), wanted.size()) != 0) return false;
    at_ += wanted.size();
    return true;
  }

  bool Text(std::string_view& out) { return Is('"') && RestOfText(out); }
  // After its first quote.
  bool RestOfText(std::string_view& out) {
    const char* end = TextEnd(at_);
    out = {at_, static_cast<size_t>(end - at_)};
    at_ = end + 1;
    return *end == '"';
  }

  bool Flag(bool& out) {
    Next();
    out = *at_ == 't';
    return Starts(out ? "true" : "false");
  }

  // As it stands in the text.
  bool Number(std::string_view& out);
  // An integer, bare or quoted, of at most 19 digits.
  bool Integer(int64_t& out);
  // Passes over a value of any kind.
  bool Skip(int depth = 0);

  // Calls `take()` at each element, which has to read it.
  template <typename Take>
  bool Elements(Take take) {
    if (!Is('[')) return false;
    if (Is(']')) return true;
    do {
      if (!take()) return false;
    } while (Is(','));
    return Is(']');
  }

  // Calls `take(key)` at each value, which has to read it.
  template <typename Take>
  bool Members(Take take) {
    if (!Is('{')) return false;
    if (Is('}')) return true;
    do {
      std::string_view key;
      if (!Text(key) || !Is(':') || !take(key)) return false;
    } while (Is(','));
    return Is('}');
  }

 private:
  bool Digits();

  // The first quote, backslash or control character: eight at a time, the high bit
  // of a byte says that it is one (of those above the first it may lie).
  static const char* TextEnd(const char* at) {
    if constexpr (std::endian::native == std::endian::little) {
      constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
      for (;; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, at, sizeof word);
        const uint64_t quote = word ^ kOnes * '"', slash = word ^ kOnes * '\\';
        const uint64_t found =
            (((quote - kOnes) & ~quote) | ((slash - kOnes) & ~slash) | ((word - kOnes * 0x20) & ~word)) & kHighs;
        if (found != 0) return at + std::countr_zero(found) / 8;
      }
    }
    while (*at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
    return at;
  }

  const char* at_;
  const char* end_;
};

}  // namespace hopgap::formats
