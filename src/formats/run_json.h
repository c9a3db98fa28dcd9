#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/run.h"

namespace hopgap::formats {

// Where a run was made: read once, never used in a figure.
struct Machine {
  std::string system;  // "Linux 6.1.0 x86_64"
  std::string cpu;
  int cpus = 0;
  uint64_t memory_bytes = 0;
  std::string started;  // wall clock, RFC 3339
  std::vector<std::string> command_line;
};

// run.json: what was asked for, with which program on which machine, and what
// the run knows beside its spans (counts, verdicts). Together with the spans it
// is the whole result: `analyze` needs nothing else.
std::string WriteRunJson(const report::Run& run, const Machine& machine);

// The run without its paths; a sample if the folder holds the spans of some messages
// only, which ReadPaths() mends. InvalidArgument, naming the field, for anything
// that WriteRunJson() did not write; a newer schema is refused by its number.
absl::StatusOr<report::Run> ReadRunJson(std::string_view text, std::string_view origin);

// The machine that a run.json names. InvalidArgument likewise.
absl::StatusOr<Machine> ReadRunMachine(std::string_view text, std::string_view origin);

}  // namespace hopgap::formats
