#include "tools/sizes.h"

#include <string>
#include <string_view>

#include "tools/files.h"
#include "tools/layers.h"

namespace hopgap::house {

namespace {

int LimitOf(const std::filesystem::path& file, bool tests) {
  if (file.extension() != ".h") return kSourceLinesMax;
  return tests || IsTest(file) ? kTestHeaderLinesMax : kHeaderLinesMax;
}

}  // namespace

Findings CheckSizes(const std::filesystem::path& root) {
  Findings findings;
  for (const char* folder : {"src", "tests", "tools", "bench", "fuzz"}) {
    for (const std::filesystem::path& file : FilesBelow(root / folder, {".h", ".cc"})) {
      const int limit = LimitOf(file, folder == std::string_view("tests"));
      const auto lines = static_cast<int>(Lines(ReadFile(file)).size());
      if (lines <= limit) continue;
      findings.push_back(
          {file.string(), lines,
           std::to_string(lines) + " lines, more than " + std::to_string(limit) + ": split it by responsibility"});
    }
  }
  return findings;
}

}  // namespace hopgap::house
