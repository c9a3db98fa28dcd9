#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/setup.h"
#include "cli/signals.h"
#include "cli/sweep.h"
#include "client/model.h"
#include "formats/sweep_json.h"
#include "lab/arm.h"
#include "lab/schedule.h"

namespace hopgap::cli {
namespace {

struct SweepFlags {
  std::string rates = "1,5,100,1000", streams = "1,4,10", arms = "std,eos", clients = "go", policies = "eager,gated";
  std::string modacks, profile = "cloud-replay", work = "200ms", duration = "20s", out, seed;
  int hops = 3;
  uint64_t messages_min = 200;
  unsigned threads = 0;  // 0: a core each
  bool json = false, csv = false, quiet = false;
};

absl::Status BadList(std::string_view flag, std::string_view value, std::string_view why) {
  return absl::InvalidArgumentError(StrCat(flag, " ", value, ": ", why));
}

// The parts of a list, each once.
absl::StatusOr<std::vector<std::string>> ListOf(std::string_view flag, const std::string& text) {
  std::vector<std::string> parts;
  std::set<std::string> seen;
  for (const std::string_view part : Split(text, ',')) {
    if (part.empty()) return BadList(flag, text, "is a list with an empty part");
    if (!seen.emplace(part).second) return BadList(flag, text, StrCat("names '", part, "' twice"));
    parts.emplace_back(part);
  }
  return parts;
}

struct SweepAxes {
  std::vector<uint64_t> millihertz;
  std::vector<uint32_t> streams;
  std::vector<std::string> arms, clients, policies;
  std::vector<std::optional<Duration>> modacks;  // none: the profile's
};

absl::Status ParseNumbers(const SweepFlags& flags, SweepAxes& axes) {
  const auto rates = ListOf("--rate", flags.rates), streams = ListOf("--streams", flags.streams);
  if (!rates.ok()) return rates.status();
  if (!streams.ok()) return streams.status();
  for (const std::string& text : *rates) {
    const absl::StatusOr<uint64_t> rate = ParseRate(text);
    if (!rate.ok()) return rate.status();
    axes.millihertz.push_back(*rate);
  }
  for (const std::string& text : *streams) {
    const std::optional<uint32_t> count = ParseNumber<uint32_t>(text);
    if (!count || *count < 1 || *count > 100) return BadList("--streams", text, "is outside [1, 100]");
    axes.streams.push_back(*count);
  }
  return absl::OkStatus();
}

absl::Status ParseWords(const SweepFlags& flags, SweepAxes& axes) {
  auto arms = ListOf("--arm", flags.arms), clients = ListOf("--client", flags.clients),
       policies = ListOf("--response-policy", flags.policies);
  for (const auto* list : {&arms, &clients, &policies}) {
    if (!list->ok()) return list->status();
  }
  for (const std::string& client : *clients) {
    const absl::StatusOr<client::Model> model = client::FindModel(client);
    if (!model.ok()) return BadList("--client", client, MessageOf(model.status()));
  }
  for (const std::string& arm : *arms) {
    const absl::StatusOr<lab::ArmSpec> spec = lab::ParseArm(arm, "go");
    if (!spec.ok()) return spec.status();
    if (spec->kind != arm)
      return BadList("--arm", arm, "a sweep takes kinds of arms: std, eos, eos-overlap, std-dedupe");
  }
  for (const std::string& policy : *policies) {
    if (policy != "eager" && policy != "gated")
      return BadList("--response-policy", policy, "is neither eager nor gated");
  }
  if (flags.modacks.empty()) axes.modacks.push_back(std::nullopt);
  const absl::StatusOr<std::vector<std::string>> modacks =
      flags.modacks.empty() ? std::vector<std::string>{} : ListOf("--modack", flags.modacks);
  if (!modacks.ok()) return modacks.status();
  for (const std::string& text : *modacks) {
    const absl::StatusOr<Duration> length = ParseDuration("--modack", text);
    if (!length.ok()) return length.status();
    axes.modacks.push_back(*length);
  }
  axes.arms = *std::move(arms);
  axes.clients = *std::move(clients);
  axes.policies = *std::move(policies);
  return absl::OkStatus();
}

// The cells of one arm at one rate. On a standard subscription nothing awaits a lease: one cell.
void AddCellsOf(const SweepAxes& axes, const report::SweepCell& setting, Sweep& sweep) {
  if (setting.arm.starts_with("std")) {
    sweep.cells.push_back(setting);
    sweep.cells.back().policy = "-";
    return;
  }
  for (const std::string& policy : axes.policies) {
    for (const std::optional<Duration>& modack : axes.modacks) {
      sweep.cells.push_back(setting);
      sweep.cells.back().policy = policy;
      sweep.cells.back().modack = modack;
    }
  }
}

absl::Status AddCells(const SweepAxes& axes, Sweep& sweep) {
  report::SweepCell cell;
  for (const uint64_t millihertz : axes.millihertz) {
    cell.rate_per_second = static_cast<double>(millihertz) / 1000;
    cell.messages = std::max(sweep.plan.messages_min, lab::Schedule::SlotsIn(millihertz, sweep.plan.length));
    if (cell.messages > kSweepCellMessagesMax) {
      return absl::InvalidArgumentError(StrCat("--duration: a cell of ", cell.messages, " messages at ",
                                               cell.rate_per_second, "/s; at most ", kSweepCellMessagesMax, " may be"));
    }
    for (const uint32_t streams : axes.streams) {
      cell.streams = static_cast<int>(streams);
      for (const std::string& client : axes.clients) {
        cell.client = client;
        for (const std::string& arm : axes.arms) {
          cell.arm = arm;
          AddCellsOf(axes, cell, sweep);
        }
      }
    }
  }
  if (sweep.cells.size() <= kSweepCellsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("a sweep of ", sweep.cells.size(), " cells; at most ", kSweepCellsMax, " may be"));
}

absl::StatusOr<Sweep> MakeSweep(const SweepFlags& flags) {
  SweepAxes axes;
  if (absl::Status status = ParseNumbers(flags, axes); !status.ok()) return status;
  if (absl::Status status = ParseWords(flags, axes); !status.ok()) return status;
  Sweep sweep;
  absl::StatusOr<broker::Profile> profile = LoadProfile(flags.profile);
  if (!profile.ok()) return profile.status();
  sweep.profile = *std::move(profile);
  const absl::StatusOr<Duration> work = ParseDuration("--work", flags.work);
  const absl::StatusOr<Duration> length = ParseDuration("--duration", flags.duration);
  if (!work.ok()) return work.status();
  if (!length.ok()) return length.status();
  std::optional<uint64_t> seed = kBuiltinSeed;
  if (!flags.seed.empty()) seed = ParseNumber<uint64_t>(flags.seed);
  if (!seed) return BadList("--seed", flags.seed, "is no whole number");
  sweep.plan = {.version = std::string(kVersion),
                .profile = flags.profile,
                .profile_means_ms = {},
                .hops = flags.hops,
                .work = *work,
                .length = *length,
                .messages_min = flags.messages_min,
                .seed = *seed};
  for (const bool exactly_once : {false, true}) {
    for (int leg = 0; leg < trace::kDelayLegs; ++leg) {
      const auto& table = sweep.profile.Table(exactly_once, static_cast<broker::Leg>(leg));
      sweep.plan.profile_means_ms.push_back(ToMillis(table.Mean()));
    }
  }
  if (absl::Status status = AddCells(axes, sweep); !status.ok()) return status;
  sweep.out = flags.out;
  sweep.threads = flags.threads != 0 ? flags.threads : std::max(1u, std::thread::hardware_concurrency());
  return sweep;
}

int SweepCommand(const SweepFlags& flags) {
  absl::StatusOr<Sweep> sweep = MakeSweep(flags);
  if (!sweep.ok()) return Fail(kBadConfiguration, MessageOf(sweep.status()));
  sweep->stop_asked = StopReason;
  const size_t total = sweep->cells.size();
  if (!flags.quiet && !flags.json && !flags.csv) {
    sweep->on_cell = [total](size_t done, const report::SweepCell& cell) {
      std::fprintf(stderr, "%zu of %zu: %s\n", done, total, cell.Key().c_str());
    };
  }
  const absl::StatusOr<std::string> ended = RunSweep(*sweep);
  if (!ended.ok()) {
    const bool folder = absl::IsUnavailable(ended.status()) || absl::IsFailedPrecondition(ended.status());
    return Fail(folder ? kOutputUnwritable : CodeOf(ended.status()), MessageOf(ended.status()));
  }
  if (!ended->empty()) {
    const std::string next =
        flags.out.empty() ? "; with --out FOLDER it could go on later" : "; the same command goes on where it ended";
    return Fail(*ended == SignalName(SIGTERM) ? kTerminated : kInterrupted, StrCat("ended by ", *ended, next));
  }
  const std::string text =
      flags.json  ? formats::SweepJson(sweep->plan, sweep->cells)
      : flags.csv ? report::SweepCsv(sweep->cells)
                  : report::RenderSweep(sweep->plan, sweep->cells) + report::RenderSweepGrid(sweep->plan, sweep->cells);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kOk;  // a saturated cell is an answer
}

}  // namespace

void AddSweep(CLI::App& app, Commands& commands) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* command = app.add_subcommand("sweep", "one chain at many settings, in virtual time: a map");
  command->group("Predict");
  command->add_option("--rate", flags->rates, "messages a second, a list")->capture_default_str();
  command->add_option("--streams", flags->streams, "streams per worker, a list")->capture_default_str();
  command->add_option("--arm", flags->arms, "kinds of arms, a list: std, eos, eos-overlap, std-dedupe")
      ->capture_default_str();
  command->add_option("--client", flags->clients, "client models, a list")->capture_default_str();
  command->add_option("--response-policy", flags->policies, "eager, gated or both; for exactly-once arms")
      ->capture_default_str();
  command->add_option(
      "--modack", flags->modacks,
      "delays, a list: each instead of the profile's for exactly-once modacks (default: the profile's)");
  command->add_option("--profile", flags->profile, "delays the broker adds: cloud-replay, none, or a FILE")
      ->capture_default_str();
  command->add_option("--hops", flags->hops, "workers in a chain")->check(CLI::Range(1, 20))->capture_default_str();
  command->add_option("--work", flags->work, "simulated work per handler")->capture_default_str();
  command->add_option("--duration", flags->duration, "virtual length of each cell")->capture_default_str();
  command->add_option("--messages-min", flags->messages_min, "messages of a cell, however slow its rate")
      ->check(CLI::Range(uint64_t{1}, kSweepCellMessagesMax))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "of the added delays and of the cells' order (default: built in)");
  command->add_option("--threads", flags->threads, "cells at once (default: a core each)")->check(CLI::Range(1, 256));
  command->add_option("--out", flags->out, "folder that keeps each cell; the same command goes on where it ended");
  CLI::Option* json = command->add_flag("--json", flags->json, "print one JSON document and nothing else");
  command->add_flag("--csv", flags->csv, "print a line a cell and nothing else")->excludes(json);
  command->add_flag("--quiet", flags->quiet, "no progress, only results");
  commands.push_back({command, [flags] { return SweepCommand(*flags); }});
}

}  // namespace hopgap::cli
