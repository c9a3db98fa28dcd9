#include "formats/analysis_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "stats/sample.h"

namespace hopgap::formats {
namespace {

using Json = nlohmann::ordered_json;
using report::DeliveryGroup;
using report::DeliveryRow;
using report::Foreign;
using trace::Role;
using trace::Stage;

Json MsOf(double nanoseconds) {
  const double whole = std::round(nanoseconds);
  return whole == 0 ? 0.0 : whole / 1e6;
}
Json MsOf(Duration length) { return MsOf(static_cast<double>(length.count())); }

std::string HexOf(uint64_t word) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[word >> shift & 15];
  return out;
}

Json SourceJson(const TraceSource& source) {
  Json forms = Json::array();
  for (const SpanForm form : source.forms) forms.push_back(FactsOf(form).name);
  return {{"file", source.file},
          {"forms", std::move(forms)},
          {"packing", source.packing.empty() ? Json(nullptr) : Json(source.packing)},
          {"spans", source.spans},
          {"bad_spans", source.bad_spans},
          {"bad_parts", source.bad_parts},
          {"warnings", source.warnings}};
}

Json QualityJson(const Foreign& foreign, const std::vector<TraceSource>& sources) {
  const trace::SpanQuality& q = foreign.quality;
  Json read = Json::array(), clients = Json::array(), rpcs = Json::object(), clocks = Json::array(),
       chains = Json::array();
  for (const TraceSource& source : sources) read.push_back(SourceJson(source));
  for (const auto& [client, spans] : q.clients) {
    clients.push_back({{"client", trace::ClientName(client.first)}, {"version", client.second}, {"spans", spans}});
  }
  constexpr std::pair<Role, const char*> kRpcs[] = {
      {Role::kPublishRpc, "publish"}, {Role::kModackRpc, "modack"}, {Role::kAckRpc, "ack"}, {Role::kNackRpc, "nack"}};
  for (const auto& [role, name] : kRpcs) {
    const trace::RpcStats& rpc = q.Rpc(role);
    rpcs[name] = {{"calls", rpc.calls},
                  {"messages", rpc.messages},
                  {"messages_max", rpc.messages_max},
                  {"total_ms", MsOf(rpc.total)}};
  }
  for (const report::HostPair& pair : foreign.hosts) {
    clocks.push_back({{"from", pair.from},
                      {"to", pair.to},
                      {"gaps", pair.gaps},
                      {"impossible", pair.impossible},
                      {"skew_at_least_ms", MsOf(pair.skew_at_least)},
                      {"unusable", pair.skewed()}});
  }
  for (const report::BrokenChain& broken : foreign.broken) {
    chains.push_back({{"after", broken.subscription},
                      {"publish_to", broken.topic},
                      {"inside_a_callback", broken.inside},
                      {"of", broken.all}});
  }
  return {{"sources", std::move(read)},
          {"clients", std::move(clients)},
          {"spans", q.spans},
          {"traces", q.traces},
          {"duplicates", q.duplicates},
          {"conflicting", q.conflicting},
          {"unended", q.unended},
          {"impossible", q.impossible},
          {"differing", q.differing},
          {"overlong", q.overlong},
          {"overlong_traces", q.overlong_traces},
          {"missing_parents", q.missing_parents},
          {"dangling_links", q.dangling_links},
          {"inferred_events", q.inferred_events},
          {"linked_deliveries", q.linked},
          {"unknown_publishers", foreign.unknown_publishers},
          {"matched_message_ids", foreign.matched_ids},
          {"rpcs", std::move(rpcs)},
          {"clocks", std::move(clocks)},
          {"broken_chains", std::move(chains)},
          {"precision_ns", foreign.precision.count()}};
}

Json StageValuesJson(const Foreign& foreign, const DeliveryGroup& group, Stage stage) {
  const stats::Sample sample(report::StageValues(foreign, group, stage));
  if (sample.empty()) return nullptr;
  return {{"n", sample.n()},
          {"p50", MsOf(static_cast<double>(sample.Quantile(stats::kP50)))},
          {"p95", MsOf(static_cast<double>(sample.Quantile(stats::kP95)))},
          {"max", MsOf(static_cast<double>(sample.sorted().back()))}};
}

Json GroupJson(const Foreign& foreign, const DeliveryGroup& group) {
  Json stages = Json::object();
  for (int i = 1; i < trace::kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    stages[std::string(trace::StageKey(stage))] = StageValuesJson(foreign, group, stage);
  }
  return {{"topic", group.topic.empty() ? Json(nullptr) : Json(group.topic)},
          {"subscription", group.subscription},
          {"publisher", trace::ClientName(group.publisher)},
          {"client", trace::ClientName(group.consumer)},
          {"client_version", group.consumer_version},
          {"exactly_once", group.exactly_once},
          {"push", group.pushed},
          {"n", group.rows.size()},
          {"stages_ms", std::move(stages)}};
}

std::string NanosOrEmpty(std::optional<WallTime> at) { return at && *at != WallTime{} ? StrCat(ToNanos(*at)) : ""; }

// A field with a comma or a quote is quoted.
std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string RowCsv(const Foreign& foreign, const DeliveryRow& row) {
  const DeliveryGroup& group = foreign.groups[row.group];
  const trace::HopTimes& hop = row.hop;
  const bool published = hop.Has(Stage::kDeliveryGap);
  std::string out = StrCat(HexOf(row.trace_hi), HexOf(row.trace_lo), ",",
                           row.create_span == 0 ? "" : HexOf(row.create_span), ",", HexOf(row.subscribe_span), ",",
                           Field(group.topic), ",", Field(group.subscription), ",", trace::ClientName(group.consumer),
                           ",", group.exactly_once ? 1 : 0, ",", hop.attempts, ",", row.skewed ? 1 : 0);
  out += StrCat(",", published ? NanosOrEmpty(hop.publish_call) : "", ",",
                hop.Has(Stage::kClientPublish) ? NanosOrEmpty(hop.publish_start) : "", ",",
                hop.Has(Stage::kPublishRpc) ? NanosOrEmpty(hop.publish_end) : "", ",", NanosOrEmpty(hop.received), ",",
                NanosOrEmpty(hop.modack_start), ",", NanosOrEmpty(hop.modack_end), ",",
                row.handled ? NanosOrEmpty(hop.callback_start) : "", ",", row.settled ? NanosOrEmpty(hop.work_end) : "",
                ",", NanosOrEmpty(hop.ack_start), ",", NanosOrEmpty(hop.ack_end));
  for (int i = 1; i < trace::kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    out += StrCat(",", hop.Has(stage) ? StrCat(hop.stages[static_cast<size_t>(i)].length.count()) : "");
  }
  return out + "\n";
}

}  // namespace

std::string AnalysisJson(const Foreign& foreign, const std::vector<TraceSource>& sources, std::optional<int> streams) {
  Json groups = Json::array(), findings = Json::array(), places = Json::array(), settings = Json::array();
  for (const DeliveryGroup& group : foreign.groups) groups.push_back(GroupJson(foreign, group));
  const std::vector<report::Finding> found = report::FindingsOf(foreign);
  for (const report::Finding& one : found) {
    findings.push_back({{"key", one.key},
                        {"subscription", one.where},
                        {"words", one.words()},
                        {"trace", one.trace.empty() ? Json(nullptr) : Json(one.trace)},
                        {"ms_a_message", MsOf(one.weight * 1e6)}});
  }
  for (const report::Place& place : report::PlacesOf(foreign, streams)) {
    places.push_back({{"subscription", place.where},
                      {"streams", place.streams},
                      {"streams_given", place.streams_given},
                      {"messages_per_response", place.messages_per_response},
                      {"modack_ms", MsOf(place.modack_ms * 1e6)},
                      {"rate_per_second", place.rate_per_second},
                      {"capacity_per_second", place.capacity_per_second()}});
  }
  for (const report::Setting& one : report::SettingsOf(foreign, found, streams)) {
    settings.push_back({{"subscription", one.where},
                        {"client", one.client},
                        {"setting", one.name},
                        {"from", one.from},
                        {"to", one.to},
                        {"gain_ms", MsOf(one.gain_ms * 1e6)},
                        {"words", one.why}});
  }
  const Json document = {{"quality", QualityJson(foreign, sources)},
                         {"deliveries", std::move(groups)},
                         {"findings", std::move(findings)},
                         {"places", std::move(places)},
                         {"settings", std::move(settings)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string DeliveriesCsv(const Foreign& foreign) {
  std::string out =
      "trace,create_span,subscribe_span,topic,subscription,client,exactly_once,attempts,skewed,publish_call_unix_ns,"
      "publish_start_unix_ns,publish_end_unix_ns,received_unix_ns,modack_start_unix_ns,modack_end_unix_ns,"
      "callback_start_unix_ns,work_end_unix_ns,ack_start_unix_ns,ack_end_unix_ns";
  for (int i = 1; i < trace::kStages; ++i) out += StrCat(",", trace::StageKey(static_cast<Stage>(i)), "_ns");
  out += "\n";
  for (const DeliveryRow& row : foreign.rows) out += RowCsv(foreign, row);
  return out;
}

}  // namespace hopgap::formats
