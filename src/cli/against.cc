#include "cli/against.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/fitting.h"
#include "cli/loaded_run.h"
#include "cli/prediction.h"
#include "cli/setup.h"

namespace hopgap::cli {
namespace {

// The plan is the folder's: a flag that would change it is refused, not ignored.
absl::StatusOr<std::optional<std::string>> ProfileGiven(const CLI::App& command) {
  std::optional<std::string> profile;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--against" || name == "--config") continue;
    if (name != "--profile") {
      return absl::InvalidArgumentError(StrCat(name, ": not with --against, which takes the plan of the run folder"));
    }
    profile = option->as<std::string>();
  }
  return profile;
}

std::vector<std::string> GroupsOf(const report::Run& run) {
  std::vector<std::string> groups;
  for (const report::ArmRun& arm : run.arms) {
    if (groups.empty() || groups.back() != arm.group) groups.push_back(arm.group);
  }
  return groups;
}

double PerResponse(const report::ArmRun& arm) {
  return arm.responses == 0 ? 1 : static_cast<double>(arm.messages_received) / static_cast<double>(arm.responses);
}

absl::Status AddGroup(const report::Run& run, const std::string& group, const broker::Profile& profile,
                      std::vector<report::PredictedArm>& arms, std::vector<std::string>& assumed) {
  const absl::StatusOr<Plan> plan = PlanOf(run, group, std::nullopt);
  if (!plan.ok()) return plan.status();
  assumed.insert(assumed.end(), plan->assumed.begin(), plan->assumed.end());
  for (size_t i = 0; i < plan->chains.size(); ++i) {
    VirtualChain chain = plan->chains[i];
    chain.profile = profile;
    absl::StatusOr<report::PredictedArm> arm =
        HoldAgainst(*plan->arms[i], chain, PerResponse(*plan->arms[i]), report::FitOptions::Part::kAll);
    if (!arm.ok()) return arm.status();
    arms.push_back(*std::move(arm));
  }
  return absl::OkStatus();
}

}  // namespace

int SimulateAgainst(const CLI::App& command, const std::string& folder) {
  const absl::StatusOr<std::optional<std::string>> given = ProfileGiven(command);
  if (!given.ok()) return Fail(kBadConfiguration, MessageOf(given.status()));
  absl::StatusOr<report::Run> run = LoadRun({folder});
  if (!run.ok()) return Fail(kBadConfiguration, MessageOf(run.status()));
  if (run->spans_only) {
    return Fail(kBadConfiguration, StrCat("--against ", folder,
                                          ": these are spans without a plan; fit them and hold half against it: "
                                          "hopgap fit --check"));
  }
  const std::vector<std::string> groups = GroupsOf(*run);
  std::vector<report::PredictedArm> arms;
  std::vector<std::string> assumed;
  for (const std::string& group : groups) {
    // "here" had nothing added; a profile that is given is of what the run's last group ran against.
    std::string name = group == "replay" ? run->configuration.profile : "none";
    if (*given && group == groups.back()) name = **given;
    const absl::StatusOr<broker::Profile> profile = LoadProfile(name);
    if (!profile.ok()) return Fail(kBadConfiguration, MessageOf(profile.status()));
    if (absl::Status status = AddGroup(*run, group, *profile, arms, assumed); !status.ok()) {
      return Fail(CodeOf(status), MessageOf(status));
    }
  }
  const char* word = run->configuration.simulated ? "as recorded" : "measured";
  std::fputs(report::RenderPrediction(arms, word).c_str(), stdout);
  for (const std::string& sentence : assumed) std::printf("ASSUMED   %s\n", sentence.c_str());
  std::printf("simulated with the run's own seed: both had the same added delays, message by message\n");
  std::printf("pairs: median over messages of %s - simulated; ok: at most 0.5 ms, or 3 %% of the simulated median\n",
              word);
  std::printf("formula: by hand, of means: legs of the profile one after the other, and the wait for a busy stream\n");
  return kOk;
}

}  // namespace hopgap::cli
