#include "formats/sweep_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "formats/json_read.h"

namespace hopgap::formats {
namespace {

using Json = nlohmann::ordered_json;
constexpr char kSweepSchema[] = "hopgap.sweep/1";

// The exact nanoseconds: what is resumed is what would have been computed.
Json EstimateLine(const std::optional<stats::Estimate>& estimate) {
  if (!estimate) return nullptr;
  Json json = {{"value_ns", estimate->value}, {"supported", estimate->supported}, {"needed", estimate->needed}};
  if (estimate->low) json["low_ns"] = *estimate->low;
  if (estimate->high) json["high_ns"] = *estimate->high;
  return json;
}

std::optional<stats::Estimate> ReadEstimateLine(const Json& json) {
  if (json.is_null()) return std::nullopt;
  stats::Estimate estimate{.value = json.at("value_ns").get<int64_t>(),
                           .low = {},
                           .high = {},
                           .supported = json.at("supported").get<bool>(),
                           .needed = json.at("needed").get<size_t>()};
  if (json.contains("low_ns")) estimate.low = json.at("low_ns").get<int64_t>();
  if (json.contains("high_ns")) estimate.high = json.at("high_ns").get<int64_t>();
  return estimate;
}

Json FiniteMsOrNull(const std::optional<int64_t>& nanoseconds) {
  if (!nanoseconds || stats::IsInfinite(*nanoseconds)) return nullptr;
  return static_cast<double>(*nanoseconds) / 1e6;
}

Json PlanJson(const report::SweepPlan& plan) {
  Json json = {{"schema", kSweepSchema},
               {"version", plan.version},
               {"simulated", plan.simulated},
               {"profile", plan.profile},
               {"profile_means_ms", plan.profile_means_ms},
               {"hops", plan.hops},
               {"work_ns", plan.work.count()},
               {"length_ns", plan.length.count()},
               {"messages_min", plan.messages_min},
               {"seed", plan.seed}};
  if (plan.burst > 0) json["burst"] = plan.burst;
  return json;
}

Json SettingJson(const report::SweepCell& cell) {
  return {{"rate_per_second", cell.rate_per_second},
          {"streams", cell.streams},
          {"arm", cell.arm},
          {"client", cell.client},
          {"policy", cell.policy},
          {"modack_ns", cell.modack ? Json(cell.modack->count()) : Json(nullptr)},
          {"round_trip_ns", cell.round_trip ? Json(cell.round_trip->count()) : Json(nullptr)},
          {"idle_gap_ns", cell.idle_gap ? Json(cell.idle_gap->count()) : Json(nullptr)},
          {"message_bytes", cell.message_bytes ? Json(*cell.message_bytes) : Json(nullptr)},
          {"cold", cell.cold},
          {"repeat", cell.repeat},
          {"messages", cell.messages},
          {"handled", cell.handled},
          {"n", cell.n},
          {"messages_per_response", cell.messages_per_response},
          {"invalid", cell.invalid.empty() ? Json(nullptr) : Json(cell.invalid)},
          {"saturated_at_per_second", cell.saturated_at ? Json(*cell.saturated_at) : Json(nullptr)}};
}

}  // namespace

std::string SweepPlanLine(const report::SweepPlan& plan) { return PlanJson(plan).dump() + "\n"; }

std::string SweepCellLine(const report::SweepCell& cell) {
  Json json = SettingJson(cell);
  json["p50"] = EstimateLine(cell.p50);
  json["p95"] = EstimateLine(cell.p95);
  json["others_p50"] = EstimateLine(cell.others_p50);
  return json.dump() + "\n";
}

absl::StatusOr<report::SweepPlan> ParseSweepPlanLine(std::string_view line) {
  const absl::StatusOr<Json> json = ParseJson(line);
  if (!json.ok()) return json.status();
  absl::Status status;
  std::string schema;
  report::SweepPlan plan;
  FieldReader from(*json, "", status);
  from.Take("schema", schema).Take("version", plan.version).Take("profile", plan.profile);
  from.Take("simulated", plan.simulated);
  from.Take("profile_means_ms", plan.profile_means_ms).Take("hops", plan.hops).Take("work_ns", plan.work);
  from.Take("length_ns", plan.length).Take("messages_min", plan.messages_min).Take("seed", plan.seed);
  from.TakeIfThere("burst", plan.burst);
  if (!status.ok()) return status;
  if (schema != kSweepSchema) return absl::InvalidArgumentError(StrCat("schema is not ", kSweepSchema));
  return plan;
}

absl::StatusOr<report::SweepCell> ParseSweepCellLine(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    report::SweepCell cell;
    json.at("rate_per_second").get_to(cell.rate_per_second);
    json.at("streams").get_to(cell.streams);
    json.at("arm").get_to(cell.arm);
    json.at("client").get_to(cell.client);
    json.at("policy").get_to(cell.policy);
    if (const Json& modack = json.at("modack_ns"); !modack.is_null()) cell.modack = Duration{modack.get<int64_t>()};
    if (const Json& round_trip = json.at("round_trip_ns"); !round_trip.is_null()) {
      cell.round_trip = Duration{round_trip.get<int64_t>()};
    }
    json.at("repeat").get_to(cell.repeat);
    json.at("messages").get_to(cell.messages);
    json.at("handled").get_to(cell.handled);
    // Of these older versions know nothing.
    const auto optional = [&json](const char* name) { return json.contains(name) ? json.at(name) : Json(nullptr); };
    cell.n = json.value("n", cell.messages);
    cell.cold = json.value("cold", false);
    if (const Json gap = optional("idle_gap_ns"); !gap.is_null()) cell.idle_gap = Duration{gap.get<int64_t>()};
    if (const Json bytes = optional("message_bytes"); !bytes.is_null()) cell.message_bytes = bytes.get<uint64_t>();
    cell.others_p50 = ReadEstimateLine(optional("others_p50"));
    json.at("messages_per_response").get_to(cell.messages_per_response);
    const Json& saturated = json.at("saturated_at_per_second");
    if (!saturated.is_null()) cell.saturated_at = saturated.get<double>();
    // Simulated cells of older versions have none.
    if (const auto invalid = json.find("invalid"); invalid != json.end() && !invalid->is_null())
      invalid->get_to(cell.invalid);
    cell.p50 = ReadEstimateLine(json.at("p50"));
    cell.p95 = ReadEstimateLine(json.at("p95"));
    return cell;
  } catch (const Json::exception&) {
    return absl::InvalidArgumentError("is no cell of a sweep");
  }
}

std::string SweepJson(const report::SweepPlan& plan, std::span<const report::SweepCell> cells,
                      const report::SweepHere* here) {
  Json root = PlanJson(plan);
  root["answer"] = report::SweepAnswer(plan, cells);
  root["here"] = nullptr;
  if (here != nullptr) {
    root["here"] = {{"name", here->name},       {"rate_per_second", here->rate_per_second},
                    {"streams", here->streams}, {"arms", here->arms},
                    {"client", here->client},   {"policy", here->policy}};
  }
  root["cells"] = Json::array();
  for (const report::SweepCell& cell : cells) {
    Json json = SettingJson(cell);
    const bool shown = !cell.saturated_at && cell.invalid.empty();
    const auto value = [&](const std::optional<stats::Estimate>& estimate) {
      return shown && estimate && estimate->supported ? std::optional(estimate->value) : std::nullopt;
    };
    json["p50_ms"] = FiniteMsOrNull(value(cell.p50));
    json["p50_low_ms"] = FiniteMsOrNull(shown && cell.p50 ? cell.p50->low : std::nullopt);
    json["p50_high_ms"] = FiniteMsOrNull(shown && cell.p50 ? cell.p50->high : std::nullopt);
    json["p95_ms"] = FiniteMsOrNull(value(cell.p95));
    json["others_p50_ms"] = FiniteMsOrNull(value(cell.others_p50));
    const std::optional<report::SweepExtra> extra = report::ExtraPerHop(plan, cells, cell);
    const auto ms = [](const std::optional<double>& nanoseconds) {
      return nanoseconds ? Json(*nanoseconds / 1e6) : Json(nullptr);
    };
    json["extra_per_hop_ms"] = extra ? ms(extra->value) : Json(nullptr);
    json["extra_per_hop_low_ms"] = extra ? ms(extra->low) : Json(nullptr);
    json["extra_per_hop_high_ms"] = extra ? ms(extra->high) : Json(nullptr);
    root["cells"].push_back(std::move(json));
  }
  return root.dump(2) + "\n";
}

}  // namespace hopgap::formats
