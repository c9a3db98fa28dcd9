#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hopgap {
inline namespace base {

// Of other people's texts: what a terminal would obey instead of print. Those are
// control characters, line ends included, and the characters that turn the
// direction of writing; bytes that are no UTF-8 count as well.
bool IsPrintable(std::string_view text);

// The text with each of those written out: "\x1b", "\u202e". Beyond `bytes_max`
// it is cut at the end of a character, and "…" says so.
std::string Printable(std::string_view text, size_t bytes_max = std::string_view::npos);

}  // namespace base
}  // namespace hopgap
