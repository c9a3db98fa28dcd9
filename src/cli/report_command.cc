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
#include "formats/report_html.h"
#include "report/page.h"

namespace hopgap::cli {
namespace {

constexpr size_t kRunsMax = 20;  // in one page

struct ReportOptions {
  std::vector<std::string> folders, thresholds;
  std::string out;
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

int ReportCommand(const ReportOptions& options) {
  if (options.folders.size() > kRunsMax) {
    return Fail(kBadConfiguration, StrCat(options.folders.size(), " run folders: one page holds up to ", kRunsMax));
  }
  if (options.folders.size() > 1 && options.out.empty()) {
    return Fail(kBadConfiguration, "several run folders: say with --out FILE where their page goes");
  }
  std::vector<formats::HtmlRun> runs;
  int code = kOk;
  for (const std::string& folder : options.folders) {
    absl::StatusOr<RunFiles> files = Read(folder, options.thresholds);
    if (!files.ok()) return Fail(kBadConfiguration, MessageOf(files.status()));
    report::Summary summary = report::Summarize(files->run);
    std::fputs(RenderJudgements(summary).c_str(), stdout);
    // Whether a run was valid it said itself; here only thresholds are judged.
    if (const int own = ThresholdCode(summary); own == kThresholdFailed || code == kOk) code = own;
    report::Page page = report::MakePage(files->run, summary);
    runs.push_back({.name = BaseName(folder),
                    .summary = std::move(summary),
                    .page = std::move(page),
                    .machine = std::move(files->machine)});
  }
  const std::string out = options.out.empty() ? StrCat(options.folders[0], "/", kReportFile) : options.out;
  const std::string page = formats::ReportHtml(runs, std::nullopt);
  if (absl::Status status = WriteWhole(out, page); !status.ok()) return Fail(kOutputUnwritable, MessageOf(status));
  std::printf("%s  %zu bytes\n", out.c_str(), page.size());
  return code;
}

}  // namespace

void AddReport(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "write the page of run folders again, or judge them by thresholds");
  command->group("Explain");
  command->add_option("RUN_DIR", options->folders, "folders that `hopgap run` or `simulate` wrote")->required();
  command->add_option("--out", options->out, "the file to write (default: report.html of the one folder)");
  command->add_option("--threshold", options->thresholds,
                      "a promise, judged on its interval, for example 'eos.until_handled.p95<50ms'; exit code\n"
                      "11 if broken, 12 if undecided (default: those of the run)");
  commands.push_back({command, [options] { return ReportCommand(*options); }, false});
}

}  // namespace hopgap::cli
