#pragma once

#include <string>
#include <string_view>

#include "report/summary.h"

namespace hopgap::formats {

// Lengths in the document: milliseconds, rounded to 6 decimals, which are the
// exact nanoseconds of every observed value. null stands for +infinity (with
// `unfinished` beside it) or for a limit that no sample of this size has.

// The document of `--json` and summary.json, schema hopgap.run/1, described
// field by field in docs/json.md. The same summary gives the same bytes.
// `analysis`: a document of AnalysisJson(), put in as its member `analysis`.
std::string SummaryJson(const report::Summary& summary, std::string_view analysis = {});

}  // namespace hopgap::formats
