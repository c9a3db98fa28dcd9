#pragma once

#include <absl/status/statusor.h>

#include <span>
#include <string>
#include <string_view>

#include "report/sweep.h"

namespace hopgap::formats {

// The document of `sweep --json`, schema hopgap.sweep/1: the plan and the cells.
// null: there is no such number (a saturated cell has no latency).
std::string SweepJson(const report::SweepPlan& plan, std::span<const report::SweepCell> cells,
                      const report::SweepHere* here = nullptr);

// What is kept while a sweep runs, a line each, so that a killed one can go on:
// the plan, then every cell that is done. Lines end with a newline.
std::string SweepPlanLine(const report::SweepPlan& plan);
std::string SweepCellLine(const report::SweepCell& cell);
// InvalidArgument for anything that the two above did not write.
absl::StatusOr<report::SweepPlan> ParseSweepPlanLine(std::string_view line);
absl::StatusOr<report::SweepCell> ParseSweepCellLine(std::string_view line);

}  // namespace hopgap::formats
