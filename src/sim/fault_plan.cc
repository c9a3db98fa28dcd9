#include "sim/fault_plan.h"

#include <absl/strings/str_format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "sim/dice.h"

namespace hopgap::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kDeadTopic = "projects/p/topics/dead";

enum PlanActor : uint64_t { kShape = 1, kNetwork, kDisk, kWorkload, kChanges, kStore, kCold };

void DrawNetwork(Dice& dice, FaultPlan& plan) {
  plan.delay_min = 50us;
  plan.delay_max = dice.Chance(500) ? Duration{500us} : Duration{20ms};
  if (dice.Chance(500)) {
    plan.slow = dice.Between(5, 150);
    plan.slow_max = dice.Between(100ms, 30s);
  }
  if (dice.Chance(400)) plan.lost = dice.Between(5, 100);
  if (dice.Chance(400)) plan.duplicated = dice.Between(5, 200);
  if (dice.Chance(400)) plan.cut_about_every = dice.Between(2s, 60s);
  plan.write_max = dice.Chance(300) ? dice.Between(1ms, 10s) : Duration{100us};
}

void DrawDisk(Dice& dice, FaultPlan& plan) {
  plan.sync_min = 100us;
  plan.sync_max = dice.Chance(300) ? dice.Between(10ms, 5s) : Duration{4ms};
  if (dice.Chance(600)) plan.crash_about_every = dice.Between(3s, 60s);
  if (plan.crash_about_every > Duration{0} && dice.Chance(250)) plan.sync_fails = dice.Between(1, 20);
  plan.down_max = dice.Between(10ms, 20s);
  if (dice.Chance(500)) plan.clean_stops = dice.Between(100, 900);
  // Less than what a message or snapshot lives: nothing is to be lost by it.
  if (dice.Chance(300)) plan.wall_step_max = dice.Between(1s, 120h);
  if (plan.crash_about_every > Duration{0} && dice.Chance(300)) plan.crash_after_ok = dice.Between(1, 30);
}

broker::QuantileTable DrawTable(Dice& dice, Duration longest) {
  auto made = broker::QuantileTable::Make(
      {{.fraction = 0, .delay = 0ns}, {.fraction = kFractionOne, .delay = dice.Between(Duration{1ms}, longest)}});
  HOPGAP_CHECK(made.ok(), "two points that rise");
  return *std::move(made);
}

std::shared_ptr<const broker::Delays> DrawDelays(Dice& dice, uint64_t seed, Duration longest) {
  broker::Delays::Options options;
  options.seed = seed;
  for (auto* tables : {&options.profile.standard, &options.profile.exactly_once}) {
    for (broker::QuantileTable& table : *tables) {
      if (!dice.Chance(500)) table = DrawTable(dice, longest);
    }
  }
  Dice cold(seed, kCold);  // of its own: older seeds stay what they were, apart from this
  if (cold.Chance(100)) {
    options.profile.cold_after = cold.Between(Duration{100ms}, Duration{30s});
    for (auto* tables : {&options.profile.cold_standard, &options.profile.cold_exactly_once}) {
      for (std::optional<broker::QuantileTable>& table : *tables) {
        if (!cold.Chance(500)) table = DrawTable(cold, longest);
      }
    }
  }
  return std::make_shared<broker::Delays>(std::move(options));
}

void DrawBroker(Dice& dice, FaultPlan& plan) {
  broker::Broker::Options& options = plan.broker;
  options.ack_id_key = {Mix(plan.seed, 11), Mix(plan.seed, 22)};
  if (dice.Chance(300)) options.response_policy = broker::ResponsePolicy::kGated;
  if (dice.Chance(300)) options.messages_per_response_max = dice.Between(1, 5);
  if (dice.Chance(200)) options.bytes_per_response_max = dice.Between(100, 2000);
  if (dice.Chance(150)) options.retained_bytes_max = dice.Between(500, 5000);
  if (dice.Chance(150)) options.waiting_pulls_max = dice.Between(1, 3);
  if (dice.Chance(150)) options.streams_max = dice.Between(1, 4);
  if (dice.Chance(200)) {
    // Where few may wait they do not wait long, or who does not ask again starves.
    const bool few = dice.Chance(300);
    options.every_project = DrawDelays(dice, plan.seed, few ? Duration{100ms} : Duration{3s});
    if (few) options.held_max = dice.Between(4, 20);
  }
}

pubsub::Subscription DrawSubscription(Dice& dice, const FaultPlan& plan, size_t index) {
  pubsub::Subscription made;
  made.name = StrCat("projects/p/subscriptions/sub", index);
  made.topic = plan.topics[dice.Below(plan.topics.size())].name;
  made.enable_exactly_once_delivery = dice.Chance(700);
  made.ack_deadline_seconds = static_cast<int32_t>(dice.Between(10, dice.Chance(200) ? 90 : 30));
  made.enable_message_ordering = dice.Chance(400);
  if (dice.Chance(200)) made.filter = StrCat("attributes.n = \"", dice.Below(4), "\"");
  if (dice.Chance(250)) made.retry_policy = {.minimum_backoff = dice.Between(100ms, 5s), .maximum_backoff = 10s};
  if (dice.Chance(300)) {
    const auto attempts = static_cast<int32_t>(dice.Between(5, 8));
    made.dead_letter_policy = {.dead_letter_topic = std::string(kDeadTopic), .max_delivery_attempts = attempts};
  }
  return made;
}

SubscriberPlan DrawSubscriber(Dice& dice, const FaultPlan& plan, size_t subscription) {
  SubscriberPlan made;
  made.subscription = subscription;
  const uint64_t kind = dice.Below(10);
  made.kind = kind < 6   ? SubscriberPlan::Kind::kStream
              : kind < 9 ? SubscriberPlan::Kind::kPull
                         : SubscriberPlan::Kind::kLibrary;
  made.stream_deadline_seconds = static_cast<int32_t>(dice.Between(10, dice.Chance(200) ? 90 : 20));
  made.messages_max = dice.Chance(500) ? static_cast<int64_t>(dice.Between(1, 6)) : 0;
  if (made.kind == SubscriberPlan::Kind::kPull && made.messages_max == 0) made.messages_max = 20;
  // Behind long modacks a library that takes any number never catches up with the leases that end in its queue.
  if (made.kind == SubscriberPlan::Kind::kLibrary && plan.broker.every_project && made.messages_max == 0) {
    made.messages_max = 4;
  }
  if (dice.Chance(200)) made.bytes_max = static_cast<int64_t>(dice.Between(1, 400));
  made.work_min = 1ms;
  made.work_max = dice.Chance(300) ? dice.Between(1s, 30s) : Duration{100ms};
  if (dice.Chance(400)) made.nack = dice.Between(10, 400);
  if (dice.Chance(400)) made.extend = dice.Between(10, 500);
  if (dice.Chance(400)) made.hold = dice.Between(10, 300);
  if (dice.Chance(500)) made.repeat = dice.Between(10, 300);
  if (dice.Chance(500)) made.stale = dice.Between(10, 300);
  made.receipts = dice.Chance(500);
  made.acks_on_stream = dice.Chance(300);
  if (dice.Chance(300)) made.dies_about_every = dice.Between(5s, 60s);
  return made;
}

PublisherPlan DrawPublisher(Dice& dice, const FaultPlan& plan) {
  PublisherPlan made;
  made.topic = dice.Below(plan.topics.size());
  made.requests = dice.Between(5, 40);
  made.messages_max = dice.Between(1, 5);
  made.library = dice.Chance(150);
  made.traced = dice.Chance(400);
  made.body_max = dice.Chance(200) ? 300 : 16;
  if (!made.library && dice.Chance(500)) made.keys = dice.Between(1, 4);
  return made;
}

// Who seeks needs something to come back to.
void DrawChanges(Dice& dice, FaultPlan& plan) {
  if (!dice.Chance(350)) return;
  plan.changes_about_every = dice.Between(2s, 40s);
  plan.detaches = 80;
  for (pubsub::Subscription& subscription : plan.subscriptions) {
    const bool dead = subscription.topic == plan.dead_letter_topic.name;
    if (!dead && dice.Chance(350)) subscription.retain_acked_messages = true;
  }
}

// One seed in so many runs over the real journal.
constexpr uint64_t kStoreSeeds = 10;

// Records have to fit into a segment, also a publish of a hundred messages; small ones are sealed, copied and used again soon.
void DrawStore(Dice& dice, FaultPlan& plan) {
  plan.store.on = plan.seed % kStoreSeeds == 0;
  plan.broker.checkpoint_messages_per_slice = dice.Between(1, 15);
  plan.broker.deliveries_per_record_max = 100;
  // Snapshots that hold everything on a full disk leave nothing to be won, and then it does end the process.
  const bool batches =
      std::any_of(plan.publishers.begin(), plan.publishers.end(), [](const auto& p) { return p.library; });
  const bool letters = !plan.dead_letter_topic.name.empty();
  const bool small = !batches && !letters && plan.changes_about_every == Duration{0} && dice.Chance(700);
  plan.store.segment_bytes = letters || batches ? 64 << 10 : small ? 8 << 10 : 16 << 10;
  plan.store.bytes_max = plan.store.segment_bytes * (small ? dice.Between(4, 8) : 1000);
  if (small) plan.broker.checkpoint_messages_per_slice = dice.Between(1, 5);
  if (plan.crash_about_every > Duration{0} && dice.Chance(700)) plan.store.dies = dice.Between(2, 100);
}

// Where dead letters go, and who takes them from there.
void AddDeadLetters(Dice& dice, FaultPlan& plan) {
  if (std::none_of(plan.subscriptions.begin(), plan.subscriptions.end(),
                   [](const auto& s) { return s.dead_letter_policy.has_value(); })) {
    return;
  }
  plan.dead_letter_topic = {.name = std::string(kDeadTopic), .labels = {}, .unknown = {}};
  pubsub::Subscription dead;
  dead.name = "projects/p/subscriptions/dead";
  dead.topic = kDeadTopic;
  dead.enable_exactly_once_delivery = dice.Chance(500);
  dead.ack_deadline_seconds = 10;
  plan.subscriptions.push_back(std::move(dead));
  plan.subscribers.push_back(DrawSubscriber(dice, plan, plan.subscriptions.size() - 1));
}

}  // namespace

FaultPlan DrawFaultPlan(uint64_t seed) {
  FaultPlan plan;
  plan.seed = seed;
  Dice shape(seed, kShape), network(seed, kNetwork), disk(seed, kDisk), work(seed, kWorkload), changes(seed, kChanges),
      store(seed, kStore);
  DrawNetwork(network, plan);
  DrawDisk(disk, plan);
  DrawBroker(shape, plan);
  plan.chaos = shape.Between(20s, 180s);
  if (shape.Chance(400)) plan.admin_about_every = shape.Between(3s, 40s);
  const uint64_t topics = shape.Between(1, 2), subscriptions = shape.Between(1, 3);
  for (uint64_t i = 0; i < topics; ++i) {
    plan.topics.push_back({.name = StrCat("projects/p/topics/top", i), .labels = {}, .unknown = {}});
  }
  for (uint64_t i = 0; i < subscriptions; ++i) {
    plan.subscriptions.push_back(DrawSubscription(shape, plan, i));
    for (uint64_t n = work.Between(1, 3); n > 0; --n) plan.subscribers.push_back(DrawSubscriber(work, plan, i));
  }
  AddDeadLetters(work, plan);
  DrawChanges(changes, plan);
  DrawStore(store, plan);
  for (uint64_t n = work.Between(1, 3); n > 0; --n) plan.publishers.push_back(DrawPublisher(work, plan));
  // A limit below what is asked for shuts some out for good: they could not drain.
  plan.broker.streams_max = std::max(plan.broker.streams_max, 2 * plan.subscribers.size());
  return plan;
}

std::string FaultPlan::Describe() const {
  std::string text = absl::StrFormat(
      "chaos %.0f s; net <= %.1f ms, slow %d/1000 <= %.0f ms, lost %d, twice %d, cut every %.0f s, write <= %.0f ms; "
      "sync <= %.0f ms, failing %d, crash every %.0f s, clean %d, crash after ok %d; admin every %.0f s, changes every "
      "%.0f s; response "
      "<= %d messages%s;",
      ToMillis(chaos) / 1e3, ToMillis(delay_max), slow, ToMillis(slow_max), lost, duplicated,
      ToMillis(cut_about_every) / 1e3, ToMillis(write_max), ToMillis(sync_max), sync_fails,
      ToMillis(crash_about_every) / 1e3, clean_stops, crash_after_ok, ToMillis(admin_about_every) / 1e3,
      ToMillis(changes_about_every) / 1e3, broker.messages_per_response_max,
      broker.every_project ? ", added delays" : "");
  if (store.on) {
    absl::StrAppend(&text, " store of ", store.segment_bytes, " of ", store.bytes_max, " bytes, dies ", store.dies,
                    ";");
  }
  for (const pubsub::Subscription& s : subscriptions) {
    absl::StrAppend(&text, " ", s.enable_exactly_once_delivery ? "eos" : "std", " ", s.ack_deadline_seconds, "s",
                    s.enable_message_ordering ? " ordered" : "", s.filter.empty() ? "" : " filtered",
                    s.retry_policy ? " retry" : "", s.dead_letter_policy ? " dead-letter" : "",
                    s.retain_acked_messages ? " retains" : "");
  }
  for (const SubscriberPlan& s : subscribers) {
    const char* kinds[] = {"stream", "pull", "library"};
    absl::StrAppend(&text, "; ", kinds[static_cast<size_t>(s.kind)], " of sub", s.subscription, " (<= ", s.messages_max,
                    s.dies_about_every > Duration{0} ? ", dies)" : ")");
  }
  return text;
}

}  // namespace hopgap::sim
