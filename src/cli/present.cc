#include "cli/present.h"

#include <csignal>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/signals.h"
#include "formats/summary_json.h"
#include "report/summary.h"
#include "report/text.h"

namespace hopgap::cli {
namespace {

void Print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void Print(const report::Summary& summary, const Presentation& presentation) {
  if (presentation.json) return Print(formats::SummaryJson(summary));
  Print(report::RenderText(
      summary, {.per_hop = presentation.per_hop, .width = report::kWidthMin, .waterfall_arm = presentation.waterfall}));
}

}  // namespace

int ExitCodeOf(const report::Run& run) {
  if (run.ended_early) return run.ended_early_why == SignalName(SIGTERM) ? kTerminated : kInterrupted;
  bool saturated = false, valid = true;
  for (const report::ArmRun& arm : run.arms) {
    saturated = saturated || arm.saturated_at.has_value();
    valid = valid && arm.verdict.valid;
  }
  return saturated ? kUnfinished : valid ? kOk : kInvalidRun;
}

int FinishRun(report::Run run, Folder& folder, const Presentation& presentation) {
  report::Summary summary = report::Summarize(run);
  if (folder.wanted()) {
    folder.Add("run.json", formats::WriteRunJson(run, ReadMachine()));
    folder.Add("summary.json", formats::SummaryJson(summary));
    absl::StatusOr<std::vector<std::pair<std::string, uint64_t>>> files = folder.Commit();
    if (!files.ok()) return Fail(kOutputUnwritable, MessageOf(files.status()));
    summary.saved_to = folder.path();
    summary.saved_files = *std::move(files);
  }
  Print(summary, presentation);
  return ExitCodeOf(run);
}

int PrintRun(const report::Run& run, const Presentation& presentation) {
  Print(report::Summarize(run), presentation);
  return ExitCodeOf(run);
}

}  // namespace hopgap::cli
