#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/run_json.h"
#include "report/compare.h"
#include "report/page.h"
#include "report/summary.h"
#include "report/sweep.h"

namespace hopgap::formats {

// report.html: one file that needs nothing else, no network either. The page
// itself (script, style) is built from web/ and part of the program; what is
// written into it here is data. The same values give the same bytes.

struct HtmlRun {
  std::string name;  // for people: a folder's or a file's
  report::Summary summary;
  report::Page page;
  std::optional<Machine> machine;  // unknown of foreign traces
};

// A sweep's map.
struct HtmlSweep {
  std::string name;  // for people: a folder's
  report::SweepPlan plan;
  std::vector<report::SweepCell> cells;
  std::optional<report::SweepHere> here;
  std::vector<std::string> command_line;  // what made it; empty: not known
};

// Beside the runs: two of them compared, drawn before everything else, and a map.
// Requires: a run or a map.
std::string ReportHtml(const std::vector<HtmlRun>& runs, const std::optional<report::RunComparison>& comparison,
                       const std::optional<HtmlSweep>& sweep = std::nullopt);

// The document of `hopgap compare --json`, schema hopgap.compare/1 (docs/json.md).
std::string ComparisonJson(const report::RunComparison& comparison);

}  // namespace hopgap::formats
