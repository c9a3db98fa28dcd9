#include "cli/settings.h"

#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace hopgap::cli {
namespace {

constexpr std::string_view kConfig = "config";

std::string VariableOf(std::string_view flag) {
  std::string name = "HOPGAP_";
  for (const char c : flag) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
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
                        std::vector<std::string>& out) {
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

absl::StatusOr<std::vector<std::string>> WithSettings(const CLI::App& app, std::vector<std::string> arguments,
                                                      const Environment& environment) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  const auto command = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* candidate) {
    return !arguments.empty() && candidate->get_name() == arguments.front();
  });
  if (command == commands.end()) return arguments;  // parsing says what is wrong
  std::vector<std::string> more, taken;
  for (const auto& [flag, option] : FlagsOf(**command)) {
    if (Given(arguments, flag)) {
      taken.push_back(flag);
      continue;
    }
    const std::string variable = VariableOf(flag);
    const char* value = environment(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    taken.push_back(flag);
    if (absl::Status status = AppendValue(*option, flag, value, variable, more); !status.ok()) return status;
  }
  const std::string file = ConfigFile(arguments, environment);
  if (!file.empty()) {
    if (absl::Status status = AppendFile(**command, file, taken, more); !status.ok()) return status;
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace hopgap::cli
