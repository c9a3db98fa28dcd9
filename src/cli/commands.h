#pragma once

#include <absl/status/status.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace hopgap::cli {

// A subcommand: its flags, and what it does with them. It prints its results
// and returns the process's exit code.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
  // Ctrl-C and SIGTERM ask it to end (signals.h); else they just end it.
  bool asks_signals = true;
};
using Commands = std::vector<Command>;

// Each adds one subcommand with its flags, and stands in NAME_command.cc.
void AddRun(CLI::App& app, Commands& commands);
void AddSimulate(CLI::App& app, Commands& commands);
void AddAnalyze(CLI::App& app, Commands& commands);
void AddReport(CLI::App& app, Commands& commands);
void AddCompare(CLI::App& app, Commands& commands);
void AddClients(CLI::App& app, Commands& commands);
void AddServe(CLI::App& app, Commands& commands);
void AddCollect(CLI::App& app, Commands& commands);
void AddApi(CLI::App& app, Commands& commands);
void AddWorker(CLI::App& app, Commands& commands);
void AddLoad(CLI::App& app, Commands& commands);
void AddSetup(CLI::App& app, Commands& commands);
void AddHealth(CLI::App& app, Commands& commands);
void AddDoctor(CLI::App& app, Commands& commands);
void AddFit(CLI::App& app, Commands& commands);
void AddSweep(CLI::App& app, Commands& commands);

// "hopgap: TEXT" on standard error; returns `code`. Of a flag in TEXT that was
// not typed it says where its value came from.
int Fail(int code, std::string_view text);
// "--rate" -> "HOPGAP_RATE": what Fail() says. Once, before any command runs.
void SetFlagSources(std::map<std::string, std::string> sources);
// The exit code of a status from set-up.
int CodeOf(const absl::Status& status);
// The same for what a target said: there PermissionDenied is a matter of
// credentials, and not of a port or a file of this machine.
int CodeOfTarget(const absl::Status& status);

}  // namespace hopgap::cli
