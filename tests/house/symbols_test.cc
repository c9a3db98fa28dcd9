#include "tools/symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tools/files.h"

namespace hopgap::house {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CheckSymbolsTest, FindsEverythingInAPlantedArchive) {
  const Findings findings = CheckSymbols(OutputOf("nm -A -u " + Quoted(HOPGAP_PLANTED_ARCHIVE)), {});
  for (const char* what : {"system_clock3now", "steady_clock3now", "thread", "random_device", "getenv", "socket",
                           "open", "basic_filebuf"}) {
    EXPECT_THAT(findings, Contains(AllOf(Field(&Finding::file, HasSubstr("planted_symbols.cc.o")),
                                         Field(&Finding::rule, HasSubstr(what)))));
  }
}

TEST(CheckSymbolsTest, ComparesCNamesAsAWhole) {
  EXPECT_EQ(WhyForbidden("open"), "touches a file");
  EXPECT_EQ(WhyForbidden("open_memstream"), "");
  EXPECT_EQ(WhyForbidden("time"), "reads a clock");
  EXPECT_EQ(WhyForbidden("timegm"), "");
  EXPECT_EQ(WhyForbidden("abort"), "");
  EXPECT_EQ(WhyForbidden("_ZN4absl12lts_202206233NowEv"), "reads a clock");
  EXPECT_EQ(WhyForbidden("_ZN6hopgap6broker3NowEv"), "");
}

TEST(CheckSymbolsTest, LeavesOutOnlyTheExemptObject) {
  constexpr std::string_view kNm =
      "libhopgap_base.a:system_clock.cc.o:                 U clock_gettime\n"
      "libhopgap_base.a:draw.cc.o:                 U clock_gettime\n"
      "libhopgap_base.a:draw.cc.o:                 U memcpy\n";
  EXPECT_THAT(CheckSymbols(kNm, {"system_clock.cc.o"}),
              ElementsAre(AllOf(Field(&Finding::file, "libhopgap_base.a:draw.cc.o"),
                                Field(&Finding::rule, HasSubstr("clock_gettime")))));
}

TEST(CheckSymbolsTest, DoesNotPassWhatItCannotRead) {
  EXPECT_THAT(CheckSymbols("nm: 'x.a': No such file or directory\n", {}),
              ElementsAre(Field(&Finding::rule, HasSubstr("could not be read"))));
  EXPECT_THAT(CheckSymbols("", {}), IsEmpty());
}

}  // namespace
}  // namespace hopgap::house
