#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/present.h"
#include "formats/trace_file.h"
#include "report/run.h"

namespace hopgap::cli {

// What `analyze` does with spans that no run of ours wrote.
struct ForeignOptions {
  std::vector<std::string> paths;                   // files, folders, "-"
  std::string name;                                 // of all of them, for people
  std::optional<report::SpansOnly> collected = {};  // what a folder's run.json knows beside its spans
  Presentation presentation = {};
  std::vector<std::string> thresholds = {};
  bool csv = false, join_message_ids = false;
  std::string trace = {}, out = {};
  std::optional<int> streams = {};
  std::string scratch = {};  // folder for spans that do not fit into memory; empty: the system's
  std::optional<int> spans_memory_mib = {};
};

// Reads, explains and prints; the exit code.
int AnalyzeForeign(const ForeignOptions& options);

}  // namespace hopgap::cli
