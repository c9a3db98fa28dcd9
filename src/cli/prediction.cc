#include "cli/prediction.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "base/draw.h"
#include "base/text.h"
#include "cli/arrival.h"
#include "cli/result.h"
#include "cli/setup.h"
#include "client/model.h"
#include "lab/backlog.h"
#include "lab/verdict.h"
#include "sim/world.h"
#include "stats/sample.h"

namespace hopgap::cli {
namespace {

constexpr std::string_view kReplayPrefix = "replay.";
constexpr uint32_t kStreamsAssumed = 4;

std::string WithoutGroup(const std::string& arm) {
  return arm.starts_with(kReplayPrefix) ? arm.substr(kReplayPrefix.size()) : arm;
}

Duration MeanOf(const VirtualChain& chain, broker::Leg leg) {
  return chain.profile.Table(chain.arm.exactly_once, leg).Mean();
}

// How the tables spread: squared coefficient of variation, by 200 quantiles.
double SpreadOf(const broker::QuantileTable& table) {
  constexpr int kSteps = 200;
  double sum = 0, squares = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double value = ToMillis(table.At(kFractionOne / kSteps * static_cast<uint64_t>(i) + kFractionOne / 400));
    sum += value;
    squares += value * value;
  }
  return sum == 0 ? 0 : kSteps * squares / (sum * sum) - 1;
}

Duration MillisLong(double ms) { return Duration{static_cast<int64_t>(ms * 1e6)}; }

// What a message waits, per hop, for a stream whose client waits for the receipt
// modack of the message before. Eager: each stream a queue of its own that gets
// every so-many-th message (Kraemer and Langenbach-Belz; evenly sent, and as
// spread as one modack makes them). Gated: the messages gather, so it is the rest
// of a round trip, when all streams are busy.
Duration StreamWaitByHand(const VirtualChain& chain, Duration modack, uint32_t streams) {
  const double round_trip = ToMillis(modack);
  const double load = static_cast<double>(chain.millihertz) / 1e6 * round_trip / streams;  // of one stream
  const double spread = SpreadOf(chain.profile.Table(true, broker::Leg::kModack));
  if (chain.gated) return MillisLong(std::pow(std::min(load, 1.0), streams) * round_trip * (1 + spread) / 2 / streams);
  if (load >= 1) return Duration{0};                                // it has no end: the capacity says so
  const double arrivals = std::min(1.0, 2 * spread * load * load);  // two arrivals' spread, of a stream's period
  const double sum = arrivals + spread;
  if (sum == 0) return Duration{0};
  const double even = std::exp(-2 * (1 - load) * (1 - arrivals) * (1 - arrivals) / (3 * load * sum));
  return MillisLong(load / (1 - load) * round_trip * sum / 2 * even);
}

struct Planned {
  VirtualChain chain;
  std::vector<std::string> assumed;
};

// Of spans alone: what they show of the plan.
Planned PlanFromPaths(const report::ArmRun& arm, std::optional<uint32_t> streams) {
  Planned planned;
  WallTime first = WallTime::max(), last = WallTime::min();
  std::vector<int64_t> work;
  std::set<int> seen;
  for (const trace::Path& path : arm.paths) {
    first = std::min(first, path.scheduled);
    last = std::max(last, path.scheduled);
    for (const trace::HopTimes& hop : path.hops) {
      work.push_back(hop.stages[static_cast<size_t>(trace::Stage::kWork)].length.count());
      seen.insert(hop.stream);
    }
  }
  VirtualChain& chain = planned.chain;
  chain.hops = static_cast<int>(arm.paths.front().hops.size());
  chain.work = Duration{std::max<int64_t>(0, stats::Sample(std::move(work)).Quantile(stats::kP50))};
  const double seconds = ToMillis(last - first) / 1e3;
  const double rate = seconds > 0 ? static_cast<double>(arm.paths.size() - 1) / seconds : 1;
  chain.millihertz = std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(rate * 1000)));
  chain.streams = streams.value_or(std::max(kStreamsAssumed, static_cast<uint32_t>(seen.size())));
  if (!streams) {
    planned.assumed.push_back(
        StrCat(arm.name, ": ", chain.streams, " streams, which the spans do not show (--streams)"));
  }
  planned.assumed.push_back(StrCat(arm.name, ": the go client, evenly spread arrivals at ",
                                   static_cast<double>(chain.millihertz) / 1000, "/s, and the median of its work, ",
                                   ToMillis(chain.work), " ms, in every handler"));
  return planned;
}

Planned PlanFromConfiguration(const report::Configuration& configuration, std::optional<uint32_t> streams) {
  Planned planned;
  VirtualChain& chain = planned.chain;
  chain.hops = configuration.hops;
  chain.work = configuration.work.mean();
  if (configuration.work.drawn()) {
    planned.assumed.push_back(StrCat("the run's work was drawn (", configuration.work.Text(),
                                     "); simulated is its mean, ", ToMillis(chain.work), " ms, in every handler"));
  }
  if (configuration.handler_failures > 0) {
    planned.assumed.push_back(
        StrCat("the run's handlers failed (", 100 * configuration.handler_failures, " %); simulated ones do not"));
  }
  chain.millihertz = static_cast<uint64_t>(std::llround(configuration.rate_per_second * 1000));
  chain.slots = configuration.messages;
  chain.streams = streams.value_or(static_cast<uint32_t>(configuration.streams));
  chain.max_outstanding_messages = configuration.max_outstanding_messages;
  chain.publish = configuration.publish_mode == "fire" ? lab::PublishMode::kFire : lab::PublishMode::kAwait;
  chain.gated = configuration.response_policy == "gated";
  chain.seed = configuration.seed;
  if (configuration.burst > 0) {
    // It was checked when the run was asked for.
    const absl::StatusOr<ArrivalPlan> arrival =
        ParseArrival(configuration.arrival, absl::StrFormat("%.3f", configuration.rate_highest_per_second), true,
                     configuration.seed);
    if (arrival.ok()) chain.arrival = arrival->arrival;
  }
  if (!configuration.arrival.empty() && chain.arrival.burst == 0) {
    planned.assumed.push_back(StrCat("the run's messages arrived as ", configuration.arrival,
                                     "; simulated are evenly spread ones at the mean, ", configuration.rate_per_second,
                                     "/s"));
  }
  return planned;
}

}  // namespace

Duration SimulatedOneWay() { return sim::Options{}.one_way; }

lab::Options LabOf(const VirtualChain& chain) {
  lab::Options lab;
  lab.groups = {{.name = "replay", .project = kReplayProject, .offset = chain.offset}};
  lab.arms = {chain.arm};
  lab.arms[0].group = 0;
  lab.hops = chain.hops;
  lab.work = chain.work;
  lab.millihertz = chain.millihertz;
  lab.arrival = chain.arrival;
  lab.slots = chain.slots;
  lab.message_bytes = chain.message_bytes;
  lab.streams = chain.streams;
  lab.max_outstanding_messages = chain.max_outstanding_messages;
  lab.publish = chain.publish;
  lab.seed = chain.seed;
  return lab;
}

void SetBrokerOf(const VirtualChain& chain, broker::Broker::Options& broker) {
  broker.response_policy = chain.gated ? broker::ResponsePolicy::kGated : broker::ResponsePolicy::kEager;
  broker.delays[kReplayProject] = std::make_shared<broker::Delays>(broker::Delays::Options{
      .profile = chain.profile, .seed = chain.seed, .strata = chain.alone ? 0 : chain.slots, .planted = {}});
}

absl::StatusOr<report::ArmRun> InRounds(
    const VirtualChain& chain, const std::function<absl::StatusOr<report::ArmRun>(const VirtualChain& one)>& round) {
  report::ArmRun sum;
  for (uint64_t slot = 0; slot < chain.slots; ++slot) {
    VirtualChain one = chain;
    one.slots = 1;
    one.seed = Mix(chain.seed, HashName("a message alone"), slot);
    absl::StatusOr<report::ArmRun> arm = round(one);
    if (!arm.ok()) return arm.status();
    for (trace::Path& path : arm->paths) path.slot = slot;
    if (slot == 0) {
      sum = *std::move(arm);
      continue;
    }
    for (const auto count :
         {&report::ArmRun::planned, &report::ArmRun::sent, &report::ArmRun::completed, &report::ArmRun::lost,
          &report::ArmRun::duplicates, &report::ArmRun::reprocessed, &report::ArmRun::handler_failures,
          &report::ArmRun::deduplicated, &report::ArmRun::responses, &report::ArmRun::messages_received}) {
      sum.*count += (*arm).*count;
    }
    sum.exactly_once_seen = sum.exactly_once_seen || arm->exactly_once_seen;
    if (!arm->verdict.valid && sum.verdict.valid) sum.verdict = std::move(arm->verdict);
    std::move(arm->paths.begin(), arm->paths.end(), std::back_inserter(sum.paths));
  }
  sum.saturated_at.reset();  // one message cannot be too many
  return sum;
}

absl::StatusOr<report::ArmRun> Predict(const VirtualChain& chain, const std::function<std::string()>& stop_asked) {
  if (chain.alone && chain.slots > 1) {
    return InRounds(chain, [&](const VirtualChain& one) { return Predict(one, stop_asked); });
  }
  sim::Options options;
  if (chain.one_way) options.one_way = *chain.one_way;
  options.lab = LabOf(chain);
  SetBrokerOf(chain, options.broker);
  options.stop_asked = stop_asked;
  absl::StatusOr<sim::Result> result = sim::Run(std::move(options));
  if (!result.ok()) return result.status();
  if (result->outcome.ended_early) return absl::CancelledError(result->outcome.ended_early_why);
  std::vector<report::ArmRun> arms = ArmRuns(result->outcome);
  report::ArmRun arm = std::move(arms.front());
  if (const auto growing = lab::SaturatedAt(arm.paths, chain.millihertz, chain.slots)) arm.saturated_at = growing;
  return arm;
}

Formula ByHand(const VirtualChain& chain, double messages_per_response) {
  using broker::Leg;
  using trace::Stage;
  const client::Model model = client::FindModel(chain.arm.model).value_or(client::Model{});
  const Duration round_trip = 2 * chain.one_way.value_or(SimulatedOneWay());
  Formula formula;
  formula.modack = MeanOf(chain, Leg::kModack) + round_trip;
  const auto set = [&](Stage stage, Duration per_hop) {
    formula.stages[static_cast<size_t>(stage)] = per_hop * chain.hops;
  };
  Duration wait{0};
  const bool waits = chain.arm.exactly_once && model.exactly_once.wait == client::ReceiptWait::kResponse;
  if (waits) {
    const uint32_t streams = chain.arm.streams != 0 ? chain.arm.streams : chain.streams;
    wait = StreamWaitByHand(chain, formula.modack, streams);
    const double seconds = ToMillis(formula.modack) / 1e3;
    formula.capacity = streams * messages_per_response / seconds;
    formula.streams_needed = static_cast<uint32_t>(
        std::floor(static_cast<double>(chain.millihertz) / 1e3 * seconds / messages_per_response) + 1);
  }
  set(Stage::kClientPublish, model.publish_delay);
  set(Stage::kPublishRpc, MeanOf(chain, Leg::kPublishBefore) + MeanOf(chain, Leg::kPublishAfter) + round_trip);
  set(Stage::kDeliveryGap, MeanOf(chain, Leg::kDeliver) - MeanOf(chain, Leg::kPublishAfter) + wait);
  set(Stage::kDispatchGap, waits ? formula.modack : Duration{0});
  set(Stage::kWork, chain.work);
  set(Stage::kAck, model.tick / 2 + MeanOf(chain, Leg::kAck) + round_trip);
  return formula;
}

absl::StatusOr<Plan> PlanOf(const report::Run& run, const std::string& group, std::optional<uint32_t> streams) {
  Plan plan;
  const std::string wanted = !group.empty() ? group : run.arms.empty() ? "" : run.arms.back().group;
  for (const report::ArmRun& arm : run.arms) {
    if (arm.group != wanted || arm.paths.empty()) continue;
    lab::ArmSpec spec;
    if (!run.spans_only) {
      const absl::StatusOr<lab::ArmSpec> parsed = lab::ParseArm(arm.kind, arm.client_model);
      if (!parsed.ok() || WithoutGroup(arm.name) != arm.kind) {
        plan.assumed.push_back(StrCat(arm.name, ": left out, a run folder does not say what its arm was set to"));
        continue;
      }
      spec = *parsed;
    } else {
      spec.kind = arm.kind;
      spec.exactly_once = arm.exactly_once_seen;
      spec.model = "go";
    }
    spec.name = arm.name;
    Planned planned = run.spans_only ? PlanFromPaths(arm, streams) : PlanFromConfiguration(run.configuration, streams);
    planned.chain.arm = std::move(spec);
    if (!run.spans_only) planned.chain.offset = OffsetOf(arm.group, planned.chain.millihertz);
    plan.assumed.insert(plan.assumed.end(), planned.assumed.begin(), planned.assumed.end());
    plan.chains.push_back(std::move(planned.chain));
    plan.arms.push_back(&arm);
  }
  if (!plan.chains.empty()) return plan;
  std::string why = StrCat("no arm of group '", wanted, "' with a message that was handled can be simulated");
  for (const std::string& note : plan.assumed) why += "; " + note;
  return absl::InvalidArgumentError(why);
}

}  // namespace hopgap::cli
