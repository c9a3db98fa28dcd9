#include <CLI/CLI.hpp>

#include <absl/strings/str_format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/fitting.h"
#include "cli/loaded_run.h"
#include "cli/options.h"
#include "cli/prediction.h"
#include "cli/signals.h"
#include "formats/profile_file.h"

namespace hopgap::cli {
namespace {

struct FitCommandOptions {
  std::vector<std::string> paths;
  std::string out, group, name = "fitted";
  uint32_t streams = 0;  // 0: not given
  std::string cold_after;
  bool check = false, json = false;
};

absl::Status WriteNewFile(const std::string& path, const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    return absl::AlreadyExistsError(StrCat("--out ", path, ": is there already; choose another name or remove it"));
  }
  std::ofstream file(path, std::ios::binary);
  if (!file || !(file << text) || !file.flush()) {
    return absl::UnavailableError(StrCat("--out ", path, ": cannot be written"));
  }
  return absl::OkStatus();
}

// Fits one half of the messages and holds the simulation of that against the other.
int CheckFit(const report::Run& run, const FitCommandOptions& options, std::optional<Duration> cold_after) {
  using Part = report::FitOptions::Part;
  const absl::StatusOr<Fitted> half =
      FitProfile(run, options.group, Part::kEven, "half", NameOfRun(options.paths), cold_after);
  if (!half.ok()) return Fail(kBadConfiguration, MessageOf(half.status()));
  const std::optional<uint32_t> streams = options.streams == 0 ? std::nullopt : std::optional(options.streams);
  absl::StatusOr<Plan> plan = PlanOf(run, options.group, streams);
  if (!plan.ok()) return Fail(kBadConfiguration, MessageOf(plan.status()));
  std::vector<report::PredictedArm> arms;
  size_t stages = 0, agreeing = 0, undecided = 0;
  for (size_t i = 0; i < plan->chains.size(); ++i) {
    const VirtualChain chain = WithFit(plan->chains[i], *half);
    absl::StatusOr<report::PredictedArm> arm =
        HoldAgainst(*plan->arms[i], chain, half->MessagesPerResponse(chain.arm.exactly_once), Part::kOdd);
    if (!arm.ok()) return Fail(CodeOf(arm.status()), MessageOf(arm.status()));
    for (const report::PredictedStage& stage : arm->stages) {
      ++stages;
      if (!stage.agrees()) ++undecided;
      if (stage.agrees().value_or(false)) ++agreeing;
    }
    arms.push_back(*std::move(arm));
  }
  std::fputs(report::RenderPrediction(arms, "held back").c_str(), stdout);
  for (const std::string& sentence : plan->assumed) std::printf("ASSUMED   %s\n", sentence.c_str());
  std::printf("CHECK     fitted to the even slots, held against the odd ones: %zu of %zu medians agree", agreeing,
              stages);
  std::printf(undecided == 0 ? "\n" : ", %zu cannot be told (too few messages)\n", undecided);
  return kOk;
}

absl::StatusOr<std::optional<Duration>> ColdAfter(const FitCommandOptions& options) {
  if (options.cold_after.empty()) return std::nullopt;
  const absl::StatusOr<Duration> length = ParseDuration("--cold-after", options.cold_after);
  if (!length.ok()) return length.status();
  if (ToMillis(*length) < 1 || ToMillis(*length) > formats::kColdAfterMsMax) {
    return absl::InvalidArgumentError(StrCat("--cold-after ", options.cold_after, ": is outside [1ms, 24h]"));
  }
  return *length;
}

int FitCommand(const FitCommandOptions& options) {
  const absl::StatusOr<std::optional<Duration>> cold_after = ColdAfter(options);
  if (!cold_after.ok()) return Fail(kBadConfiguration, MessageOf(cold_after.status()));
  absl::StatusOr<report::Run> run = LoadRun(options.paths);
  if (!run.ok()) return Fail(kBadConfiguration, MessageOf(run.status()));
  const absl::StatusOr<Fitted> fitted = FitProfile(*run, options.group, report::FitOptions::Part::kAll, options.name,
                                                   NameOfRun(options.paths), *cold_after);
  if (!fitted.ok()) return Fail(kBadConfiguration, MessageOf(fitted.status()));
  if (!options.out.empty()) {
    if (absl::Status status = WriteNewFile(options.out, fitted->json); !status.ok()) {
      return Fail(kOutputUnwritable, MessageOf(status));
    }
  }
  if (options.json) {
    std::fputs(fitted->json.c_str(), stdout);
    return kOk;
  }
  std::fputs(report::RenderFit(fitted->fit).c_str(), stdout);
  if (!options.out.empty()) {
    std::printf("SAVED   %s\n", options.out.c_str());
    std::printf("NEXT    hopgap simulate --profile %s\n", options.out.c_str());
  }
  return options.check ? CheckFit(*run, options, *cold_after) : kOk;
}

}  // namespace

void AddFit(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<FitCommandOptions>();
  CLI::App* command = app.add_subcommand("fit", "a latency profile from a run folder or a trace, to simulate with");
  command->group("Predict");
  command->add_option("PATH", options->paths, "a run folder, or files of spans")->required();
  command->add_option("--out", options->out, "profile file to write");
  command->add_option("--name", options->name, "of the profile")->capture_default_str();
  command->add_option("--group", options->group, "whose arms: here, replay, spans (default: the run's last group)");
  command->add_option(
      "--cold-after", options->cold_after,
      "calls of a topic or subscription that was not used for so long are cold, and get tables of their\n"
      "own (default: none is)");
  CLI::Option* check = command->add_flag("--check", options->check,
                                         "fit one half of the messages and say how well it predicts the other");
  command->add_option("--streams", options->streams, "for --check of spans alone: streams of each subscription")
      ->check(CLI::Range(1, 100))
      ->needs(check);
  command->add_flag("--json", options->json, "print the profile and nothing else")->excludes(check);
  commands.push_back({command, [options] { return FitCommand(*options); }, false});
}

}  // namespace hopgap::cli
