#pragma once

#include <span>
#include <string>

#include "report/run.h"
#include "trace/span.h"

namespace hopgap::report {

// One trace, taken apart: every span with what it was called, each hop's stages
// with the span and event that gave their ends, what was inferred and what is
// missing. `spans` are of one trace of a TraceSet, any order.
std::string TraceText(std::span<const trace::Span> spans);

// For each arm the messages nearest p50, p90 and p99 until handled, each with its
// stages and its trace id. Lines of at most kWidthMin columns; empty without paths.
std::string CompositionText(const Run& run);

}  // namespace hopgap::report
