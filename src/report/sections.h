#pragma once

#include <string>
#include <string_view>
#include <vector>

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

// What the run says in words, a paragraph each.
std::vector<std::string> Paragraphs(const Summary& summary);
// "Here", "In the replay".
std::string WhereOf(std::string_view group);
// What a stage's part of a difference is made of, the largest origin named.
std::string OriginOf(const Difference& d, trace::Stage stage, bool spans_only);
// Why the stage is long in this arm, where the parts say so: ", the handler waiting for its lease", or empty.
std::string CauseOf(const ArmSummary& arm, trace::Stage stage);

// "eos" for "replay.eos".
std::string ShortName(const ArmRun& arm);
// The arm of a group that is taken apart: its first that waits for its lease,
// else its last. nullptr: no such group.
const ArmSummary* FocusArm(const Summary& summary, std::string_view group);
// Mean over n as nanoseconds; 0 for n == 0.
double MeanOf(Duration total, uint64_t n);

}  // namespace hopgap::report
