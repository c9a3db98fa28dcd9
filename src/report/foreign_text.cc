#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/foreign.h"
#include "report/layout.h"
#include "report/text.h"

namespace hopgap::report {
namespace {

using trace::Role;
using trace::Stage;

std::string QualityNote(std::string_view text) { return Wrap(text, kWidthMin, "  ", "    "); }

std::string Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "–" : Fixed(100.0 * static_cast<double>(part) / static_cast<double>(whole), 0) + " %";
}

std::string ClientsText(const Foreign& foreign) {
  std::string out;
  for (const auto& [client, spans] : foreign.quality.clients) {
    const auto& [who, version] = client;
    out += StrCat(out.empty() ? "" : ", ", trace::ClientName(who),
                  version.empty() ? " (version not said)" : " " + version, ": ", Counted(spans, "span"));
  }
  return QualityNote(out.empty() ? "clients: no span has words of Pub/Sub's clients or of the messaging conventions"
                                 : "clients: " + out);
}

std::string RpcText(const Foreign& foreign) {
  constexpr std::pair<Role, std::string_view> kRpcs[] = {
      {Role::kPublishRpc, "publish"}, {Role::kModackRpc, "modack"}, {Role::kAckRpc, "ack"}, {Role::kNackRpc, "nack"}};
  std::string out;
  for (const auto& [role, name] : kRpcs) {
    const trace::RpcStats& rpc = foreign.quality.Rpc(role);
    if (rpc.calls == 0) continue;
    out += StrCat(out.empty() ? "" : "; ", name, " ", Counted(rpc.calls, "call"), " for ",
                  Counted(rpc.messages, "message"), " (at most ", rpc.messages_max, " in one), ", Length(rpc.total),
                  " in all");
  }
  return QualityNote(out.empty() ? "RPC spans: none; instants are those of events and of message spans"
                                 : "RPC spans: " + out);
}

// "receipt modack found for 61 % of deliveries".
std::string CoverageText(const Foreign& foreign) {
  uint64_t rows = 0, eos = 0, receipts = 0, callbacks = 0, acks = 0, publishes = 0;
  for (const DeliveryRow& row : foreign.rows) {
    ++rows;
    eos += row.hop.exactly_once ? 1 : 0;
    receipts += row.hop.exactly_once && row.hop.has_lease_parts() ? 1 : 0;
    callbacks += row.handled && row.settled ? 1 : 0;
    acks += row.hop.Has(Stage::kAck) ? 1 : 0;
    publishes += row.hop.Has(Stage::kPublishRpc) ? 1 : 0;
  }
  if (rows == 0) return "";
  return QualityNote(
      StrCat("coverage of ", rows, rows == 1 ? " delivery" : " deliveries", ": publish RPC ", Percent(publishes, rows),
             ", ended callback ", Percent(callbacks, rows), ", ack ", Percent(acks, rows),
             eos == 0 ? "" : StrCat(", receipt modack ", Percent(receipts, eos), " of ", eos, " exactly-once ones"),
             "; publish events for ", Percent(foreign.messages_with_events, foreign.messages), " of ",
             Counted(foreign.messages, "publish") == "1 publish" ? "1 publish" : StrCat(foreign.messages, " publishes"),
             ". What is missing reads n/a below, and is never 0"));
}

std::string OdditiesText(const Foreign& foreign) {
  const trace::SpanQuality& q = foreign.quality;
  std::string out;
  const auto add = [&out](uint64_t n, std::string_view what) {
    if (n > 0) out += QualityNote(StrCat(n, " ", what));
  };
  add(q.duplicates, "duplicates removed (the same span twice; no redelivery)");
  add(q.conflicting, "spans had the id of another with other times: the one that ends last was kept");
  add(q.differing, "spans had the id and times of another with other contents: the one with the most in it was kept");
  add(q.unended, "spans without an end left out");
  add(q.impossible, "spans that end before they start left out");
  add(q.overlong, StrCat("spans left out, of ", Counted(q.overlong_traces, "trace"),
                         " that would last longer than 40 days: there a clock or a unit is wrong"));
  add(q.missing_parents, "spans whose parent is not here (sampled, or another export)");
  add(q.dangling_links, "links to spans that are not here");
  add(q.inferred_events,
      "instants that events lack were taken from RPC spans and from ends of spans (--trace shows which)");
  add(q.linked, "deliveries in traces of their own joined to their publish by link");
  add(q.joined_ids, "deliveries joined to their publish by message id (--join-message-ids)");
  for (const auto& [who, counts] : q.zero_length) {
    const auto& [zero, all] = counts;
    if (zero * 10 < all * 9) continue;
    out += QualityNote(StrCat(trace::ClientName(who.first), ": ", who.second == Role::kCreate ? "publish" : "receive",
                              " stages not measurable (instrumentation writes zero-length spans: ", zero, " of ", all,
                              ")"));
  }
  return out;
}

std::string ClocksText(const Foreign& foreign) {
  std::string out;
  for (const HostPair& pair : foreign.hosts) {
    if (pair.impossible == 0) continue;
    out += QualityNote(
        StrCat("clock skew, at least ", Length(pair.skew_at_least), ", from ", pair.from.empty() ? "?" : pair.from,
               " to ", pair.to.empty() ? "?" : pair.to, ": ", pair.impossible, " of ", pair.gaps,
               " messages were received before their publish had begun; ", pair.skewed() ? pair.gaps : pair.impossible,
               " of ", pair.gaps,
               " gaps unusable, skew. Raw values stay in --csv, nothing is corrected, and end to end across these "
               "hosts holds the skew"));
  }
  return out;
}

// A gap may be negative in two ways; the other one is skew.
std::string OvertakenText(const Foreign& foreign) {
  uint64_t negative = 0, gaps = 0;
  for (const DeliveryRow& row : foreign.rows) {
    if (!row.hop.Has(Stage::kDeliveryGap) || row.skewed) continue;
    ++gaps;
    negative += row.hop.received < row.hop.publish_end ? 1 : 0;
  }
  if (negative == 0) return "";
  return QualityNote(StrCat(negative, " of ", gaps,
                            " delivery gaps are negative: received after the publish was sent and before it "
                            "was answered. Delivery overtook the answer, which is normal; kept as they are"));
}

std::string ChainsText(const Foreign& foreign) {
  std::string out;
  for (const BrokenChain& broken : foreign.broken) {
    out += QualityNote(StrCat("chain breaks after ", broken.subscription, ": the publish to ", broken.topic,
                              " inside the handler has no parent (its context was not current?). ", broken.inside,
                              " of ", broken.all, " of its publishes began inside a running callback of ",
                              broken.subscription, "; a suggestion by time, in no figure"));
  }
  if (foreign.unknown_publishers == 0) return out;
  out += QualityNote(StrCat(
      foreign.unknown_publishers, " deliveries with unknown publisher: no delivery gap, but in the callback figures",
      foreign.matched_ids == 0
          ? ""
          : StrCat("; ", foreign.matched_ids,
                   " have the message id of a publish that is here: the trace context was lost on the way. "
                   "--join-message-ids joins them")));
  return out;
}

// One stage of a group: "33.1 / 120", or why there is none.
std::string Cell(const Foreign& foreign, const DeliveryGroup& group, Stage stage, stats::Probability p) {
  const stats::Sample sample(StageValues(foreign, group, stage));
  return sample.empty() ? "n/a" : Millis(static_cast<double>(sample.Quantile(p)));
}

}  // namespace

std::string QualityText(const Foreign& foreign, const std::vector<std::string>& sources) {
  std::string out = "Data quality\n";
  for (const std::string& source : sources) out += QualityNote(source);
  out += ClientsText(foreign) + RpcText(foreign) + CoverageText(foreign) + OdditiesText(foreign) + ClocksText(foreign) +
         OvertakenText(foreign) + ChainsText(foreign);
  if (foreign.precision > Duration{1}) {
    out += QualityNote(
        StrCat("instants are in steps of ", foreign.precision.count() / 1'000, " µs, as the file has them"));
  }
  if (!foreign.events)
    out += QualityNote("a form without events: receipt modacks and acks are not available in this format");
  return out;
}

std::string DeliveriesText(const Foreign& foreign) {
  if (foreign.groups.empty()) return "";
  constexpr std::pair<Stage, std::string_view> kStages[] = {
      {Stage::kClientPublish, "client"}, {Stage::kPublishRpc, "publish"}, {Stage::kDeliveryGap, "gap"},
      {Stage::kDispatchGap, "dispatch"}, {Stage::kWork, "callback"},      {Stage::kAck, "ack"}};
  std::string out = "Deliveries by subscription and client, ms, p50 and p95; n/a: not available\n";
  for (const DeliveryGroup& group : foreign.groups) {
    out += Wrap(
        StrCat(group.topic.empty() ? "(publisher unknown)" : group.topic, " → ", group.subscription, ", ",
               trace::ClientName(group.consumer), group.consumer_version.empty() ? "" : " " + group.consumer_version,
               group.pushed         ? ", push"
               : group.exactly_once ? ", exactly-once"
                                    : "",
               ", n = ", group.rows.size()),
        kWidthMin, "  ", "    ");
    Table table(8, 10, kWidthMin);
    for (const auto& [stage, name] : kStages) table.AddColumn(name, "ms");
    for (const auto& [p, name] : {std::pair(stats::kP50, "    p50"), std::pair(stats::kP95, "    p95")}) {
      std::vector<std::string> cells;
      for (const auto& [stage, unused] : kStages) cells.push_back(Cell(foreign, group, stage, p));
      table.AddRow(name, std::move(cells));
    }
    out += table.Render();
  }
  return out;
}

namespace {

// Findings of one key are one bullet: the sentence once, then each subscription.
std::string FindingsOfKeys(const std::vector<Finding>& findings) {
  std::string out;
  std::vector<std::string> done;
  for (const Finding& finding : findings) {
    if (std::find(done.begin(), done.end(), finding.key) != done.end()) continue;
    done.push_back(finding.key);
    out += Wrap(finding.what + ":", kWidthMin, "  • ", "    ");
    for (const Finding& same : findings) {
      if (same.key != finding.key) continue;
      out += Wrap(StrCat(same.where, same.numbers.empty() ? "" : ": " + same.numbers,
                         same.trace.empty() ? "" : StrCat(", trace ", same.trace)),
                  kWidthMin, "      ", "        ");
    }
  }
  return out;
}

// The same for settings.
std::string SettingsOfNames(const std::vector<Setting>& settings) {
  std::string out;
  std::vector<std::string> done;
  for (const Setting& setting : settings) {
    const auto head = [](const Setting& one) {
      return StrCat(one.client, ": ", one.name, ": ", one.from, " → ", one.to, ". ", one.why);
    };
    if (std::find(done.begin(), done.end(), head(setting)) != done.end()) continue;
    done.push_back(head(setting));
    std::string each;
    for (const Setting& same : settings) {
      if (head(same) != head(setting)) continue;
      each += StrCat(each.empty() ? "" : ", ", same.where, same.gain_ms == 0 ? "" : " " + Length(same.gain_ms * 1e6));
    }
    out += Wrap(
        StrCat(head(setting), setting.gain_ms == 0 ? ". For: " : ". Predicted on this trace, less a message: ", each),
        kWidthMin, "  • ", "    ");
  }
  return out;
}

std::string PlaceLine(const Place& place) {
  const double capacity = place.capacity_per_second();
  return QualityNote(StrCat(place.where, ": ", place.streams_given ? "" : "at least ",
                            Counted(static_cast<uint64_t>(place.streams), "stream"), " × ",
                            Fixed(place.messages_per_response, 1), " messages a response / ",
                            Length(place.modack_ms * 1e6), " receipt modack = ", Fixed(capacity, 1), "/s; now ",
                            Fixed(place.rate_per_second, 2), "/s: ", Fixed(100 * place.rate_per_second / capacity, 0),
                            " % used, saturates at ", Fixed(capacity, 1), "/s"));
}

}  // namespace

std::string ShortText(const Foreign& foreign, std::optional<int> streams) {
  const std::vector<Finding> findings = FindingsOf(foreign);
  if (findings.empty()) return "";
  const Finding& worst = findings.front();
  double total = 0;
  size_t places = 0;
  for (const Finding& one : findings) {
    if (one.key != worst.key) continue;
    total += one.weight;
    ++places;
  }
  std::string out = "In short\n";
  out += QualityNote(
      StrCat("cause: ", worst.what, ". Worst at ", worst.where, ": mean ", Length(worst.weight * 1e6), " a message",
             places < 2 ? "" : StrCat(" (", Length(total * 1e6), " over ", Counted(places, "subscription"), ")"),
             worst.numbers.empty() || worst.numbers.starts_with("mean") ? "" : "; " + worst.numbers));
  constexpr size_t kSettings = 2;
  std::vector<std::string> named;
  for (const Setting& setting : SettingsOf(foreign, findings, streams)) {
    if (named.size() == kSettings) break;
    if (std::find(named.begin(), named.end(), setting.name) != named.end()) continue;
    out += QualityNote(StrCat(
        named.empty() ? "set: " : "or: ", setting.client, ": ", setting.name, ": ", setting.from, " → ", setting.to,
        setting.gain_ms == 0
            ? ""
            : StrCat(" (predicted: ", Length(setting.gain_ms * 1e6), " less a message of ", setting.where, ")")));
    named.push_back(setting.name);
  }
  return out + QualityNote("the evidence, the other findings and settings are at the end");
}

std::string FindingsText(const Foreign& foreign, std::optional<int> streams) {
  std::string out;
  const std::vector<Finding> findings = FindingsOf(foreign);
  if (!foreign.rows.empty()) out += findings.empty() ? "Findings: none of the known causes stands out\n" : "Findings\n";
  out += FindingsOfKeys(findings);
  const std::vector<Place> places = PlacesOf(foreign, streams);
  if (!places.empty()) {
    out += streams ? "\nYou are here\n" : "\nYou are here (say --streams N if you know how many are open)\n";
  }
  for (const Place& place : places) out += PlaceLine(place);
  const std::vector<Setting> settings = SettingsOf(foreign, findings, streams);
  if (!settings.empty()) out += "\nWhat you can set today\n" + SettingsOfNames(settings);
  return out;
}

}  // namespace hopgap::report
