#include "formats/hop_ledger_csv.h"

#include <array>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "formats/line_file.h"

namespace hopgap::formats {
namespace {

using lab::HopLine;

constexpr std::string_view kHopHeader = "unix_nano,what,hop,slot,message_id,delivery,ok";
constexpr std::array<std::string_view, 4> kWhat = {"entered", "returned", "acked", "given-back"};

std::optional<HopLine> ParseHopLine(std::string_view text) {
  const std::vector<std::string_view> cells = Split(text, ',');
  if (cells.size() != 7) return std::nullopt;
  HopLine line;
  const std::optional<int64_t> at = ParseNumber<int64_t>(cells[0]);
  const std::optional<int> hop = ParseNumber<int>(cells[2]);
  const std::optional<uint64_t> slot = ParseNumber<uint64_t>(cells[3]);
  const std::optional<uint64_t> delivery = ParseNumber<uint64_t>(cells[5]);
  size_t what = 0;
  while (what < kWhat.size() && kWhat[what] != cells[1]) ++what;
  if (!at || !hop || !slot || !delivery || what == kWhat.size() || (cells[6] != "0" && cells[6] != "1")) {
    return std::nullopt;
  }
  line.at = WallTime{Duration{*at}};
  line.what = static_cast<HopLine::What>(what);
  line.hop = *hop;
  line.slot = *slot;
  line.message_id = std::string(cells[4]);
  line.delivery = *delivery;
  line.ok = cells[6] == "1";
  return line;
}

}  // namespace

std::string HopLedgerHeader() { return StrCat(kHopHeader, "\n"); }

// Message ids are the broker's: digits, and never a comma.
void AppendHopLine(const HopLine& line, std::string& out) {
  out += StrCat(ToNanos(line.at), ",", kWhat[static_cast<size_t>(line.what)], ",", line.hop, ",", line.slot, ",",
                line.message_id, ",", line.delivery, ",", line.ok ? "1" : "0", "\n");
}

absl::StatusOr<std::vector<HopLine>> ReadHopLedger(const std::string& path) {
  std::vector<HopLine> lines;
  absl::Status cut;  // of the last line, if it is none
  const auto take = [&](uint64_t number, std::string_view text, bool too_long) {
    if (!cut.ok()) return cut;
    if (number == 1) {
      return text == kHopHeader ? absl::OkStatus()
                                : absl::InvalidArgumentError(StrCat(path, ":1: not the header of a worker's ledger"));
    }
    std::optional<HopLine> line = too_long ? std::nullopt : ParseHopLine(text);
    if (line) {
      lines.push_back(*std::move(line));
    } else {
      cut = absl::InvalidArgumentError(StrCat(path, ":", number, ": not a ledger line of 7 cells"));
    }
    return absl::OkStatus();
  };
  if (absl::Status status = ForEachLine(path, kLedgerLineBytesMax, take); !status.ok()) return status;
  return lines;
}

}  // namespace hopgap::formats
