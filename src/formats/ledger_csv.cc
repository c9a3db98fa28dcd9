#include "formats/ledger_csv.h"

#include <optional>
#include <string_view>

#include "base/text.h"
#include "formats/line_file.h"

namespace hopgap::formats {
namespace {

constexpr std::string_view kHeader = "arm,slot,hop,due_ns,publish_call_ns,handler_entry_ns,handler_return_ns";
constexpr size_t kCells = 7;

void AppendCell(std::string_view text, std::string& out) {
  if (text.find_first_of(",\"") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

void AppendInstant(Instant at, std::string& out) {
  out += ',';
  if (at != kNever) out += StrCat(ToNanos(at));
}

// The first cell may be quoted; nullopt if its quotes do not close.
std::optional<std::string> TakeCell(std::string_view& line) {
  std::string cell;
  if (!line.starts_with('"')) {
    const size_t end = line.find(',');
    cell = line.substr(0, end);
    line = end == std::string_view::npos ? std::string_view{} : line.substr(end + 1);
    return cell;
  }
  for (size_t at = 1; at < line.size(); ++at) {
    if (line[at] != '"') {
      cell += line[at];
    } else if (at + 1 < line.size() && line[at + 1] == '"') {
      cell += line[at++];
    } else if (at + 1 < line.size() && line[at + 1] == ',') {
      line.remove_prefix(at + 2);
      return cell;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

bool TakeInstant(std::string_view text, Instant& at) {
  if (text.empty()) return true;
  const std::optional<int64_t> nanos = ParseNumber<int64_t>(text);
  if (nanos) at = InstantFromNanos(*nanos);
  return nanos.has_value();
}

std::optional<LedgerLine> ParseLine(std::string_view text) {
  LedgerLine line;
  std::optional<std::string> arm = TakeCell(text);
  const std::vector<std::string_view> cells = Split(text, ',');
  if (!arm || cells.size() != kCells - 1) return std::nullopt;
  const std::optional<uint64_t> slot = ParseNumber<uint64_t>(cells[0]);
  const std::optional<int> hop = ParseNumber<int>(cells[1]);
  if (!slot || !hop || !TakeInstant(cells[2], line.due) || !TakeInstant(cells[3], line.publish_call) ||
      !TakeInstant(cells[4], line.handler_entry) || !TakeInstant(cells[5], line.handler_return)) {
    return std::nullopt;
  }
  line.arm = *std::move(arm);
  line.slot = *slot;
  line.hop = *hop;
  return line;
}

}  // namespace

std::string LedgerHeader() { return StrCat(kHeader, "\n"); }

void AppendLedgerLine(const LedgerLine& line, std::string& out) {
  AppendCell(line.arm, out);
  out += StrCat(",", line.slot, ",", line.hop);
  for (const Instant at : {line.due, line.publish_call, line.handler_entry, line.handler_return}) {
    AppendInstant(at, out);
  }
  out += '\n';
}

absl::StatusOr<std::vector<LedgerLine>> ReadLedger(const std::string& path) {
  std::vector<LedgerLine> lines;
  const auto take = [&](uint64_t number, std::string_view text, bool too_long) {
    if (number == 1) {
      return text == kHeader ? absl::OkStatus()
                             : absl::InvalidArgumentError(StrCat(path, ":1: not the header of a ledger"));
    }
    std::optional<LedgerLine> line = too_long ? std::nullopt : ParseLine(text);
    if (!line) return absl::InvalidArgumentError(StrCat(path, ":", number, ": not a ledger line of 7 cells"));
    lines.push_back(*std::move(line));
    return absl::OkStatus();
  };
  if (absl::Status status = ForEachLine(path, kLedgerLineBytesMax, take); !status.ok()) return status;
  return lines;
}

}  // namespace hopgap::formats
