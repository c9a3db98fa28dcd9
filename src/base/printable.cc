#include "base/printable.h"

#include <absl/strings/str_format.h>

#include <cstdint>

namespace hopgap {
inline namespace base {
namespace {

// One character at the beginning of a text that is not empty.
struct Character {
  size_t size = 1;
  uint32_t code = 0;
  bool valid = false;
};

Character FirstOf(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {.size = 1, .code = lead, .valid = true};
  const size_t size = lead >= 0xf0 && lead < 0xf5   ? 4
                      : lead >= 0xe0 && lead < 0xf0 ? 3
                      : lead >= 0xc2 && lead < 0xe0 ? 2
                                                    : 0;
  if (size == 0 || text.size() < size) return {};
  uint32_t code = lead & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[size] || code >= 0x110000 || surrogate) return {};
  return {.size = size, .code = code, .valid = true};
}

bool Obeyed(uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool line_end = code == 0x2028 || code == 0x2029;
  const bool direction = code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                         (code >= 0x2066 && code <= 0x2069);
  return control || line_end || direction;
}

}  // namespace

bool IsPrintable(std::string_view text) {
  while (!text.empty()) {
    // Most of it is plain.
    size_t plain = 0;
    while (plain < text.size() && text[plain] >= 0x20 && text[plain] < 0x7f) ++plain;
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Character first = FirstOf(text);
    if (!first.valid || Obeyed(first.code)) return false;
    text.remove_prefix(first.size);
  }
  return true;
}

std::string Printable(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max && IsPrintable(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const Character first = FirstOf(text);
    const std::string_view bytes = text.substr(0, first.size);
    std::string shown(bytes);
    if (!first.valid) {
      shown = absl::StrFormat("\\x%02x", static_cast<unsigned char>(text[0]));
    } else if (Obeyed(first.code)) {
      shown = first.code < 0x100 ? absl::StrFormat("\\x%02x", first.code) : absl::StrFormat("\\u%04x", first.code);
    }
    if (bytes_max - out.size() < shown.size()) return out + "…";
    out += shown;
    text.remove_prefix(first.size);
  }
  return out;
}

}  // namespace base
}  // namespace hopgap
