#include "pubsub/wire.h"

#include <array>
#include <cstring>

namespace hopgap::pubsub {
namespace {

constexpr uint64_t kFieldNumberMax = (uint64_t{1} << 29) - 1;
constexpr size_t kVarintBytesMax = 10;

constexpr size_t kShortVarintBytesMax = 5;

// A tag or a length. The official C++ and Python readers refuse one of more
// than five bytes, even if its value is small; taking it here would make a
// message that fails its subscribers for ever. Nearly all are one byte.
inline bool TakeShortVarint(std::string_view& text, uint64_t& value) {
  if (!text.empty() && static_cast<unsigned char>(text.front()) < 0x80) {
    value = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    return true;
  }
  const size_t before = text.size();
  return TakeVarint(text, value) && before - text.size() <= kShortVarintBytesMax;
}

// The length of the well-formed UTF-8 sequence at the front of `text`; 0 if
// there is none (overlong forms, surrogates and > U+10FFFF are not).
size_t SequenceLength(std::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return continues(1) ? 2 : 0;
  const unsigned second = byte(1);
  if (lead < 0xF0) {
    if (lead == 0xE0 && second < 0xA0) return 0;
    if (lead == 0xED && second > 0x9F) return 0;
    return continues(1) && continues(2) ? 3 : 0;
  }
  if (lead > 0xF4 || (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
  return continues(1) && continues(2) && continues(3) ? 4 : 0;
}

// Writes a varint and returns what is behind it. Requires: room for kVarintBytesMax.
char* PutVarint(char* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>((value & 0x7Fu) | 0x80u);
  *out++ = static_cast<char>(value);
  return out;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    // Eight bytes of ASCII at a time: nearly all text here is nothing else.
    if (text.size() >= 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data(), sizeof(word));
      if ((word & 0x8080808080808080u) == 0) {
        text.remove_prefix(8);
        continue;
      }
    }
    const size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool TakeVarint(std::string_view& text, uint64_t& value) {
  uint64_t result = 0;
  for (size_t i = 0; i < text.size() && i < kVarintBytesMax; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (i == kVarintBytesMax - 1 && byte > 1) return false;
    result |= static_cast<uint64_t>(byte & 0x7Fu) << (7 * i);
    if (byte < 0x80) {
      text.remove_prefix(i + 1);
      value = result;
      return true;
    }
  }
  return false;
}

size_t VarintSize(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

void WireWriter::AppendVarint(std::string& out, uint64_t value) {
  std::array<char, kVarintBytesMax> bytes;
  out.append(bytes.data(), static_cast<size_t>(PutVarint(bytes.data(), value) - bytes.data()));
}

// A tag and what follows it go into the string at once: growing it is what takes time here.
void WireWriter::TagAndVarint(uint32_t field, WireType type, uint64_t value) {
  std::array<char, size_t{2} * kVarintBytesMax> bytes;
  const char* end = PutVarint(PutVarint(bytes.data(), uint64_t{field} << 3 | static_cast<uint64_t>(type)), value);
  out_.append(bytes.data(), static_cast<size_t>(end - bytes.data()));
}

void WireWriter::Varint(uint32_t field, uint64_t value) { TagAndVarint(field, WireType::kVarint, value); }

void WireWriter::Header(uint32_t field, size_t size) { TagAndVarint(field, WireType::kBytes, size); }

void WireWriter::Text(uint32_t field, std::string_view value) {
  Header(field, value.size());
  out_.append(value);
}

bool WireReader::Fail() {
  ok_ = false;
  rest_ = {};
  return false;
}

bool WireReader::TakeFixed(size_t size) {
  if (rest_.size() < size) return Fail();
  field_.value = 0;
  for (size_t i = 0; i < size; ++i) {
    field_.value |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(size);
  return true;
}

bool WireReader::TakeBytes() {
  uint64_t size = 0;
  if (!TakeShortVarint(rest_, size) || size > rest_.size()) return Fail();
  field_.bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

bool WireReader::Next() {
  if (rest_.empty()) return false;
  const std::string_view begin = rest_;
  uint64_t tag = 0;
  if (!TakeShortVarint(rest_, tag)) return Fail();
  const uint64_t number = tag >> 3;
  if (number == 0 || number > kFieldNumberMax) return Fail();
  field_ = {};
  field_.number = static_cast<uint32_t>(number);
  field_.type = static_cast<WireType>(tag & 7);
  bool taken = false;
  switch (field_.type) {
    case WireType::kVarint: taken = TakeVarint(rest_, field_.value); break;
    case WireType::kFixed64: taken = TakeFixed(8); break;
    case WireType::kBytes: taken = TakeBytes(); break;
    case WireType::kFixed32: taken = TakeFixed(4); break;
  }
  if (!taken) return Fail();
  field_.whole = begin.substr(0, begin.size() - rest_.size());
  return true;
}

}  // namespace hopgap::pubsub
