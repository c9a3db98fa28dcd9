#include "cli/setup.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "base/text.h"
#include "formats/profile_file.h"
#include "lab/schedule.h"
#include "report/layout.h"
#include "report/threshold.h"

namespace hopgap::cli {
namespace {

// Per message and hop, and per extension of its lease while the handler works
// (a standard subscription's every 5 s). Redeliveries are headroom's.
constexpr uint64_t kClientEventsPerHop = 18, kBrokerEventsPerHop = 15, kHeadroom = 10'000;
constexpr uint64_t kEventsPerStore = 4;  // of a store of handled messages: asked and told
constexpr uint64_t kClientEventsPerExtension = 2, kBrokerEventsPerExtension = 4;
constexpr Duration kExtensionPeriod{std::chrono::seconds{5}};

struct GroupPlan {
  std::string name, project, prefix;
  Duration offset{0};
  std::vector<std::string> kinds;
};

std::vector<GroupPlan> PlansOf(const RunOptions& options) {
  const bool service = options.remote && options.remote->service();
  std::vector<GroupPlan> groups = {
      {"here", service ? options.remote->project : kHereProject, "", Duration{0}, {"std", "eos"}}};
  if (options.profile != "none") {
    groups.push_back(
        {"replay", kReplayProject, "replay.", OffsetOf("replay", options.millihertz), {"std", "eos", "eos-overlap"}});
  }
  return groups;
}

absl::Status AddArms(const RunOptions& options, const GroupPlan& plan, int group, lab::Options& lab) {
  std::set<std::string> names;
  std::vector<std::string> texts = plan.kinds;
  texts.insert(texts.end(), options.arms.begin(), options.arms.end());
  for (size_t i = 0; i < texts.size(); ++i) {
    absl::StatusOr<lab::ArmSpec> arm = lab::ParseArm(texts[i], options.client);
    if (!arm.ok()) return arm.status();
    // An arm that the group has anyway is no second one.
    if (arm->name == texts[i] && names.count(arm->name) > 0) continue;
    if (!names.insert(arm->name).second) {
      return absl::InvalidArgumentError(StrCat("--arm ", texts[i], ": the name '", arm->name, "' is taken"));
    }
    arm->name = plan.prefix + arm->name;
    arm->group = group;
    lab.arms.push_back(*std::move(arm));
  }
  return absl::OkStatus();
}

// Leaves the arms that were asked for, and the groups that have some.
absl::Status KeepOnly(const std::vector<std::string>& only, lab::Options& lab) {
  if (only.empty()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const lab::ArmSpec& arm : lab.arms) names.push_back(arm.name);
  for (const std::string& name : only) {
    if (std::count(names.begin(), names.end(), name) > 0) continue;
    return absl::InvalidArgumentError(
        StrCat("--only ", name, ": no arm has this name; they are ", absl::StrJoin(names, ", ")));
  }
  std::erase_if(lab.arms, [&](const lab::ArmSpec& arm) { return std::count(only.begin(), only.end(), arm.name) == 0; });
  std::vector<lab::Group> groups;
  std::optional<int> kept;  // the number that the last kept group had
  for (lab::ArmSpec& arm : lab.arms) {
    if (kept != arm.group) groups.push_back(lab.groups[static_cast<size_t>(arm.group)]);
    kept = arm.group;
    arm.group = static_cast<int>(groups.size()) - 1;
  }
  lab.groups = std::move(groups);
  return absl::OkStatus();
}

double QuantileMs(const broker::QuantileTable& table, double p) {
  return ToMillis(table.At(static_cast<uint64_t>(p * static_cast<double>(kFractionOne))));
}

void DescribeProfile(const broker::Profile& profile, report::Configuration& configuration) {
  const auto add = [&](broker::Leg leg, const char* kind, bool exactly_once) {
    for (const bool cold : {false, true}) {
      const broker::QuantileTable& table = profile.Table(exactly_once, leg, cold);
      if (table.zero() || (cold && &table == &profile.Table(exactly_once, leg))) continue;
      std::string name(broker::LegName(leg));
      std::replace(name.begin(), name.end(), '_', ' ');
      if (cold) name += StrCat(", first or unused for ", report::Length(profile.cold_after), ",");
      configuration.added.push_back(
          {name, kind, QuantileMs(table, 0.5), QuantileMs(table, 0.95), ToMillis(table.Mean())});
    }
  };
  add(broker::Leg::kPublishBefore, "both", false);
  add(broker::Leg::kPublishAfter, "both", false);
  for (broker::Leg leg : {broker::Leg::kDeliver, broker::Leg::kModack, broker::Leg::kAck}) {
    add(leg, "standard", false);
    add(leg, "exactly-once", true);
  }
}

void AddDelays(const RunOptions& options, const broker::Profile& profile, Setup& setup) {
  broker::Delays::Options delays{
      .profile = {}, .seed = options.seed, .strata = options.messages, .planted = options.plants.legs};
  const bool planted =
      std::any_of(delays.planted.begin(), delays.planted.end(), [](Duration length) { return length != Duration{0}; });
  if (planted) setup.broker.every_project = std::make_shared<broker::Delays>(delays);
  if (options.profile != "none") {
    delays.profile = profile;
    setup.broker.delays[kReplayProject] = std::make_shared<broker::Delays>(std::move(delays));
  }
}

void FillConfiguration(const RunOptions& options, report::Configuration& configuration) {
  configuration.command = options.simulated ? "simulate" : "run";
  configuration.simulated = options.simulated;
  configuration.processes = options.processes;
  configuration.hops = options.hops;
  configuration.work = options.work;
  configuration.handler_failures = options.failures.share;
  configuration.rate_per_second = static_cast<double>(options.millihertz) / 1000;
  configuration.arrival = options.arrival_text;
  configuration.burst = options.arrival.burst;
  configuration.rate_highest_per_second = static_cast<double>(options.arrival.Highest(options.millihertz)) / 1000;
  configuration.messages = options.messages;
  configuration.message_bytes = options.message_bytes;
  configuration.streams = static_cast<int>(options.streams);
  configuration.max_outstanding_messages = options.max_outstanding_messages;
  configuration.publish_mode = options.publish == lab::PublishMode::kAwait ? "await" : "fire";
  configuration.response_policy =
      options.embedded() || options.simulated ? (options.gated ? "gated" : "eager") : "the target's own";
  configuration.target = options.simulated ? "simulated" : options.target;
  configuration.profile = options.profile;
  configuration.seed = options.seed;
  configuration.stratified = options.profile != "none";
  configuration.preset = options.preset;
  configuration.warm_up = options.warm_up;
}

}  // namespace

absl::StatusOr<broker::Profile> LoadProfile(const std::string& name) {
  if (name == "none") return broker::Profile{};
  absl::StatusOr<formats::ProfileFile> file = formats::BuiltinProfile(name);
  const std::string builtins(MessageOf(file.status()));
  if (!file.ok()) file = formats::ReadProfileFile(name);
  if (file.ok()) return std::move(file->profile);
  if (!absl::IsNotFound(file.status())) return file.status();
  return absl::NotFoundError(StrCat("--profile ", name, ": neither a file nor built in (", builtins, ")"));
}

HashKey RandomKey() {
  std::random_device device;
  const auto word = [&] { return (static_cast<uint64_t>(device()) << 32) | device(); };
  return {word(), word()};
}

absl::Status CheckWaterfall(const std::string& arm, const std::vector<std::string>& arms) {
  if (arm.empty() || std::find(arms.begin(), arms.end(), arm) != arms.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("--waterfall ", arm, ": no such arm; use one of ", absl::StrJoin(arms, ", ")));
}

absl::Status CheckThresholds(const std::vector<std::string>& thresholds, const std::vector<std::string>& arms) {
  for (const std::string& text : thresholds) {
    const absl::StatusOr<report::Threshold> threshold = report::ParseThreshold(text);
    if (!threshold.ok()) return threshold.status();
    if (absl::Status status = report::CheckThreshold(*threshold, arms); !status.ok()) return status;
  }
  return absl::OkStatus();
}

EventEstimate EstimateEvents(const lab::Options& options) {
  const double handlings = 1 / (1 - options.failures.share);  // of a message, on average
  const auto hops = static_cast<uint64_t>(
      handlings * static_cast<double>(options.slots * options.arms.size() * static_cast<uint64_t>(options.hops)));
  // Of drawn work some messages need an extension more than the mean does.
  const auto extensions =
      static_cast<uint64_t>(options.work.mean() / kExtensionPeriod) + (options.work.drawn() ? 1 : 0);
  const auto stores = static_cast<uint64_t>(std::count_if(
      options.arms.begin(), options.arms.end(), [](const lab::ArmSpec& arm) { return arm.dedupe.has_value(); }));
  const uint64_t asked = options.slots * stores * static_cast<uint64_t>(options.hops) * kEventsPerStore;
  return {hops * (kClientEventsPerHop + extensions * kClientEventsPerExtension) + asked + kHeadroom,
          hops * (kBrokerEventsPerHop + extensions * kBrokerEventsPerExtension) + kHeadroom};
}

Duration OffsetOf(const std::string& group, uint64_t millihertz) {
  return group == "replay" ? lab::Schedule(millihertz, 2).period() / 2 : Duration{0};
}

absl::StatusOr<Setup> MakeSetup(const RunOptions& options) {
  absl::StatusOr<broker::Profile> profile = LoadProfile(options.profile);
  if (!profile.ok()) return profile.status();
  Setup setup;
  const std::vector<GroupPlan> plans = PlansOf(options);
  for (size_t i = 0; i < plans.size(); ++i) {
    setup.lab.groups.push_back({plans[i].name, plans[i].project, plans[i].offset});
    if (absl::Status status = AddArms(options, plans[i], static_cast<int>(i), setup.lab); !status.ok()) return status;
  }
  if (absl::Status status = KeepOnly(options.only, setup.lab); !status.ok()) return status;
  setup.lab.hops = options.hops;
  setup.lab.work = options.work;
  setup.lab.failures = options.failures;
  setup.lab.millihertz = options.millihertz;
  setup.lab.arrival = options.arrival;
  setup.lab.slots = options.messages;
  setup.lab.message_bytes = options.message_bytes;
  setup.lab.streams = options.streams;
  setup.lab.max_outstanding_messages = options.max_outstanding_messages;
  setup.lab.publish = options.publish;
  setup.lab.seed = options.seed;
  // Others may use the target too, and an earlier run may have been killed there.
  if (!options.simulated && !options.embedded()) {
    setup.lab.resource_prefix =
        options.prefix.empty() ? StrCat("hopgap-", absl::Hex(RandomKey().k0), "-") : options.prefix;
  }
  setup.lab.planted = options.plants.lab;
  setup.lab.client_planted = options.plants.client;
  setup.broker.response_policy = options.gated ? broker::ResponsePolicy::kGated : broker::ResponsePolicy::kEager;
  AddDelays(options, *profile, setup);
  FillConfiguration(options, setup.configuration);
  DescribeProfile(*profile, setup.configuration);
  for (const lab::ArmSpec& arm : setup.lab.arms) setup.arm_names.push_back(arm.name);
  if (absl::Status status = CheckWaterfall(options.waterfall, setup.arm_names); !status.ok()) return status;
  if (absl::Status status = CheckThresholds(options.thresholds, setup.arm_names); !status.ok()) return status;
  setup.configuration.thresholds = options.thresholds;
  setup.configuration.profile_is_builtin_replay = options.profile == "cloud-replay" && options.hops == 3;
  return setup;
}

}  // namespace hopgap::cli
