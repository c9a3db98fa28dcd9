// check_house layers ROOT | names ROOT | sizes ROOT | symbols ARCHIVE… | commands ROOT HOPGAP
//
// Prints every breach of the house rules as file:line: rule. Exit code: 0 none,
// 1 some, 2 wrong usage.
#include <cstdio>
#include <string>
#include <vector>

#include "tools/commands.h"
#include "tools/files.h"
#include "tools/layers.h"
#include "tools/names.h"
#include "tools/sizes.h"
#include "tools/symbols.h"

namespace hopgap::house {
namespace {

Findings CheckArchives(const std::vector<std::string>& archives) {
  Findings all;
  for (const std::string& archive : archives) {
    const std::string nm = OutputOf("nm -A -u " + Quoted(archive));
    for (Finding& finding : CheckSymbols(nm, {"system_clock.cc.o"})) all.push_back(std::move(finding));
  }
  return all;
}

Findings CheckDocuments(const std::string& root, const std::string& hopgap) {
  const HelpOf help = [&hopgap](const std::string& verb) {
    return OutputOf(Quoted(hopgap) + " " + (verb.empty() ? "" : Quoted(verb)) + " --help");
  };
  return CheckCommands(root, help, OutputOf(Quoted(root + "/dev") + " help"));
}

int Report(const Findings& findings) {
  for (const Finding& finding : findings) {
    std::printf("%s:%d: %s\n", finding.file.c_str(), finding.line, finding.rule.c_str());
  }
  return findings.empty() ? 0 : 1;
}

int Main(const std::vector<std::string>& arguments) {
  const std::string check = arguments.empty() ? "" : arguments[0];
  if (check == "layers" && arguments.size() == 2) return Report(CheckLayers(arguments[1]));
  if (check == "names" && arguments.size() == 2) return Report(CheckNames(arguments[1]));
  if (check == "sizes" && arguments.size() == 2) return Report(CheckSizes(arguments[1]));
  if (check == "symbols" && arguments.size() >= 2) {
    return Report(CheckArchives({arguments.begin() + 1, arguments.end()}));
  }
  if (check == "commands" && arguments.size() == 3) return Report(CheckDocuments(arguments[1], arguments[2]));
  std::fputs("usage: check_house layers ROOT | names ROOT | sizes ROOT | symbols ARCHIVE… | commands ROOT HOPGAP\n",
             stderr);
  return 2;
}

}  // namespace
}  // namespace hopgap::house

int main(int argc, char** argv) { return hopgap::house::Main({argv + 1, argv + argc}); }
