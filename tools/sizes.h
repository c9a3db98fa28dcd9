#pragma once

#include <filesystem>

#include "tools/finding.h"

namespace hopgap::house {

inline constexpr int kHeaderLinesMax = 150;
inline constexpr int kTestHeaderLinesMax = 300;  // a world for tests, with its functions inline
inline constexpr int kSourceLinesMax = 500;      // 300 is the aim; beyond 500 a file is two files

// Reports our headers and sources (src, tests, tools, bench) that are too long.
Findings CheckSizes(const std::filesystem::path& root);

}  // namespace hopgap::house
