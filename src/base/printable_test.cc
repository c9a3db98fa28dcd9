#include "base/printable.h"

#include <gtest/gtest.h>

namespace hopgap {
namespace {

TEST(PrintableTest, OrdinaryTextStays) {
  for (const char* text : {"", "orders-eos subscribe", "größer → 5 µs", "日本語", "😀", "a\\x1b"}) {
    EXPECT_TRUE(IsPrintable(text)) << text;
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(PrintableTest, WhatATerminalWouldObeyIsWrittenOut) {
  struct Case {
    std::string_view text, shown;
  };
  for (const Case& c : {Case{"\x1b]0;PWNED\x07", "\\x1b]0;PWNED\\x07"},
                        Case{"a\nEVIL: b\r\t", "a\\x0aEVIL: b\\x0d\\x09"}, Case{"\x7f", "\\x7f"},
                        Case{"\xc2\x9b"
                             "2J",
                             "\\x9b2J"},
                        Case{"\xe2\x80\xae", "\\u202e"}, Case{"\xe2\x81\xa6", "\\u2066"}, Case{"x\xff", "x\\xff"},
                        Case{"\xc3", "\\xc3"}, Case{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, Case{"\xc0\xaf", "\\xc0\\xaf"},
                        Case{std::string_view("\0", 1), "\\x00"}}) {
    EXPECT_FALSE(IsPrintable(c.text)) << c.shown;
    EXPECT_EQ(Printable(c.text), c.shown);
    EXPECT_TRUE(IsPrintable(Printable(c.text)));
  }
}

TEST(PrintableTest, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 6), "abcdef");
  EXPECT_EQ(Printable("abcdefg", 6), "abcdef…");
  EXPECT_EQ(Printable("ab→→", 6), "ab→…");
  EXPECT_EQ(Printable("ab\x1bxyz", 6), "ab\\x1b…");
}

}  // namespace
}  // namespace hopgap
