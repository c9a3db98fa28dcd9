#pragma once

#include <cstdint>
#include <string>

#include "cli/options.h"

namespace hopgap::cli {

// Each prints its results and returns the process's exit code.
int RunCommand(const RunOptions& options);
int SimulateCommand(const RunOptions& options);

struct AnalyzeOptions {
  std::string folder;
  bool json = false, per_hop = false;
  std::string waterfall;
};
int AnalyzeCommand(const AnalyzeOptions& options);

struct ServeOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8085;
  std::string profile = "none";
  bool gated = false;
  uint64_t seed = kBuiltinSeed;
};
int ServeCommand(const ServeOptions& options);

// "hopgap: TEXT" on standard error; returns `code`.
int Fail(int code, std::string_view text);
// The exit code of a status from set-up.
int CodeOf(const absl::Status& status);

}  // namespace hopgap::cli
