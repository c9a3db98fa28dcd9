#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "report/text.h"

namespace hopgap::cli {
namespace {

constexpr int kEveryNth = 5;  // reports (seconds) between lines when there is no terminal

report::Progress ForReport(const live::GroupProgress& group, Duration elapsed) {
  report::Progress progress;
  progress.group = group.group;
  for (const live::GroupProgress::Arm& arm : group.arms) {
    const size_t dot = arm.name.find('.');
    const bool grouped = dot != std::string::npos && arm.name.substr(0, dot) == group.group;
    progress.arms.push_back({grouped ? arm.name.substr(dot + 1) : arm.name, group.planned, arm.sent, arm.done});
    progress.duplicates += arm.twice;
  }
  progress.late_p99 = group.late_p99;
  progress.elapsed = elapsed;
  return progress;
}

}  // namespace

ProgressPrinter::ProgressPrinter(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressPrinter::Lines(const std::string& text, int count) {
  if (terminal_ && shown_ > 0) std::fprintf(stderr, "\x1b[%dA\x1b[J", shown_);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  shown_ = count;
}

void ProgressPrinter::Show(const live::Progress& progress) {
  if (quiet_) return;
  if (!terminal_ && skipped_++ % kEveryNth != 0) return;
  std::string text;
  for (const live::GroupProgress& group : progress.groups) {
    text += report::RenderProgressLine(ForReport(group, progress.elapsed), report::kWidthMin) + "\n";
  }
  Lines(text, static_cast<int>(progress.groups.size()));
}

void ProgressPrinter::Finish(const report::Run& run, const live::Progress& last) {
  if (quiet_) return;
  std::string text;
  for (const live::GroupProgress& group : last.groups) {
    report::Progress progress = ForReport(group, run.elapsed);
    progress.ended = true;
    for (const report::ArmRun& arm : run.arms) {
      if (arm.group != group.group) continue;
      progress.valid = progress.valid && arm.verdict.valid;
      progress.lost += arm.lost;
    }
    text += report::RenderProgressLine(progress, report::kWidthMin) + "\n";
  }
  Lines(text, static_cast<int>(last.groups.size()));
}

void ProgressPrinter::Say(const std::string& text) {
  if (quiet_) return;
  std::fprintf(stderr, "  %s\n", text.c_str());
  shown_ = 0;
}

}  // namespace hopgap::cli
