#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/layout.h"
#include "report/sections.h"

namespace hopgap::report {
namespace {

using trace::Stage;

constexpr size_t kLabel = 16, kColumn = 8;
constexpr size_t kPerHopColumn = 7;  // three hops and the origins side by side

// One column of an adding table, in nanoseconds per message.
struct Column {
  std::array<double, trace::kStages> stages{};
  double remainder = 0, whole = 0;
  double added = 0, waited = 0, machine = 0;
  std::array<bool, trace::kStages> missing{};  // no message has the stage
};

void SetMissing(const ArmSummary& arm, Column& out) {
  for (size_t i = 0; i < trace::kStages; ++i) {
    out.missing[i] = out.missing[i] || (arm.n > 0 && arm.not_available[i] == arm.n);
  }
}

Column MeansOf(const ArmSummary& arm) {
  Column out;
  SetMissing(arm, out);
  for (size_t i = 0; i < trace::kStages; ++i) {
    Duration total = arm.stages[i].total;
    if (static_cast<Stage>(i) == Stage::kWork) total -= arm.asked;
    out.stages[i] = MeanOf(total, arm.n);
  }
  out.remainder = MeanOf(arm.remainder, arm.n);
  const Duration whole = arm.handled - arm.asked;
  out.whole = MeanOf(whole, arm.n);
  out.added = MeanOf(arm.added(), arm.n);
  out.waited = MeanOf(arm.waited(), arm.n);
  out.machine = MeanOf(whole - arm.added() - arm.waited() - arm.remainder, arm.n);
  return out;
}

// Means over the pairs that both arms finished; integers until the division.
Column DifferenceOf(const Summary& summary, const ArmSummary& arm) {
  Column out;
  SetMissing(arm, out);
  SetMissing(*summary.Find(summary.Find(arm.run.name, "until_handled")->baseline), out);
  Duration whole{0}, stages{0}, added{0}, waited{0};
  const Difference& handled = *summary.Find(arm.run.name, "until_handled");
  whole = Duration{handled.pairs.mean_sum};
  const uint64_t n = handled.pairs.mean_n;
  for (size_t i = 0; i < trace::kStages; ++i) {
    const Difference& d = *summary.Find(arm.run.name, trace::StageKey(static_cast<Stage>(i)));
    out.stages[i] = MeanOf(Duration{d.pairs.mean_sum}, d.pairs.mean_n);
    if (i >= trace::kPathStages) continue;
    stages += Duration{d.pairs.mean_sum};
    added += d.added;
    waited += d.waited;
  }
  out.remainder = MeanOf(whole - stages, n);
  out.whole = MeanOf(whole, n);
  out.added = MeanOf(added, n);
  out.waited = MeanOf(waited, n);
  out.machine = MeanOf(stages - added - waited, n);
  return out;
}

enum class Origin { kAdded, kWaited, kMachine };

// The focus arm's stages by origin; the last entry of `stages` is the ack.
Column SplitOf(const ArmSummary& arm, Origin origin) {
  Column out;
  SetMissing(arm, out);
  Duration sum{0};
  for (size_t i = 0; i < trace::kStages; ++i) {
    const StageSummary& stage = arm.stages[i];
    Duration total = origin == Origin::kAdded    ? stage.added
                     : origin == Origin::kWaited ? stage.waited
                                                 : stage.machine();
    if (origin == Origin::kMachine && static_cast<Stage>(i) == Stage::kWork) total -= arm.asked;
    out.stages[i] = MeanOf(total, arm.n);
    if (i < trace::kPathStages) sum += total;
  }
  out.whole = MeanOf(sum, arm.n);
  return out;
}

// Enough decimals to see the machine's part where nothing large is added.
int DecimalsFor(const std::vector<const ArmSummary*>& arms) {
  for (const ArmSummary* arm : arms) {
    if (MeanOf(arm->handled - arm->asked, arm->n) >= 100e6) return 1;
  }
  return 2;
}

class AddingTable {
 public:
  // Without `lateness` the stage is unknown, and has no row.
  AddingTable(std::string work, int decimals, bool lateness)
      : work_(std::move(work)), decimals_(decimals), lateness_(lateness), table_(kLabel, kColumn, kWidthMin) {}

  void Add(std::string_view top, std::string_view bottom, const Column& column, uint64_t n, bool split) {
    table_.AddColumn(top, bottom);
    columns_.push_back(column);
    counts_.push_back(n);
    split_.push_back(split);
  }

  std::string Render() {
    Row("  n messages", [&](size_t i) { return split_[i] ? std::string() : StrCat(counts_[i]); });
    for (size_t s = 0; s < trace::kPathStages; ++s) {
      if (static_cast<Stage>(s) == Stage::kSendLateness && !lateness_) continue;
      Row("  " + StageLabel(s),
          [&](size_t i) { return columns_[i].missing[s] ? "n/a" : Show(columns_[i].stages[s], i); });
    }
    Row("  remainder", [&](size_t i) { return split_[i] ? "" : Show(columns_[i].remainder, i); });
    Row("  until handled", [&](size_t i) { return Show(columns_[i].whole, i); });
    Row("   of it added", [&](size_t i) { return split_[i] ? "" : Show(columns_[i].added, i); });
    Row("   waited", [&](size_t i) { return split_[i] ? "" : Show(columns_[i].waited, i); });
    Row("   machine", [&](size_t i) { return split_[i] ? "" : Show(columns_[i].machine, i); });
    constexpr auto kAck = static_cast<size_t>(Stage::kAck);
    Row("  ack, beside it",
        [&](size_t i) { return columns_[i].missing[kAck] ? "n/a" : Show(columns_[i].stages[kAck], i); });
    return table_.Render();
  }

 private:
  template <typename Cell>
  void Row(std::string_view label, Cell cell) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < columns_.size(); ++i) cells.push_back(cell(i));
    table_.AddRow(label, std::move(cells));
  }
  std::string StageLabel(size_t s) const {
    const auto stage = static_cast<Stage>(s);
    if (stage != Stage::kWork || work_.empty()) return std::string(trace::StageName(stage));
    return "work − " + work_;
  }
  // Exactly 0 is "0"; "0.0" is something that rounds to it.
  std::string Show(double nanoseconds, size_t i) const {
    if (counts_[i] == 0) return "–";
    return nanoseconds == 0 ? "0" : Fixed(nanoseconds / 1e6, decimals_);
  }

  std::string work_;  // what is taken off; empty: nothing
  int decimals_;
  bool lateness_;
  Table table_;
  std::vector<Column> columns_;
  std::vector<uint64_t> counts_;
  std::vector<bool> split_;
};

// A column head of seven: "eos-overlap" is known as "overlap".
std::string Head(const ArmSummary& arm) {
  if (Columns(arm.label) < kColumn) return arm.label;
  const std::string_view label = arm.label;
  return std::string(label.starts_with("eos-") ? label.substr(4) : label);
}

// Beside "work": the configured sum, or that every message has its own.
std::string TakenOff(const Summary& summary) {
  if (summary.configuration.work.drawn()) return "drawn";
  return summary.work == Duration{0} ? std::string() : Millis(static_cast<double>(summary.work.count()));
}

std::string GroupTable(const Summary& summary, const std::string& group) {
  const std::vector<const ArmSummary*> arms = summary.Group(group);
  const ArmSummary* baseline = summary.Baseline(group);
  AddingTable table(TakenOff(summary), DecimalsFor(arms), summary.due_times());
  for (const ArmSummary* arm : arms) {
    table.Add(Head(*arm), "mean", MeansOf(*arm), arm->n, false);
    const Difference* whole = summary.Find(arm->run.name, "until_handled");
    if (arm == baseline || whole == nullptr) continue;
    const uint64_t pairs = whole->pairs.mean_n;
    table.Add(Head(*arm), "− " + Head(*baseline), DifferenceOf(summary, *arm), pairs, false);
  }
  const ArmSummary& focus = *FocusArm(summary, group);
  table.Add(Head(focus) + ":", "added", SplitOf(focus, Origin::kAdded), focus.n, true);
  table.Add("", "waited", SplitOf(focus, Origin::kWaited), focus.n, true);
  table.Add("", "machine", SplitOf(focus, Origin::kMachine), focus.n, true);
  const Configuration& c = summary.configuration;
  return Wrap(StrCat("Where it went (", group, c.simulated ? ", SIMULATED" : "", "): sum of ",
                     Counted(static_cast<uint64_t>(c.hops), "hop"), ", mean ms a message"),
              kWidthMin, "", "  ") +
         table.Render();
}

}  // namespace

std::string StagesText(const Summary& summary) {
  std::string out;
  for (const std::string& group : summary.groups) {
    const std::vector<const ArmSummary*> arms = summary.Group(group);
    const bool any = std::any_of(arms.begin(), arms.end(), [](const ArmSummary* arm) { return arm->n > 0; });
    if (!any) continue;
    if (!out.empty()) out += "\n";
    out += GroupTable(summary, group);
  }
  return out;
}

std::string PerHopText(const Summary& summary) {
  std::string out;
  for (const ArmSummary& arm : summary.arms) {
    if (arm.n == 0) continue;
    if (!out.empty()) out += "\n";
    Table table(kLabel, kPerHopColumn, kWidthMin);
    for (size_t hop = 0; hop < arm.hops.size(); ++hop) {
      table.AddColumn(StrCat("hop ", hop + 1), "mean");
      table.AddColumn("", "p95");
    }
    for (std::string_view origin : {"added", "waited", "mach."}) table.AddColumn("all", origin);
    for (size_t s = 0; s < trace::kStages; ++s) {
      if (static_cast<Stage>(s) == Stage::kSendLateness && !summary.due_times()) continue;
      std::vector<std::string> cells;
      for (const auto& hop : arm.hops) {
        cells.push_back(Millis(MeanOf(hop[s].total, arm.n)));
        cells.push_back(Millis(static_cast<double>(hop[s].p95->value)));
      }
      const StageSummary& all = arm.stages[s];
      for (Duration total : {all.added, all.waited, all.machine()}) cells.push_back(Millis(MeanOf(total, arm.n)));
      table.AddRow(StrCat("  ", trace::StageName(static_cast<Stage>(s))), std::move(cells));
    }
    out += Wrap(StrCat("Per hop, ", arm.run.name, ", ms, work included, n = ", arm.n), kWidthMin, "", "  ");
    out += table.Render();
  }
  return out;
}

}  // namespace hopgap::report
