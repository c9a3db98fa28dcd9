#pragma once

#include <string_view>

namespace hopgap {
inline namespace base {

// The program's version; CMakeLists.txt reads it from here.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace base
}  // namespace hopgap
