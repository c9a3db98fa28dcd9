#pragma once

#include <vector>

#include "cli/folder.h"
#include "cli/setup.h"
#include "lab/verdict.h"
#include "report/run.h"

namespace hopgap::cli {

// A run that has not begun: what its header says.
report::Run PlannedRun(const Setup& setup, const SpanSample& sample);

// The arms of a run that ended, with their verdicts and paths (moved out).
std::vector<report::ArmRun> ArmRuns(lab::Outcome& outcome);

}  // namespace hopgap::cli
