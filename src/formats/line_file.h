#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hopgap::formats {

inline constexpr size_t kLedgerLineBytesMax = 1 << 16;

using TakeLine = std::function<absl::Status(uint64_t number, std::string_view line, bool too_long)>;

// Calls `take(number, line, too_long)` for each line of a file, counted from 1,
// without its line end; of a line beyond `bytes_max` only the number and that it
// is too long. Memory is bounded by `bytes_max`. Stops at the first failure of
// `take` and returns it. NotFound or Unavailable, naming the file, if it cannot
// be read.
absl::Status ForEachLine(const std::string& path, size_t bytes_max, const TakeLine& take);

}  // namespace hopgap::formats
