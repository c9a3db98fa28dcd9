#include "tools/commands.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "tools/files.h"

namespace hopgap::house {
namespace {

constexpr std::string_view kPrograms[] = {"hopgap ", "./dev "};

bool IsNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

// Whether `text` names `word` as a whole word.
bool Names(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !IsNameCharacter(text[at - 1]);
    if (begins && (end == text.size() || !IsNameCharacter(text[end]))) return true;
  }
  return false;
}

// Where code on a line may begin a command.
bool BeginsColumn(std::string_view line, size_t at) {
  std::string_view before = line.substr(0, at);
  if (before.ends_with("$ ")) before.remove_suffix(2);
  if (before.find_first_not_of(" \t") == std::string_view::npos) return true;
  return before.ends_with("  ") || before.ends_with("| ") || before.ends_with("&& ");
}

std::string_view CutAtEnd(std::string_view text, bool in_backticks) {
  if (in_backticks) return text.substr(0, text.find('`'));
  for (const std::string_view end : {"  ", " #", " |", " &&", " ;", "\t"}) text = text.substr(0, text.find(end));
  return text;
}

void AddCommand(int line, std::string_view text, std::vector<Command>& commands) {
  Command command{.line = line, .words = Words(text)};
  if (command.words.size() < 2) return;
  const char first = command.words[1].front();
  if (std::islower(static_cast<unsigned char>(first)) != 0 || first == '-') commands.push_back(std::move(command));
}

void FindInLine(int number, std::string_view line, bool code, std::vector<Command>& commands) {
  for (const std::string_view program : kPrograms) {
    for (size_t at = line.find(program); at != std::string_view::npos; at = line.find(program, at + 1)) {
      const bool in_backticks = !code && at > 0 && line[at - 1] == '`';
      if (!in_backticks && !(code && BeginsColumn(line, at))) continue;
      AddCommand(number, CutAtEnd(line.substr(at), in_backticks), commands);
    }
  }
}

// "--rate=5," to "--rate"; empty for a word that is no option.
std::string OptionOf(std::string_view word) {
  if (word.starts_with('[')) word.remove_prefix(1);
  if (!word.starts_with('-') || word.size() < 2 || std::isdigit(static_cast<unsigned char>(word[1])) != 0) return {};
  const auto end = std::ranges::find_if_not(word, IsNameCharacter);
  return {word.begin(), end};
}

class Checker {
 public:
  Checker(const HelpOf& hopgap_help, std::string_view dev_help) : hopgap_help_(hopgap_help) {
    std::string* verb = nullptr;
    for (const std::string& line : Lines(dev_help)) {
      const std::vector<std::string> words = Words(line);
      if (words.size() > 1 && words[0] == "./dev") {
        verb = &dev_verbs_[words[1]];
        *verb = line;
      } else if (verb != nullptr && line.starts_with(' ')) {
        *verb += line;  // goes on
      } else {
        verb = nullptr;
      }
    }
  }

  // What is wrong with the command, as sentences.
  std::vector<std::string> Judge(const Command& command) {
    std::vector<std::string> wrong;
    if (command.words[0] == "hopgap") {
      JudgeHopgap({command.words.begin() + 1, command.words.end()}, wrong);
    } else {
      JudgeDev(command, wrong);
    }
    return wrong;
  }

 private:
  void JudgeHopgap(const std::vector<std::string>& words, std::vector<std::string>& wrong) {
    const bool has_verb = !words[0].starts_with('-');
    if (has_verb && !Names(Help(""), words[0])) {
      wrong.push_back("hopgap has no verb '" + words[0] + "'");
      return;
    }
    const std::string verb = has_verb ? words[0] : "";
    for (const std::string& word : words) {
      const std::string option = OptionOf(word);
      if (!option.empty() && !Names(Help(verb), option)) {
        wrong.push_back("hopgap " + verb + " has no option " + option);
      }
    }
  }

  void JudgeDev(const Command& command, std::vector<std::string>& wrong) {
    const std::string& verb = command.words[1];
    const auto known = dev_verbs_.find(verb);
    if (known == dev_verbs_.end()) {
      wrong.push_back("./dev has no verb '" + verb + "'");
    } else if (verb == "run") {
      JudgeHopgap({command.words.begin() + 1, command.words.end()}, wrong);
    } else {
      for (const std::string& word : command.words) {
        const std::string option = OptionOf(word);
        if (!option.empty() && !Names(known->second, option))
          wrong.push_back("./dev " + verb + " has no option " + option);
      }
    }
  }

  const std::string& Help(const std::string& verb) {
    const auto it = helps_.find(verb);
    return it != helps_.end() ? it->second : helps_.emplace(verb, hopgap_help_(verb)).first->second;
  }

  const HelpOf& hopgap_help_;
  std::map<std::string, std::string> helps_;      // by verb, asked for once
  std::map<std::string, std::string> dev_verbs_;  // verb: its lines of ./dev help
};

}  // namespace

std::vector<Command> FindCommands(std::string_view markdown) {
  std::vector<Command> commands;
  bool fenced = false;
  int number = 0;
  for (const std::string& line : Lines(markdown)) {
    ++number;
    if (line.starts_with("```")) {
      fenced = !fenced;
      continue;
    }
    FindInLine(number, line, fenced || line.starts_with("    "), commands);
  }
  return commands;
}

Findings CheckCommands(const std::filesystem::path& root, const HelpOf& hopgap_help, std::string_view dev_help) {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"docs", "deploy", "examples"}) {
    const std::vector<std::filesystem::path> below = FilesBelow(root / folder, {".md"});
    files.insert(files.end(), below.begin(), below.end());
  }
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  Findings findings;
  Checker checker(hopgap_help, dev_help);
  for (const std::filesystem::path& file : files) {
    for (const Command& command : FindCommands(ReadFile(file))) {
      for (std::string& wrong : checker.Judge(command))
        findings.push_back({file.string(), command.line, std::move(wrong)});
    }
  }
  return findings;
}

}  // namespace hopgap::house
