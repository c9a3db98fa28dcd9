#pragma once

#include "base/time.h"

namespace hopgap {
inline namespace base {

// The one place where the program reads the machine's clocks. Deciding rooms
// may not include it (the layer check names the rooms that may).
// Thread-safe.
Instant SteadyNow();
WallTime WallNow();

// Both clocks, read back to back.
ClockAnchor ReadAnchor();

}  // namespace base
}  // namespace hopgap
