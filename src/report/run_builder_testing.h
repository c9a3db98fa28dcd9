#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/run.h"

// For tests: hand-made runs whose paths add up. Not part of the program.
namespace hopgap::report::testing {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// One hop by its stages. Instants follow from them.
struct HopPlan {
  Duration client_publish{milliseconds{10}};  // all of it batching (waited)
  Duration publish_rpc{0}, publish_added{0};
  Duration delivery_gap{0}, delivery_added{0};
  Duration stream_wait{0};  // part of the delivery gap, waited
  Duration dispatch_gap{0}, dispatch_added{0};
  Duration work{milliseconds{200}};
  Duration ack_tick{0};  // held back (waited)
  Duration ack_rpc{0}, ack_added{0};
  bool leased = true;  // the dispatch gap is lease wait, else `other`
  bool broker_spans = true;
  bool acked = true;
};

inline trace::StageTime& StageOf(trace::HopTimes& hop, trace::Stage stage) {
  return hop.stages[static_cast<size_t>(stage)];
}

inline trace::HopTimes MakeHop(const HopPlan& plan, WallTime call, Duration lateness) {
  using trace::Stage;
  trace::HopTimes hop;
  StageOf(hop, Stage::kSendLateness) = {.length = lateness};
  StageOf(hop, Stage::kClientPublish) = {.length = plan.client_publish, .waited = plan.client_publish};
  StageOf(hop, Stage::kPublishRpc) = {.length = plan.publish_rpc, .added = plan.publish_added};
  StageOf(hop, Stage::kDeliveryGap) = {
      .length = plan.delivery_gap, .added = plan.delivery_added, .waited = plan.stream_wait};
  StageOf(hop, Stage::kDispatchGap) = {.length = plan.dispatch_gap, .added = plan.dispatch_added};
  StageOf(hop, Stage::kWork) = {.length = plan.work};
  StageOf(hop, Stage::kAck) = {
      .length = plan.ack_tick + plan.ack_rpc, .added = plan.ack_added, .waited = plan.ack_tick};
  (plan.leased ? hop.dispatch.lease_wait : hop.dispatch.other) = plan.dispatch_gap;
  hop.work.handler = plan.work;
  hop.publish_call = call;
  hop.publish_start = call + plan.client_publish;
  hop.publish_end = hop.publish_start + plan.publish_rpc;
  hop.received = hop.publish_end + plan.delivery_gap;
  hop.callback_start = hop.received + plan.dispatch_gap;
  hop.work_end = hop.callback_start + plan.work;
  hop.modack_start = hop.received;
  hop.modack_end = hop.callback_start;
  if (plan.acked) {
    hop.ack_called = hop.work_end;
    hop.ack_start = hop.work_end + plan.ack_tick;
    hop.ack_end = *hop.ack_start + plan.ack_rpc;
  }
  if (plan.broker_spans) {
    hop.accepted = hop.publish_start;
    hop.committed = hop.publish_start + plan.publish_rpc / 2;
    hop.written = hop.received - plan.stream_wait - microseconds{100};
    hop.server = trace::ServerView{.accept = Duration{0},
                                   .commit = *hop.committed - *hop.accepted,
                                   .queue = *hop.written - *hop.committed,
                                   .stream_wait = plan.stream_wait,
                                   .wire = microseconds{100}};
  }
  return hop;
}

inline trace::Path MakePath(const std::string& arm, uint64_t slot, Duration lateness,
                            const std::vector<HopPlan>& plans) {
  trace::Path path;
  path.arm = arm;
  path.slot = slot;
  path.trace_lo = slot + 1;
  path.scheduled = WallTime{std::chrono::seconds{1000 + static_cast<int64_t>(slot)}};
  WallTime call = path.scheduled + lateness;
  for (const HopPlan& plan : plans) {
    path.hops.push_back(MakeHop(plan, call, path.hops.empty() ? lateness : Duration{0}));
    call = path.hops.back().work_end;
  }
  path.until_handled = path.hops.back().work_end - path.scheduled;
  if (path.hops.back().ack_end) path.until_acked = *path.hops.back().ack_end - path.scheduled;
  return path;
}

inline ArmRun MakeArm(const std::string& group, const std::string& kind, uint64_t planned) {
  ArmRun arm;
  arm.group = group;
  arm.kind = kind;
  arm.name = group == "here" ? kind : group + "." + kind;
  arm.client_model = kind == "eos-overlap" ? "overlap" : "go";
  arm.planned = arm.sent = planned;
  arm.exactly_once_seen = kind != "std";
  return arm;
}

inline void AddPath(ArmRun& arm, trace::Path path) {
  arm.responses += path.hops.size();
  arm.messages_received += path.hops.size();
  ++arm.completed;
  arm.paths.push_back(std::move(path));
}

// What `hopgap run` without arguments looks like, with made-up delays that are
// simple functions of the slot.
inline Configuration DefaultConfiguration(uint64_t messages) {
  Configuration c;
  c.command = "run";
  c.work = milliseconds{200};
  c.rate_per_second = 1;
  c.messages = messages;
  c.streams = 4;
  c.max_outstanding_messages = 1000;
  c.publish_mode = "await";
  c.response_policy = "eager";
  c.target = "embedded";
  c.profile = "cloud-replay";
  c.profile_is_builtin_replay = true;
  c.added = {{"publish before commit", "both", 13, 21, 13.6},
             {"publish after commit", "both", 12.5, 24, 13.5},
             {"deliver", "standard", 9.5, 18, 10.3},
             {"deliver", "exactly-once", 133, 218, 139},
             {"modack", "standard", 10, 23, 11.3},
             {"modack", "exactly-once", 303, 1130, 417},
             {"ack", "both", 10, 23, 11.3}};
  c.seed = 7;
  c.stratified = true;
  return c;
}

inline HopPlan HerePlan(uint64_t slot, bool exactly_once) {
  HopPlan plan;
  plan.client_publish = milliseconds{10} + microseconds{slot % 7 * 30};
  plan.publish_rpc = microseconds{300 + slot % 5 * 20};
  plan.delivery_gap = microseconds{slot % 3 * 50} - microseconds{40};
  plan.dispatch_gap = exactly_once ? microseconds{160 + slot % 4 * 10} : microseconds{5};
  plan.leased = exactly_once;
  plan.work = milliseconds{200} + microseconds{150};
  plan.ack_tick = milliseconds{50};
  plan.ack_rpc = microseconds{250};
  return plan;
}

inline HopPlan ReplayPlan(uint64_t slot, uint64_t hop, const std::string& kind) {
  HopPlan plan = HerePlan(slot, kind == "eos");
  const auto rank = static_cast<int64_t>((slot * 7 + hop * 13) % 31);
  plan.publish_added = milliseconds{18 + rank / 2};
  plan.delivery_added = kind == "std" ? milliseconds{rank - 20} : milliseconds{70 + 4 * rank};
  plan.ack_added = milliseconds{5 + rank / 2};
  if (kind == "eos") plan.dispatch_added = milliseconds{60 + rank * rank + rank * 10};
  plan.publish_rpc += plan.publish_added;
  plan.delivery_gap += plan.delivery_added;
  plan.dispatch_gap += plan.dispatch_added;
  plan.ack_rpc += plan.ack_added;
  return plan;
}

inline Run DefaultRun(uint64_t messages = 31) {
  Run run;
  run.version = "0.1.0";
  run.configuration = DefaultConfiguration(messages);
  run.elapsed = milliseconds{34'600};
  run.loop_stall_max = microseconds{900};
  run.saved_to = "runs/example";
  run.saved_files = {{"run.json", 2100}, {"summary.json", 31'000}, {"spans.otlp.jsonl", 4'100'000}};
  for (const auto& [group, kind] : std::vector<std::pair<std::string, std::string>>{
           {"here", "std"}, {"here", "eos"}, {"replay", "std"}, {"replay", "eos"}, {"replay", "eos-overlap"}}) {
    ArmRun arm = MakeArm(group, kind, messages);
    for (uint64_t slot = 0; slot < messages; ++slot) {
      std::vector<HopPlan> plans;
      for (uint64_t hop = 0; hop < 3; ++hop) {
        plans.push_back(group == "here" ? HerePlan(slot, kind != "std") : ReplayPlan(slot, hop, kind));
      }
      AddPath(arm, MakePath(arm.name, slot, microseconds{120 + slot % 4 * 20}, plans));
    }
    run.arms.push_back(std::move(arm));
  }
  return run;
}

}  // namespace hopgap::report::testing
