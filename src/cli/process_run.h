#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "live/processes.h"

namespace hopgap::cli {

// live::RunProcesses() with our own program, and a folder for what the processes
// write, which goes away: after a failure it stays, and the message names it.
absl::StatusOr<live::Result> RunAsProcesses(
    live::Options run, const std::function<void(uint64_t slot, std::vector<trace::Span>&)>& message_spans);

}  // namespace hopgap::cli
