#include "tools/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scratch.h"

namespace hopgap::house {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

std::string LinesOfText(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "//\n";
  return text;
}

TEST(CheckSizesTest, LimitsAreInclusive) {
  const Scratch scratch;
  scratch.Write("src/broker/a.h", LinesOfText(kHeaderLinesMax));
  scratch.Write("src/broker/a.cc", LinesOfText(kSourceLinesMax));
  EXPECT_THAT(CheckSizes(scratch.path()), IsEmpty());
}

TEST(CheckSizesTest, FindsWhatIsOneLineTooLongInEveryFolder) {
  const Scratch scratch;
  scratch.Write("src/broker/a.h", LinesOfText(kHeaderLinesMax + 1));
  scratch.Write("tests/b.cc", LinesOfText(kSourceLinesMax + 1));
  scratch.Write("bench/c.cc", LinesOfText(kSourceLinesMax + 1));
  scratch.Write("docs/long.md", LinesOfText(5000));
  EXPECT_THAT(CheckSizes(scratch.path()),
              ElementsAre(Field(&Finding::file, HasSubstr("a.h")), Field(&Finding::file, HasSubstr("b.cc")),
                          Field(&Finding::file, HasSubstr("c.cc"))));
}

}  // namespace
}  // namespace hopgap::house
