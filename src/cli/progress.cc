#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "report/limits.h"
#include "report/text.h"

namespace hopgap::cli {
namespace {

constexpr int kWidthAssumed = 80;
constexpr uint64_t kUnderWayFrom = 3;  // fewer messages are no backlog

// As wide as the terminal is now.
int TerminalWidth() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kWidthAssumed;
}

bool IsTerminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

// no-color.org: set and not empty.
bool MayColour() {
  const char* no = std::getenv("NO_COLOR");
  return no == nullptr || *no == '\0';
}

report::Progress ForReport(const live::GroupProgress& group, Duration elapsed) {
  report::Progress progress;
  progress.group = group.group;
  for (const live::GroupProgress::Arm& arm : group.arms) {
    const size_t dot = arm.name.find('.');
    const bool grouped = dot != std::string::npos && arm.name.substr(0, dot) == group.group;
    progress.arms.push_back({.label = grouped ? arm.name.substr(dot + 1) : arm.name,
                             .planned = group.planned,
                             .sent = arm.sent,
                             .done = arm.done,
                             .recent_n = arm.recent_n,
                             .recent_p50 = arm.recent_p50,
                             .recent_p99 = arm.recent_p99});
    progress.duplicates += arm.twice;
  }
  progress.late_p99 = group.late_p99;
  progress.elapsed = elapsed;
  return progress;
}

}  // namespace

ProgressPrinter::ProgressPrinter(bool quiet)
    : quiet_(quiet), terminal_(IsTerminal()), colour_(terminal_ && MayColour()) {}

void ProgressPrinter::Lines(const std::string& text, int count) {
  if (terminal_ && shown_ > 0) std::fprintf(stderr, "\x1b[%dA\x1b[J", shown_);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  shown_ = count;
}

void ProgressPrinter::Follow(const live::GroupProgress& group, report::Progress& shown,
                             std::vector<std::string>& warnings) {
  for (size_t i = 0; i < group.arms.size(); ++i) {
    const live::GroupProgress::Arm& arm = group.arms[i];
    std::deque<Seen>& seen = seen_[arm.name];
    seen.push_back({shown.elapsed, arm.done, arm.sent - std::min(arm.sent, arm.done)});
    if (seen.size() > kSeenMax) seen.pop_front();
    const double seconds = ToMillis(seen.back().elapsed - seen.front().elapsed) / 1000;
    if (seconds > 0) {
      shown.arms[i].done_per_second = static_cast<double>(seen.back().done - seen.front().done) / seconds;
    }
    const bool grows = std::adjacent_find(seen.begin(), seen.end(), [](const Seen& one, const Seen& next) {
                         return next.under_way <= one.under_way;
                       }) == seen.end();
    if (seen.size() == kSeenMax && grows && seen.back().under_way > kUnderWayFrom) {
      warnings.push_back(
          StrCat(arm.name, " falls behind: ", seen.back().under_way, " messages under way, and more each second"));
    }
    if (arm.twice > 0) warnings.push_back(StrCat(arm.name, ": ", arm.twice, " messages were handled twice"));
  }
  if (shown.late_p99 > report::kLateFrom) {
    warnings.push_back(
        StrCat(group.group, ": messages are sent late, which makes a run invalid: is the machine busy?"));
  }
}

void ProgressPrinter::Show(const live::Progress& progress) {
  if (quiet_) return;
  std::vector<report::Progress> groups;
  std::vector<std::string> warnings;
  for (const live::GroupProgress& group : progress.groups) {
    groups.push_back(ForReport(group, progress.elapsed));
    Follow(group, groups.back(), warnings);
  }
  if (!terminal_) return Lines(report::RenderProgressBrief(groups, report::kWidthMin) + "\n", 1);
  const report::LiveLines lines = report::RenderLive(groups, warnings, TerminalWidth(), colour_);
  Lines(lines.text, lines.lines);
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
