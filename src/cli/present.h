#pragma once

#include "cli/folder.h"
#include "cli/options.h"
#include "report/run.h"

namespace hopgap::cli {

struct Presentation {
  bool json = false, per_hop = false;
  std::string waterfall;
};

// Writes run.json, summary.json and the ledger's folder, prints the result, and
// returns the exit code that it deserves.
int FinishRun(report::Run run, Folder& folder, const Presentation& presentation);

// Prints a result that is saved already (analyze).
int PrintRun(const report::Run& run, const Presentation& presentation);

// 130 and 143 before 7 before 2 before 0.
int ExitCodeOf(const report::Run& run);

}  // namespace hopgap::cli
