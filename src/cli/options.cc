#include "cli/options.h"

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/arrival.h"
#include "cli/target_flags.h"
#include "lab/schedule.h"
#include "report/threshold.h"

namespace hopgap::cli {
namespace {

constexpr double kRateMax = 100'000;
constexpr uint64_t kMessagesMax = 10'000'000;
constexpr int kHopsMax = 20;
constexpr uint32_t kStreamsMax = 100;
constexpr Duration kWarmUp5{std::chrono::seconds{5}};

absl::Status Bad(std::string_view flag, std::string_view value, std::string_view why) {
  return absl::InvalidArgumentError(StrCat(flag, " ", value, ": ", why));
}

absl::StatusOr<uint64_t> ParseCount(std::string_view flag, std::string_view text, uint64_t low, uint64_t high) {
  const std::optional<uint64_t> count = ParseNumber<uint64_t>(text);
  if (!count || *count < low || *count > high) {
    return Bad(flag, text, StrCat("is outside [", low, ", ", high, "]"));
  }
  return *count;
}

absl::StatusOr<SpanChoice> ParseSpans(std::string_view text) {
  if (text == "auto") return SpanChoice{};
  if (text == "all") return SpanChoice{.kind = SpanChoice::Kind::kAll};
  if (text == "none") return SpanChoice{.kind = SpanChoice::Kind::kNone};
  constexpr std::string_view kSampled = "sampled:";
  if (text.substr(0, kSampled.size()) == kSampled) {
    const std::optional<uint64_t> n = ParseNumber<uint64_t>(text.substr(kSampled.size()));
    if (n && *n > 0) return SpanChoice{.kind = SpanChoice::Kind::kSampled, .sample = *n};
  }
  return Bad("--spans", text, "is none of auto, all, none, sampled:N with N >= 1");
}

absl::Status ApplyPlant(std::string_view text, Plants& plants) {
  const size_t equals = text.find('=');
  const std::string_view seam = text.substr(0, equals);
  if (equals == std::string_view::npos) return Bad("--plant", text, "is not SEAM=DURATION");
  absl::StatusOr<Duration> length = ParseDuration("--plant", text.substr(equals + 1));
  if (!length.ok()) return length.status();
  const std::map<std::string_view, Duration*> seams = {{"send", &plants.lab.send},
                                                       {"work", &plants.lab.work},
                                                       {"generator-stall", &plants.lab.generator_stall},
                                                       {"batching", &plants.client.batching},
                                                       {"flow-control", &plants.client.flow_control},
                                                       {"scheduler", &plants.client.scheduler},
                                                       {"publish-before", &plants.legs[0]},
                                                       {"publish-after", &plants.legs[1]},
                                                       {"deliver", &plants.legs[2]},
                                                       {"modack", &plants.legs[3]},
                                                       {"ack", &plants.legs[4]},
                                                       {"wire", &plants.wire}};
  const auto found = seams.find(seam);
  if (found == seams.end()) {
    std::string names;
    for (const auto& [name, place] : seams) names += StrCat(names.empty() ? "" : ", ", name);
    return Bad("--plant", text, StrCat("unknown seam; use one of ", names));
  }
  *found->second = *length;
  return absl::OkStatus();
}

// The service's rule for resource ids, and room for ARM-hopN-sub after it.
absl::Status CheckPrefix(std::string_view prefix) {
  constexpr size_t kPrefixMax = 150;
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~+%";
  if (prefix.empty()) return absl::OkStatus();
  const bool letter = (prefix[0] | 0x20) >= 'a' && (prefix[0] | 0x20) <= 'z';
  if (!letter || prefix.size() > kPrefixMax || prefix.find_first_not_of(kAllowed) != std::string_view::npos) {
    return Bad("--prefix", prefix,
               StrCat("must begin with a letter, hold letters, digits and -_.~+% only, and have at "
                      "most ",
                      kPrefixMax, " bytes"));
  }
  if (prefix.substr(0, 4) == "goog")
    return Bad("--prefix", prefix, "must not begin with 'goog': the service keeps that");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Duration> ParseDuration(std::string_view flag, std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::optional<double> number = ParseNumber<double>(text.substr(0, digits));
  const std::string_view unit = digits == std::string_view::npos ? "" : text.substr(digits);
  const std::map<std::string_view, double> units = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                                                    {"s", 1e9}, {"m", 6e10}, {"h", 3.6e12}};
  const auto found = units.find(unit);
  if (!number || (found == units.end() && !(unit.empty() && *number == 0))) {
    return Bad(flag, text, "is not a duration such as 200ms, 20s or 1.5m");
  }
  const double nanos = *number * (found == units.end() ? 1 : found->second);
  if (nanos > 8.64e13 * 7) return Bad(flag, text, "is longer than 7 days");
  return Duration{static_cast<int64_t>(std::llround(nanos))};
}

absl::StatusOr<WorkLaw> ParseWork(std::string_view text, uint64_t seed) {
  WorkLaw law;
  std::string_view length = text;
  if (text.starts_with(kExponentialPrefix)) {
    law.kind = WorkLaw::Kind::kExponential;
    length.remove_prefix(kExponentialPrefix.size());
  } else if (text.starts_with(kLognormalPrefix)) {
    law.kind = WorkLaw::Kind::kLognormal;
    length.remove_prefix(kLognormalPrefix.size());
    const size_t mark = length.find(kP99Mark);
    if (mark == std::string_view::npos) return Bad("--work", text, "is not lognormal:MEDIAN,p99=TIME");
    absl::StatusOr<Duration> p99 = ParseDuration("--work", length.substr(mark + kP99Mark.size()));
    if (!p99.ok()) return p99.status();
    law.p99 = *p99;
    length = length.substr(0, mark);
  } else if (text.find(':') != std::string_view::npos) {
    return Bad("--work", text, "is neither a duration nor exponential:MEAN nor lognormal:MEDIAN,p99=TIME");
  }
  absl::StatusOr<Duration> parsed = ParseDuration("--work", length);
  if (!parsed.ok()) return parsed.status();
  law.length = *parsed;
  if (law.drawn()) law.seed = seed;
  if (law.drawn() && law.length <= Duration{0}) return Bad("--work", text, "draws around 0; use --work 0");
  if (law.kind == WorkLaw::Kind::kLognormal && law.p99 <= law.length) {
    return Bad("--work", text, "has a 99th percentile that is not above its median");
  }
  return law;
}

absl::StatusOr<uint64_t> ParseMessageBytes(std::string_view text) {
  return ParseCount("--message-bytes", text, 1, lab::kMessageBytesMax);
}

absl::StatusOr<lab::HandlerFailures> ParseFailures(std::string_view text, uint64_t seed) {
  const bool percent = text.ends_with('%');
  const std::optional<double> number = ParseNumber<double>(percent ? text.substr(0, text.size() - 1) : text);
  const double share = number.value_or(-1) / (percent ? 100 : 1);
  if (!(share >= 0 && share <= lab::kHandlerFailuresMax)) {
    return Bad("--handler-failures", text, "is no share in [0, 0.9], such as 0.01 or 1%");
  }
  return lab::HandlerFailures{.share = share, .seed = seed};
}

absl::StatusOr<uint64_t> ParseSize(std::string_view flag, std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789");
  const std::optional<uint64_t> number = ParseNumber<uint64_t>(text.substr(0, digits));
  const std::string_view unit = digits == std::string_view::npos ? "" : text.substr(digits);
  const std::map<std::string_view, int> units = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  const auto found = units.find(unit);
  if (!number || found == units.end()) return Bad(flag, text, "is not a size such as 512MiB, 4GiB or 1048576");
  // Compared before it is shifted, so that nothing overflows.
  if (*number > kSizeMax >> found->second || *number << found->second < kSizeMin) {
    return Bad(flag, text, "is outside [1KiB, 1TiB]");
  }
  return *number << found->second;
}

absl::StatusOr<uint64_t> ParseRate(std::string_view text) {
  const std::optional<double> rate = ParseNumber<double>(text);
  if (!rate || !(*rate >= 0.001) || *rate > kRateMax) {
    return Bad("--rate", text, "is outside [0.001, 100000] messages a second");
  }
  return static_cast<uint64_t>(std::llround(*rate * 1000));
}

struct RunFlags::Raw {
  bool simulated = false;
  std::string rate = "1", arrival = "constant", messages, duration, message_bytes, hops = "3", work = "200ms",
              streams = "4", failures = "0";
  std::string max_outstanding = "1000", client = "go", publish = "await", drain = "30s";
  std::string policy = "eager", target, profile = "cloud-replay", preset, seed, spans = "auto", out;
  std::string waterfall, report, ring_events = "4000000";
  std::vector<std::string> thresholds;
  std::vector<std::string> arms, only, plants;
  std::string prefix;
  bool dry_run = false;
  std::optional<TargetFlags> target_flags;  // not for `simulate`
  bool json = false, markdown = false, csv = false, quiet = false, per_hop = false, no_out = false, processes = false;
  CLI::Option *rate_given = nullptr, *streams_given = nullptr, *messages_given = nullptr, *duration_given = nullptr,
              *profile_given = nullptr, *policy_given = nullptr;

  void AddOutput(CLI::App& app, const std::string& output);
  void AddTarget(CLI::App& app, const std::string& group);
  absl::Status FinishArrival(RunOptions& options) const;
  absl::Status ApplyPreset(RunOptions& options) const;
  absl::Status FinishSize(RunOptions& options) const;
  absl::Status FinishTarget(RunOptions& options) const;
  absl::Status FinishArms(RunOptions& options) const;
  absl::Status FinishRest(RunOptions& options) const;
};

void RunFlags::Raw::AddTarget(CLI::App& app, const std::string& group) {
  app.add_option("--target", target,
                 "embedded (default), HOST:PORT of an emulator, tls:HOST:PORT, or gcp:PROJECT, the real service; "
                 "PUBSUB_EMULATOR_HOST is honoured")
      ->group(group);
  target_flags.emplace(app, group);
  app.add_option("--prefix", prefix,
                 "topics and subscriptions on another target are named PREFIX… "
                 "(default: hopgap- and a random number)")
      ->group(group);
  app.add_flag("--dry-run", dry_run, "say what would be made, sent and paid on another target, and end")->group(group);
}

// Where results go, and what is asked of them.
void RunFlags::Raw::AddOutput(CLI::App& app, const std::string& output) {
  app.add_option("--spans", spans, "what is written: auto, all, sampled:N, none; everything is always recorded")
      ->group(output)
      ->capture_default_str();
  app.add_option("--out", out, "run folder to write (default runs/TIME)")->group(output);
  app.add_flag("--no-out", no_out, "write no run folder")->group(output);
  CLI::Option* as_json =
      app.add_flag("--json", json, "print one JSON document (docs/json.md) and nothing else")->group(output);
  CLI::Option* as_markdown =
      app.add_flag("--markdown", markdown, "print the answer and its tables as Markdown, to paste, and nothing else")
          ->group(output)
          ->excludes(as_json);
  CLI::Option* as_csv = app.add_flag("--csv", csv, "print a line an arm and measure, and nothing else")
                            ->group(output)
                            ->excludes(as_json)
                            ->excludes(as_markdown);
  app.add_flag("--per-hop", per_hop, "tables per hop as well")->group(output)->excludes(as_markdown)->excludes(as_csv);
  app.add_option("--waterfall", waterfall, "the arm whose median message is drawn")
      ->group(output)
      ->excludes(as_markdown)
      ->excludes(as_csv);
  app.add_option("--report", report, "one more place for report.html, which the run folder holds anyway")
      ->group(output);
  app.add_option("--threshold", thresholds,
                 "a promise, judged on its interval, for example 'eos.until_handled.p95<50ms' or\n"
                 "'ratio(eos,std).until_handled.p50<2.5'; broken: exit code 11, undecided: 12")
      ->group(output);
  app.add_flag("--quiet", quiet, "no progress, only results")->group(output);
}

RunFlags::RunFlags(CLI::App& app, bool simulated) : raw_(std::make_shared<Raw>()) {
  Raw& raw = *raw_;
  raw.simulated = simulated;
  const std::string load = "Load", chain = "Chain and client", broker = "Broker", output = "Output";
  raw.rate_given = app.add_option("--rate", raw.rate, "messages a second, per arm")->group(load)->capture_default_str();
  app.add_option("--arrival", raw.arrival, kArrivalHelp)->group(load)->capture_default_str();
  raw.messages_given = app.add_option("--messages", raw.messages, "messages per arm (default 31)")->group(load);
  raw.duration_given =
      app.add_option("--duration", raw.duration, "instead of --messages: every slot in [0, DURATION)")->group(load);
  app.add_option("--message-bytes", raw.message_bytes, "bytes of data a message (default: a few)")->group(load);
  app.add_option("--drain", raw.drain, "wait this long after the last slot for what is unfinished")
      ->group(load)
      ->capture_default_str();
  app.add_option("--preset", raw.preset,
                 "published-1rps (the defaults) or published-5rps (5/s for 30 s, 10 streams, warm-up 5 s left out)")
      ->group(load);
  app.add_option("--seed", raw.seed,
                 "of whatever is drawn: added delays, phases, arrivals, work, failures\n(default: built in)")
      ->group(load);
  app.add_option("--hops", raw.hops, "workers in a chain")->group(chain)->capture_default_str();
  app.add_option("--work", raw.work, kWorkHelp)->group(chain)->capture_default_str();
  app.add_option("--handler-failures", raw.failures, kFailuresHelp)->group(chain)->capture_default_str();
  raw.streams_given = app.add_option("--streams", raw.streams, "StreamingPull streams per worker (Go's NumGoroutines)")
                          ->group(chain)
                          ->capture_default_str();
  app.add_option("--max-outstanding-messages", raw.max_outstanding, "flow control of each worker")
      ->group(chain)
      ->capture_default_str();
  app.add_option("--client", raw.client, "client model of the arms std and eos; hopgap clients lists them")
      ->group(chain)
      ->capture_default_str();
  app.add_option("--arm", raw.arms,
                 "one more arm in every group: std, eos, std-MODEL or eos-MODEL (eos-java, eos-overlap),\n"
                 "std-dedupe[,store=TIME] (an idempotent consumer),\n"
                 "NAME:KIND[,streams=N|default][,client=MODEL], or with --processes\n"
                 "NAME:worker=COMMAND (docs/worker-contract.md)")
      ->group(chain);
  app.add_option("--only", raw.only, "of all these arms only those of these names, a list: replay.std,replay.eos")
      ->delimiter(',')
      ->group(chain);
  app.add_option("--publish", raw.publish, "await: ack after the publish's result; fire: ack at once")
      ->group(chain)
      ->capture_default_str();
  raw.profile_given =
      app.add_option("--profile", raw.profile, "delays the replay's broker adds: cloud-replay, none, or a FILE")
          ->group(broker)
          ->capture_default_str();
  raw.policy_given =
      app.add_option("--response-policy", raw.policy,
                     "eager: write when there is credit; gated: one response per stream awaits its receipt modack")
          ->group(broker)
          ->capture_default_str();
  if (!simulated) {
    raw.AddTarget(app, broker);
    app.add_flag("--processes", raw.processes, "an API and a worker per hop as processes of their own, load over HTTP")
        ->group(chain);
    app.add_option("--ring-events", raw.ring_events, "events a run may record (64 bytes each)")
        ->group(output)
        ->capture_default_str();
  }
  raw.AddOutput(app, output);
  app.add_option("--plant", raw.plants, "")->group("");
}

absl::Status RunFlags::Raw::ApplyPreset(RunOptions& options) const {
  options.preset = preset;
  if (!preset.empty() && !options.arrival_text.empty()) {
    return Bad("--arrival", arrival, StrCat("not with --preset ", preset, ", whose messages are evenly spread"));
  }
  if (preset.empty() || preset == "published-1rps") return absl::OkStatus();
  if (preset != "published-5rps") return Bad("--preset", preset, "is neither published-1rps nor published-5rps");
  if (rate_given->count() == 0) options.millihertz = 5000;
  if (streams_given->count() == 0) options.streams = 10;
  if (messages_given->count() == 0 && duration_given->count() == 0) {
    options.messages = lab::Schedule::SlotsIn(options.millihertz, std::chrono::seconds{30});
  }
  options.warm_up = kWarmUp5;
  return absl::OkStatus();
}

absl::Status RunFlags::Raw::FinishSize(RunOptions& options) const {
  if (messages_given->count() > 0 && duration_given->count() > 0) {
    return absl::InvalidArgumentError("--messages and --duration: give one of them");
  }
  if (messages_given->count() > 0) {
    absl::StatusOr<uint64_t> count = ParseCount("--messages", messages, 1, kMessagesMax);
    if (!count.ok()) return count.status();
    options.messages = *count;
  }
  if (duration_given->count() > 0) {
    absl::StatusOr<Duration> length = ParseDuration("--duration", duration);
    if (!length.ok()) return length.status();
    options.messages = lab::Schedule::SlotsIn(options.millihertz, options.arrival, *length, kMessagesMax);
    if (options.messages < 1 || options.messages > kMessagesMax) {
      return Bad("--duration", duration,
                 StrCat("gives ", options.messages, " messages, outside [1, ", kMessagesMax, "]"));
    }
  }
  if (lab::Schedule(options.millihertz, options.messages).DueAfter(options.messages - 1) < options.warm_up) {
    return Bad("--preset", preset, "leaves its first 5 s out, and this run has no slot after them");
  }
  return absl::OkStatus();
}

absl::Status RunFlags::Raw::FinishTarget(RunOptions& options) const {
  if (simulated) return absl::OkStatus();
  options.target = target;
  if (target.empty()) {
    const char* host = std::getenv("PUBSUB_EMULATOR_HOST");
    options.target_from_environment = host != nullptr && *host != '\0';
    options.target = options.target_from_environment ? host : "embedded";
  }
  options.prefix = prefix;
  options.dry_run = dry_run;
  if (options.embedded()) {
    if (!prefix.empty()) return Bad("--prefix", prefix, "is for another --target than the embedded broker");
    if (dry_run) return absl::InvalidArgumentError("--dry-run: is for another --target than the embedded broker");
    return target_flags->given() ? target_flags->Parse(options.target).status() : absl::OkStatus();
  }
  absl::StatusOr<remote::Target> parsed = target_flags->Parse(options.target);
  if (!parsed.ok()) return parsed.status();
  options.remote = *std::move(parsed);
  if (absl::Status status = CheckPrefix(prefix); !status.ok()) return status;
  const bool delays_asked = profile_given->count() > 0 && profile != "none";
  if (delays_asked)
    return Bad("--profile", profile, StrCat("needs the embedded broker, not --target ", options.target));
  if (policy_given->count() > 0)
    return Bad("--response-policy", policy, StrCat("needs the embedded broker, not --target ", options.target));
  options.profile = "none";
  return absl::OkStatus();
}

absl::Status RunFlags::Raw::FinishArms(RunOptions& options) const {
  constexpr std::string_view kOwnName = "; a second one needs a name of its own, such as";
  std::set<std::string> given;
  for (const std::string& arm : arms) {
    absl::StatusOr<lab::ArmSpec> parsed = lab::ParseArm(arm, client);
    if (!parsed.ok()) return parsed.status();
    if (parsed->dedupe && processes) return Bad("--arm", arm, "not with --processes, whose workers keep no store");
    if (!parsed->worker.empty() && !processes) return Bad("--arm", arm, "a worker of its own needs --processes");
    if (!parsed->worker.empty() && (options.work.drawn() || options.failures.share > 0)) {
      return Bad("--arm", arm,
                 "its worker draws neither work nor failures; use a plain --work and no --handler-failures");
    }
    // It would be the same arm, and not one more. eos-overlap may be asked for: only the replay has it anyway.
    if (arm == "std" || arm == "eos") {
      return Bad("--arm", arm, StrCat("every group has this arm anyway", kOwnName, " ", arm, "2:", arm));
    }
    if (!given.insert(parsed->name).second) {
      return Bad(
          "--arm", arm,
          StrCat("the name '", parsed->name, "' was given before", kOwnName, " ", parsed->name, "2:", parsed->kind));
    }
  }
  options.arms = arms;
  options.only = only;
  return absl::OkStatus();
}

absl::Status RunFlags::Raw::FinishRest(RunOptions& options) const {
  if (publish != "await" && publish != "fire") return Bad("--publish", publish, "is neither await nor fire");
  options.publish = publish == "await" ? lab::PublishMode::kAwait : lab::PublishMode::kFire;
  if (policy != "eager" && policy != "gated") return Bad("--response-policy", policy, "is neither eager nor gated");
  options.gated = policy == "gated";
  if (absl::StatusOr<client::Model> model = client::FindModel(client); !model.ok()) {
    return Bad("--client", client, MessageOf(model.status()));
  }
  options.client = client;
  absl::StatusOr<SpanChoice> choice = ParseSpans(spans);
  if (!choice.ok()) return choice.status();
  options.spans = *choice;
  if (absl::Status status = FinishArms(options); !status.ok()) return status;
  for (const std::string& plant : plants) {
    if (absl::Status status = ApplyPlant(plant, options.plants); !status.ok()) return status;
  }
  options.processes = processes;
  if (processes && !plants.empty()) return absl::InvalidArgumentError("--plant: not with --processes");
  if (!simulated && !options.embedded() && options.plants.InBroker()) {
    return absl::InvalidArgumentError("--plant: the broker's seams need the embedded broker");
  }
  if (no_out && !out.empty()) return absl::InvalidArgumentError("--out and --no-out: give one of them");
  options.out = out;
  options.no_out = no_out;
  options.json = json;
  options.markdown = markdown;
  options.csv = csv;
  options.quiet = quiet;
  options.per_hop = per_hop;
  options.waterfall = waterfall;
  options.report = report;
  for (const std::string& text : thresholds) {
    if (absl::Status status = report::ParseThreshold(text).status(); !status.ok()) return status;
  }
  options.thresholds = thresholds;
  return absl::OkStatus();
}

// The rate and how it arrives; what is drawn is drawn under the seed.
absl::Status RunFlags::Raw::FinishArrival(RunOptions& options) const {
  if (!seed.empty()) {
    absl::StatusOr<uint64_t> number = ParseCount("--seed", seed, 0, ~uint64_t{0});
    if (!number.ok()) return number.status();
    options.seed = *number;
  }
  absl::StatusOr<ArrivalPlan> plan = ParseArrival(arrival, rate, rate_given->count() > 0, options.seed);
  if (!plan.ok()) return plan.status();
  options.millihertz = plan->millihertz;
  options.arrival = plan->arrival;
  options.arrival_text = plan->text;
  return absl::OkStatus();
}

absl::StatusOr<RunOptions> RunFlags::Finish() const {
  const Raw& raw = *raw_;
  RunOptions options;
  options.simulated = raw.simulated;
  options.profile = raw.profile;
  if (absl::Status status = raw.FinishArrival(options); !status.ok()) return status;
  absl::StatusOr<uint64_t> streams = ParseCount("--streams", raw.streams, 1, kStreamsMax);
  if (!streams.ok()) return streams.status();
  options.streams = static_cast<uint32_t>(*streams);
  absl::StatusOr<uint64_t> hops = ParseCount("--hops", raw.hops, 1, kHopsMax);
  if (!hops.ok()) return hops.status();
  options.hops = static_cast<int>(*hops);
  absl::StatusOr<uint64_t> outstanding = ParseCount("--max-outstanding-messages", raw.max_outstanding, 1, 1'000'000);
  if (!outstanding.ok()) return outstanding.status();
  options.max_outstanding_messages = static_cast<int64_t>(*outstanding);
  absl::StatusOr<uint64_t> ring = ParseCount("--ring-events", raw.ring_events, 1'000, 100'000'000);
  if (!ring.ok()) return ring.status();
  options.ring_events = *ring;
  if (!raw.message_bytes.empty()) {
    absl::StatusOr<uint64_t> bytes = ParseMessageBytes(raw.message_bytes);
    if (!bytes.ok()) return bytes.status();
    options.message_bytes = *bytes;
  }
  absl::StatusOr<WorkLaw> work = ParseWork(raw.work, options.seed);
  if (!work.ok()) return work.status();
  options.work = *work;
  absl::StatusOr<lab::HandlerFailures> failures = ParseFailures(raw.failures, options.seed);
  if (!failures.ok()) return failures.status();
  options.failures = *failures;
  absl::StatusOr<Duration> drain = ParseDuration("--drain", raw.drain);
  if (!drain.ok()) return drain.status();
  options.drain = *drain;
  for (const auto& finish : {&Raw::ApplyPreset, &Raw::FinishSize, &Raw::FinishTarget, &Raw::FinishRest}) {
    if (absl::Status status = (raw.*finish)(options); !status.ok()) return status;
  }
  return options;
}

}  // namespace hopgap::cli
