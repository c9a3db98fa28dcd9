#include "cli/what_if.h"

#include <CLI/CLI.hpp>

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/fitting.h"
#include "cli/loaded_run.h"
#include "cli/options.h"
#include "client/model.h"
#include "report/layout.h"
#include "stats/interval.h"

namespace hopgap::cli {
namespace {

constexpr uint64_t kWhatIfSlotsMin = 1'000, kWhatIfSlotsMax = 50'000, kWhatIfSeconds = 30;
constexpr uint32_t kWhatIfStreamsMax = 100;

absl::Status BadChange(std::string_view part, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("--what-if ", part, ": ", why,
                                           "; what can be changed: rate=MESSAGES-A-SECOND, streams=N, client=MODEL, "
                                           "policy=eager or policy=gated"));
}

absl::Status ApplyChange(std::string_view part, Change& change) {
  const size_t equals = part.find('=');
  if (equals == std::string_view::npos) return BadChange(part, "is not NAME=VALUE");
  const std::string_view name = part.substr(0, equals), value = part.substr(equals + 1);
  if (name == "rate") {
    const absl::StatusOr<uint64_t> rate = ParseRate(value);
    if (!rate.ok()) return BadChange(part, "is no number in [0.001, 100000] messages a second");
    change.millihertz = *rate;
  } else if (name == "streams") {
    change.streams = ParseNumber<uint32_t>(value);
    if (!change.streams || *change.streams < 1 || *change.streams > kWhatIfStreamsMax) {
      return BadChange(part, StrCat("is outside [1, ", kWhatIfStreamsMax, "]"));
    }
  } else if (name == "client") {
    const absl::StatusOr<client::Model> model = client::FindModel(value);
    if (!model.ok()) return BadChange(part, MessageOf(model.status()));
    change.client = std::string(value);
  } else if (name == "policy") {
    if (value != "eager" && value != "gated") return BadChange(part, "is neither eager nor gated");
    change.gated = value == "gated";
  } else {
    return BadChange(part, "nothing of that name");
  }
  return absl::OkStatus();
}

// Long enough to see a backlog grow.
VirtualChain LongEnough(VirtualChain chain) {
  chain.slots = std::clamp(chain.millihertz * kWhatIfSeconds / 1000, kWhatIfSlotsMin, kWhatIfSlotsMax);
  return chain;
}

std::optional<stats::Estimate> UntilHandled(const report::ArmRun& arm, Duration work, stats::Probability p) {
  std::vector<int64_t> values;
  for (const trace::Path& path : arm.paths) values.push_back((path.until_handled - work).count());
  return stats::EstimateQuantile(stats::Sample(std::move(values)), p);
}

std::string ShownMs(const std::optional<stats::Estimate>& estimate) {
  return estimate && estimate->supported ? absl::StrFormat("%.4g", static_cast<double>(estimate->value) / 1e6)
                                         : "n too small";
}

struct Answer {
  std::string arm, measured, today, changed, p95, sentence;
};

std::string Cell(const report::ArmRun& arm, Duration work, stats::Probability p) {
  if (arm.saturated_at) return absl::StrCat("saturated at ", report::PerSecond(*arm.saturated_at), "/s");
  return ShownMs(UntilHandled(arm, work, p));
}

std::string SentenceOf(const VirtualChain& chain, const report::ArmRun& arm, const Formula& formula,
                       const Answer& answer, double per_response) {
  const double rate = static_cast<double>(chain.millihertz) / 1e3;
  const uint32_t streams = chain.arm.streams != 0 ? chain.arm.streams : chain.streams;
  const std::string setting =
      absl::StrFormat("%s, %d stream%s at %.4g/s", answer.arm, streams, streams == 1 ? "" : "s", rate);
  if (!arm.saturated_at) {
    return absl::StrFormat("Yes, enough: %s: until handled p50 %s ms (as it is: %s), p95 %s ms, work taken off.",
                           setting, answer.changed, answer.today, answer.p95);
  }
  std::string sentence =
      absl::StrFormat("No, not enough: %s: saturated at %s/s.", setting, report::PerSecond(*arm.saturated_at));
  if (formula.capacity) {
    sentence += absl::StrFormat(
        " A client that waits for its receipt modack needs at least %d, more for a short queue (by hand: rate x %.3g "
        "ms "
        "/ %.2f messages per response).",
        formula.streams_needed, ToMillis(formula.modack), per_response);
  }
  return sentence;
}

absl::StatusOr<Answer> AnswerFor(const report::ArmRun& measured, const VirtualChain& planned, const Fitted& fitted,
                                 const Change& change) {
  VirtualChain today = planned;
  today.profile = fitted.profile;
  const VirtualChain then = LongEnough(Changed(today, change));
  today = LongEnough(today);
  const absl::StatusOr<report::ArmRun> now_run = Predict(today, nullptr), then_run = Predict(then, nullptr);
  if (!now_run.ok()) return now_run.status();
  if (!then_run.ok()) return then_run.status();
  const Duration work = planned.work * planned.hops;
  const double per_response = fitted.MessagesPerResponse(planned.arm.exactly_once);
  Answer answer{.arm = measured.name,
                .measured = ShownMs(UntilHandled(measured, work, stats::kP50)),
                .today = Cell(*now_run, work, stats::kP50),
                .changed = Cell(*then_run, work, stats::kP50),
                .p95 = Cell(*then_run, work, stats::kP95),
                .sentence = {}};
  answer.sentence = SentenceOf(then, *then_run, ByHand(then, per_response), answer, per_response);
  return answer;
}

}  // namespace

void AddWhatIfFlags(CLI::App& command, WhatIfFlags& flags) {
  CLI::Option* what_if = command.add_option(
      "--what-if", flags.changes,
      "fit this and simulate it with a change: rate=100, streams=10, client=overlap, policy=gated, or several of them");
  command.add_option("--what-if-group", flags.group, "of these arms: here, replay, spans (default: the last group)")
      ->needs(what_if);
  for (const char* name : {"--json", "--csv", "--per-hop", "--waterfall", "--trace", "--out", "--report", "--threshold",
                           "--join-message-ids", "--how"}) {
    what_if->excludes(command.get_option(name));
  }
}

absl::StatusOr<Change> ParseChange(const std::vector<std::string>& changes) {
  Change change;
  for (const std::string& text : changes) {
    change.text += StrCat(change.text.empty() ? "" : ",", text);
    for (const std::string_view part : Split(text, ',')) {
      if (absl::Status status = ApplyChange(part, change); !status.ok()) return status;
    }
  }
  return change;
}

VirtualChain Changed(VirtualChain chain, const Change& change) {
  if (change.millihertz) chain.millihertz = *change.millihertz;
  if (change.streams) chain.streams = chain.arm.streams = *change.streams;
  if (change.client) chain.arm.model = *change.client;
  if (change.gated) chain.gated = *change.gated;
  return chain;
}

int AnswerWhatIf(const std::vector<std::string>& paths, std::optional<int> streams, const WhatIfFlags& flags) {
  if (paths.empty()) return Fail(kBadConfiguration, "PATH: what is to be fitted? A run folder, or files of spans");
  const absl::StatusOr<Change> change = ParseChange(flags.changes);
  if (!change.ok()) return Fail(kBadConfiguration, MessageOf(change.status()));
  const absl::StatusOr<report::Run> run = LoadRun(paths);
  if (!run.ok()) return Fail(kBadConfiguration, MessageOf(run.status()));
  const std::string name = NameOfRun(paths);
  const absl::StatusOr<Fitted> fitted = FitProfile(*run, flags.group, report::FitOptions::Part::kAll, "fitted", name);
  if (!fitted.ok()) return Fail(kBadConfiguration, MessageOf(fitted.status()));
  if (change->streams && !streams && run->spans_only) {
    return Fail(kBadConfiguration,
                "--what-if streams=N: say with --streams how many are open today: the spans do not show it");
  }
  if (streams && *streams > static_cast<int>(kWhatIfStreamsMax)) {
    return Fail(kBadConfiguration,
                StrCat("--streams ", *streams, ": at most ", kWhatIfStreamsMax, " can be simulated"));
  }
  const auto now = streams ? std::optional(static_cast<uint32_t>(*streams)) : std::nullopt;
  const absl::StatusOr<Plan> plan = PlanOf(*run, flags.group, now);
  if (!plan.ok()) return Fail(kBadConfiguration, MessageOf(plan.status()));
  std::printf("WHAT IF %s: %s (%s), fitted and simulated; until handled, work taken off, p50, ms\n",
              change->text.c_str(), name.c_str(), fitted->fit.group.c_str());
  std::printf("%-20s %10s %18s %20s\n", "arm", "measured", "simulated as it is", "with the change");
  std::vector<Answer> answers;
  for (size_t i = 0; i < plan->chains.size(); ++i) {
    absl::StatusOr<Answer> answer = AnswerFor(*plan->arms[i], plan->chains[i], *fitted, *change);
    if (!answer.ok()) return Fail(CodeOf(answer.status()), MessageOf(answer.status()));
    std::printf("%-20.20s %10s %18s %20s\n", answer->arm.c_str(), answer->measured.c_str(), answer->today.c_str(),
                answer->changed.c_str());
    answers.push_back(*std::move(answer));
  }
  for (const std::string& sentence : fitted->fit.assumed) std::printf("ASSUMED %s\n", sentence.c_str());
  for (const std::string& sentence : plan->assumed) std::printf("ASSUMED %s\n", sentence.c_str());
  for (const report::FittedLeg& leg : fitted->fit.legs) {
    if (leg.delays.empty() && fitted->fit.Observed(leg.kind == "exactly_once")) {
      std::printf("ASSUMED %s of %s adds nothing: %s\n", leg.name.c_str(), leg.kind.c_str(), leg.missing.c_str());
    }
  }
  for (const Answer& answer : answers) std::printf("ANSWER  %s\n", answer.sentence.c_str());
  return kOk;
}

}  // namespace hopgap::cli
