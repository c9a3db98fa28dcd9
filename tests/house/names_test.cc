#include "tools/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace hopgap::house {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kPace[] =
    "namespace hopgap::live {\n\n"
    "inline constexpr Duration kPoll{std::chrono::milliseconds{50}};\n\n}  // namespace hopgap::live\n";

std::string Unnamed(const std::string& line) {
  return "namespace hopgap::live {\n\nnamespace {\n\n" + line + "\n\n}  // namespace\n\n}  // namespace hopgap::live\n";
}

TEST(CheckNamesTest, AConstantOfOneFileHidesNoHeaders) {
  const Scratch scratch;
  scratch.Write("src/live/pace.h", kPace);
  scratch.Write("src/live/child.cc", Unnamed("constexpr Duration kPoll{std::chrono::milliseconds{5}};"));
  EXPECT_THAT(
      CheckNames(scratch.path()),
      ElementsAre(AllOf(Field(&Finding::line, 5), Field(&Finding::rule, HasSubstr("kPoll hides the one of pace.h")))));
}

TEST(CheckNamesTest, BasesHeadersAreEverybodys) {
  const Scratch scratch;
  scratch.Write("src/base/limits.h",
                "namespace hopgap::base {\nconstexpr int kMost = 3;\n}  // namespace hopgap::base\n");
  scratch.Write("src/live/child.cc", Unnamed("const std::array<int, kOther> kMost = {1, 2};"));
  EXPECT_THAT(CheckNames(scratch.path()),
              ElementsAre(Field(&Finding::rule, HasSubstr("kMost hides the one of limits.h"))));
}

TEST(CheckNamesTest, OtherRoomsUsesAndNamespacesWithinHideNothing) {
  const Scratch scratch;
  scratch.Write("src/live/pace.h", kPace);
  scratch.Write(
      "src/cli/run.cc",
      "namespace hopgap::cli {\nnamespace {\nconstexpr int kPoll = 3;\n}  // namespace\n}  // namespace hopgap::cli\n");
  scratch.Write("src/live/fields.cc", Unnamed("namespace topic {\nconstexpr int kPoll = 3;\n}  // namespace topic"));
  scratch.Write("src/live/child.cc", Unnamed("constexpr std::array<int, kPoll> kPolls = {};"));
  EXPECT_THAT(CheckNames(scratch.path()), IsEmpty());
}

}  // namespace
}  // namespace hopgap::house
