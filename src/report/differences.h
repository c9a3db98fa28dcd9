#pragma once

#include <vector>

#include "report/summary.h"
#include "trace/path.h"

namespace hopgap::report {

// The paths of one arm that count, by slot; the run outlives them.
using Paths = std::vector<const trace::Path*>;

// Fills `differences`: every arm against its group's baseline, paired by slot,
// for each stage and both wholes. In a whole a message that one arm sent and
// never finished is +infinity; a stage compares finished messages only. None for
// spans without shared slots.
void SetDifferences(const std::vector<Paths>& paths, Summary& summary);

}  // namespace hopgap::report
