#include <absl/strings/str_format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/arrival.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/signals.h"
#include "formats/load_json.h"
#include "live/load.h"
#include "stats/interval.h"

namespace hopgap::cli {
namespace {

constexpr Duration kBeforeFirstSlot{std::chrono::milliseconds{200}};
constexpr Duration kPoll{std::chrono::milliseconds{50}};
constexpr Duration kReport{std::chrono::seconds{1}};
constexpr uint64_t kSlotsMax = 10'000'000;

struct LoadFlags {
  std::vector<std::string> urls;
  std::string rate = "1", arrival = "constant", messages, duration, message_bytes, timeout = "30s";
  uint64_t seed = kBuiltinSeed;
  bool rate_given = false;
  uint32_t users = 0, users_max = 0;  // 0: not given
  bool json = false, quiet = false;
};

absl::StatusOr<live::Load::Options> Options(const LoadFlags& flags) {
  live::Load::Options options;
  for (const std::string& text : flags.urls) {
    const size_t equals = text.find('=');
    const size_t scheme = text.find("://");
    const bool named = equals != std::string::npos && equals < scheme;
    absl::StatusOr<remote::Url> url = remote::ParseUrl(named ? text.substr(equals + 1) : text);
    if (!url.ok()) return absl::InvalidArgumentError(StrCat("--url ", text, ": ", MessageOf(url.status())));
    if (url->path.empty() || url->path == "/") url->path = "/send";
    options.targets.push_back(
        {.name = named ? text.substr(0, equals) : url->origin, .url = *std::move(url), .offset = Duration{0}});
  }
  absl::StatusOr<ArrivalPlan> plan = ParseArrival(flags.arrival, flags.rate, flags.rate_given, flags.seed);
  if (!plan.ok()) return plan.status();
  options.millihertz = plan->millihertz;
  options.arrival = plan->arrival;
  if (!flags.messages.empty() && !flags.duration.empty()) {
    return absl::InvalidArgumentError("--messages and --duration: give one of them");
  }
  if (!flags.messages.empty()) {
    const std::optional<uint64_t> count = ParseNumber<uint64_t>(flags.messages);
    if (!count) return absl::InvalidArgumentError(StrCat("--messages ", flags.messages, ": is no number"));
    options.slots = *count;
  }
  if (!flags.duration.empty()) {
    absl::StatusOr<Duration> length = ParseDuration("--duration", flags.duration);
    if (!length.ok()) return length.status();
    options.slots = lab::Schedule::SlotsIn(options.millihertz, options.arrival, *length, kSlotsMax);
  }
  if (options.slots < 1 || options.slots > kSlotsMax) {
    return absl::InvalidArgumentError(StrCat("--messages: ", options.slots, " is outside [1, ", kSlotsMax, "]"));
  }
  if (!flags.message_bytes.empty()) {
    absl::StatusOr<uint64_t> bytes = ParseMessageBytes(flags.message_bytes);
    if (!bytes.ok()) return bytes.status();
    options.body_bytes = *bytes;
  }
  absl::StatusOr<Duration> timeout = ParseDuration("--timeout", flags.timeout);
  if (!timeout.ok()) return timeout.status();
  options.timeout = *timeout;
  if (flags.users > 0) {
    const uint32_t most = flags.users_max == 0 ? flags.users : flags.users_max;
    if (most < flags.users) {
      return absl::InvalidArgumentError(
          StrCat("--users-max ", most, ": is less than --users ", flags.users, ", which are there from the beginning"));
    }
    options.users = lab::Users::Options{.at_first = flags.users, .most = most};
  }
  options.anchor = ReadAnchor();
  return options;
}

formats::LoadTarget Summarize(const live::Load& load, const std::string& name, size_t target) {
  const live::Load::Figures figures = load.figures(target);
  std::vector<int64_t> late, answer;
  for (const live::Load::Row& row : load.rows(target)) {
    if (row.sent == kNever || row.answered == kNever) continue;
    late.push_back((row.sent - row.due).count());
    if (row.status / 100 == 2) answer.push_back((row.answered - row.due).count());
  }
  return {.name = name,
          .sent = figures.sent,
          .answered = figures.answered,
          .failed = figures.failed,
          .not_sent = figures.dropped,
          .last_error = figures.last_error,
          .users = figures.users,
          .advice = figures.advice,
          .late = stats::Sample(std::move(late)),
          .answer = stats::Sample(std::move(answer))};
}

std::string QuantileText(const stats::Sample& sample, std::string_view name, stats::Probability p) {
  const std::optional<stats::Estimate> estimate = stats::EstimateQuantile(sample, p);
  if (!estimate || !estimate->supported) return StrCat(name, " n too small");
  std::string text = StrCat(name, " ", absl::StrFormat("%.2f", static_cast<double>(estimate->value) / 1e6));
  const auto limit = [](const std::optional<int64_t>& at) {
    return at ? absl::StrFormat("%.2f", static_cast<double>(*at) / 1e6) : std::string("no limit");
  };
  return StrCat(text, " [", limit(estimate->low), ", ", limit(estimate->high), "]");
}

void Print(const formats::LoadTarget& target) {
  std::printf("%s  n = %zu: sent %llu, answered %llu, failed %llu, not sent %llu\n", target.name.c_str(),
              target.late.n(), static_cast<unsigned long long>(target.sent),
              static_cast<unsigned long long>(target.answered), static_cast<unsigned long long>(target.failed),
              static_cast<unsigned long long>(target.not_sent));
  for (const auto& [what, sample] : {std::pair{"late  ", &target.late}, {"answer", &target.answer}}) {
    std::printf("  %s  ms: %s  %s\n", what, QuantileText(*sample, "p50", stats::kP50).c_str(),
                QuantileText(*sample, "p99", stats::kP99).c_str());
  }
  if (target.users > 0) std::printf("  users   %u\n", target.users);
  if (!target.advice.empty()) std::printf("  %s\n", target.advice.c_str());
  if (!target.last_error.empty()) std::printf("  last error: %s\n", target.last_error.c_str());
}

void Run(live::Load& load, const live::Load::Options& options, bool quiet) {
  load.Start(SteadyNow() + kBeforeFirstSlot);
  Instant next = SteadyNow() + kReport;
  while (!load.AllSent()) {
    if (StopSignal() != 0) load.EndSending();
    std::this_thread::sleep_for(kPoll);
    if (quiet || SteadyNow() < next) continue;
    next += kReport;
    for (size_t target = 0; target < options.targets.size(); ++target) {
      const live::Load::Figures figures = load.figures(target);
      std::fprintf(stderr, "  %s %llu/%llu%s", options.targets[target].name.c_str(),
                   static_cast<unsigned long long>(figures.answered), static_cast<unsigned long long>(options.slots),
                   target + 1 < options.targets.size() ? "" : "\n");
    }
  }
  load.Stop();
}

int LoadCommand(const LoadFlags& flags) {
  absl::StatusOr<live::Load::Options> options = Options(flags);
  if (!options.ok()) return Fail(kBadConfiguration, MessageOf(options.status()));
  live::Load load(*options);
  Run(load, *options, flags.quiet || flags.json);
  std::vector<formats::LoadTarget> targets;
  bool failed = false;
  for (size_t target = 0; target < options->targets.size(); ++target) {
    targets.push_back(Summarize(load, options->targets[target].name, target));
    failed = failed || targets.back().failed > 0 || targets.back().not_sent > 0;
  }
  if (flags.json) {
    std::printf("%s\n", formats::LoadJson(targets, options->millihertz, flags.arrival, options->slots).c_str());
  } else {
    for (const formats::LoadTarget& target : targets) Print(target);
  }
  if (StopSignal() != 0) return 128 + StopSignal();
  return failed ? kInvalidRun : kOk;
}

}  // namespace

void AddLoad(CLI::App& app, Commands& commands) {
  auto flags = std::make_shared<LoadFlags>();
  CLI::App* command = app.add_subcommand("load", "open-loop load on APIs: the schedule of run, over HTTP");
  command->group("Deploy");
  command->add_option("--url", flags->urls, "[NAME=]http://HOST:PORT/send; each slot goes to every URL")->required();
  CLI::Option* rate = command->add_option("--rate", flags->rate, "messages a second, per URL")->capture_default_str();
  command->add_option("--arrival", flags->arrival, kArrivalHelp)->capture_default_str();
  command->add_option("--message-bytes", flags->message_bytes, "bytes of data a message (default: no body)");
  command->add_option("--seed", flags->seed, "of drawn arrivals")->capture_default_str();
  command->add_option("--messages", flags->messages, "per URL (default 31)");
  command->add_option("--duration", flags->duration, "instead of --messages: every slot in [0, DURATION)");
  command->add_option("--timeout", flags->timeout, "of each request")->capture_default_str();
  CLI::Option* users = command->add_option("--users", flags->users,
                                           "per URL, requests under way at most: a slot that finds no user free is not "
                                           "sent, and\nthe exit code is 2 (k6's preAllocatedVUs; default: no bound)");
  users->check(CLI::Range(1u, live::Load::kUsersMax));
  command
      ->add_option("--users-max", flags->users_max,
                   "each slot that was not sent adds a user, one at a time, up to so many (k6's maxVUs)")
      ->check(CLI::Range(1u, live::Load::kUsersMax))
      ->needs(users);
  command->add_flag("--json", flags->json, "print one JSON document (docs/json.md)");
  command->add_flag("--quiet", flags->quiet, "no progress, only results");
  commands.push_back({command, [flags, rate] {
                        flags->rate_given = rate->count() > 0;
                        return LoadCommand(*flags);
                      }});
}

}  // namespace hopgap::cli
