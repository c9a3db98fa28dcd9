#pragma once

#include <string>
#include <string_view>

namespace hopgap::formats {

// Appends `text` as a JSON string with its quotes. Bytes that are no UTF-8
// become U+FFFD.
void AppendJsonText(std::string_view text, std::string& out);

// `text` with bytes that are no UTF-8 replaced by U+FFFD, for formats whose
// readers refuse such text.
std::string Utf8(std::string_view text);

}  // namespace hopgap::formats
