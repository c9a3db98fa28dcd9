#include "formats/run_json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "formats/json_read.h"
#include "report/threshold.h"

namespace hopgap::formats {
namespace {

using Json = nlohmann::ordered_json;
constexpr char kSchema[] = "hopgap.run-folder/1";

constexpr std::string_view kExponential = "exponential", kLognormal = "lognormal";

std::string_view LawName(WorkLaw::Kind kind) { return kind == WorkLaw::Kind::kExponential ? kExponential : kLognormal; }

// Work is fixed unless a law is named.
void ReadWork(FieldReader from, absl::Status& status, WorkLaw& work) {
  std::string law;
  from.Take("work_ns", work.length).TakeIfThere("work_law", law);
  if (law.empty()) return;
  if (law == kExponential) {
    work.kind = WorkLaw::Kind::kExponential;
  } else if (law == kLognormal) {
    work.kind = WorkLaw::Kind::kLognormal;
    from.Take("work_p99_ns", work.p99);
  } else if (status.ok()) {
    status = absl::InvalidArgumentError(StrCat("configuration.work_law: '", law, "' is no law of ours"));
  }
  if (status.ok() && (work.length <= Duration{0} || (work.p99 <= work.length && law == kLognormal))) {
    status = absl::InvalidArgumentError("configuration.work_ns, work_p99_ns: are no lengths of a law");
  }
}

Json ConfigurationJson(const report::Configuration& c) {
  Json added = Json::array();
  for (const report::AddedLeg& leg : c.added) {
    added.push_back({{"leg", leg.leg},
                     {"kind", leg.kind},
                     {"p50_ms", leg.p50_ms},
                     {"p95_ms", leg.p95_ms},
                     {"mean_ms", leg.mean_ms}});
  }
  Json json{{"command", c.command},
            {"simulated", c.simulated},
            {"hops", c.hops},
            {"work_ns", c.work.length.count()},
            {"rate_per_second", c.rate_per_second},
            {"messages", c.messages},
            {"streams", c.streams},
            {"max_outstanding_messages", c.max_outstanding_messages},
            {"publish", c.publish_mode},
            {"response_policy", c.response_policy},
            {"target", c.target},
            {"profile", c.profile},
            {"profile_is_builtin_replay", c.profile_is_builtin_replay},
            {"added", added},
            {"seed", c.seed},
            {"stratified", c.stratified},
            {"processes", c.processes},
            {"preset", c.preset},
            {"warm_up_ns", c.warm_up.count()},
            {"thresholds", c.thresholds},
            {"spans_of", c.spans_of},
            {"spans_total", c.spans_total}};
  if (c.work.drawn()) {
    json["work_law"] = LawName(c.work.kind);
    if (c.work.kind == WorkLaw::Kind::kLognormal) json["work_p99_ns"] = c.work.p99.count();
  }
  if (c.message_bytes > 0) json["message_bytes"] = c.message_bytes;
  if (c.handler_failures > 0) json["handler_failures"] = c.handler_failures;
  if (!c.arrival.empty()) {
    json["arrival"] = c.arrival;
    json["rate_highest_per_second"] = c.rate_highest_per_second;
    if (c.burst > 0) json["burst"] = c.burst;
  }
  return json;
}

Json ArmJson(const report::ArmRun& arm) {
  Json json = {{"group", arm.group},
               {"name", arm.name},
               {"kind", arm.kind},
               {"client_model", arm.client_model},
               {"planned", arm.planned},
               {"sent", arm.sent},
               {"completed", arm.completed},
               {"lost", arm.lost},
               {"duplicates", arm.duplicates},
               {"reprocessed", arm.reprocessed},
               {"deduplicated", arm.deduplicated},
               {"exactly_once_seen", arm.exactly_once_seen},
               {"responses", arm.responses},
               {"messages_received", arm.messages_received},
               {"verdict", {{"valid", arm.verdict.valid}, {"reasons", arm.verdict.reasons}}}};
  if (arm.handler_failures > 0) json["handler_failures"] = arm.handler_failures;
  if (arm.saturated_at) json["saturated_at_per_second"] = *arm.saturated_at;
  return json;
}

// Of a folder that was collected: analyze then takes everything from the spans.
Json CollectedJson(const std::optional<report::SpansOnly>& only) {
  if (!only) return nullptr;
  return {{"spans", only->spans}, {"notes", only->notes}};
}

void ReadCollected(const FieldReader& root, report::Run& run) {
  if (!root.Has("collected")) return;  // nor is it in folders of 0.1.0
  report::SpansOnly& only = run.spans_only.emplace();
  root.In("collected").Take("spans", only.spans).Take("notes", only.notes);
}

report::AddedLeg ReadLeg(FieldReader leg) {
  report::AddedLeg out;
  leg.Take("leg", out.leg).Take("kind", out.kind);
  leg.Take("p50_ms", out.p50_ms).Take("p95_ms", out.p95_ms).Take("mean_ms", out.mean_ms);
  return out;
}

void ReadConfiguration(FieldReader from, const Json& added, absl::Status& status, report::Configuration& c) {
  from.Take("command", c.command).Take("simulated", c.simulated).Take("hops", c.hops);
  ReadWork(from, status, c.work);
  from.Take("rate_per_second", c.rate_per_second).Take("messages", c.messages).Take("streams", c.streams);
  from.Take("max_outstanding_messages", c.max_outstanding_messages).Take("publish", c.publish_mode);
  from.Take("response_policy", c.response_policy).Take("target", c.target).Take("profile", c.profile);
  from.Take("profile_is_builtin_replay", c.profile_is_builtin_replay).Take("seed", c.seed);
  if (c.work.drawn()) c.work.seed = c.seed;
  from.Take("stratified", c.stratified).Take("preset", c.preset).Take("warm_up_ns", c.warm_up);
  from.Take("spans_of", c.spans_of).Take("spans_total", c.spans_total);
  from.TakeIfThere("processes", c.processes).TakeIfThere("thresholds", c.thresholds);  // not in 0.1 and before
  // Of evenly spread messages there is neither.
  from.TakeIfThere("handler_failures", c.handler_failures).TakeIfThere("message_bytes", c.message_bytes);
  from.TakeIfThere("arrival", c.arrival)
      .TakeIfThere("burst", c.burst)
      .TakeIfThere("rate_highest_per_second", c.rate_highest_per_second);
  for (const Json& leg : added) c.added.push_back(ReadLeg({leg, "configuration.added.", status}));
}

report::ArmRun ReadArm(FieldReader from) {
  report::ArmRun arm;
  from.Take("group", arm.group).Take("name", arm.name).Take("kind", arm.kind).Take("client_model", arm.client_model);
  from.Take("planned", arm.planned).Take("sent", arm.sent).Take("completed", arm.completed).Take("lost", arm.lost);
  from.Take("duplicates", arm.duplicates).Take("reprocessed", arm.reprocessed);
  from.TakeIfThere("handler_failures", arm.handler_failures);
  from.TakeIfThere("deduplicated", arm.deduplicated);  // older folders have none
  from.Take("exactly_once_seen", arm.exactly_once_seen).Take("responses", arm.responses);
  from.Take("messages_received", arm.messages_received);
  from.In("verdict").Take("valid", arm.verdict.valid).Take("reasons", arm.verdict.reasons);
  if (from.Has("saturated_at_per_second")) from.Take("saturated_at_per_second", arm.saturated_at.emplace());
  return arm;
}

// The list at `path`; an empty one, and an error, if there is none.
const Json& ListAt(const Json& root, const Json::json_pointer& path, absl::Status& status) {
  static const Json kEmpty = Json::array();
  if (root.contains(path) && root.at(path).is_array()) return root.at(path);
  if (status.ok()) status = absl::InvalidArgumentError(StrCat(path.to_string().substr(1), ": is no list"));
  return kEmpty;
}

// Thresholds were checked when they were given; a file that somebody changed is checked again.
absl::Status CheckThresholds(const report::Run& run, std::string_view origin) {
  std::vector<std::string> arms;
  for (const report::ArmRun& arm : run.arms) arms.push_back(arm.name);
  for (const std::string& text : run.configuration.thresholds) {
    const absl::StatusOr<report::Threshold> threshold = report::ParseThreshold(text);
    absl::Status status = threshold.ok() ? report::CheckThreshold(*threshold, arms) : threshold.status();
    if (!status.ok()) return absl::InvalidArgumentError(StrCat(origin, ": ", MessageOf(status)));
  }
  return absl::OkStatus();
}

// The document, if it is a run folder's of this version.
absl::StatusOr<Json> ParseRunFile(std::string_view text) {
  absl::StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) return absl::InvalidArgumentError(StrCat("is damaged: ", MessageOf(json.status())));
  absl::Status status;
  std::string schema;
  FieldReader(*json, "", status).Take("schema", schema);
  if (status.ok() && schema != kSchema) {
    return absl::InvalidArgumentError(
        StrCat("schema '", schema, "' is not '", kSchema, "': written by another version of hopgap"));
  }
  if (!status.ok()) return status;
  return json;
}

absl::Status WithOrigin(std::string_view origin, const absl::Status& status) {
  return absl::InvalidArgumentError(StrCat(origin, ": ", MessageOf(status)));
}

}  // namespace

std::string WriteRunJson(const report::Run& run, const Machine& machine) {
  Json arms = Json::array();
  for (const report::ArmRun& arm : run.arms) arms.push_back(ArmJson(arm));
  const Json json = {{"schema", kSchema},
                     {"hopgap_version", run.version},
                     {"configuration", ConfigurationJson(run.configuration)},
                     {"arms", arms},
                     {"outcome",
                      {{"elapsed_ns", run.elapsed.count()},
                       {"ended_early", run.ended_early},
                       {"ended_early_why", run.ended_early_why},
                       {"notes", run.notes},
                       {"loop_stall_max_ns", run.loop_stall_max.count()},
                       {"clock_drift_ns", run.clock_drift.count()}}},
                     {"collected", CollectedJson(run.spans_only)},
                     {"machine",
                      {{"system", machine.system},
                       {"cpu", machine.cpu},
                       {"cpus", machine.cpus},
                       {"memory_bytes", machine.memory_bytes},
                       {"started", machine.started},
                       {"command_line", machine.command_line}}}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<report::Run> ReadRunJson(std::string_view text, std::string_view origin) {
  const absl::StatusOr<Json> json = ParseRunFile(text);
  if (!json.ok()) return WithOrigin(origin, json.status());
  absl::Status status;
  report::Run run;
  FieldReader root(*json, "", status);
  root.Take("hopgap_version", run.version);
  const Json& added = ListAt(*json, Json::json_pointer("/configuration/added"), status);
  ReadConfiguration(root.In("configuration"), added, status, run.configuration);
  run.is_sample = run.configuration.spans_of < run.configuration.spans_total;
  for (const Json& arm : ListAt(*json, Json::json_pointer("/arms"), status)) {
    run.arms.push_back(ReadArm({arm, "arms.", status}));
  }
  ReadCollected(root, run);
  FieldReader outcome = root.In("outcome");
  outcome.Take("elapsed_ns", run.elapsed).Take("ended_early", run.ended_early);
  outcome.Take("ended_early_why", run.ended_early_why).TakeIfThere("notes", run.notes);  // older folders have none
  outcome.Take("loop_stall_max_ns", run.loop_stall_max).Take("clock_drift_ns", run.clock_drift);
  if (!status.ok()) return WithOrigin(origin, status);
  if (status = CheckThresholds(run, origin); !status.ok()) return status;
  return run;
}

absl::StatusOr<Machine> ReadRunMachine(std::string_view text, std::string_view origin) {
  const absl::StatusOr<Json> json = ParseRunFile(text);
  if (!json.ok()) return WithOrigin(origin, json.status());
  absl::Status status;
  Machine machine;
  FieldReader from = FieldReader(*json, "", status).In("machine");
  from.Take("system", machine.system).Take("cpu", machine.cpu).Take("cpus", machine.cpus);
  from.Take("memory_bytes", machine.memory_bytes).Take("started", machine.started);
  from.Take("command_line", machine.command_line);
  if (!status.ok()) return WithOrigin(origin, status);
  return machine;
}

}  // namespace hopgap::formats
