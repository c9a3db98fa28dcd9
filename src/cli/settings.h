#pragma once

#include <absl/status/statusor.h>

#include <functional>
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

// `arguments` (without the program's name) with what environment and file say
// appended, ready to be parsed. InvalidArgument naming file and key for a key
// that is no flag of the command or a value of the wrong shape.
using Environment = std::function<const char*(const char* name)>;
absl::StatusOr<std::vector<std::string>> WithSettings(const CLI::App& app, std::vector<std::string> arguments,
                                                      const Environment& environment);

}  // namespace hopgap::cli
