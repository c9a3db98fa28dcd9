#pragma once

#include <string>

#include "report/compare.h"
#include "report/summary.h"

namespace hopgap::report {

// A run's figures in forms to paste. Pure functions.

// Markdown: what was run and its verdict, the answer, end to end by arm, mean
// stages by arm, thresholds. Intervals and n stand in the tables.
std::string RenderMarkdown(const Summary& summary);

// A header line, then a line an arm and measure: until_handled and until_acked
// (work taken off), then every stage, summed over the hops. Milliseconds; empty
// where there is no number, or n does not support it; "inf" for what never finished.
std::string RenderCsv(const Summary& summary);

// Two runs: what was compared, what speaks against it, the answer, then a table an
// arm of the differences, second less first, with their intervals.
std::string RenderMarkdown(const RunComparison& comparison);

// A header line, then a line an arm and measure of both runs: the differences of the
// quantiles and the shift, second less first, in milliseconds; empty where there is
// none, "inf" beside what never finished.
std::string RenderCsv(const RunComparison& comparison);

}  // namespace hopgap::report
