#include "formats/run_json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/threshold.h"

namespace hopgap::formats {
namespace {

using Json = nlohmann::ordered_json;
constexpr char kSchema[] = "hopgap.run-folder/1";

Json ConfigurationJson(const report::Configuration& c) {
  Json added = Json::array();
  for (const report::AddedLeg& leg : c.added) {
    added.push_back({{"leg", leg.leg},
                     {"kind", leg.kind},
                     {"p50_ms", leg.p50_ms},
                     {"p95_ms", leg.p95_ms},
                     {"mean_ms", leg.mean_ms}});
  }
  return {{"command", c.command},
          {"simulated", c.simulated},
          {"hops", c.hops},
          {"work_ns", c.work.count()},
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
  if (arm.saturated_at) json["saturated_at_per_second"] = *arm.saturated_at;
  return json;
}

// Of a folder that was collected: analyze then takes everything from the spans.
Json CollectedJson(const std::optional<report::SpansOnly>& only) {
  if (!only) return nullptr;
  return {{"spans", only->spans}, {"notes", only->notes}};
}

void ReadCollected(const Json& json, report::Run& run) {
  const auto found = json.find("collected");
  if (found == json.end() || found->is_null()) return;  // not there in folders of 0.1.0
  report::SpansOnly& only = run.spans_only.emplace();
  found->at("spans").get_to(only.spans);
  found->at("notes").get_to(only.notes);
}

void ReadConfiguration(const Json& json, report::Configuration& c) {
  json.at("command").get_to(c.command);
  json.at("simulated").get_to(c.simulated);
  json.at("hops").get_to(c.hops);
  c.work = Duration{json.at("work_ns").get<int64_t>()};
  json.at("rate_per_second").get_to(c.rate_per_second);
  json.at("messages").get_to(c.messages);
  json.at("streams").get_to(c.streams);
  json.at("max_outstanding_messages").get_to(c.max_outstanding_messages);
  json.at("publish").get_to(c.publish_mode);
  json.at("response_policy").get_to(c.response_policy);
  json.at("target").get_to(c.target);
  json.at("profile").get_to(c.profile);
  json.at("profile_is_builtin_replay").get_to(c.profile_is_builtin_replay);
  for (const Json& leg : json.at("added")) {
    c.added.push_back({leg.at("leg").get<std::string>(), leg.at("kind").get<std::string>(),
                       leg.at("p50_ms").get<double>(), leg.at("p95_ms").get<double>(),
                       leg.at("mean_ms").get<double>()});
  }
  json.at("seed").get_to(c.seed);
  json.at("stratified").get_to(c.stratified);
  c.processes = json.value("processes", false);  // absent in runs of 0.1 and before
  json.at("preset").get_to(c.preset);
  c.warm_up = Duration{json.at("warm_up_ns").get<int64_t>()};
  c.thresholds = json.value("thresholds", std::vector<std::string>());  // likewise
  json.at("spans_of").get_to(c.spans_of);
  json.at("spans_total").get_to(c.spans_total);
}

report::ArmRun ReadArm(const Json& json) {
  report::ArmRun arm;
  json.at("group").get_to(arm.group);
  json.at("name").get_to(arm.name);
  json.at("kind").get_to(arm.kind);
  json.at("client_model").get_to(arm.client_model);
  json.at("planned").get_to(arm.planned);
  json.at("sent").get_to(arm.sent);
  json.at("completed").get_to(arm.completed);
  json.at("lost").get_to(arm.lost);
  json.at("duplicates").get_to(arm.duplicates);
  json.at("reprocessed").get_to(arm.reprocessed);
  arm.deduplicated = json.value("deduplicated", uint64_t{0});  // older folders have none
  json.at("exactly_once_seen").get_to(arm.exactly_once_seen);
  json.at("responses").get_to(arm.responses);
  json.at("messages_received").get_to(arm.messages_received);
  json.at("verdict").at("valid").get_to(arm.verdict.valid);
  json.at("verdict").at("reasons").get_to(arm.verdict.reasons);
  if (json.contains("saturated_at_per_second")) arm.saturated_at = json.at("saturated_at_per_second").get<double>();
  return arm;
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
  // The library throws; its errors name the field.
  try {
    const Json json = Json::parse(text);
    const std::string schema = json.at("schema").get<std::string>();
    if (schema != kSchema) {
      return absl::InvalidArgumentError(
          StrCat(origin, ": schema '", schema, "' is not '", kSchema, "': written by another version of hopgap"));
    }
    report::Run run;
    json.at("hopgap_version").get_to(run.version);
    ReadConfiguration(json.at("configuration"), run.configuration);
    run.is_sample = run.configuration.spans_of < run.configuration.spans_total;
    for (const Json& arm : json.at("arms")) run.arms.push_back(ReadArm(arm));
    ReadCollected(json, run);
    const Json& outcome = json.at("outcome");
    run.elapsed = Duration{outcome.at("elapsed_ns").get<int64_t>()};
    outcome.at("ended_early").get_to(run.ended_early);
    outcome.at("ended_early_why").get_to(run.ended_early_why);
    run.loop_stall_max = Duration{outcome.at("loop_stall_max_ns").get<int64_t>()};
    run.clock_drift = Duration{outcome.at("clock_drift_ns").get<int64_t>()};
    if (absl::Status status = CheckThresholds(run, origin); !status.ok()) return status;
    return run;
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(StrCat(origin, ": ", std::string_view(error.what())));
  }
}

absl::StatusOr<Machine> ReadRunMachine(std::string_view text, std::string_view origin) {
  try {
    const Json json = Json::parse(text);
    const Json& from = json.at("machine");
    Machine machine;
    from.at("system").get_to(machine.system);
    from.at("cpu").get_to(machine.cpu);
    from.at("cpus").get_to(machine.cpus);
    from.at("memory_bytes").get_to(machine.memory_bytes);
    from.at("started").get_to(machine.started);
    from.at("command_line").get_to(machine.command_line);
    return machine;
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(StrCat(origin, ": ", std::string_view(error.what())));
  }
}

}  // namespace hopgap::formats
