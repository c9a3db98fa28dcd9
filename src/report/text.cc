#include "report/text.h"

#include <string>
#include <string_view>

#include "base/text.h"
#include "report/layout.h"
#include "report/sections.h"

namespace hopgap::report {
namespace {

// Arms that did everything need no list.
std::string CompletedText(const Summary& summary) {
  std::string behind;
  uint64_t planned = 0, completed = 0;
  for (const ArmSummary& arm : summary.arms) {
    planned += arm.run.planned;
    completed += arm.run.completed;
    if (arm.run.completed == arm.run.planned) continue;
    behind += StrCat(behind.empty() ? "" : ", ", arm.run.name, " ", arm.run.completed, " of ", arm.run.planned,
                     arm.run.sent == arm.run.planned ? "" : StrCat(" (sent ", arm.run.sent, ")"));
  }
  return StrCat(completed, " of ", Counted(planned, "message"), " completed", behind.empty() ? "" : ": " + behind);
}

// What is known, and what nobody can know, of spans alone.
std::string SpansOnlyText(const Summary& summary) {
  const SpansOnly& only = *summary.spans_only;
  std::string out = Wrap(
      StrCat("FROM SPANS ALONE · ", only.explained, " of ", Counted(only.traces, "trace"), " explained · ",
             Counted(only.spans, "span"), " of ", only.source, " · ", Fixed(ToMillis(summary.elapsed) / 1000, 1), " s"),
      kWidthMin, "", "  ");
  out += Wrap(StrCat("no plan comes with spans: there is no verdict, and what was lost or handled twice is not known",
                     only.due_times ? "" : "; without due times end to end begins at the publish call"),
              kWidthMin, "  ", "  ");
  for (const std::string& note : only.notes) out += Wrap(note, kWidthMin, "  ", "    ");
  return out;
}

std::string ResultText(const Summary& summary) {
  if (summary.spans_only) return SpansOnlyText(summary);
  uint64_t lost = 0, duplicates = 0;
  for (const ArmSummary& arm : summary.arms) {
    lost += arm.run.lost;
    duplicates += arm.run.duplicates;
  }
  std::string text =
      StrCat(summary.verdict.valid ? "VALID" : "INVALID", summary.configuration.simulated ? ", SIMULATED" : "",
             summary.ended_early ? ", ENDED EARLY" : "", " · ", CompletedText(summary), " · lost ", lost, " · twice ",
             duplicates, " · ", Fixed(ToMillis(summary.elapsed) / 1000, 1), " s");
  if (!summary.configuration.simulated) {
    text +=
        StrCat(" · own stall at most ", Length(summary.loop_stall_max), " · clock drift ", Length(summary.clock_drift));
  }
  std::string out = Wrap(text, kWidthMin, "", "  ");
  for (const std::string& reason : summary.verdict.reasons) out += Wrap(reason, kWidthMin, "  ✗ ", "    ");
  return out;
}

std::string Bytes(uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes < 10'000) return StrCat(bytes, " B");
  if (bytes < 1'000'000) return Fixed(size / 1e3, 0) + " kB";
  return Fixed(size / 1e6, 1) + " MB";
}

std::string SavedText(const Summary& summary) {
  if (summary.saved_to.empty()) return "";
  std::string text = summary.saved_to;
  for (size_t i = 0; i < summary.saved_files.size(); ++i) {
    const auto& [name, bytes] = summary.saved_files[i];
    text += StrCat(i == 0 ? ": " : ", ", name, " ", Bytes(bytes));
  }
  return Wrap(text, kWidthMin, "Saved ", "      ");
}

}  // namespace

std::string ShortName(const ArmRun& arm) {
  const std::string prefix = arm.group + ".";
  return arm.name.starts_with(prefix) ? arm.name.substr(prefix.size()) : arm.name;
}

const ArmSummary* FocusArm(const Summary& summary, std::string_view group) {
  const std::vector<const ArmSummary*> arms = summary.Group(group);
  for (const ArmSummary* arm : arms) {
    if (arm->run.kind == "eos" && arm->n > 0) return arm;
  }
  for (auto arm = arms.rbegin(); arm != arms.rend(); ++arm) {
    if ((*arm)->n > 0) return *arm;
  }
  return arms.empty() ? nullptr : arms.front();
}

double MeanOf(Duration total, uint64_t n) {
  return n == 0 ? 0 : static_cast<double>(total.count()) / static_cast<double>(n);
}

std::string RenderText(const Summary& summary, const TextOptions& options) {
  std::string out = ResultText(summary);
  const auto append = [&out](const std::string& section) {
    if (!section.empty()) out += "\n" + section;
  };
  if (!summary.arms.empty()) append(EndToEndText(summary));
  append(StagesText(summary) + NotesText(summary));
  if (options.per_hop) append(PerHopText(summary));
  append(WaterfallText(summary, options));
  append(WordsText(summary, options));
  append(NextText(summary));
  out += SavedText(summary);
  return out;
}

}  // namespace hopgap::report
