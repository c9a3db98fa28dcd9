#include "lab/hop_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hopgap::lab {
namespace {

using What = HopLine::What;
using ::testing::ElementsAre;

HopLine Line(int64_t at, What what, int hop, uint64_t slot, const char* id, bool ok = true) {
  return {.at = WallTime{Duration{at}}, .what = what, .hop = hop, .slot = slot, .message_id = id, .ok = ok};
}

TEST(CheckHopsTest, AnOrderlyChainHasNoFindings) {
  const std::vector<HopLine> lines = {Line(1, What::kEntered, 1, 0, "a"),  Line(2, What::kReturned, 1, 0, "a"),
                                      Line(3, What::kAcked, 1, 0, "a"),    Line(2, What::kEntered, 2, 0, "b"),
                                      Line(3, What::kReturned, 2, 0, "b"), Line(4, What::kAcked, 2, 0, "b")};
  const HopFindings findings = CheckHops(lines, 2, 1);
  EXPECT_FALSE(findings.Broken());
  EXPECT_EQ(findings.redelivered + findings.reprocessed + findings.missing, 0u);
}

TEST(CheckHopsTest, AWorkerKilledBeforeItsAckIsRedeliveredAndReprocessed) {
  // Killed after its publish: message a comes again, and slot 0 has two ids at hop 2.
  const std::vector<HopLine> lines = {Line(1, What::kEntered, 1, 0, "a"), Line(5, What::kEntered, 1, 0, "a"),
                                      Line(6, What::kAcked, 1, 0, "a"),   Line(2, What::kEntered, 2, 0, "b"),
                                      Line(3, What::kAcked, 2, 0, "b"),   Line(7, What::kEntered, 2, 0, "c"),
                                      Line(8, What::kAcked, 2, 0, "c")};
  const HopFindings findings = CheckHops(lines, 2, 1);
  EXPECT_FALSE(findings.Broken());
  EXPECT_EQ(findings.redelivered, 1u);
  EXPECT_EQ(findings.reprocessed, 1u);
}

TEST(CheckHopsTest, WhatExactlyOnceForbidsIsFound) {
  const std::vector<HopLine> twice = {Line(1, What::kEntered, 1, 0, "a"), Line(2, What::kEntered, 1, 0, "a"),
                                      Line(3, What::kAcked, 1, 0, "a"), Line(4, What::kAcked, 1, 0, "a")};
  EXPECT_EQ(CheckHops(twice, 1, 1).acked_twice, 1u);
  EXPECT_THAT(CheckHops(twice, 1, 1).examples, ElementsAre("hop 1 slot 0 message a: acked twice"));

  const std::vector<HopLine> after = {Line(1, What::kEntered, 1, 0, "a"), Line(2, What::kAcked, 1, 0, "a"),
                                      Line(3, What::kEntered, 1, 0, "a")};
  EXPECT_EQ(CheckHops(after, 1, 1).delivered_after_ack, 1u);
}

TEST(CheckHopsTest, ACopyThatNobodyRepublishedIsUnexplained) {
  const std::vector<HopLine> lines = {Line(1, What::kEntered, 1, 0, "a"), Line(2, What::kEntered, 2, 0, "b"),
                                      Line(3, What::kEntered, 2, 0, "c")};
  const HopFindings findings = CheckHops(lines, 2, 1);
  EXPECT_EQ(findings.unexplained, 1u);
  EXPECT_TRUE(findings.Broken());
}

TEST(CheckHopsTest, AFailedAckIsNoneAndAnUnfinishedSlotIsMissing) {
  const std::vector<HopLine> lines = {Line(1, What::kEntered, 1, 0, "a"), Line(2, What::kAcked, 1, 0, "a", false),
                                      Line(3, What::kEntered, 1, 0, "a")};
  const HopFindings findings = CheckHops(lines, 1, 2);
  EXPECT_FALSE(findings.Broken());
  EXPECT_EQ(findings.missing, 2u);
}

}  // namespace
}  // namespace hopgap::lab
