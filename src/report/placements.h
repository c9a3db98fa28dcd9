#pragma once

#include <string>
#include <vector>

#include "report/differences.h"
#include "report/summary.h"

namespace hopgap::report {

// Fills `placements` (or says why not): where the figures of the published
// experiment fall in the replay's arms. Two were held out of the fit, two were
// used for it. `paths`: the counted ones of each arm of `summary`.
void SetPlacements(const std::vector<Paths>& paths, Summary& summary);

// What a held-out figure's place means: `below` of `n` messages are at or below
// it. Requires: n > 0.
std::string ReadPlace(uint64_t below, uint64_t n);

}  // namespace hopgap::report
