#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/run_files.h"
#include "formats/report_html.h"
#include "report/compare.h"
#include "report/page.h"
#include "report/paste.h"

namespace hopgap::cli {
namespace {

struct CompareOptions {
  std::string first, second, report;
  bool json = false, markdown = false, csv = false;
};

std::string ComparisonText(const report::RunComparison& comparison, const CompareOptions& options) {
  if (options.json) return formats::ComparisonJson(comparison);
  if (options.markdown) return report::RenderMarkdown(comparison);
  return options.csv ? report::RenderCsv(comparison) : report::RenderComparison(comparison);
}

formats::HtmlRun ToHtml(const std::string& folder, const RunFiles& files) {
  report::Summary summary = report::Summarize(files.run);
  report::Page page = report::MakePage(files.run, summary);
  return {.name = BaseName(folder), .summary = std::move(summary), .page = std::move(page), .machine = files.machine};
}

int CompareCommand(const CompareOptions& options) {
  absl::StatusOr<RunFiles> first = ReadRunFiles(options.first);
  if (!first.ok()) return Fail(kBadConfiguration, MessageOf(first.status()));
  absl::StatusOr<RunFiles> second = ReadRunFiles(options.second);
  if (!second.ok()) return Fail(kBadConfiguration, MessageOf(second.status()));
  std::string one = BaseName(options.first), two = BaseName(options.second);
  if (one == two) {
    one = options.first;
    two = options.second;
  }
  const report::RunComparison comparison = report::CompareRuns(first->run, one, second->run, two);
  if (comparison.arms.empty()) {
    return Fail(kBadConfiguration, "the runs have no arm of the same name: there is nothing to compare");
  }
  const std::string text = ComparisonText(comparison, options);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (options.report.empty()) return kOk;
  std::vector<formats::HtmlRun> runs;
  runs.push_back(ToHtml(options.first, *first));
  runs.push_back(ToHtml(options.second, *second));
  runs[0].name = one;
  runs[1].name = two;
  if (absl::Status status = WriteWhole(options.report, formats::ReportHtml(runs, comparison)); !status.ok()) {
    return Fail(kOutputUnwritable, MessageOf(status));
  }
  return kOk;
}

}  // namespace

void AddCompare(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "two run folders, arm by arm: before and after");
  command->group("Explain");
  command->add_option("FIRST", options->first, "a folder that `hopgap run` or `simulate` wrote")->required();
  command->add_option("SECOND", options->second, "another one, which is compared with it")->required();
  CLI::Option* json = command->add_flag("--json", options->json, "print one JSON document (docs/json.md)");
  CLI::Option* markdown =
      command->add_flag("--markdown", options->markdown, "print the answer and its tables as Markdown, to paste")
          ->excludes(json);
  command->add_flag("--csv", options->csv, "print a line an arm and measure")->excludes(json)->excludes(markdown);
  command->add_option("--report", options->report, "write a page of the comparison and both runs here");
  commands.push_back({command, [options] { return CompareCommand(*options); }, false});
}

}  // namespace hopgap::cli
