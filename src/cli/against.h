#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace hopgap::cli {

// `simulate --against FOLDER`: the folder's own plan, profile and seed in virtual
// time, stage by stage beside what it measured. Of `command`'s other flags only
// --profile may be given. Returns the exit code.
int SimulateAgainst(const CLI::App& command, const std::string& folder);

}  // namespace hopgap::cli
