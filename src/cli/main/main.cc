// hopgap: where the milliseconds go between Pub/Sub hops.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "report/text.h"

namespace hopgap::cli {
namespace {

constexpr char kFooter[] =
    "hopgap measures its own broker unless you give it a target. What is modelled is labelled, everywhere. Any flag "
    "may also be HOPGAP_<FLAG> in the environment or a key of --config FILE.yaml. Exit codes: docs/exit-codes.md. "
    "JSON: docs/json.md.";

std::vector<std::string> VariableNames() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

// Tables are made for 80 columns; a narrower terminal breaks their lines.
void WarnIfNarrow(const CLI::App& command) {
  const std::string& group = command.get_group();
  if (group == "Serve" || group == "Deploy") return;  // they print lines of a log
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_col >= report::kWidthMin) return;
  std::fprintf(stderr, "hopgap: this terminal has %d columns, and tables need %d: widen it, or add | less -S\n",
               size.ws_col, report::kWidthMin);
}

int Main(int argc, char** argv) {
  CLI::App app{"hopgap: where the milliseconds go between Pub/Sub hops, and what exactly-once costs", "hopgap"};
  app.formatter(MakeHelp());  // before the commands, which take it over
  app.footer(kFooter);
  app.set_version_flag("--version", StrCat("hopgap ", kVersion));
  app.require_subcommand(1);
  Commands commands;
  for (const auto add : {AddRun, AddSimulate, AddSweep, AddFit, AddAnalyze, AddReport, AddCompare, AddClients, AddServe,
                         AddCollect, AddApi, AddWorker, AddLoad, AddSetup, AddHealth, AddDoctor}) {
    add(app, commands);
  }
  for (const Command& command : commands) AddConfigFlag(*command.app);
  const std::vector<std::string> typed(argv + 1, argv + argc);
  for (const std::string& sentence : SuspiciousVariables(app, VariableNames())) {
    std::fprintf(stderr, "hopgap: %s\n", sentence.c_str());
  }
  absl::StatusOr<Settings> settings = WithSettings(app, typed, [](const char* name) { return std::getenv(name); });
  if (!settings.ok()) return Fail(kBadConfiguration, MessageOf(settings.status()));
  SetFlagSources(std::move(settings->sources));
  std::reverse(settings->arguments.begin(), settings->arguments.end());  // as the parser takes them
  try {
    app.parse(std::move(settings->arguments));
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    std::string why = UnknownName(app, typed);
    if (why.empty()) why = error.what();
    return Fail(kBadConfiguration, StrCat(why, "; see hopgap --help or hopgap COMMAND --help"));
  }
  for (const Command& command : commands) {
    if (!app.got_subcommand(command.app)) continue;
    if (command.asks_signals) InstallSignals();
    WarnIfNarrow(*command.app);
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
