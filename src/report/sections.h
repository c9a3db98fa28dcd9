#pragma once

#include <string>

#include "report/summary.h"
#include "report/text.h"

namespace hopgap::report {

// The parts of RenderText(), each a block of lines (empty: nothing to say).
// Private to this room.

std::string EndToEndText(const Summary& summary);
std::string StagesText(const Summary& summary);
std::string NotesText(const Summary& summary);
std::string PerHopText(const Summary& summary);
std::string WaterfallText(const Summary& summary, const TextOptions& options);
std::string WordsText(const Summary& summary, const TextOptions& options);
std::string NextText(const Summary& summary);

// "eos" for "replay.eos".
std::string ShortName(const ArmRun& arm);
// The arm of a group that is taken apart: its first that waits for its lease,
// else its last. nullptr: no such group.
const ArmSummary* FocusArm(const Summary& summary, std::string_view group);
// Mean over n as nanoseconds; 0 for n == 0.
double MeanOf(Duration total, uint64_t n);

}  // namespace hopgap::report
