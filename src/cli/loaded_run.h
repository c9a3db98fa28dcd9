#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "report/run.h"

namespace hopgap::cli {

// A run with its paths, from a folder that hopgap wrote or from files of spans.
// InvalidArgument or NotFound, naming the file, if there is nothing to be read.
absl::StatusOr<report::Run> LoadRun(const std::vector<std::string>& paths);

// What to call it: the path, or the first of several.
std::string NameOfRun(const std::vector<std::string>& paths);

}  // namespace hopgap::cli
