// hopgap: where the milliseconds go between Pub/Sub hops.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "base/text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/signals.h"

namespace hopgap::cli {
namespace {

constexpr char kFooter[] =
    "\nhopgap measures its own broker unless you give it a target. What is modelled is\n"
    "labelled, everywhere. Exit codes: docs/exit-codes.md. JSON: docs/json.md.\n";

void AddServe(CLI::App& app, ServeOptions& serve, std::string& policy) {
  CLI::App* command = app.add_subcommand("serve", "run the broker alone: Pub/Sub for tests, exactly-once included");
  command->group("Serve");
  command->add_option("--port", serve.port, "port to listen on; 0: any free one")->capture_default_str();
  command->add_option("--host", serve.host, "address to listen on; anything beyond loopback is not asked who it is")
      ->capture_default_str();
  command->add_option("--profile", serve.profile, "delays to add for every project: none, cloud-replay, or a FILE")
      ->capture_default_str();
  command->add_option("--response-policy", policy, "eager or gated")
      ->capture_default_str()
      ->check(CLI::IsMember({"eager", "gated"}));
  command->add_option("--seed", serve.seed, "of the added delays")->capture_default_str();
}

void AddAnalyze(CLI::App& app, AnalyzeOptions& analyze) {
  CLI::App* command = app.add_subcommand("analyze", "explain a run folder again, from its spans and run.json alone");
  command->group("Explain");
  command->add_option("RUN_DIR", analyze.folder, "a folder that `hopgap run` or `simulate` wrote")->required();
  command->add_flag("--json", analyze.json, "print one JSON document (docs/json.md)");
  command->add_flag("--per-hop", analyze.per_hop, "tables per hop as well");
  command->add_option("--waterfall", analyze.waterfall, "the arm whose median message is drawn");
}

int Dispatch(CLI::App& app, const RunFlags& run, const RunFlags& simulate, const AnalyzeOptions& analyze,
             const ServeOptions& serve) {
  if (app.got_subcommand("serve")) return ServeCommand(serve);
  if (app.got_subcommand("analyze")) return AnalyzeCommand(analyze);
  const bool simulated = app.got_subcommand("simulate");
  absl::StatusOr<RunOptions> options = (simulated ? simulate : run).Finish();
  if (!options.ok()) return Fail(kBadConfiguration, MessageOf(options.status()));
  return simulated ? SimulateCommand(*options) : RunCommand(*options);
}

int Main(int argc, char** argv) {
  CLI::App app{"hopgap: where the milliseconds go between Pub/Sub hops, and what exactly-once costs"};
  app.footer(kFooter);
  app.set_version_flag("--version", StrCat("hopgap ", kVersion));
  app.require_subcommand(1);
  CLI::App* run = app.add_subcommand("run", "standard and exactly-once chains, side by side, here and in replay");
  run->group("Measure");
  CLI::App* simulate = app.add_subcommand("simulate", "the same experiment in virtual time: seconds for hours");
  simulate->group("Predict");
  const RunFlags run_flags(*run, false), simulate_flags(*simulate, true);
  AnalyzeOptions analyze;
  ServeOptions serve;
  std::string policy = "eager";
  AddAnalyze(app, analyze);
  AddServe(app, serve, policy);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    return Fail(kBadConfiguration, StrCat(std::string(error.what()), "; see hopgap --help or hopgap COMMAND --help"));
  }
  serve.gated = policy == "gated";
  InstallSignals();
  return Dispatch(app, run_flags, simulate_flags, analyze, serve);
}

}  // namespace
}  // namespace hopgap::cli

int main(int argc, char** argv) { return hopgap::cli::Main(argc, argv); }
