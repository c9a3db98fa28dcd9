#include "formats/paths_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/run_builder_testing.h"

namespace hopgap::formats {
namespace {

using ::testing::HasSubstr;

report::Run WithoutPaths(report::Run run) {
  for (report::ArmRun& arm : run.arms) arm.paths.clear();
  return run;
}

TEST(PathsFileTest, KeepsEveryFieldOfEveryPath) {
  report::Run run = report::testing::DefaultRun();
  trace::Path& odd = run.arms[1].paths[3];
  odd.until_acked.reset();
  trace::HopTimes second = odd.hops[1], third = odd.hops[2];
  second.server.reset();
  second.attempts = 3;
  second.stream = 2;
  second.exactly_once = true;
  second.messages_in_response = 9;
  second.redelivery_wait = Duration{-7};
  third.read_posted = odd.scheduled - Duration{5};
  odd.hops.Replace(1, second);
  odd.hops.Replace(2, third);
  odd.trace_hi = odd.root_span = UINT64_MAX;
  odd.until_handled = Duration::min();
  report::Run read = WithoutPaths(run);
  read.is_sample = true;
  const absl::Status status = ReadPaths(WritePaths(run), "paths.bin", read);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_FALSE(read.is_sample);
  for (size_t i = 0; i < run.arms.size(); ++i) EXPECT_EQ(read.arms[i].paths, run.arms[i].paths);
}

TEST(PathsFileTest, EveryChangedOrMissingByteIsRefused) {
  report::Run run = report::testing::DefaultRun(2);
  run.arms.resize(1);
  const std::string bytes = WritePaths(run);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= 0x40;
    report::Run read = WithoutPaths(run);
    ASSERT_EQ(ReadPaths(changed, "paths.bin", read).code(), absl::StatusCode::kInvalidArgument) << i;
    ASSERT_FALSE(ReadPaths(std::string_view(bytes).substr(0, i), "paths.bin", read).ok()) << i;
  }
}

TEST(PathsFileTest, ArmsAreThoseOfTheRun) {
  report::Run run = report::testing::DefaultRun(2);
  const std::string bytes = WritePaths(run);
  report::Run renamed = WithoutPaths(run);
  renamed.arms[0].name = "other";
  EXPECT_THAT(std::string(ReadPaths(bytes, "paths.bin", renamed).message()),
              HasSubstr("arm 'std' stands where run.json has 'other'"));
  renamed.arms.pop_back();
  EXPECT_THAT(std::string(ReadPaths(bytes, "paths.bin", renamed).message()), HasSubstr("5 arms, but run.json has 4"));
}

}  // namespace
}  // namespace hopgap::formats
