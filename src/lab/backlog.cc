#include "lab/backlog.h"

#include <algorithm>
#include <array>

#include "lab/schedule.h"

namespace hopgap::lab {

std::optional<double> SaturatedAt(std::span<const trace::Path> paths, uint64_t millihertz, uint64_t slots) {
  constexpr size_t kWindows = 4;
  const Schedule schedule(millihertz, slots);
  if (paths.empty()) return std::nullopt;  // nothing moved: lost, not slow
  const trace::Path& any = paths.front();
  const WallTime start = any.scheduled - schedule.DueAfter(any.slot);
  const Duration length = schedule.DueAfter(slots);
  std::array<double, kWindows> handled{}, backlog{};
  for (const trace::Path& path : paths) {
    const WallTime at = path.scheduled + path.until_handled;
    for (size_t i = 0; i < kWindows; ++i) {
      if (at <= start + length * static_cast<int64_t>(i + 1) / static_cast<int64_t>(kWindows)) ++handled[i];
    }
  }
  const double arrivals = static_cast<double>(slots) / kWindows;
  for (size_t i = 0; i < kWindows; ++i) backlog[i] = arrivals * static_cast<double>(i + 1) - handled[i];
  const double growth = std::max(kGrowthMessagesMin, kGrowthShare * arrivals);
  for (size_t i = 1; i < kWindows; ++i) {
    if (backlog[i] - backlog[i - 1] <= growth) return std::nullopt;
  }
  const double seconds = ToMillis(length) / 1e3 * (kWindows - 1) / kWindows;
  return (handled[kWindows - 1] - handled[0]) / seconds;
}

}  // namespace hopgap::lab
