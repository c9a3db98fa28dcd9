#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/delivery_rows.h"
#include "stats/interval.h"
#include "trace/dialect.h"
#include "trace/path.h"
#include "trace/trace_set.h"
#include "trace/trace_view.h"

namespace hopgap::report {

// What other people's spans say about single deliveries, whether or not they are
// part of a whole chain: the source of the tables and findings of `analyze`.

// Deliveries that are looked at together.
struct DeliveryGroup {
  std::string topic;  // empty: the publisher is not known
  std::string subscription;
  trace::Client publisher = trace::Client::kUnknown, consumer = trace::Client::kUnknown;
  std::string consumer_version;
  bool exactly_once = false, pushed = false;
  std::vector<size_t> rows;  // indices of Foreign::rows, by receipt
};

// Two hosts, of which one published what the other received.
struct HostPair {
  std::string from, to;
  uint64_t gaps = 0, impossible = 0;  // received before its publish had begun
  Duration skew_at_least{0};
  bool skewed() const { return impossible * 20 >= gaps && impossible > 0; }
};

// A publish that began inside a running callback of another trace.
struct BrokenChain {
  std::string subscription, topic;
  uint64_t inside = 0, all = 0;
};

struct Foreign {
  trace::SpanQuality quality;
  std::vector<DeliveryGroup> groups;
  DeliveryRows rows;
  std::vector<HostPair> hosts;
  std::vector<BrokenChain> broken;
  uint64_t messages = 0, messages_with_events = 0;
  uint64_t unknown_publishers = 0;
  uint64_t matched_ids = 0;          // of those: a publish with the same message id is here
  Duration precision{1};             // the coarsest of the files'
  bool links = true, events = true;  // that the files' forms can carry
};

class ForeignBuilder {
 public:
  // One trace of a TraceSet; with the view of it, where there is one already.
  void AddTrace(std::span<const trace::Span> spans) { AddTrace(trace::ViewFromSpans(spans)); }
  void AddTrace(const trace::TraceView& view);
  Foreign Finish(trace::SpanQuality quality);

 private:
  // Of millions: names are numbers of names_, and ids their hashes.
  struct Callback {
    WallTime start, end;
    uint64_t trace_hi, trace_lo;
    uint32_t subscription;
  };
  struct Root {
    WallTime at;
    uint64_t trace_hi, trace_lo;
    uint32_t topic, host;
  };
  uint32_t NumberOf(std::string_view name);
  void TakeCallback(const trace::TraceView& view, const trace::DeliveryView& delivery, const DeliveryRow& row);
  void AddDelivery(const trace::TraceView& view, size_t index, std::span<const trace::DeliveryView* const> siblings);
  size_t GroupOf(const trace::MessageView& message, const trace::DeliveryView& delivery);
  size_t HostsOf(const trace::MessageView& message, const trace::DeliveryView& delivery);
  void JudgeClocks();
  void FindBrokenChains();

  Foreign out_;
  std::map<std::string, size_t> groups_, hosts_;
  size_t last_group_ = 0, last_hosts_ = 0;  // of the delivery before, which is often alike
  std::map<std::string, uint32_t, std::less<>> numbers_;
  std::vector<std::string> names_;
  std::vector<std::vector<Callback>> callbacks_;  // by host
  std::vector<Root> roots_;                       // publishes with no parent
  std::vector<uint64_t> ids_, unknown_ids_;       // of messages; of those whose publish is not here
};

// The values of one stage in a group, where it is available (and not skewed).
std::vector<int64_t> StageValues(const Foreign& foreign, const DeliveryGroup& group, trace::Stage stage);

// Something worth knowing, with what supports it.
struct Finding {
  std::string key;      // "exactly_once_gate"
  std::string where;    // the subscription
  std::string what;     // a clause, the same for every subscription
  std::string numbers;  // of this one, with interval and n; may be empty
  std::string trace;    // an exemplar, 32 digits; may be empty
  double weight = 0;    // milliseconds a message, for the order
  std::string words() const { return numbers.empty() ? what : what + ": " + numbers; }
};
std::vector<Finding> FindingsOf(const Foreign& foreign);  // by what each kind costs in all, then where it is heaviest

// How close a subscription that waits for receipts is to its limit.
struct Place {
  std::string where;
  double messages_per_response = 1, modack_ms = 0, rate_per_second = 0;
  int streams = 1;
  bool streams_given = false;  // else at least so many were seen at once
  double capacity_per_second() const { return streams * messages_per_response * 1000 / modack_ms; }
};
std::vector<Place> PlacesOf(const Foreign& foreign, std::optional<int> streams);

struct Setting {
  std::string where, client, name, from, to;
  std::string why;     // the same for every subscription
  double gain_ms = 0;  // a message of this subscription
};
std::vector<Setting> SettingsOf(const Foreign& foreign, const std::vector<Finding>& findings,
                                std::optional<int> streams);

// Text, at most kWidthMin columns.
// The first lines: the heaviest cause and what to set, for who reads no further.
// Empty if nothing stands out.
std::string ShortText(const Foreign& foreign, std::optional<int> streams);
std::string QualityText(const Foreign& foreign, const std::vector<std::string>& sources);
std::string DeliveriesText(const Foreign& foreign);
std::string FindingsText(const Foreign& foreign, std::optional<int> streams);

}  // namespace hopgap::report
