#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "live/run.h"
#include "report/run.h"
#include "report/text.h"

namespace hopgap::cli {

// The live view of a run, on standard error: a line an arm, rewritten in place,
// on a terminal (in colour unless NO_COLOR is set); elsewhere a line a report.
// Called on the thread that waits for the run, which measures nothing.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(bool quiet);
  void Show(const live::Progress& progress);
  // The lines of the end, with the verdicts.
  void Finish(const report::Run& run, const live::Progress& last);
  // A plain sentence, for what takes longer than a second.
  void Say(const std::string& text);

 private:
  struct Seen {
    Duration elapsed{0};
    uint64_t done = 0, under_way = 0;
  };
  static constexpr size_t kSeenMax = 6;  // reports: what "of late" means

  void Lines(const std::string& text, int count);
  // What an arm did in the last reports, and whether it falls behind.
  void Follow(const live::GroupProgress& group, report::Progress& shown, std::vector<std::string>& warnings);

  const bool quiet_;
  const bool terminal_, colour_;
  int shown_ = 0;                                 // lines to go back over
  std::map<std::string, std::deque<Seen>> seen_;  // by arm
};

}  // namespace hopgap::cli
