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
  const double window = ToMillis(length) / kWindows;
  // By window: messages handled up to its end, and the mean of that number within it.
  std::array<double, kWindows> handled{}, mean{}, backlog{};
  for (const trace::Path& path : paths) {
    const double at = ToMillis(path.scheduled + path.until_handled - start);
    for (size_t i = 0; i < kWindows; ++i) {
      const double end = window * static_cast<double>(i + 1);
      if (at <= end) ++handled[i];
      mean[i] += std::clamp((end - at) / window, 0.0, 1.0);
    }
  }
  const double arrivals = static_cast<double>(slots) / kWindows;
  for (size_t i = 0; i < kWindows; ++i) backlog[i] = arrivals * (static_cast<double>(i) + 0.5) - mean[i];
  const double growth = std::max(kGrowthMessagesMin, kGrowthShare * arrivals);
  for (size_t i = 1; i < kWindows; ++i) {
    if (backlog[i] - backlog[i - 1] <= growth) return std::nullopt;
  }
  const double seconds = ToMillis(length) / 1e3 * (kWindows - 1) / kWindows;
  return (handled[kWindows - 1] - handled[0]) / seconds;
}

}  // namespace hopgap::lab
