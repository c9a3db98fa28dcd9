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
#include "cli/arrival.h"
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
  std::string idle_gap, message_size;
  uint64_t burst = 10;
  bool burst_given = false, cold = false;
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
  std::vector<std::optional<Duration>> idle_gaps;    // none: evenly spread
  std::vector<std::optional<uint64_t>> sizes;        // none: a few bytes
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

// What a sweep of this kind cannot vary, and what can be done instead.
absl::Status RefuseOthers(const SweepFlags& flags) {
  const auto refuse = [](std::string_view flag, std::string_view why) {
    return absl::InvalidArgumentError(StrCat(flag, ": ", why));
  };
  if (!flags.message_size.empty() && !flags.live) {
    return refuse("--message-size",
                  "the simulated network takes as long for a large message as for a small one; with --live it is "
                  "measured");
  }
  if (flags.live && !flags.round_trips.empty()) {
    return refuse("--rtt", "is of the simulated network; with --live messages take this machine's loopback");
  }
  if (flags.live && flags.threads > 1) {
    return refuse("--threads", "with --live cells run one after the other, since they would disturb each other");
  }
  if (flags.burst_given && flags.idle_gap.empty()) return refuse("--burst", "is of --idle-gap, which is not given");
  return absl::OkStatus();
}

// In virtual time nothing cools down but what a profile says.
absl::Status RefuseWarm(const SweepFlags& flags, const broker::Profile& profile) {
  const char* flag = flags.cold ? "--cold" : !flags.idle_gap.empty() ? "--idle-gap" : nullptr;
  if (flag == nullptr || flags.live || profile.HasCold()) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(
      flag, ": nothing in virtual time grows cold, unless --profile has 'cold' tables (profiles/README.md), and ",
      flags.profile, " has none; with --live it is measured"));
}

absl::Status ParseSizes(const std::string& text, std::vector<std::optional<uint64_t>>& out) {
  if (text.empty()) {
    out.push_back(std::nullopt);
    return absl::OkStatus();
  }
  const absl::StatusOr<std::vector<std::string>> parts = ListOf("--message-size", text);
  if (!parts.ok()) return parts.status();
  for (const std::string& part : *parts) {
    const std::optional<uint64_t> bytes = ParseNumber<uint64_t>(part);
    if (!bytes || *bytes < 1 || *bytes > lab::kMessageBytesMax) {
      return BadList("--message-size", part, StrCat("is no number of bytes in [1, ", lab::kMessageBytesMax, "]"));
    }
    out.push_back(*bytes);
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
  if (absl::Status status = ParseLengths("--idle-gap", flags.idle_gap, axes.idle_gaps); !status.ok()) return status;
  for (std::optional<Duration>& gap : axes.idle_gaps) {
    if (gap == Duration{0}) gap.reset();  // the cells to compare with
    if (gap && *gap > kGapMax) return BadList("--idle-gap", flags.idle_gap, "is a list of times in [0, 24h]");
  }
  if (absl::Status status = ParseSizes(flags.message_size, axes.sizes); !status.ok()) return status;
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

// The messages of a cell at this rate: of bursts so many that enough come after a silence.
absl::StatusOr<uint64_t> MessagesOf(const report::SweepCell& cell, uint64_t millihertz, const report::SweepPlan& plan) {
  uint64_t messages = std::max(plan.messages_min, lab::Schedule::SlotsIn(millihertz, plan.length));
  if (cell.idle_gap) {
    const auto arrival = lab::Arrival::Bursts(millihertz, plan.burst, *cell.idle_gap);
    if (plan.burst > 1 && *cell.idle_gap <= lab::Schedule(millihertz, 1).period()) {
      return absl::InvalidArgumentError(StrCat("--idle-gap: a silence of ", ToMillis(*cell.idle_gap),
                                               " ms is no longer than the time between two messages at ",
                                               cell.rate_per_second, "/s"));
    }
    const uint64_t in_length =
        lab::Schedule::SlotsIn(arrival.MeanOfBursts(), arrival, plan.length, kSweepCellMessagesMax) / plan.burst;
    messages = (1 + std::max(plan.messages_min, in_length)) * plan.burst;  // the first burst comes after the start
  }
  if (messages <= kSweepCellMessagesMax) return messages;
  return absl::InvalidArgumentError(StrCat("--duration: a cell of ", messages, " messages at ", cell.rate_per_second,
                                           "/s; at most ", kSweepCellMessagesMax, " may be"));
}

absl::Status AddCellsAtRates(const SweepAxes& axes, report::SweepCell cell, Sweep& sweep) {
  for (const uint64_t millihertz : axes.millihertz) {
    cell.rate_per_second = static_cast<double>(millihertz) / 1000;
    const absl::StatusOr<uint64_t> messages = MessagesOf(cell, millihertz, sweep.plan);
    if (!messages.ok()) return messages.status();
    cell.messages = *messages;
    AddCellsAt(axes, cell, sweep);
    if (sweep.cells.size() > kSweepCellsMax) {
      return absl::InvalidArgumentError(
          StrCat("a sweep of more than ", kSweepCellsMax, " cells: give fewer values, or several sweeps"));
    }
  }
  return absl::OkStatus();
}

absl::Status AddCells(const SweepAxes& axes, bool cold, Sweep& sweep) {
  report::SweepCell cell;
  for (const std::optional<Duration>& round_trip : axes.round_trips) {
    cell.round_trip = round_trip;
    for (const std::optional<uint64_t>& size : axes.sizes) {
      cell.message_bytes = size;
      for (cell.repeat = 1; cell.repeat <= axes.repeats; ++cell.repeat) {
        for (const std::optional<Duration>& gap : axes.idle_gaps) {
          cell.idle_gap = gap;
          if (absl::Status status = AddCellsAtRates(axes, cell, sweep); !status.ok()) return status;
        }
        if (!cold) continue;
        report::SweepCell alone = cell;
        alone.idle_gap.reset();
        alone.cold = true;
        alone.rate_per_second = 0;
        alone.messages = sweep.plan.messages_min;
        AddCellsAt(axes, alone, sweep);
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
  if (absl::Status status = RefuseWarm(flags, sweep.profile); !status.ok()) return status;
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
                .seed = *seed,
                .burst = flags.idle_gap.empty() ? 0 : flags.burst};
  for (const bool exactly_once : {false, true}) {
    for (int leg = 0; leg < trace::kDelayLegs; ++leg) {
      const auto& table = sweep.profile.Table(exactly_once, static_cast<broker::Leg>(leg));
      sweep.plan.profile_means_ms.push_back(ToMillis(table.Mean()));
      const auto& cold = sweep.profile.Table(exactly_once, static_cast<broker::Leg>(leg), true);
      if (&cold != &table) sweep.plan.profile_means_ms.push_back(ToMillis(cold.Mean()));
    }
  }
  if (absl::Status status = AddCells(axes, flags.cold, sweep); !status.ok()) return status;
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
  command->add_option("--idle-gap", flags->idle_gap,
                      "silences, a list, with 0s: none: the messages come in bursts with so much between, and the\n"
                      "figures are of the first after each. Simulated only with a profile that has cold tables");
  CLI::Option* burst = command->add_option("--burst", flags->burst, "messages of a burst, at the cell's rate")
                           ->check(CLI::Range(uint64_t{2}, uint64_t{10'000}))
                           ->capture_default_str();
  command->add_flag("--cold", flags->cold,
                    "cells of cold messages too: each alone, and everything started for it; with --live\n"
                    "processes and connections");
  command->add_option("--message-size", flags->message_size, "bytes of data, a list; with --live");
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
  CLI::Option* json = command->add_flag("--json", flags->json, "print one JSON document and nothing else");
  command->add_flag("--csv", flags->csv, "print a line a cell and nothing else")->excludes(json);
  command->add_flag("--quiet", flags->quiet, "no progress, only results");
  commands.push_back({command, [flags, burst] {
                        flags->burst_given = burst->count() > 0;
                        return SweepCommand(*flags);
                      }});
}

}  // namespace hopgap::cli
