#pragma once

#include <span>
#include <string_view>

namespace hopgap::formats {

// The files of profiles/, put into the program by embed_profiles.cmake.
struct BuiltinText {
  std::string_view name, text;
};
std::span<const BuiltinText> BuiltinProfileTexts();

}  // namespace hopgap::formats
