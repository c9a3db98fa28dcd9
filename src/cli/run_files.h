#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "formats/run_json.h"
#include "report/run.h"
#include "report/summary.h"

namespace hopgap::cli {

inline constexpr char kReportFile[] = "report.html";

// What a run folder holds, whole: the run with its paths.
struct RunFiles {
  report::Run run;
  formats::Machine machine;
};
// InvalidArgument or NotFound says what is missing and which command helps.
absl::StatusOr<RunFiles> ReadRunFiles(const std::string& folder);

absl::StatusOr<std::string> ReadWhole(const std::string& path);
// Writes beside `path` and renames, so that nobody reads half a file.
absl::Status WriteWhole(const std::string& path, std::string_view text);

// "x" of "runs/x" and "runs/x/".
std::string BaseName(const std::string& path);
uint64_t MessagesOf(const report::Run& run);
// A line each; empty without thresholds.
std::string RenderJudgements(const report::Summary& summary);

}  // namespace hopgap::cli
