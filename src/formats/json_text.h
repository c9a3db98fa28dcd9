#pragma once

#include <string>
#include <string_view>

namespace hopgap::formats {

// Appends `text` as a JSON string with its quotes. Bytes that are no UTF-8
// become U+FFFD.
void AppendJsonText(std::string_view text, std::string& out);

}  // namespace hopgap::formats
