#include <absl/strings/str_format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "report/layout.h"
#include "report/sweep.h"

namespace hopgap::report {
namespace {

constexpr size_t kGridFigure = 12;

bool AwaitsLeases(const SweepCell& cell) { return cell.policy != "-"; }

const SweepCell* GridStandard(std::span<const SweepCell> cells, const SweepCell& cell) {
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const SweepCell& other) {
    return other.arm == "std" && other.rate_per_second == cell.rate_per_second && other.streams == cell.streams &&
           other.client == cell.client;
  });
  return found == cells.end() ? nullptr : &*found;
}

// What it adds a hop, in ms, or what it served instead.
std::string GridFigure(const SweepPlan& plan, std::span<const SweepCell> cells, const SweepCell& cell) {
  if (cell.saturated_at) return absl::StrFormat("sat %.3g/s", *cell.saturated_at);
  const SweepCell* standard = GridStandard(cells, cell);
  if (standard == nullptr || standard->saturated_at || !standard->p50 || !cell.p50) return "no std";
  return SignedMillis(static_cast<double>(cell.p50->value - standard->p50->value) / plan.hops);
}

std::string GridRow(const SweepCell& cell) {
  return absl::StrFormat("%7.6g%4d ", cell.rate_per_second, cell.streams) + PadRight(cell.arm, 12) +
         PadRight(cell.client, 10) + PadRight(cell.policy, 6);
}

std::string GridColumn(const SweepCell& cell) {
  return cell.modack ? absl::StrFormat("%g ms", ToMillis(*cell.modack)) : std::string("profile's");
}

std::vector<std::string> GridColumns(std::span<const SweepCell> cells) {
  std::vector<std::string> columns;
  for (const SweepCell& cell : cells) {
    const std::string name = GridColumn(cell);
    if (AwaitsLeases(cell) && std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  }
  return columns;
}

}  // namespace

std::string RenderSweepGrid(const SweepPlan& plan, std::span<const SweepCell> cells) {
  const std::vector<std::string> columns = GridColumns(cells);
  std::vector<std::string> rows;  // in order of first mention
  std::map<std::string, std::vector<std::string>> figures;
  for (const SweepCell& cell : cells) {
    if (cell.arm == "std") continue;
    const std::string row = GridRow(cell);
    const auto [found, added] = figures.try_emplace(row, std::max<size_t>(columns.size(), 1), "");
    if (added) rows.push_back(row);
    const auto column = std::find(columns.begin(), columns.end(), GridColumn(cell));
    std::string& figure = found->second[AwaitsLeases(cell) ? static_cast<size_t>(column - columns.begin()) : 0];
    if (!figure.empty()) return "";  // the cells differ in more than a grid shows
    figure = GridFigure(plan, cells, cell);
  }
  if (rows.empty()) return "";
  std::string out =
      "\nGRID      what an arm adds a hop, ms, by modack: difference of the medians to std at the same setting;\n"
      "          sat: saturated, and what it served\n"
      " rate/s str arm         client    policy";
  for (const std::string& name : columns) out += PadLeft(name, kGridFigure);
  for (const std::string& row : rows) {
    out += "\n" + row;
    for (const std::string& figure : figures[row]) out += PadLeft(figure, kGridFigure);
    while (out.back() == ' ') out.pop_back();
  }
  return out + "\n";
}

}  // namespace hopgap::report
