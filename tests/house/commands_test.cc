#include "tools/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scratch.h"

namespace hopgap::house {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

constexpr std::string_view kDevHelp =
    "./dev run [ARGS…]      builds\n"
    "./dev test [-R NAME]   tests\n"
    "./dev lint [--all]     lints\n";

std::string HopgapHelp(const std::string& verb) {
  if (verb.empty()) return "  run   measures\n  serve   serves\n  --version\n";
  if (verb == "run") return "  --rate FLOAT\n  --rate-limit INT\n  --spans TEXT\n";
  return "  --port INT\n";
}

TEST(FindCommandsTest, ReadsBackticksAndCodeOnly) {
  EXPECT_THAT(FindCommands("Type `hopgap run --rate 5`, or `./dev test`; hopgap run is prose.\n"),
              ElementsAre(Field(&Command::words, Words{"hopgap", "run", "--rate", "5"}),
                          Field(&Command::words, Words{"./dev", "test"})));
}

TEST(FindCommandsTest, EndsACommandAtCommentsAndColumns) {
  EXPECT_THAT(
      FindCommands("text\n"
                   "    ./dev run     # builds      ./dev test    # every test\n"
                   "```\n"
                   "$ ./dev build && hopgap serve | head\n"
                   "| slow?  | hopgap run --rate 100   or faster |\n"
                   "hopgap 0.1 · 3 hops\n"
                   "```\n"),
      ElementsAre(AllOf(Field(&Command::line, 2), Field(&Command::words, Words{"./dev", "run"})),
                  AllOf(Field(&Command::line, 2), Field(&Command::words, Words{"./dev", "test"})),
                  AllOf(Field(&Command::line, 4), Field(&Command::words, Words{"hopgap", "serve"})),
                  AllOf(Field(&Command::line, 4), Field(&Command::words, Words{"./dev", "build"})),
                  AllOf(Field(&Command::line, 5), Field(&Command::words, Words{"hopgap", "run", "--rate", "100"}))));
}

Findings FindingsIn(std::string_view markdown) {
  const Scratch scratch;
  scratch.Write("README.md", markdown);
  return CheckCommands(scratch.path(), HopgapHelp, kDevHelp);
}

TEST(CheckCommandsTest, AcceptsWhatTheHelpNames) {
  EXPECT_THAT(FindingsIn("`hopgap run --rate=5 --spans sampled:10`, `hopgap --version`, `hopgap serve --port -1`,\n"
                         "`./dev run --rate 5`, `./dev test -R broker`, `./dev lint [--all]`\n"),
              IsEmpty());
}

TEST(CheckCommandsTest, FindsPlantedVerbsAndOptions) {
  struct Case {
    const char* markdown;
    const char* rule;
  };
  const Case planted[] = {
      {"`hopgap teleport`", "no verb 'teleport'"},       {"`hopgap run --speed 5`", "no option --speed"},
      {"`hopgap run --rat 5`", "no option --rat"},       {"`hopgap serve --rate 5`", "no option --rate"},
      {"`hopgap --rate 5`", "no option --rate"},         {"`./dev run --speed`", "no option --speed"},
      {"`./dev torture`", "no verb 'torture'"},          {"`./dev test --fast`", "no option --fast"},
      {"    hopgap run --speed 5", "no option --speed"},
  };
  for (const Case& c : planted) {
    SCOPED_TRACE(c.markdown);
    EXPECT_THAT(FindingsIn(c.markdown),
                ElementsAre(AllOf(Field(&Finding::line, 1), Field(&Finding::rule, HasSubstr(c.rule)))));
  }
}

TEST(CheckCommandsTest, ReadsTheFoldersOfDocumentsToAnyDepth) {
  const Scratch scratch;
  scratch.Write("docs/adr/0001-x.md", "`hopgap teleport`\n");
  scratch.Write("deploy/k8s/README.md", "`hopgap teleport`\n");
  scratch.Write("examples/ci/README.md", "`hopgap teleport`\n");
  scratch.Write("src/notes.md", "`hopgap teleport`\n");
  EXPECT_THAT(CheckCommands(scratch.path(), HopgapHelp, kDevHelp),
              ElementsAre(Field(&Finding::file, HasSubstr("deploy/k8s")), Field(&Finding::file, HasSubstr("0001-x.md")),
                          Field(&Finding::file, HasSubstr("examples/ci"))));
}

}  // namespace
}  // namespace hopgap::house
