#include "tools/names.h"

#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/files.h"

namespace hopgap::house {

namespace {

struct Constant {
  std::string name;
  int line = 0;
};

bool StartsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

// "kLimit" of `constexpr int kLimit = 3;`: the first word like it that a value follows.
std::optional<std::string> DefinedBy(std::string_view line) {
  if (StartsWith(line, "inline ")) line.remove_prefix(7);
  if (!StartsWith(line, "constexpr ") && !StartsWith(line, "const ")) return std::nullopt;
  for (size_t at = line.find(" k"); at != line.npos; at = line.find(" k", at + 1)) {
    const size_t begin = at + 1;
    size_t end = begin;
    while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || line[end] == '_')) ++end;
    const bool named = end - begin > 1 && std::isupper(static_cast<unsigned char>(line[begin + 1])) != 0;
    const std::string_view rest = line.substr(end);
    if (named && (StartsWith(rest, " =") || StartsWith(rest, "{") || StartsWith(rest, "["))) {
      return std::string(line.substr(begin, end - begin));
    }
  }
  return std::nullopt;
}

// What the lines at the left edge define in the room's own namespace and in its unnamed one.
std::vector<Constant> ConstantsIn(const std::filesystem::path& file) {
  std::vector<Constant> found;
  int own = 0, inner = 0, number = 0;  // the namespaces that are open: hopgap::room and {}, and named ones within
  for (const std::string& line : Lines(ReadFile(file))) {
    ++number;
    if (StartsWith(line, "namespace ") && line.back() == '{') {
      ++(StartsWith(line, "namespace hopgap") || line == "namespace {" ? own : inner);
    } else if (StartsWith(line, "}") && line.find("namespace") != line.npos) {
      --(inner > 0 ? inner : own);
    } else if (inner == 0) {
      if (std::optional<std::string> name = DefinedBy(line)) found.push_back({*std::move(name), number});
    }
  }
  return found;
}

using Given = std::map<std::string, std::string, std::less<>>;  // a constant's name, and the header that gives it

void AddHeaders(const std::filesystem::path& room, Given& given) {
  for (const std::filesystem::path& header : FilesBelow(room, {".h"})) {
    for (Constant& constant : ConstantsIn(header)) given.emplace(std::move(constant.name), header.filename());
  }
}

}  // namespace

Findings CheckNames(const std::filesystem::path& root) {
  Findings findings;
  if (!std::filesystem::is_directory(root / "src")) return findings;
  for (const auto& room : std::filesystem::directory_iterator(root / "src")) {
    Given given;
    AddHeaders(room.path(), given);
    if (room.path().filename() != "base") AddHeaders(root / "src/base", given);
    for (const std::filesystem::path& file : FilesBelow(room.path(), {".cc"})) {
      for (const Constant& constant : ConstantsIn(file)) {
        const auto found = given.find(constant.name);
        if (found == given.end()) continue;
        findings.push_back({file.string(), constant.line,
                            constant.name + " hides the one of " + found->second +
                                " from every file that is compiled with this one: give it another name"});
      }
    }
  }
  return findings;
}

}  // namespace hopgap::house
