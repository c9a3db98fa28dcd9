#include "cli/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"

namespace hopgap::cli {
namespace {

constexpr size_t kColumns = 80, kTextColumn = 30, kNameColumn = 2;

// One per code point.
size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Appends the words of `text` to `out`, whose last line is `at` columns long;
// new lines begin at `indent`. Line breaks in `text` are kept. Returns the new `at`.
size_t AppendWords(std::string_view text, size_t at, size_t indent, std::string& out) {
  bool first_line = true;
  for (const std::string_view line : Split(text, '\n')) {
    if (!first_line) {
      out += '\n';
      at = 0;
    }
    first_line = false;
    for (const std::string_view word : Split(line, ' ')) {
      if (word.empty()) continue;
      const bool begins = at <= indent;
      if (!begins && at + 1 + ColumnsOf(word) > kColumns) {
        out += '\n';
        at = 0;
      }
      const size_t spaces = at < indent ? indent - at : at > indent ? 1 : 0;
      out.append(spaces, ' ').append(word);
      at += spaces + ColumnsOf(word);
    }
  }
  return at;
}

std::string HelpEntry(std::string_view name, std::string_view text) {
  std::string out;
  const size_t at = AppendWords(name, 0, kNameColumn, out);
  if (!text.empty()) {
    if (at + 2 > kTextColumn) out += '\n';
    AppendWords(text, at + 2 > kTextColumn ? 0 : at, kTextColumn, out);
  }
  return out + "\n";
}

std::string HelpParagraph(std::string_view text) {
  std::string out;
  AppendWords(text, 0, 0, out);
  return out.empty() ? out : out + "\n";
}

class Help final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return HelpEntry(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return HelpEntry(command->get_display_name(true), command->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    return HelpParagraph(CLI::Formatter::make_description(app));
  }
  std::string make_footer(const CLI::App* app) const override { return HelpParagraph(app->get_footer()); }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeHelp() { return std::make_shared<Help>(); }

}  // namespace hopgap::cli
