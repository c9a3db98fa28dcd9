#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "random_message.h"

namespace hopgap::tests {

// Field by field, with the first differences in words; unknown fields count.
inline testing::AssertionResult SameFields(const google::protobuf::Message& ours,
                                           const google::protobuf::Message& generated) {
  google::protobuf::util::MessageDifferencer differencer;
  std::string report;
  differencer.ReportDifferencesToString(&report);
  if (differencer.Compare(generated, ours)) return testing::AssertionSuccess();
  constexpr size_t kReportBytesMax = 2000;
  return testing::AssertionFailure() << "generated -> ours: " << report.substr(0, kReportBytesMax);
}

template <typename Generated>
testing::AssertionResult ParsesTo(std::string_view wire, const Generated& want) {
  Generated got;
  if (!got.ParseFromString(std::string(wire))) {
    return testing::AssertionFailure() << "the generated parser refuses our bytes";
  }
  return SameFields(got, want);
}

// Runs `check(random, message)` on many messages with a random choice of the
// wanted fields; a failure names the seed and round that repeat it.
template <typename Generated, typename Check>
void ForRandomMessages(const FieldFilter& wanted, int rounds, Check check) {
  const uint64_t seed = SeedFromEnvironment();
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("HOPGAP_SEED=" + std::to_string(seed) + " round " + std::to_string(round));
    Random random(seed * 1'000'003 + static_cast<uint64_t>(round));
    Generated message;
    Fill(random, wanted, message);
    check(random, message);
  }
}

}  // namespace hopgap::tests
