#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "report/run.h"

namespace hopgap::cli {

// A run with its paths, from a folder that hopgap wrote or from files of spans.
// InvalidArgument or NotFound, naming the file, if there is nothing to be read.
absl::StatusOr<report::Run> LoadRun(const std::vector<std::string>& paths);

// The run that `folder`'s run.json tells of, without its paths. InvalidArgument
// or NotFound, naming the file.
absl::StatusOr<report::Run> ReadPlannedRun(const std::string& folder);
// Adds the paths that `folder`'s spans give to the run's arms. Answers whether
// they are all there; what is not is said on standard error.
absl::StatusOr<bool> AddPathsOf(const std::string& folder, report::Run& run);

// What to call it: the path, or the first of several.
std::string NameOfRun(const std::vector<std::string>& paths);

}  // namespace hopgap::cli
