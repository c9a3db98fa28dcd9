#pragma once

#include "cli/folder.h"
#include "cli/options.h"
#include "report/run.h"
#include "report/summary.h"

namespace hopgap::cli {

struct Presentation {
  bool json = false, markdown = false, csv = false, per_hop = false;
  std::string waterfall;
  std::string report;  // where report.html goes too; empty: nowhere
};

Presentation PresentationOf(const RunOptions& options);

// Writes run.json, summary.json, paths.bin, report.html and the ledger's folder,
// prints the result, and returns the exit code that it deserves.
int FinishRun(report::Run run, Folder& folder, const Presentation& presentation);

// Prints a result that is saved already (analyze); `name` is its folder or file.
int PrintRun(const report::Run& run, const std::string& name, const Presentation& presentation);

// report.html of one run.
std::string PageOf(const std::string& name, const report::Run& run, const report::Summary& summary,
                   const std::optional<formats::Machine>& machine);
// Writes it where --report asks for it; nothing otherwise.
absl::Status WriteReport(const Presentation& presentation, const std::string& page);

// 11 before 12 before 0.
int ThresholdCode(const report::Summary& summary);

// 130 and 143 before 7 before 2 before 11 before 12 before 0.
int ExitCodeOf(const report::Run& run, const report::Summary& summary);

}  // namespace hopgap::cli
