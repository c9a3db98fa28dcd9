#include "report/layout.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "base/text.h"
#include "stats/sample.h"

namespace hopgap::report {
namespace {

bool StartsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Bytes of the first `columns` code points.
size_t BytesOf(std::string_view text, size_t columns) {
  size_t seen = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (StartsCodePoint(text[i]) && ++seen > columns) return i;
  }
  return text.size();
}

// "31 ms," stays together: a number without its unit at the end of a line misleads.
bool IsUnit(std::string_view word) {
  while (!word.empty() && std::string_view(",.;:)").find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  return word == "ms" || word == "s" || word == "%";
}

// The words of a text; those that may not be parted are one.
std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  for (std::string_view word : Split(text, ' ')) {
    if (word.empty()) continue;
    if (IsUnit(word) && !words.empty()) {
      words.back() += StrCat(" ", word);
    } else {
      words.emplace_back(word);
    }
  }
  return words;
}

std::string WithoutEndSpaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

size_t Columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), StartsCodePoint));
}

std::string Repeat(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string PadLeft(std::string_view text, size_t columns) {
  const size_t used = Columns(text);
  return std::string(used < columns ? columns - used : 0, ' ') + std::string(text);
}

std::string PadRight(std::string_view text, size_t columns) {
  const size_t used = Columns(text);
  return std::string(text) + std::string(used < columns ? columns - used : 0, ' ');
}

std::string Cut(std::string_view text, size_t columns) {
  if (Columns(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  return std::string(text.substr(0, BytesOf(text, columns - 1))) + "…";
}

std::string Wrap(std::string_view text, size_t width, std::string_view first, std::string_view indent) {
  std::string out, line(first);
  bool empty = true;
  for (const std::string& whole : WordsOf(text)) {
    std::string_view word = whole;
    if (!empty && Columns(line) + 1 + Columns(word) > width) {
      out += line + "\n";
      line = indent;
      empty = true;
    }
    if (!empty) line += ' ';
    while (Columns(line) + Columns(word) > width && Columns(line) < width) {
      const size_t bytes = BytesOf(word, width - Columns(line));
      out += StrCat(line, word.substr(0, bytes), "\n");
      word.remove_prefix(bytes);
      line = indent;
    }
    line += word;
    empty = false;
  }
  return out + WithoutEndSpaces(line) + "\n";
}

std::string Fixed(double value, int decimals) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%.*f", decimals, std::fabs(value));
  const std::string_view digits(buffer);
  const bool zero = digits.find_first_not_of("0.") == std::string_view::npos;
  return StrCat(value < 0 && !zero ? "−" : "", digits);
}

std::string Millis(double nanoseconds) {
  if (nanoseconds == 0) return "0";
  const double ms = nanoseconds / 1e6;
  const double size = std::fabs(ms);
  // The bounds are where the shorter form takes over after rounding.
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return Fixed(ms, decimals);
}

std::string PerSecond(double rate) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), rate < 999.5 ? "%.3g" : "%.0f", rate);
  return buffer;
}

std::string SignedMillis(double nanoseconds) {
  const std::string text = Millis(nanoseconds);
  const bool plus = nanoseconds > 0 && text.find_first_not_of("0.") != std::string::npos;
  return plus ? "+" + text : text;
}

std::string Length(double nanoseconds) {
  // Seconds have the digits that milliseconds would have a thousand times below.
  if (std::fabs(nanoseconds) >= 1e10) return Millis(nanoseconds / 1000) + " s";
  return Millis(nanoseconds) + " ms";
}

std::string Counted(uint64_t n, std::string_view noun) { return StrCat(n, " ", noun, n == 1 ? "" : "s"); }

std::string Scale::Format(int64_t nanoseconds) const {
  if (nanoseconds == stats::kInfinite) return "inf";
  if (nanoseconds == stats::kMinusInfinite) return "−inf";
  const auto value = static_cast<double>(nanoseconds);
  return Millis(seconds_ ? value / 1000 : value);
}

void Table::AddColumn(std::string_view top, std::string_view bottom) {
  top_.push_back(Cut(top, column_width_ - 1));
  bottom_.push_back(Cut(bottom, column_width_ - 1));
}

void Table::AddRow(std::string_view label, std::vector<std::string> cells) {
  HOPGAP_CHECK(cells.size() == top_.size(), "a table row needs a cell for every column");
  rows_.push_back({std::string(label), std::move(cells)});
}

std::string Table::Block(size_t from, size_t to) const {
  const auto line = [&](std::string_view label, const std::vector<std::string>& cells) {
    std::string out = PadRight(Cut(label, label_width_), label_width_);
    for (size_t i = from; i < to; ++i) out += PadLeft(Cut(cells[i], column_width_), column_width_);
    return WithoutEndSpaces(out) + "\n";
  };
  std::string out = line("", top_) + line("", bottom_);
  for (const Row& row : rows_) out += line(row.label, row.cells);
  return out;
}

std::string Table::Render() const {
  const size_t fit = std::max<size_t>(1, (width_ - label_width_) / column_width_);
  std::string out;
  for (size_t from = 0; from < top_.size(); from += fit) {
    if (from > 0) out += "\n";
    out += Block(from, std::min(top_.size(), from + fit));
  }
  return out;
}

}  // namespace hopgap::report
