#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/layout.h"
#include "report/text.h"

namespace hopgap::report {
namespace {

constexpr std::string_view kBold = "\x1b[1m", kYellow = "\x1b[33m", kPlain = "\x1b[0m";
// A p99 of fewer messages is their largest value.
constexpr uint64_t kRecentForP99 = 100;

std::string SecondsText(Duration elapsed) { return StrCat(Fixed(ToMillis(elapsed) / 1000, 1), " s"); }

// As many of the parts as fit.
std::string Fitting(const std::vector<std::string>& parts, size_t width) {
  std::string line;
  for (const std::string& part : parts) {
    if (Columns(line) + Columns(part) > width) break;
    line += part;
  }
  return line.empty() ? Cut(parts.front(), width) : line;
}

std::string ArmLine(const Progress::Arm& arm, size_t width) {
  std::vector<std::string> parts = {
      StrCat("    ", PadRight(arm.label, 13), PadLeft(StrCat(arm.done, "/", arm.planned), 11), " done"),
      PadLeft(StrCat(Fixed(arm.done_per_second, 1), "/s"), 9)};
  if (arm.recent_n > 0) {
    parts.push_back(StrCat("  p50 ", PadLeft(Length(arm.recent_p50), 8)));
    parts.push_back(StrCat(arm.recent_n < kRecentForP99 ? "  max " : "  p99 ", PadLeft(Length(arm.recent_p99), 8)));
    parts.push_back(StrCat(" of ", arm.recent_n));
  }
  return Fitting(parts, width);
}

}  // namespace

std::string RenderProgressBrief(const std::vector<Progress>& groups, int width) {
  const auto limit = static_cast<size_t>(std::max(width, 1));
  std::vector<std::string> parts;
  Duration elapsed{0}, late{0};
  for (const Progress& group : groups) {
    uint64_t planned = 0, sent = 0, done = 0;
    std::string medians;
    for (const Progress::Arm& arm : group.arms) {
      planned += arm.planned;
      sent += arm.sent;
      done += arm.done;
      if (arm.recent_n > 0)
        medians += StrCat(medians.empty() ? "" : "/", Millis(static_cast<double>(arm.recent_p50.count())));
    }
    elapsed = std::max(elapsed, group.elapsed);
    late = std::max(late, group.late_p99);
    std::string text = StrCat("  ", group.group, " ", sent, "/", planned, " sent ", done, " done");
    if (!medians.empty()) text += StrCat(" p50 ", medians, " ms");
    parts.push_back(std::move(text));
  }
  parts.insert(parts.begin(), "  " + SecondsText(elapsed));
  parts.push_back(StrCat("  late p99 ", Length(late)));
  return Fitting(parts, limit);
}

LiveLines RenderLive(const std::vector<Progress>& groups, const std::vector<std::string>& warnings, int width,
                     bool colour) {
  const auto limit = static_cast<size_t>(std::max(width, 1));
  LiveLines out;
  const auto add = [&](std::string_view line, std::string_view paint) {
    if (colour && !paint.empty()) {
      out.text += StrCat(paint, line, kPlain, "\n");
    } else {
      out.text += StrCat(line, "\n");
    }
    ++out.lines;
  };
  for (const Progress& group : groups) {
    uint64_t planned = 0, sent = 0;
    for (const Progress::Arm& arm : group.arms) {
      planned += arm.planned;
      sent += arm.sent;
    }
    add(Fitting({StrCat("  ", PadRight(group.group, 9)), PadLeft(SecondsText(group.elapsed), 9),
                 StrCat("  sent ", sent, "/", planned), StrCat("  late p99 ", Length(group.late_p99)),
                 StrCat("  twice ", group.duplicates)},
                limit),
        kBold);
    for (const Progress::Arm& arm : group.arms) add(ArmLine(arm, limit), "");
  }
  for (const std::string& warning : warnings) add(Cut("  ! " + warning, limit), kYellow);
  return out;
}

}  // namespace hopgap::report
