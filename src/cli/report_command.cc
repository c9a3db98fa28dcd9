#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/present.h"
#include "cli/run_files.h"
#include "cli/setup.h"
#include "cli/sweep.h"
#include "formats/report_html.h"
#include "report/page.h"
#include "report/paste.h"

namespace hopgap::cli {
namespace {

constexpr size_t kRunsMax = 20;  // in one page

struct ReportOptions {
  std::vector<std::string> folders, thresholds;
  std::string out, sweep;
  bool markdown = false, csv = false;
  bool document() const { return markdown || csv; }
};

// A run of a folder, judged by the thresholds that are given now, else by its own.
absl::StatusOr<RunFiles> Read(const std::string& folder, const std::vector<std::string>& thresholds) {
  absl::StatusOr<RunFiles> files = ReadRunFiles(folder);
  if (!files.ok() || thresholds.empty()) return files;
  std::vector<std::string> arms;
  for (const report::ArmRun& arm : files->run.arms) arms.push_back(arm.name);
  if (absl::Status status = CheckThresholds(thresholds, arms); !status.ok()) return status;
  files->run.configuration.thresholds = thresholds;
  return files;
}

// What is printed of a run.
std::string Words(const ReportOptions& options, const report::Summary& summary) {
  if (options.markdown) return report::RenderMarkdown(summary);
  return options.csv ? report::RenderCsv(summary) : RenderJudgements(summary);
}

// The map of --sweep, with the place of the first run on it.
absl::StatusOr<std::optional<formats::HtmlSweep>> ReadMap(const ReportOptions& options, const report::Run& run) {
  if (options.sweep.empty()) return std::nullopt;
  absl::StatusOr<KeptSweep> kept = ReadSweep(options.sweep);
  if (!kept.ok()) return kept.status();
  absl::StatusOr<report::SweepHere> here = HereOf(run, BaseName(options.folders.front()));
  if (!here.ok()) return here.status();
  return formats::HtmlSweep{.name = BaseName(options.sweep),
                            .plan = std::move(kept->plan),
                            .cells = std::move(kept->cells),
                            .here = *std::move(here),
                            .command_line = {}};
}

int ReportCommand(const ReportOptions& options) {
  if (options.folders.size() > kRunsMax) {
    return Fail(kBadConfiguration, StrCat(options.folders.size(), " run folders: one page holds up to ", kRunsMax));
  }
  if (options.folders.size() > 1 && options.out.empty() && !options.document()) {
    return Fail(kBadConfiguration, "several run folders: say with --out FILE where their page goes");
  }
  std::vector<formats::HtmlRun> runs;
  std::optional<formats::HtmlSweep> map;
  int code = kOk;
  for (const std::string& folder : options.folders) {
    absl::StatusOr<RunFiles> files = Read(folder, options.thresholds);
    if (!files.ok()) return Fail(kBadConfiguration, MessageOf(files.status()));
    if (runs.empty()) {
      absl::StatusOr<std::optional<formats::HtmlSweep>> read = ReadMap(options, files->run);
      if (!read.ok()) return Fail(kBadConfiguration, MessageOf(read.status()));
      map = *std::move(read);
    }
    report::Summary summary = report::Summarize(files->run);
    std::fputs(Words(options, summary).c_str(), stdout);
    // Whether a run was valid it said itself; here only thresholds are judged.
    if (const int own = ThresholdCode(summary); own == kThresholdFailed || code == kOk) code = own;
    report::Page page = report::MakePage(files->run, summary);
    runs.push_back({.name = BaseName(folder),
                    .summary = std::move(summary),
                    .page = std::move(page),
                    .machine = std::move(files->machine)});
  }
  if (options.document() && options.out.empty()) return code;
  const std::string out = options.out.empty() ? StrCat(options.folders[0], "/", kReportFile) : options.out;
  const std::string page = formats::ReportHtml(runs, std::nullopt, map);
  if (absl::Status status = WriteWhole(out, page); !status.ok()) return Fail(kOutputUnwritable, MessageOf(status));
  if (!options.document()) std::printf("%s  %zu bytes\n", out.c_str(), page.size());
  return code;
}

}  // namespace

void AddReport(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "write the page of run folders again, or judge them by thresholds");
  command->group("Explain");
  command->add_option("RUN_DIR", options->folders, "folders that `hopgap run` or `simulate` wrote")->required();
  command->add_option("--out", options->out, "the file to write (default: report.html of the one folder)");
  command->add_option("--sweep", options->sweep,
                      "put the map of this folder of `hopgap sweep` into the page, with the (first) run's place on it");
  command->add_option("--threshold", options->thresholds,
                      "a promise, judged on its interval, for example 'eos.until_handled.p95<50ms'; exit code\n"
                      "11 if broken, 12 if undecided (default: those of the run)");
  CLI::Option* markdown = command->add_flag(
      "--markdown", options->markdown, "print the answer and its tables as Markdown; then no page, unless --out asks");
  command->add_flag("--csv", options->csv, "print a line an arm and measure instead")->excludes(markdown);
  commands.push_back({command, [options] { return ReportCommand(*options); }, false});
}

}  // namespace hopgap::cli
