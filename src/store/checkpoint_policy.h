#pragma once

#include <optional>

#include "broker/journal.h"
#include "store/log.h"

namespace hopgap::store {

// Whether a checkpoint is due, and which segments it should empty.
//
// It is when the sealed segments take more than twice what is live of them and the
// newest checkpoint, when the tail that a replay has to read grows long, or when
// the disk is full and more can be won than a checkpoint takes. Segments of which
// less than a quarter is live are emptied, and more of them, sparsest first, until
// the rest is within that limit; on a full disk only as many as there is room to copy.
std::optional<broker::CheckpointPlan> PlanCheckpoint(const Log::State& state, bool disk_full,
                                                     const broker::LiveBytes& live);

}  // namespace hopgap::store
