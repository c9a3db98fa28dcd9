#pragma once

#include <string>

#include "live/run.h"
#include "report/run.h"

namespace hopgap::cli {

// The live lines of a run, a line a group, on standard error: rewritten in
// place on a terminal, every few seconds elsewhere. One thread.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(bool quiet);
  void Show(const live::Progress& progress);
  // The lines of the end, with the verdicts.
  void Finish(const report::Run& run, const live::Progress& last);
  // A plain sentence, for what takes longer than a second.
  void Say(const std::string& text);

 private:
  void Lines(const std::string& text, int count);

  const bool quiet_;
  const bool terminal_;
  int shown_ = 0;    // lines to go back over
  int skipped_ = 0;  // reports since the last printed one
};

}  // namespace hopgap::cli
