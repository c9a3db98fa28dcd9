#include "tools/sizes.h"

#include <string>

#include "tools/files.h"

namespace hopgap::house {

Findings CheckSizes(const std::filesystem::path& root) {
  Findings findings;
  for (const char* folder : {"src", "tests", "tools", "bench"}) {
    for (const std::filesystem::path& file : FilesBelow(root / folder, {".h", ".cc"})) {
      const int limit = file.extension() == ".h" ? kHeaderLinesMax : kSourceLinesMax;
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
