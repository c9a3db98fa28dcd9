#pragma once

#include <vector>

#include "report/arm_paths.h"
#include "report/summary.h"

namespace hopgap::report {

// Fills `differences`: every arm against its group's baseline, paired by slot,
// for each stage and both wholes. In a whole a message that one arm sent and
// never finished is +infinity; a stage compares finished messages only. None for
// spans without shared slots.
void SetDifferences(const std::vector<Paths>& paths, Summary& summary);

}  // namespace hopgap::report
