#include "report/layout.h"

#include <gtest/gtest.h>

#include "stats/sample.h"

namespace hopgap::report {
namespace {

TEST(LayoutTest, MillisKeepsAboutThreeDigits) {
  struct Case {
    double ns;
    const char* want;
  };
  for (const Case& c : {Case{0, "0"}, Case{1, "0.00"}, Case{-1, "0.00"}, Case{170'000, "0.17"}, Case{9'994'000, "9.99"},
                        Case{9'996'000, "10.0"}, Case{33'140'000, "33.1"}, Case{99'940'000, "99.9"},
                        Case{99'960'000, "100"}, Case{1'588'400'000, "1588"}, Case{-9'300'000, "−9.30"}}) {
    EXPECT_EQ(Millis(c.ns), c.want) << c.ns;
  }
  EXPECT_EQ(SignedMillis(1'480'000'000), "+1480");
  EXPECT_EQ(SignedMillis(-1'480'000'000), "−1480");
  EXPECT_EQ(SignedMillis(1), "0.00");  // what rounds to nothing has no sign
  EXPECT_EQ(SignedMillis(0), "0");
}

TEST(LayoutTest, PerSecondHasNoExponent) {
  EXPECT_EQ(PerSecond(0), "0");
  EXPECT_EQ(PerSecond(0.65), "0.65");
  EXPECT_EQ(PerSecond(39.94), "39.9");
  EXPECT_EQ(PerSecond(999.4), "999");
  EXPECT_EQ(PerSecond(999.5), "1000");
  EXPECT_EQ(PerSecond(19300.4), "19300");
}

TEST(LayoutTest, LengthTurnsToSecondsAtTen) {
  EXPECT_EQ(Length(9'999e6), "9999 ms");
  EXPECT_EQ(Length(10e9), "10.0 s");
}

TEST(LayoutTest, ScaleIsOneUnitForATable) {
  EXPECT_EQ(Scale(9'999'999'999).unit(), "ms");
  EXPECT_EQ(Scale(10'000'000'000).unit(), "s");
  EXPECT_EQ(Scale(10'000'000'000).Format(33'000'000'000), "33.0");
  EXPECT_EQ(Scale(0).Format(stats::kInfinite), "inf");
  EXPECT_EQ(Scale(0).Format(stats::kMinusInfinite), "−inf");
}

TEST(LayoutTest, ColumnsCountsCodePoints) {
  EXPECT_EQ(Columns("░▓█"), 3u);
  EXPECT_EQ(PadLeft("≥1", 4), "  ≥1");
  EXPECT_EQ(Cut("░▓█░", 3), "░▓…");
  EXPECT_EQ(Cut("░▓█", 3), "░▓█");
  EXPECT_EQ(Cut("abc", 0), "");
}

TEST(LayoutTest, WrapNeverExceedsTheWidth) {
  EXPECT_EQ(Wrap("aa bb cc", 5, "", " "), "aa bb\n cc\n");
  EXPECT_EQ(Wrap("aa bb", 5, "> ", "  "), "> aa\n  bb\n");
  EXPECT_EQ(Wrap("abcdefgh", 4, "", ""), "abcd\nefgh\n");  // a word that fits no line is cut
  EXPECT_EQ(Wrap("", 10, "x ", ""), "x\n");
}

TEST(LayoutTest, WrapKeepsANumberAndItsUnitTogether) {
  EXPECT_EQ(Wrap("takes 31 ms, or 5 %", 9, "", ""), "takes\n31 ms, or\n5 %\n");
}

TEST(TableTest, MovesColumnsThatDoNotFitIntoAFurtherBlock) {
  Table table(3, 4, 11);
  for (const char* name : {"a", "b", "c"}) table.AddColumn(name, "ms");
  table.AddRow("r", {"1", "2", "3"});
  EXPECT_EQ(table.Render(),
            "      a   b\n"
            "     ms  ms\n"
            "r     1   2\n"
            "\n"
            "      c\n"
            "     ms\n"
            "r     3\n");
}

TEST(TableDeathTest, ARowNeedsACellForEveryColumn) {
  Table table(3, 4, 11);
  table.AddColumn("a", "");
  EXPECT_DEATH(table.AddRow("r", {}), "a cell for every column");
}

}  // namespace
}  // namespace hopgap::report
