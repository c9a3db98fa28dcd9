#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>

#include "report/run.h"

namespace hopgap::formats {

// paths.bin of a run folder: every path of every arm with all its stages and
// instants, exact to the nanosecond, so that a folder says all that the run knew
// even when it holds the spans of some messages only. Varints; about 100 bytes a
// hop; not meant for other programs (spans and JSON are).
inline constexpr char kPathsFile[] = "paths.bin";
// A run of more messages writes none: its figures are in summary.json, its page
// in report.html.
inline constexpr uint64_t kPathsMax = 300'000;

std::string WritePaths(const report::Run& run);

// Gives the arms of `run` their paths. InvalidArgument, naming `origin` and what
// is wrong, for anything that WritePaths() did not write for these arms.
absl::Status ReadPaths(std::string_view bytes, std::string_view origin, report::Run& run);

}  // namespace hopgap::formats
