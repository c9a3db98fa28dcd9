#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace hopgap::report {

// How numbers and lines look. Private to this room.

// Terminal columns: one per code point (nothing wider or narrower is printed).
size_t Columns(std::string_view text);
std::string PadLeft(std::string_view text, size_t columns);
std::string PadRight(std::string_view text, size_t columns);
// At most `columns`, the last one an ellipsis if something was cut.
std::string Cut(std::string_view text, size_t columns);
std::string Repeat(std::string_view text, size_t times);

// Words into lines of at most `width`; the first line starts with `first`, the
// others with `indent`. A word longer than a line is cut into lines. Ends with a newline.
std::string Wrap(std::string_view text, size_t width, std::string_view first, std::string_view indent);

// A number with `decimals`, its minus sign a real one; never "-0.0".
std::string Fixed(double value, int decimals);
// Milliseconds with about three digits: 0.17, 33.1, 102, 1588; 0 is "0".
std::string Millis(double nanoseconds);
std::string SignedMillis(double nanoseconds);  // with its sign: "+1480"
// With its unit: "33.1 ms"; from 10 s on "12.3 s".
std::string Length(double nanoseconds);
inline std::string Length(Duration d) { return Length(static_cast<double>(d.count())); }
// What was served in a second, with about three digits and no exponent: "0.65", "39.9", "4930".
std::string PerSecond(double rate);
// "31 messages", "1 message".
std::string Counted(uint64_t n, std::string_view noun);

// One unit for a whole table, so that its columns can be compared: seconds as
// soon as a value reaches ten of them.
class Scale {
 public:
  // `largest`: of the finite values, in nanoseconds.
  explicit Scale(int64_t largest) : seconds_(largest >= 10'000'000'000) {}
  std::string_view unit() const { return seconds_ ? "s" : "ms"; }
  std::string Format(int64_t nanoseconds) const;  // "inf" for the infinite
 private:
  bool seconds_;
};

// A table whose columns move into further blocks when they do not fit.
class Table {
 public:
  Table(size_t label_width, size_t column_width, size_t width)
      : label_width_(label_width), column_width_(column_width), width_(width) {}
  // Two header lines; text wider than the column is cut.
  void AddColumn(std::string_view top, std::string_view bottom);
  // Requires: a cell for every column.
  void AddRow(std::string_view label, std::vector<std::string> cells);
  std::string Render() const;

 private:
  struct Row {
    std::string label;
    std::vector<std::string> cells;
  };
  std::string Block(size_t from, size_t to) const;

  size_t label_width_, column_width_, width_;
  std::vector<std::string> top_, bottom_;
  std::vector<Row> rows_;
};

}  // namespace hopgap::report
