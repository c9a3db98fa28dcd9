// hopgap: where the milliseconds go between Pub/Sub hops.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/settings.h"
#include "cli/signals.h"

namespace hopgap::cli {
namespace {

constexpr char kFooter[] =
    "\nhopgap measures its own broker unless you give it a target. What is modelled is\n"
    "labelled, everywhere. Any flag may also be HOPGAP_<FLAG> in the environment or a key\n"
    "of --config FILE.yaml. Exit codes: docs/exit-codes.md. JSON: docs/json.md.\n";

int Main(int argc, char** argv) {
  CLI::App app{"hopgap: where the milliseconds go between Pub/Sub hops, and what exactly-once costs", "hopgap"};
  app.footer(kFooter);
  app.set_version_flag("--version", StrCat("hopgap ", kVersion));
  app.require_subcommand(1);
  Commands commands;
  for (const auto add : {AddRun, AddSimulate, AddSweep, AddFit, AddAnalyze, AddReport, AddCompare, AddClients, AddServe,
                         AddCollect, AddApi, AddWorker, AddLoad, AddSetup, AddHealth, AddDoctor}) {
    add(app, commands);
  }
  for (const Command& command : commands) AddConfigFlag(*command.app);
  absl::StatusOr<std::vector<std::string>> arguments = WithSettings(
      app, std::vector<std::string>(argv + 1, argv + argc), [](const char* name) { return std::getenv(name); });
  if (!arguments.ok()) return Fail(kBadConfiguration, MessageOf(arguments.status()));
  std::reverse(arguments->begin(), arguments->end());  // as the parser takes them
  try {
    app.parse(*std::move(arguments));
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    return Fail(kBadConfiguration, StrCat(std::string(error.what()), "; see hopgap --help or hopgap COMMAND --help"));
  }
  for (const Command& command : commands) {
    if (!app.got_subcommand(command.app)) continue;
    if (command.asks_signals) InstallSignals();
    return command.run();
  }
  return Fail(kInternal, "no command");  // one is required
}

}  // namespace
}  // namespace hopgap::cli

int main(int argc, char** argv) {
  const int code = hopgap::cli::Main(argc, argv);
  // A full disk or a closed pipe behind standard output: half a document must not look whole.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return code != hopgap::cli::kOk
             ? code
             : hopgap::cli::Fail(hopgap::cli::kOutputUnwritable,
                                 "standard output could not be written; make room, or send it elsewhere");
}
