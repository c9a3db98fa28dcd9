#include "formats/hop_ledger_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/text.h"
#include "formats/temporary_folder_testing.h"

namespace hopgap::formats {
namespace {

using lab::HopLine;
using ::testing::HasSubstr;

class HopLedgerTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = folder_.path() + "/ledger.csv";
    std::ofstream(path) << text;
    return path;
  }
  TemporaryFolder folder_;
};

TEST_F(HopLedgerTest, WhatIsWrittenIsRead) {
  const std::vector<HopLine> lines = {{WallTime{Duration{5}}, HopLine::What::kEntered, 2, 7, "1234", 99, true},
                                      {WallTime{Duration{6}}, HopLine::What::kAcked, 2, 7, "1234", 99, false}};
  std::string text = HopLedgerHeader();
  for (const HopLine& line : lines) AppendHopLine(line, text);
  const auto read = ReadHopLedger(Write(text));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, lines);
}

TEST_F(HopLedgerTest, ALineCutByAKillIsLeftOutAtTheEndAndRefusedElsewhere) {
  const std::string whole = HopLedgerHeader() + "5,entered,1,0,12,9,1\n";
  const auto cut = ReadHopLedger(Write(whole + "6,acked,1"));
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(cut->size(), 1u);
  const auto within = ReadHopLedger(Write(whole + "6,acked,1\n7,entered,1,0,12,9,1\n"));
  EXPECT_THAT(MessageOf(within.status()), HasSubstr("ledger.csv:3: not a ledger line"));
}

}  // namespace
}  // namespace hopgap::formats
