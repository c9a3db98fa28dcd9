#include "report/foreign.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/draw.h"
#include "base/text.h"
#include "trace/path_builder.h"
#include "trace/vocabulary.h"

namespace hopgap::report {
namespace {

using trace::DeliveryView;
using trace::MessageView;
using trace::Seen;
using trace::Stage;

std::string_view HostOf(const trace::Span* span) {
  if (span == nullptr) return "";
  return span->host.empty() ? span->service : span->host;
}

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('/') + 1); }

std::string_view SubscriptionOf(const DeliveryView& delivery) {
  if (delivery.span == nullptr) return "";
  if (delivery.pushed) return delivery.span->name;
  const std::string_view name = delivery.span->Text(trace::words::kDestination);
  if (!name.empty()) return LastPart(name);
  const std::string_view whole = delivery.span->name;
  return LastPart(whole.substr(0, whole.rfind(' ')));
}

std::string TraceKey(const DeliveryGroup& group) {
  return StrCat(group.topic, "\n", group.subscription, "\n", trace::ClientName(group.consumer), "\n",
                group.consumer_version, "\n", group.exactly_once ? 1 : 0);
}

}  // namespace

namespace {

bool IsOf(const DeliveryGroup& group, const MessageView& message, const DeliveryView& delivery) {
  return group.exactly_once == delivery.exactly_once && group.pushed == delivery.pushed &&
         group.topic == message.topic && group.subscription == SubscriptionOf(delivery) &&
         group.consumer_version == delivery.span->scope_version && group.consumer == trace::ClientOf(*delivery.span);
}

}  // namespace

size_t ForeignBuilder::GroupOf(const MessageView& message, const DeliveryView& delivery) {
  if (last_group_ < out_.groups.size() && IsOf(out_.groups[last_group_], message, delivery)) return last_group_;
  DeliveryGroup group;
  group.topic = message.topic;
  group.subscription = SubscriptionOf(delivery);
  group.publisher = message.span == nullptr ? trace::Client::kUnknown : trace::ClientOf(*message.span);
  group.consumer = trace::ClientOf(*delivery.span);
  group.consumer_version = delivery.span->scope_version;
  group.exactly_once = delivery.exactly_once;
  group.pushed = delivery.pushed;
  const auto [found, is_new] = groups_.try_emplace(TraceKey(group), out_.groups.size());
  if (is_new) out_.groups.push_back(std::move(group));
  return last_group_ = found->second;
}

size_t ForeignBuilder::HostsOf(const MessageView& message, const DeliveryView& delivery) {
  if (last_hosts_ < out_.hosts.size() && out_.hosts[last_hosts_].from == HostOf(message.span) &&
      out_.hosts[last_hosts_].to == HostOf(delivery.span)) {
    return last_hosts_;
  }
  HostPair pair;
  pair.from = HostOf(message.span);
  pair.to = HostOf(delivery.span);
  const auto [found, is_new] = hosts_.try_emplace(StrCat(pair.from, "\n", pair.to), out_.hosts.size());
  if (is_new) out_.hosts.push_back(std::move(pair));
  return last_hosts_ = found->second;
}

void ForeignBuilder::AddDelivery(const trace::TraceView& view, size_t index,
                                 std::span<const DeliveryView* const> siblings) {
  const DeliveryView& delivery = view.deliveries[index];
  if (delivery.span == nullptr || !Seen(delivery.received)) return;
  const MessageView& message = view.messages[delivery.message];
  DeliveryRow row;
  row.trace_hi = view.trace_hi;
  row.trace_lo = view.trace_lo;
  row.create_span = message.create_span;
  row.subscribe_span = delivery.span->span;
  row.group = GroupOf(message, delivery);
  row.hosts = HostsOf(message, delivery);
  row.hop = trace::TimesOfDelivery(view, index, siblings);
  row.handled = Seen(delivery.callback_start);
  row.settled = Seen(delivery.ack_called) || Seen(delivery.nack_called);
  row.expired = delivery.span->Text(trace::words::kResult) == "expired";
  for (const trace::LeaseCall& call : delivery.leases) row.extensions += call.receipt ? 0 : 1;
  if (row.handled && row.settled) TakeCallback(view, delivery, row);
  if (message.span == nullptr) {
    ++out_.unknown_publishers;
    if (const std::string_view id = delivery.span->Text(trace::words::kMessageId); !id.empty()) {
      unknown_ids_.push_back(HashName(id));
    }
  } else if (row.hop.Has(Stage::kDeliveryGap)) {
    HostPair& pair = out_.hosts[row.hosts];
    ++pair.gaps;
    const Duration early = row.hop.publish_start - row.hop.received;
    if (early > Duration{0}) {
      ++pair.impossible;
      pair.skew_at_least = std::max(pair.skew_at_least, early);
    }
  }
  out_.groups[row.group].rows.push_back(out_.rows.size());
  out_.rows.push_back(row);
}

uint32_t ForeignBuilder::NumberOf(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  names_.emplace_back(name);
  return numbers_.emplace(name, static_cast<uint32_t>(names_.size() - 1)).first->second;
}

void ForeignBuilder::TakeCallback(const trace::TraceView& view, const DeliveryView& delivery, const DeliveryRow& row) {
  const uint32_t host = NumberOf(HostOf(delivery.span));
  if (callbacks_.size() <= host) callbacks_.resize(host + 1);
  callbacks_[host].push_back(
      {delivery.callback_start, row.hop.work_end, view.trace_hi, view.trace_lo, NumberOf(SubscriptionOf(delivery))});
}

void ForeignBuilder::AddTrace(const trace::TraceView& view) {
  for (const MessageView& message : view.messages) {
    if (message.span == nullptr) continue;
    ++out_.messages;
    const trace::SpanEvent* end = message.span->FindEvent(trace::words::kPublishEnd);
    const auto inferred = [](const auto& one) { return one.first == trace::kInferred; };
    if (end != nullptr && std::none_of(end->attributes.begin(), end->attributes.end(), inferred)) {
      ++out_.messages_with_events;
    }
    const std::string_view id = message.span->Text(trace::words::kMessageId);
    if (!id.empty()) ids_.push_back(HashName(id));
    if (message.parent != 0 || message.topic.empty()) continue;
    roots_.push_back(
        {message.publish_call, view.trace_hi, view.trace_lo, NumberOf(message.topic), NumberOf(HostOf(message.span))});
  }
  const auto siblings = trace::DeliveriesOf(view);
  for (size_t i = 0; i < view.deliveries.size(); ++i) AddDelivery(view, i, siblings[view.deliveries[i].message]);
}

// A message cannot be received before its publish call was sent: then the clocks
// disagree by at least so much, and no gap of that pair is worth anything.
void ForeignBuilder::JudgeClocks() {
  for (size_t i = 0; i < out_.rows.size(); ++i) {
    const DeliveryRow row = out_.rows[i];
    const HostPair& pair = out_.hosts[row.hosts];
    const bool impossible = row.hop.Has(Stage::kDeliveryGap) && row.hop.received < row.hop.publish_start;
    out_.rows.SetSkewed(i, row.hop.Has(Stage::kDeliveryGap) && (pair.skewed() || impossible));
  }
}

void ForeignBuilder::FindBrokenChains() {
  for (std::vector<Callback>& callbacks : callbacks_) {
    std::sort(callbacks.begin(), callbacks.end(),
              [](const Callback& a, const Callback& b) { return a.start < b.start; });
  }
  constexpr int kLookedAt = 64;  // callbacks that may run at once
  std::map<uint32_t, uint64_t> all;
  std::map<std::pair<std::string, uint32_t>, uint64_t> inside;  // by name, the order in which they are said
  for (const Root& root : roots_) {
    ++all[root.topic];
    if (root.host >= callbacks_.size()) continue;
    const std::vector<Callback>& callbacks = callbacks_[root.host];
    auto at = std::upper_bound(callbacks.begin(), callbacks.end(), root.at,
                               [](WallTime time, const Callback& one) { return time < one.start; });
    std::set<uint32_t> around;
    for (int i = 0; i < kLookedAt && at != callbacks.begin(); ++i) {
      --at;
      const bool elsewhere = at->trace_hi != root.trace_hi || at->trace_lo != root.trace_lo;
      if (elsewhere && root.at <= at->end) around.insert(at->subscription);
    }
    if (around.size() == 1) ++inside[{names_[*around.begin()], root.topic}];
  }
  for (const auto& [key, count] : inside) {
    const uint64_t of = all[key.second];
    if (count * 10 >= of * 9) out_.broken.push_back({key.first, names_[key.second], count, of});
  }
  std::sort(out_.broken.begin(), out_.broken.end(), [](const BrokenChain& a, const BrokenChain& b) {
    return std::tie(a.subscription, a.topic) < std::tie(b.subscription, b.topic);
  });
  callbacks_ = {};
  roots_ = {};
}

Foreign ForeignBuilder::Finish(trace::SpanQuality quality) {
  JudgeClocks();
  FindBrokenChains();
  if (!unknown_ids_.empty()) std::sort(ids_.begin(), ids_.end());
  for (const uint64_t id : unknown_ids_) {
    out_.matched_ids += std::binary_search(ids_.begin(), ids_.end(), id) ? 1 : 0;
  }
  ids_ = {};
  std::vector<std::pair<WallTime, size_t>> order;
  for (DeliveryGroup& group : out_.groups) {
    order.clear();
    for (const size_t index : group.rows) order.emplace_back(out_.rows[index].hop.received, index);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) group.rows[i] = order[i].second;
  }
  out_.quality = std::move(quality);
  return std::move(out_);
}

std::vector<int64_t> StageValues(const Foreign& foreign, const DeliveryGroup& group, Stage stage) {
  std::vector<int64_t> values;
  values.reserve(group.rows.size());
  for (const size_t index : group.rows) {
    const DeliveryRow row = foreign.rows[index];
    if (!row.hop.Has(stage) || (stage == Stage::kDeliveryGap && row.skewed)) continue;
    Duration length = row.hop.stages[static_cast<size_t>(stage)].length;
    if (stage == Stage::kDeliveryGap) length -= row.hop.redelivery_wait;
    values.push_back(length.count());
  }
  return values;
}

}  // namespace hopgap::report
