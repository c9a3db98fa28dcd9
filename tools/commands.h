#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/finding.h"

namespace hopgap::house {

// A command that a text tells its reader to type.
struct Command {
  int line = 0;
  std::vector<std::string> words;  // {"hopgap", "run", "--rate", "5"}
};

// The `hopgap …` and `./dev …` commands of a Markdown text: in `backticks`, and
// in fenced or indented code at the beginning of a line or of a column (after
// two blanks, "| " or "&& "). A comment, two blanks, a pipe or && end it. What
// does not begin with a verb or an option ("hopgap 0.1 · …") is no command.
std::vector<Command> FindCommands(std::string_view markdown);

// The text of `hopgap VERB --help` ("" for hopgap's own).
using HelpOf = std::function<std::string(const std::string& verb)>;

// Reports commands in the Markdown files at `root` and below docs/, deploy/ and
// examples/ whose verb or option the programs' own help does not name: a README
// may not show a command that this commit cannot run.
Findings CheckCommands(const std::filesystem::path& root, const HelpOf& hopgap_help, std::string_view dev_help);

}  // namespace hopgap::house
