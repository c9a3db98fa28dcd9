#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/trace_file.h"
#include "report/foreign.h"

namespace hopgap::formats {

// The member `analysis` of `hopgap analyze --json` (docs/json.md): data quality,
// deliveries by subscription, findings, places and settings. Pretty-printed JSON.
std::string AnalysisJson(const report::Foreign& foreign, const std::vector<TraceSource>& sources,
                         std::optional<int> streams);

// One line a delivery, with a header: ids, names, instants in nanoseconds since
// 1970 and stages in nanoseconds; empty: not available. Raw: skew is marked and
// not corrected.
std::string DeliveriesCsv(const report::Foreign& foreign);

}  // namespace hopgap::formats
