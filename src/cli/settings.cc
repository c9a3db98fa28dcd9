#include "cli/settings.h"

#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "cli/nearest.h"

namespace hopgap::cli {
namespace {

constexpr std::string_view kConfig = "config", kVariablePrefix = "HOPGAP_";
// No flags: what processes of ours, ./dev and deploy/k6 read.
constexpr const char* kOtherVariables[] = {"CONFIG", "CLOCK_ANCHOR", "TORTURE_SECONDS", "JOBS",
                                           "K6",     "TARGETS",      "TOPICS"};

std::string StemOf(std::string_view flag) {
  std::string name;
  for (const char c : flag) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string VariableOf(std::string_view flag) { return StrCat(kVariablePrefix, StemOf(flag)); }

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The command that is asked for; nullptr if there is none of that name.
const CLI::App* CommandOf(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const CLI::App* command : CommandsOf(app)) {
    if (!arguments.empty() && command->get_name() == arguments.front()) return command;
  }
  return nullptr;
}

bool Given(const std::vector<std::string>& arguments, std::string_view flag) {
  const std::string word = StrCat("--", flag), with_value = word + "=";
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return argument == word || argument.compare(0, with_value.size(), with_value) == 0;
  });
}

// The value after "--config" or in "--config=", empty if it is not there.
std::string ConfigFile(const std::vector<std::string>& arguments, const Environment& environment) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--config" && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].compare(0, 9, "--config=") == 0) return arguments[i].substr(9);
  }
  const char* value = environment(VariableOf(kConfig).c_str());
  return value == nullptr ? "" : value;
}

bool IsSwitch(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

absl::Status AppendValue(const CLI::Option& option, std::string_view flag, const std::string& value,
                         std::string_view source, std::vector<std::string>& out) {
  if (!IsSwitch(option)) {
    out.push_back(StrCat("--", flag, "=", value));
    return absl::OkStatus();
  }
  if (value == "true" || value == "1") {
    out.push_back(StrCat("--", flag));
  } else if (value != "false" && value != "0" && !value.empty()) {
    return absl::InvalidArgumentError(StrCat(source, ": '", value, "' is neither true nor false"));
  }
  return absl::OkStatus();
}

// The flags of a command that may come from elsewhere, by name.
std::vector<std::pair<std::string, const CLI::Option*>> FlagsOf(const CLI::App& command) {
  std::vector<std::pair<std::string, const CLI::Option*>> flags;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // test-only
    for (const std::string& name : option->get_lnames()) {
      if (name != "help" && name != kConfig) flags.emplace_back(name, option);
    }
  }
  return flags;
}

absl::Status AppendFile(const CLI::App& command, const std::string& path, const std::vector<std::string>& taken,
                        std::vector<std::string>& out, std::map<std::string, std::string>& sources) {
  YAML::Node root;
  try {
    root = YAML::LoadFile(path);
  } catch (const YAML::BadFile&) {
    return absl::InvalidArgumentError(StrCat("--config ", path, ": cannot be read"));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(StrCat("--config ", path, ": ", std::string(error.what())));
  }
  if (root.IsNull()) return absl::OkStatus();
  if (!root.IsMap()) return absl::InvalidArgumentError(StrCat("--config ", path, ": is no map of flags and values"));
  const auto flags = FlagsOf(command);
  for (const auto& entry : root) {
    const std::string key = entry.first.Scalar();
    const std::string source = StrCat(path, ": ", key);
    const auto flag = std::find_if(flags.begin(), flags.end(), [&](const auto& known) { return known.first == key; });
    if (flag == flags.end()) {
      return absl::InvalidArgumentError(StrCat(source, ": no flag of hopgap ", command.get_name()));
    }
    if (std::find(taken.begin(), taken.end(), key) != taken.end()) continue;
    sources[StrCat("--", key)] = path;
    const bool list = entry.second.IsSequence();
    if (!list && !entry.second.IsScalar()) return absl::InvalidArgumentError(StrCat(source, ": is no value or list"));
    for (size_t i = 0; i < (list ? entry.second.size() : 1); ++i) {
      const YAML::Node value = list ? entry.second[i] : entry.second;
      if (!value.IsScalar()) return absl::InvalidArgumentError(StrCat(source, ": is no list of values"));
      if (absl::Status status = AppendValue(*flag->second, key, value.Scalar(), source, out); !status.ok()) {
        return status;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddConfigFlag(CLI::App& command) {
  command.add_option_function<std::string>(
      "--config", [](const std::string&) {},
      "YAML file with these flags as keys; HOPGAP_<FLAG> in the environment beats it");
}

absl::StatusOr<Settings> WithSettings(const CLI::App& app, std::vector<std::string> arguments,
                                      const Environment& environment) {
  Settings settings{.arguments = std::move(arguments), .sources = {}};
  const CLI::App* command = CommandOf(app, settings.arguments);
  if (command == nullptr) return settings;  // parsing says what is wrong
  std::vector<std::string> more, taken;
  for (const auto& [flag, option] : FlagsOf(*command)) {
    if (Given(settings.arguments, flag)) {
      taken.push_back(flag);
      continue;
    }
    const std::string variable = VariableOf(flag);
    const char* value = environment(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    taken.push_back(flag);
    settings.sources[StrCat("--", flag)] = variable;
    if (absl::Status status = AppendValue(*option, flag, value, variable, more); !status.ok()) return status;
  }
  const std::string file = ConfigFile(settings.arguments, environment);
  if (!file.empty()) {
    if (absl::Status status = AppendFile(*command, file, taken, more, settings.sources); !status.ok()) return status;
  }
  settings.arguments.insert(settings.arguments.end(), more.begin(), more.end());
  return settings;
}

std::vector<std::string> SuspiciousVariables(const CLI::App& app, const std::vector<std::string>& names) {
  std::vector<std::string> known(std::begin(kOtherVariables), std::end(kOtherVariables));
  for (const CLI::App* command : CommandsOf(app)) {
    for (const auto& [flag, option] : FlagsOf(*command)) known.push_back(StemOf(flag));
  }
  std::vector<std::string> sentences;
  for (const std::string& name : names) {
    if (name.substr(0, kVariablePrefix.size()) != kVariablePrefix) continue;
    const std::string stem = name.substr(kVariablePrefix.size());
    if (std::find(known.begin(), known.end(), stem) != known.end()) continue;
    const std::string nearest = Nearest(stem, known);
    if (nearest.empty()) continue;
    sentences.push_back(StrCat(name, " is set, and no flag is called so: it changes nothing. Did you mean ",
                               kVariablePrefix, nearest, "?"));
  }
  return sentences;
}

std::string UnknownName(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return "";
  const CLI::App* command = CommandOf(app, arguments);
  if (command == nullptr) {
    if (arguments.front().substr(0, 1) == "-") return "";
    std::vector<std::string> names;
    for (const CLI::App* one : CommandsOf(app)) names.push_back(one->get_name());
    const std::string nearest = Nearest(arguments.front(), names);
    std::string all;
    for (const std::string& name : names) all += StrCat(all.empty() ? "" : ", ", name);
    return StrCat("unknown command '", arguments.front(), "'",
                  nearest.empty() ? StrCat("; there are ", all) : StrCat("; did you mean ", nearest, "?"));
  }
  std::vector<std::string> flags = {"--help", "--config"};
  for (const auto& [flag, option] : FlagsOf(*command)) flags.push_back(StrCat("--", flag));
  for (const std::string& argument : arguments) {
    const std::string flag = argument.substr(0, argument.find('='));
    if (flag.substr(0, 2) != "--" || flag.size() == 2 || command->get_option_no_throw(flag) != nullptr) continue;
    const std::string nearest = Nearest(flag, flags);
    return StrCat(flag, ": no flag of hopgap ", command->get_name(),
                  nearest.empty() ? "" : StrCat("; did you mean ", nearest, "?"));
  }
  return "";
}

}  // namespace hopgap::cli
