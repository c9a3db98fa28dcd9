#include "cli/present.h"

#include <csignal>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/run_files.h"
#include "cli/signals.h"
#include "formats/paths_file.h"
#include "formats/report_html.h"
#include "formats/summary_json.h"
#include "report/page.h"
#include "report/paste.h"
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
  if (presentation.markdown) return Print(report::RenderMarkdown(summary));
  if (presentation.csv) return Print(report::RenderCsv(summary));
  Print(report::RenderText(
      summary, {.per_hop = presentation.per_hop, .width = report::kWidthMin, .waterfall_arm = presentation.waterfall}));
  Print(RenderJudgements(summary));
}

}  // namespace

Presentation PresentationOf(const RunOptions& options) {
  return {.json = options.json,
          .markdown = options.markdown,
          .csv = options.csv,
          .per_hop = options.per_hop,
          .waterfall = options.waterfall,
          .report = options.report};
}

std::string PageOf(const std::string& name, const report::Run& run, const report::Summary& summary,
                   const std::optional<formats::Machine>& machine) {
  return formats::ReportHtml(
      {{.name = name, .summary = summary, .page = report::MakePage(run, summary), .machine = machine}}, std::nullopt);
}

absl::Status WriteReport(const Presentation& presentation, const std::string& page) {
  return presentation.report.empty() ? absl::OkStatus() : WriteWhole(presentation.report, page);
}

int ExitCodeOf(const report::Run& run, const report::Summary& summary) {
  // What else ended it early is the verdict's matter, and the caller's if it knows a code for it.
  if (run.ended_early && run.ended_early_why == SignalName(SIGTERM)) return kTerminated;
  if (run.ended_early && run.ended_early_why == SignalName(SIGINT)) return kInterrupted;
  bool saturated = false, valid = true;
  for (const report::ArmRun& arm : run.arms) {
    saturated = saturated || arm.saturated_at.has_value();
    valid = valid && arm.verdict.valid;
  }
  if (saturated || !valid) return saturated ? kUnfinished : kInvalidRun;
  return ThresholdCode(summary);
}

int ThresholdCode(const report::Summary& summary) {
  bool failed = false, open = false;
  for (const report::Judgement& j : summary.judgements) {
    failed = failed || j.outcome == report::Judgement::Outcome::kFail;
    open = open || j.outcome == report::Judgement::Outcome::kInconclusive;
  }
  return failed ? kThresholdFailed : open ? kThresholdOpen : kOk;
}

int FinishRun(report::Run run, Folder& folder, const Presentation& presentation) {
  report::Summary summary = report::Summarize(run);
  const formats::Machine machine = ReadMachine();
  std::string page;
  if (folder.wanted() || !presentation.report.empty()) {
    page = PageOf(folder.wanted() ? BaseName(folder.path()) : summary.configuration.command, run, summary, machine);
  }
  if (folder.wanted()) {
    folder.Add("run.json", formats::WriteRunJson(run, machine));
    folder.Add("summary.json", formats::SummaryJson(summary));
    folder.Add(kReportFile, page);
    if (MessagesOf(run) <= formats::kPathsMax) folder.Add(formats::kPathsFile, formats::WritePaths(run));
    absl::StatusOr<std::vector<std::pair<std::string, uint64_t>>> files = folder.Commit();
    if (!files.ok()) return Fail(kOutputUnwritable, MessageOf(files.status()));
    summary.saved_to = folder.path();
    summary.saved_files = *std::move(files);
  }
  Print(summary, presentation);
  if (absl::Status status = WriteReport(presentation, page); !status.ok()) {
    return Fail(kOutputUnwritable,
                StrCat("--report ", MessageOf(status),
                       folder.wanted() ? StrCat("; the run folder is whole: ", folder.path()) : std::string()));
  }
  return ExitCodeOf(run, summary);
}

int PrintRun(const report::Run& run, const std::string& name, const Presentation& presentation) {
  const report::Summary summary = report::Summarize(run);
  Print(summary, presentation);
  if (!presentation.report.empty()) {
    const std::string page = PageOf(BaseName(name), run, summary, std::nullopt);
    if (absl::Status status = WriteReport(presentation, page); !status.ok()) {
      return Fail(kOutputUnwritable, MessageOf(status));
    }
  }
  return ExitCodeOf(run, summary);
}

}  // namespace hopgap::cli
