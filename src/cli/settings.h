#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace hopgap::cli {

// A flag's value may also come from the environment (HOPGAP_ and the flag's name
// in capitals, '-' as '_') or from the YAML file that --config names, with the
// flags' names as keys. A flag beats the environment, which beats the file.
//
// Adds --config to a command.
void AddConfigFlag(CLI::App& command);

struct Settings {
  std::vector<std::string> arguments;          // with what environment and file say appended, ready to be parsed
  std::map<std::string, std::string> sources;  // "--rate" -> "HOPGAP_RATE", of flags that were not typed
};

// `arguments` are those of the program, without its name. InvalidArgument naming
// file and key for a key that is no flag of the command or a value of the wrong
// shape.
using Environment = std::function<const char*(const char* name)>;
absl::StatusOr<Settings> WithSettings(const CLI::App& app, std::vector<std::string> arguments,
                                      const Environment& environment);

// A sentence for each of `names` (variables that are set) that is no flag's of
// any command and looks like one that is. Others with HOPGAP_ are somebody else's:
// a cluster makes such names for a service called hopgap.
std::vector<std::string> SuspiciousVariables(const CLI::App& app, const std::vector<std::string>& names);

// A sentence on what `arguments` name that there is not: a command, or a flag of
// the command; with the nearest that there is. Empty if all is there.
std::string UnknownName(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace hopgap::cli
