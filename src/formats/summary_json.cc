#include "formats/summary_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "formats/page_json.h"
#include "report/limits.h"
#include "stats/sample.h"

namespace hopgap::formats {
namespace {

using Json = nlohmann::ordered_json;
using report::ArmSummary;
using report::StageSummary;
using stats::Estimate;
using trace::Stage;

// The nearest millionth of a millisecond: the double closest to that decimal,
// which is written back as the same decimal.
Json Ms(double nanoseconds) {
  const double whole = std::round(nanoseconds);
  return whole == 0 ? 0.0 : whole / 1e6;  // no -0.0
}
Json Ms(Duration d) { return Ms(static_cast<double>(d.count())); }
Json MsOrNull(std::optional<int64_t> nanoseconds) {
  if (!nanoseconds || stats::IsInfinite(*nanoseconds)) return nullptr;
  return Ms(static_cast<double>(*nanoseconds));
}
Json ValueMs(const std::optional<Estimate>& e) { return e ? MsOrNull(e->value) : Json(nullptr); }
Json Mean(Duration total, uint64_t n) {
  if (n == 0) return nullptr;
  return Ms(static_cast<double>(total.count()) / static_cast<double>(n));
}
Json NullIfEmpty(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json VerdictJson(const report::Verdict& verdict) { return {{"valid", verdict.valid}, {"reasons", verdict.reasons}}; }

Json LimitsJson() {
  return {{"late_from_ms", Ms(report::kLateFrom)},
          {"late_share_max", report::kLateShareMax},
          {"lost_max", 0},
          {"duplicates_max", 0},
          {"ring_overflow_max", 0},
          {"loop_stall_ms_max", Ms(report::kLoopStallMax)},
          {"clock_drift_ms_max", Ms(report::kClockDriftMax)},
          {"exactly_once_seen_on_stream", true}};
}

Json SpansOnlyJson(const std::optional<report::SpansOnly>& only) {
  if (!only) return nullptr;
  return {{"source", only->source},       {"spans", only->spans},         {"traces", only->traces},
          {"explained", only->explained}, {"due_times", only->due_times}, {"paired", only->paired},
          {"notes", only->notes}};
}

// What no plan says is null, and not 0.
void ForgetPlan(Json& configuration) {
  for (auto& [key, value] : configuration.items()) {
    if (key != "hops") value = nullptr;
  }
}

Json ConfigurationJson(const report::Configuration& c, Duration work) {
  Json added = Json::array();
  for (const report::AddedLeg& leg : c.added) {
    added.push_back({{"leg", leg.leg},
                     {"kind", leg.kind},
                     {"p50_ms", Ms(leg.p50_ms * 1e6)},
                     {"p95_ms", Ms(leg.p95_ms * 1e6)},
                     {"mean_ms", Ms(leg.mean_ms * 1e6)}});
  }
  Json json{{"hops", c.hops},
            {"work_ms", Ms(c.work.mean())},
            {"work_ms_all_hops", Ms(work)},
            {"rate_per_second", c.rate_per_second},
            {"messages", c.messages},
            {"streams", c.streams},
            {"max_outstanding_messages", c.max_outstanding_messages},
            {"publish", c.publish_mode},
            {"response_policy", c.response_policy},
            {"target", c.target},
            {"profile", c.profile},
            {"added", std::move(added)},
            {"seed", c.seed},
            {"stratified", c.stratified},
            {"processes", c.processes},
            {"preset", NullIfEmpty(c.preset)},
            {"warm_up_ms", Ms(c.warm_up)},
            {"thresholds", c.thresholds},
            {"spans_of", c.spans_of},
            {"spans_total", c.spans_total}};
  if (c.work.drawn()) json["work"] = c.work.Text();
  if (c.message_bytes > 0) json["message_bytes"] = c.message_bytes;
  if (c.handler_failures > 0) json["handler_failures"] = c.handler_failures;
  if (!c.arrival.empty()) {
    json["arrival"] = c.arrival;
    json["rate_highest_per_second"] = c.rate_highest_per_second;
    if (c.burst > 0) json["burst"] = c.burst;
  }
  return json;
}

Json EstimateJson(const std::optional<Estimate>& e) {
  if (!e) return nullptr;
  return {{"value", MsOrNull(e->value)}, {"low", MsOrNull(e->low)},
          {"high", MsOrNull(e->high)},   {"high_is_infinite", e->high && *e->high == stats::kInfinite},
          {"supported", e->supported},   {"n_needed", e->needed}};
}

Json EndToEndJson(const report::EndToEnd& e) {
  return {{"n", e.n},
          {"unfinished", e.unfinished},
          {"p50", EstimateJson(e.p50)},
          {"p90", EstimateJson(e.p90)},
          {"p95", EstimateJson(e.p95)},
          {"p99", EstimateJson(e.p99)},
          {"max", MsOrNull(e.max)}};
}

Json StageJson(const StageSummary& stage, uint64_t n) {
  return {{"mean", Mean(stage.total, n)},
          {"p50", ValueMs(stage.p50)},
          {"p50_low", stage.p50 ? MsOrNull(stage.p50->low) : Json(nullptr)},
          {"p50_high", stage.p50 ? MsOrNull(stage.p50->high) : Json(nullptr)},
          {"p95", ValueMs(stage.p95)},
          {"p95_low", stage.p95 ? MsOrNull(stage.p95->low) : Json(nullptr)},
          {"p95_high", stage.p95 ? MsOrNull(stage.p95->high) : Json(nullptr)},
          {"added_mean", Mean(stage.added, n)},
          {"waited_mean", Mean(stage.waited, n)},
          {"machine_mean", Mean(stage.machine(), n)}};
}

Json PartsJson(const ArmSummary& arm, Stage stage) {
  const uint64_t n = arm.n;
  switch (stage) {
    case Stage::kDeliveryGap: return {{"redelivery", Mean(arm.redelivery, n)}};
    case Stage::kDispatchGap:
      return {{"lease_wait", Mean(arm.dispatch.lease_wait, n)},
              {"lease_batching", Mean(arm.dispatch.lease_batching, n)},
              {"flow_control", Mean(arm.dispatch.flow_control, n)},
              {"scheduler", Mean(arm.dispatch.scheduler, n)},
              {"other", Mean(arm.dispatch.other, n)}};
    case Stage::kWork:
      return {{"handler", Mean(arm.work.handler, n)},
              {"ack_wait", Mean(arm.work.ack_wait, n)},
              {"store", Mean(arm.work.store, n)}};
    default: return nullptr;
  }
}

Json StagesJson(const ArmSummary& arm, bool spans_only) {
  Json out = Json::object();
  for (size_t i = 0; i < trace::kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    Json& json = out[std::string(trace::StageKey(stage))] = StageJson(arm.stages[i], arm.n);
    if (Json parts = PartsJson(arm, stage); !parts.is_null()) json["parts"] = std::move(parts);
    if (spans_only && arm.not_available[i] > 0) json["not_available"] = arm.not_available[i];
    if (spans_only && arm.not_available[i] == arm.n && arm.n > 0) json = nullptr;
  }
  return out;
}

Json HopsJson(const ArmSummary& arm) {
  Json out = Json::array();
  for (const auto& hop : arm.hops) {
    Json stages = Json::object();
    for (size_t i = 0; i < trace::kStages; ++i) {
      stages[std::string(trace::StageKey(static_cast<Stage>(i)))] = StageJson(hop[i], arm.n);
    }
    out.push_back(std::move(stages));
  }
  return out;
}

Json ServerJson(const report::ServerSummary& s) {
  return {{"n", s.n},
          {"accept", Mean(s.total.accept, s.n)},
          {"commit", Mean(s.total.commit, s.n)},
          {"queue", Mean(s.total.queue, s.n)},
          {"stream_wait", Mean(s.total.stream_wait, s.n)},
          {"wire", Mean(s.total.wire, s.n)},
          {"deliveries", s.deliveries},
          {"deliveries_queued", s.queued},
          {"stream_wait_max", s.deliveries > 0 ? Ms(s.stream_wait_max) : Json(nullptr)}};
}

Json ArmJson(const ArmSummary& arm, bool spans_only) {
  const report::ArmRun& run = arm.run;
  const double each =
      run.responses == 0 ? 0 : static_cast<double>(run.messages_received) / static_cast<double>(run.responses);
  Json json = {{"name", run.name},
               {"group", run.group},
               {"kind", run.kind},
               {"client_model", run.client_model},
               {"planned", run.planned},
               {"sent", run.sent},
               {"completed", run.completed},
               {"unfinished", arm.unfinished},
               {"lost", run.lost},
               {"duplicates", run.duplicates},
               {"reprocessed", run.reprocessed},
               {"deduplicated", run.deduplicated},
               {"handler_failures", run.handler_failures},
               {"warm_up_left_out", arm.warm_up},
               {"saturated_at_per_second", run.saturated_at ? Json(*run.saturated_at) : Json(nullptr)},
               {"exactly_once_seen", run.exactly_once_seen},
               {"responses", run.responses},
               {"messages_per_response", run.responses == 0 ? Json(nullptr) : Json(each)},
               {"verdict", VerdictJson(run.verdict)},
               {"until_handled_less_work_ms", EndToEndJson(arm.until_handled)},
               {"until_acked_less_work_ms", EndToEndJson(arm.until_acked)},
               {"stages_n", arm.n},
               {"stages_ms", StagesJson(arm, spans_only)},
               {"remainder_ms_mean", Mean(arm.remainder, arm.n)},
               {"until_handled_ms_mean", Mean(arm.handled, arm.n)},
               {"asked_work_ms_mean", Mean(arm.asked, arm.n)},
               {"hops_ms", HopsJson(arm)},
               {"server_view_ms", ServerJson(arm.server)},
               {"negative_delivery_gaps",
                {{"gaps", arm.gaps.gaps},
                 {"negative", arm.gaps.negative},
                 {"overtook_publish_answer", arm.gaps.overtook},
                 {"unexplained", arm.gaps.unexplained}}}};
  if (arm.after_silence) {
    json["after_silence_until_handled_less_work_ms"] = {{"first", EndToEndJson(arm.after_silence->first)},
                                                        {"others", EndToEndJson(arm.after_silence->others)}};
  }
  return json;
}

// Of spans alone: what takes a plan, a driver or a broker to know.
void ForgetCounts(Json& arm, bool due_times) {
  for (const char* key : {"client_model", "planned", "sent", "unfinished", "lost", "duplicates", "reprocessed",
                          "deduplicated", "handler_failures", "warm_up_left_out", "responses", "verdict"}) {
    arm[key] = nullptr;
  }
  if (due_times) return;
  constexpr char kLateness[] = "send_lateness";
  arm["stages_ms"][kLateness] = nullptr;
  for (Json& hop : arm["hops_ms"]) hop[kLateness] = nullptr;
}

Json InfiniteDirection(const std::optional<Estimate>& e) {
  if (!e || !stats::IsInfinite(e->value)) return nullptr;
  return e->value > 0 ? "slower" : "faster";
}

Json DifferenceJson(const report::Difference& d) {
  const stats::PairedDifference& pairs = d.pairs;
  const std::optional<Estimate>& median = pairs.median;
  return {{"arm", d.arm},
          {"baseline", d.baseline},
          {"group", d.group},
          {"stage", d.stage},
          {"n", pairs.n},
          {"mean", Mean(Duration{pairs.mean_sum}, pairs.mean_n)},
          {"mean_n", pairs.mean_n},
          {"mean_low", pairs.mean_low ? Ms(*pairs.mean_low) : Json(nullptr)},
          {"mean_high", pairs.mean_high ? Ms(*pairs.mean_high) : Json(nullptr)},
          {"p50", median ? MsOrNull(median->value) : Json(nullptr)},
          {"p50_infinite", InfiniteDirection(median)},
          {"low", median ? MsOrNull(median->low) : Json(nullptr)},
          {"high", median ? MsOrNull(median->high) : Json(nullptr)},
          {"pairs_slower", pairs.slower},
          {"pairs_faster", pairs.faster},
          {"pairs_tied", pairs.tied},
          {"pairs_undefined", pairs.undefined},
          {"sign", static_cast<int>(pairs.sign())}};
}

Json PlacementJson(const report::Placement& p) {
  return {{"figure_ms", Ms(p.value)}, {"what", p.what},       {"arm", p.arm},          {"n", p.n},
          {"at_or_below", p.below},   {"percent", p.percent}, {"held_out", !p.fitted}, {"reading", p.reading}};
}

template <typename Values, typename ToJson>
Json ListJson(const Values& values, ToJson to_json) {
  Json out = Json::array();
  for (const auto& value : values) out.push_back(to_json(value));
  return out;
}

}  // namespace

std::string SummaryJson(const report::Summary& summary, std::string_view analysis) {
  Json verdict = VerdictJson(summary.verdict);
  verdict["limits"] = LimitsJson();
  Json configuration = ConfigurationJson(summary.configuration, summary.work);
  if (summary.spans_only) {
    verdict = nullptr;
    ForgetPlan(configuration);
  }
  Json document = {{"schema", "hopgap.run/1"},
                   {"version", summary.version},
                   {"command", summary.configuration.command},
                   {"simulated", summary.configuration.simulated},
                   {"ended_early", summary.ended_early},
                   {"ended_early_why", NullIfEmpty(summary.ended_early_why)},
                   {"notes", summary.notes},
                   {"elapsed_ms", Ms(summary.elapsed)},
                   {"loop_stall_ms_max", Ms(summary.loop_stall_max)},
                   {"clock_drift_ms", Ms(summary.clock_drift)},
                   {"quantile_method", "linear-type7"},
                   {"interval_method", "exact order statistic, 2.5 % a side"},
                   {"mean_interval_method", "Student's t on paired differences, 95 %"},
                   {"spans_only", SpansOnlyJson(summary.spans_only)},
                   {"configuration", std::move(configuration)},
                   {"verdict", std::move(verdict)},
                   {"thresholds", ListJson(summary.judgements, JudgementToJson)},
                   {"arms", ListJson(summary.arms,
                                     [&](const ArmSummary& arm) {
                                       Json json = ArmJson(arm, summary.spans_only.has_value());
                                       if (summary.spans_only) ForgetCounts(json, summary.due_times());
                                       return json;
                                     })},
                   {"difference", ListJson(summary.differences, DifferenceJson)},
                   {"published_figures", ListJson(summary.placements, PlacementJson)},
                   {"published_figures_why_not", NullIfEmpty(summary.no_placements_why)}};
  if (!analysis.empty()) document["analysis"] = Json::parse(analysis);
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hopgap::formats
