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
#include "cli/folder.h"
#include "cli/loaded_run.h"
#include "cli/options.h"
#include "cli/run_files.h"
#include "cli/setup.h"
#include "cli/signals.h"
#include "cli/sweep.h"
#include "client/model.h"
#include "formats/report_html.h"
#include "formats/sweep_json.h"
#include "lab/arm.h"
#include "lab/schedule.h"

namespace hopgap::cli {
namespace {

struct SweepFlags {
  std::string rates = "1,5,100,1000", streams = "1,4,10", arms = "std,eos", clients = "go", policies = "eager,gated";
  std::string modacks, round_trips, profile = "cloud-replay", work = "200ms", duration = "20s", out, seed, report;
  std::vector<std::string> here;
  std::string idle_gap, message_size;  // refused by name
  int hops = 3, repeats = 1;
  uint64_t messages_min = 200;
  unsigned threads = 0;  // 0: a core each
  bool json = false, csv = false, quiet = false, no_out = false, live = false;
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
  std::vector<std::optional<Duration>> modacks;      // none: the profile's
  std::vector<std::optional<Duration>> round_trips;  // none: the simulation's
  int repeats = 1;
};

// Lengths; one that is unset if the flag was not given.
absl::Status ParseLengths(std::string_view flag, const std::string& text, std::vector<std::optional<Duration>>& out) {
  if (text.empty()) {
    out.push_back(std::nullopt);
    return absl::OkStatus();
  }
  const absl::StatusOr<std::vector<std::string>> parts = ListOf(flag, text);
  if (!parts.ok()) return parts.status();
  for (const std::string& part : *parts) {
    const absl::StatusOr<Duration> length = ParseDuration(flag, part);
    if (!length.ok()) return length.status();
    out.push_back(*length);
  }
  return absl::OkStatus();
}

// What a sweep cannot vary, and what can be done instead.
absl::Status RefuseOthers(const SweepFlags& flags) {
  const auto refuse = [](std::string_view flag, std::string_view why) {
    return absl::UnimplementedError(StrCat(flag, ": ", why));
  };
  if (!flags.idle_gap.empty()) {
    return refuse(
        "--idle-gap",
        "nothing in virtual time cools down between messages, so a low --rate is all that idleness changes. To measure "
        "idle gaps: hopgap run --rate 0.1");
  }
  if (!flags.message_size.empty()) {
    return refuse(
        "--message-size",
        "the simulated network takes as long for a large message as for a small one. To measure sizes: hopgap "
        "run --message-bytes");
  }
  if (flags.live && !flags.round_trips.empty()) {
    return refuse("--rtt", "is of the simulated network; with --live messages take this machine's loopback");
  }
  if (flags.live && flags.threads > 1) {
    return refuse("--threads", "with --live cells run one after the other, since they would disturb each other");
  }
  return absl::OkStatus();
}

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
  if (absl::Status status = ParseLengths("--modack", flags.modacks, axes.modacks); !status.ok()) return status;
  if (absl::Status status = ParseLengths("--rtt", flags.round_trips, axes.round_trips); !status.ok()) return status;
  axes.repeats = flags.repeats;
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

void AddCellsAt(const SweepAxes& axes, report::SweepCell cell, Sweep& sweep) {
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

absl::Status AddCells(const SweepAxes& axes, Sweep& sweep) {
  report::SweepCell cell;
  for (const std::optional<Duration>& round_trip : axes.round_trips) {
    cell.round_trip = round_trip;
    for (cell.repeat = 1; cell.repeat <= axes.repeats; ++cell.repeat) {
      for (const uint64_t millihertz : axes.millihertz) {
        cell.rate_per_second = static_cast<double>(millihertz) / 1000;
        cell.messages = std::max(sweep.plan.messages_min, lab::Schedule::SlotsIn(millihertz, sweep.plan.length));
        if (cell.messages > kSweepCellMessagesMax) {
          return absl::InvalidArgumentError(StrCat("--duration: a cell of ", cell.messages, " messages at ",
                                                   cell.rate_per_second, "/s; at most ", kSweepCellMessagesMax,
                                                   " may be"));
        }
        AddCellsAt(axes, cell, sweep);
        if (sweep.cells.size() > kSweepCellsMax) {
          return absl::InvalidArgumentError(
              StrCat("a sweep of more than ", kSweepCellsMax, " cells: give fewer values, or several sweeps"));
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Sweep> MakeSweep(const SweepFlags& flags) {
  SweepAxes axes;
  if (absl::Status status = RefuseOthers(flags); !status.ok()) return status;
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
                .simulated = !flags.live,
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
  if (!flags.no_out) sweep.out = flags.out.empty() ? DefaultFolder() : flags.out;
  sweep.threads = flags.live           ? 1
                  : flags.threads != 0 ? flags.threads
                                       : std::max(1u, std::thread::hardware_concurrency());
  return sweep;
}

std::string SweepText(const SweepFlags& flags, const Sweep& sweep, const std::optional<report::SweepHere>& here) {
  const report::SweepHere* at = here ? &*here : nullptr;
  if (flags.json) return formats::SweepJson(sweep.plan, sweep.cells, at);
  return flags.csv ? report::SweepCsv(sweep.cells) : report::RenderSweep(sweep.plan, sweep.cells, at);
}

// The page into the folder, and to --report. What was written is said.
absl::Status WritePages(const SweepFlags& flags, const Sweep& sweep, const std::optional<report::SweepHere>& here) {
  if (sweep.out.empty() && flags.report.empty()) return absl::OkStatus();
  const std::string page =
      formats::ReportHtml({}, std::nullopt,
                          formats::HtmlSweep{.name = sweep.out.empty() ? "sweep" : BaseName(sweep.out),
                                             .plan = sweep.plan,
                                             .cells = sweep.cells,
                                             .here = here,
                                             .command_line = ReadMachine().command_line});
  std::vector<std::string> files;
  if (!sweep.out.empty()) files.push_back(StrCat(sweep.out, "/", kReportFile));
  if (!flags.report.empty()) files.push_back(flags.report);
  for (const std::string& file : files) {
    if (absl::Status status = WriteWhole(file, page); !status.ok()) return status;
    if (!flags.quiet && !flags.json && !flags.csv) std::printf("SAVED     %s  %zu bytes\n", file.c_str(), page.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<report::SweepHere>> ReadHere(const SweepFlags& flags) {
  if (flags.here.empty()) return std::nullopt;
  absl::StatusOr<report::Run> run = LoadRun(flags.here);
  if (!run.ok()) return run.status();
  absl::StatusOr<report::SweepHere> here = HereOf(*run, NameOfRun(flags.here));
  if (!here.ok()) return here.status();
  return std::optional(*std::move(here));
}

int EndedEarly(const Sweep& sweep, const std::string& why) {
  const std::string next = sweep.out.empty()
                               ? std::string("; without --no-out it could go on later")
                               : StrCat("; the same options with --out ", sweep.out, " go on where it ended");
  return Fail(why == SignalName(SIGTERM) ? kTerminated : kInterrupted, StrCat("ended by ", why, next));
}

int SweepCommand(const SweepFlags& flags) {
  absl::StatusOr<Sweep> sweep = MakeSweep(flags);
  if (!sweep.ok()) return Fail(kBadConfiguration, MessageOf(sweep.status()));
  const absl::StatusOr<std::optional<report::SweepHere>> here = ReadHere(flags);
  if (!here.ok()) return Fail(kBadConfiguration, MessageOf(here.status()));
  sweep->stop_asked = StopReason;
  const size_t total = sweep->cells.size();
  if (flags.live) {
    const absl::StatusOr<Duration> length = LiveLength(*sweep);
    if (!length.ok()) return Fail(kBadConfiguration, MessageOf(length.status()));
    if (!flags.quiet) {
      std::fprintf(stderr,
                   "%zu cells, one after the other on this machine: about %.0f min, up to 30 s more for each that "
                   "cannot keep up\n",
                   total, std::ceil(ToMillis(*length) / 60e3));
    }
  }
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
  if (!ended->empty()) return EndedEarly(*sweep, *ended);
  const std::string text = SweepText(flags, *sweep, *here);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (absl::Status status = WritePages(flags, *sweep, *here); !status.ok()) {
    return Fail(kOutputUnwritable, MessageOf(status));
  }
  return kOk;  // a saturated cell is an answer
}

// Axes that a sweep does not have, so that whoever asks for one learns why.
void AddRefused(CLI::App& command, SweepFlags& flags) {
  command.add_option("--idle-gap", flags.idle_gap)->group("");
  command.add_option("--message-size", flags.message_size)->group("");
}

}  // namespace

void AddSweep(CLI::App& app, Commands& commands) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* command = app.add_subcommand("sweep", "one chain at many settings, in virtual time or live: a map");
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
  command->add_option("--rtt", flags->round_trips,
                      "what the modelled network takes there and back, a list (default: 200us, one machine)");
  command->add_option("--repeat", flags->repeats, "simulate each cell so many times, each with delays of its own")
      ->check(CLI::Range(1, kSweepRepeatsMax))
      ->capture_default_str();
  command->add_option("--profile", flags->profile, "delays the broker adds: cloud-replay, none, or a FILE")
      ->capture_default_str();
  command->add_option("--hops", flags->hops, "workers in a chain")->check(CLI::Range(1, 20))->capture_default_str();
  command->add_option("--work", flags->work, "simulated work per handler")->capture_default_str();
  command->add_option("--duration", flags->duration, "length of each cell")->capture_default_str();
  command->add_option("--messages-min", flags->messages_min, "messages of a cell, however slow its rate")
      ->check(CLI::Range(uint64_t{1}, kSweepCellMessagesMax))
      ->capture_default_str();
  command->add_flag("--live", flags->live,
                    "run the cells, one after the other, on real gRPC and a broker of this process's own, to verify\n"
                    "what was simulated: takes as long as it says");
  command->add_option("--seed", flags->seed, "of the added delays and of the cells' order (default: built in)");
  command->add_option("--threads", flags->threads, "cells at once (default: a core each)")->check(CLI::Range(1, 256));
  CLI::Option* out = command->add_option("--out", flags->out,
                                         "folder for each cell as it is done, and report.html; there the same command "
                                         "goes on\nwhere it ended (default: runs/<start>)");
  command->add_flag("--no-out", flags->no_out, "write no folder")->excludes(out);
  command->add_option("--here", flags->here, "mark where this run folder, or these files of spans, stand on the map");
  command->add_option("--report", flags->report, "write the page here too");
  AddRefused(*command, *flags);
  CLI::Option* json = command->add_flag("--json", flags->json, "print one JSON document and nothing else");
  command->add_flag("--csv", flags->csv, "print a line a cell and nothing else")->excludes(json);
  command->add_flag("--quiet", flags->quiet, "no progress, only results");
  commands.push_back({command, [flags] { return SweepCommand(*flags); }});
}

}  // namespace hopgap::cli
