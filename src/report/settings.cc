#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/foreign.h"
#include "report/layout.h"
#include "stats/sample.h"

// What a trace says about limits and settings: capacity of clients that wait for
// receipt modacks, and what can be changed today, with its gain on this trace.
namespace hopgap::report {
namespace {

using trace::Client;
using trace::Stage;

constexpr double kNanosPerMs = 1e6;
constexpr double kWorthSettingMs = 1;

bool WaitsForReceipts(Client client) {
  return client == Client::kGo1 || client == Client::kGo2 || client == Client::kPython;
}

struct Names {
  std::string_view streams, delay, flow, extension;
};
Names NamesOf(Client client) {
  switch (client) {
    case Client::kJava:
      return {"Subscriber.Builder.setParallelPullCount", "BatchingSettings.setDelayThreshold",
              "FlowControlSettings.setMaxOutstandingElementCount", "setMinDurationPerAckExtension"};
    case Client::kPython:
      return {"more subscribe() calls", "BatchSettings.max_latency", "FlowControl.max_messages",
              "FlowControl.min_duration_per_lease_extension"};
    case Client::kNode:
      return {"streamingOptions.maxStreams", "batching.maxMilliseconds of the topic", "flowControl.maxMessages",
              "minAckDeadline"};
    case Client::kCpp:
      return {"more sessions (Subscribe calls)", "MaxHoldTimeOption", "MaxOutstandingMessagesOption",
              "MinDeadlineExtensionOption"};
    default:
      return {"ReceiveSettings.NumGoroutines", "PublishSettings.DelayThreshold",
              "ReceiveSettings.MaxOutstandingMessages", "ReceiveSettings.MinDurationPerAckExtension"};
  }
}

std::string ClientWords(const DeliveryGroup& group) {
  return StrCat(trace::ClientName(group.consumer), group.consumer_version.empty() ? "" : " " + group.consumer_version);
}

double MeanMs(const std::vector<int64_t>& values) {
  double sum = 0;
  for (const int64_t value : values) sum += static_cast<double>(value);
  return values.empty() ? 0 : sum / static_cast<double>(values.size()) / kNanosPerMs;
}

template <typename Of>
std::vector<int64_t> Values(const Foreign& foreign, const DeliveryGroup& group, Of of) {
  std::vector<int64_t> values;
  values.reserve(group.rows.size());
  for (const size_t index : group.rows) {
    if (const std::optional<Duration> one = of(foreign.rows[index])) values.push_back(one->count());
  }
  return values;
}

// How many receipt modacks ran at once: each stream has at most one response
// under way, so there were at least as many streams.
int StreamsSeen(const Foreign& foreign, const DeliveryGroup& group) {
  std::vector<std::pair<WallTime, WallTime>> calls;
  calls.reserve(group.rows.size());
  for (const size_t index : group.rows) {
    const trace::HopTimes hop = foreign.rows[index].hop;
    if (hop.modack_start && hop.modack_end) calls.emplace_back(*hop.modack_start, *hop.modack_end);
  }
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());  // messages of one response
  std::vector<WallTime> ends;
  ends.reserve(calls.size());
  for (const auto& [start, end] : calls) ends.push_back(end);
  std::sort(ends.begin(), ends.end());
  int now = 0, most = 1;
  auto ended = ends.begin();
  for (const auto& [start, end] : calls) {
    for (; ended != ends.end() && *ended <= start; ++ended) --now;
    most = std::max(most, ++now);
  }
  return most;
}

class Adviser {
 public:
  Adviser(const Foreign& foreign, const DeliveryGroup& group, const std::vector<Finding>& findings,
          std::optional<int> streams, std::vector<Setting>& out)
      : foreign_(foreign), group_(group), findings_(findings), streams_(streams), out_(out) {}

  void Advise() {
    Streams();
    ReceiptBatching();
    Publish();
    FlowControl();
    OtherKind();
    Lease();
  }

 private:
  void Add(std::string_view name, std::string from, std::string to, std::string why, double ms) {
    out_.push_back({group_.subscription, ClientWords(group_), std::string(name), std::move(from), std::move(to),
                    std::move(why), ms});
  }

  void Streams() {
    if (!group_.exactly_once || !WaitsForReceipts(group_.consumer)) return;
    double behind = 0;
    for (const Finding& finding : findings_) {
      if (finding.key == "head_of_line" && finding.where == group_.subscription) behind = finding.weight;
    }
    if (behind < kWorthSettingMs) return;
    const int now = streams_.value_or(StreamsSeen(foreign_, group_)), more = now * 4;
    const double gain = behind * (1 - static_cast<double>(now) / more);
    const bool go = group_.consumer == Client::kGo2;
    Add(NamesOf(group_.consumer).streams, StrCat(now), StrCat(more),
        StrCat("less waiting behind other receipt modacks; the message's own stays",
               go ? "; set EnablePerStreamFlowControl with it (2.5.0 and newer)" : ""),
        gain);
  }

  void ReceiptBatching() {
    if (!group_.exactly_once || group_.consumer != Client::kNode) return;
    const double wait = MeanMs(Values(foreign_, group_, [](const DeliveryRow& row) -> std::optional<Duration> {
      return row.hop.has_lease_parts() ? std::optional(row.hop.dispatch.lease_batching) : std::nullopt;
    }));
    if (wait < 10) return;
    Add("batching.maxMilliseconds of the subscription", "100", "10", "receipt modacks and acks are sent sooner",
        wait * 0.9);
  }

  void Publish() {
    const std::vector<int64_t> waits = StageValues(foreign_, group_, Stage::kClientPublish);
    if (waits.empty()) return;
    const double p50 = static_cast<double>(stats::Sample(waits).Quantile(stats::kP50)) / kNanosPerMs;
    if (p50 < 5) return;
    const bool java = group_.publisher == Client::kJava;  // whose default is 1 ms: then something else holds back
    if (java) return;
    Add(NamesOf(group_.publisher).delay, "10 ms (default)", "1 ms",
        "less batching before the publish; more publish calls at high rates", p50 - 1);
  }

  void FlowControl() {
    const double wait = MeanMs(
        Values(foreign_, group_, [](const DeliveryRow& row) { return std::optional(row.hop.dispatch.flow_control); }));
    if (wait < kWorthSettingMs) return;
    Add(NamesOf(group_.consumer).flow, "the present limit", "twice that, or another worker",
        "at most this, and only if handlers have room", wait);
  }

  void OtherKind() {
    if (!group_.exactly_once) return;
    const double wait = MeanMs(Values(foreign_, group_, [](const DeliveryRow& row) -> std::optional<Duration> {
      if (!row.hop.Has(Stage::kDispatchGap)) return std::nullopt;
      if (!row.hop.has_lease_parts()) return row.hop.stages[static_cast<size_t>(Stage::kDispatchGap)].length;
      return row.hop.dispatch.lease_wait + row.hop.dispatch.lease_batching;
    }));
    if (wait < kWorthSettingMs || group_.consumer == Client::kCpp) return;
    Add("subscription type", "exactly-once", "standard, with deduplication by message id in the handler",
        "no handler waits for a lease; duplicates become yours to drop. Where no receipt modack was seen: at most this",
        wait);
  }

  // The lease must outlive the callback and one slow modack.
  void Lease() {
    const std::vector<int64_t> callbacks = StageValues(foreign_, group_, Stage::kWork);
    const std::vector<int64_t> modacks =
        Values(foreign_, group_, [](const DeliveryRow& row) -> std::optional<Duration> {
          if (!row.hop.modack_start || !row.hop.modack_end) return std::nullopt;
          return *row.hop.modack_end - *row.hop.modack_start;
        });
    if (callbacks.size() < 2 || group_.pushed) return;
    const double callback = static_cast<double>(stats::Sample(callbacks).Quantile(stats::kP99)) / kNanosPerMs;
    const double modack =
        modacks.empty() ? 0 : static_cast<double>(stats::Sample(modacks).Quantile(stats::kP99)) / kNanosPerMs;
    const double lease = group_.exactly_once ? 60'000 : 10'000;  // the clients' own lower bounds
    if (callback + modack < 0.8 * lease) return;
    Add(NamesOf(group_.consumer).extension, StrCat(Fixed(lease / 1000, 0), " s (default)"),
        StrCat(Fixed(std::min(600.0, 1.5 * (callback + modack) / 1000), 0), " s"),
        StrCat("callback p99 ", Length(callback * kNanosPerMs),
               modacks.empty() ? ", modacks not seen" : StrCat(" + modack p99 ", Length(modack * kNanosPerMs)),
               " leave ", Length((lease - callback - modack) * kNanosPerMs),
               " of the lease: without a margin messages come again"),
        0);
  }

  const Foreign& foreign_;
  const DeliveryGroup& group_;
  const std::vector<Finding>& findings_;
  std::optional<int> streams_;
  std::vector<Setting>& out_;
};

}  // namespace

std::vector<Place> PlacesOf(const Foreign& foreign, std::optional<int> streams) {
  std::vector<Place> places;
  for (const DeliveryGroup& group : foreign.groups) {
    if (!group.exactly_once || !WaitsForReceipts(group.consumer) || group.rows.size() < 2) continue;
    const std::vector<int64_t> modacks = Values(foreign, group, [](const DeliveryRow& row) -> std::optional<Duration> {
      if (!row.hop.modack_start || !row.hop.modack_end) return std::nullopt;
      return *row.hop.modack_end - *row.hop.modack_start;
    });
    const Duration span = foreign.rows[group.rows.back()].hop.received - foreign.rows[group.rows.front()].hop.received;
    if (modacks.empty() || MeanMs(modacks) <= 0 || span <= Duration{0}) continue;
    // Each message says how many were in its response; the mean over responses is
    // the harmonic one over messages.
    double responses = 0;
    for (const size_t index : group.rows) responses += 1.0 / std::max(1, foreign.rows[index].hop.messages_in_response);
    Place place;
    place.where = group.subscription;
    place.messages_per_response = static_cast<double>(group.rows.size()) / responses;
    place.modack_ms = MeanMs(modacks);
    place.rate_per_second = static_cast<double>(group.rows.size() - 1) * 1e9 / static_cast<double>(span.count());
    place.streams = streams.value_or(StreamsSeen(foreign, group));
    place.streams_given = streams.has_value();
    places.push_back(std::move(place));
  }
  return places;
}

std::vector<Setting> SettingsOf(const Foreign& foreign, const std::vector<Finding>& findings,
                                std::optional<int> streams) {
  std::vector<Setting> out;
  for (const DeliveryGroup& group : foreign.groups) Adviser(foreign, group, findings, streams, out).Advise();
  std::stable_sort(out.begin(), out.end(), [](const Setting& a, const Setting& b) { return a.gain_ms > b.gain_ms; });
  return out;
}

}  // namespace hopgap::report
