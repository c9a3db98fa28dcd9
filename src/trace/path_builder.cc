#include <algorithm>
#include <tuple>

#include "trace/hop_times.h"
#include "trace/path_builder.h"

namespace hopgap::trace {
namespace {

bool Published(const MessageView& message) {
  return Seen(message.publish_call) && Seen(message.publish_start) && Seen(message.publish_end);
}
bool Handled(const DeliveryView& delivery) { return Seen(delivery.received) && Seen(delivery.callback_start); }

// The last hop's work ends when its handler returned, which only our own spans
// say; in others at the ack call.
WallTime LastWorkEnd(const DeliveryView& delivery) {
  return Seen(delivery.handler_returned) ? delivery.handler_returned : delivery.ack_called;
}

}  // namespace

std::vector<Path> PathBuilder::Build(const TraceView& view, std::optional<int> hops, const SpanContext* context) {
  view_ = &view;
  hops_ = hops ? std::optional(static_cast<size_t>(std::max(0, *hops))) : std::nullopt;
  context_ = context;
  Index();
  std::vector<Path> paths;
  built_.clear();
  for (const size_t leaf : Leaves()) {
    if (!Walk(leaf)) continue;
    built_.push_back(leaf);
    paths.push_back(MakePath());
  }
  return paths;
}

void PathBuilder::Index() {
  const std::vector<DeliveryView>& deliveries = view_->deliveries;
  by_process_.clear();
  by_message_.clear();
  for (size_t i = 0; i < deliveries.size(); ++i) {
    by_message_.push_back({deliveries[i].message, &deliveries[i]});
    if (Handled(deliveries[i])) by_process_.push_back({deliveries[i].process_span, i});
  }
  std::sort(by_process_.begin(), by_process_.end());
  std::stable_sort(by_message_.begin(), by_message_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  siblings_.clear();
  for (const auto& [message, delivery] : by_message_) siblings_.push_back(delivery);
  published_on_.assign(deliveries.size(), false);
  for (const MessageView& message : view_->messages) {
    if (!Seen(message.publish_call)) continue;
    if (const size_t parent = DeliveryOfProcess(message.parent); parent != kNone) published_on_[parent] = true;
  }
}

size_t PathBuilder::DeliveryOfProcess(uint64_t span) const {
  if (span == 0) return kNone;
  const auto found = std::lower_bound(by_process_.begin(), by_process_.end(), std::pair{span, size_t{0}});
  return found == by_process_.end() || found->first != span ? kNone : found->second;
}

// Callbacks that acked and published nothing further. A message that one
// subscription handled several times was handled when it was handled first.
std::vector<size_t> PathBuilder::Leaves() const {
  using Candidate = std::tuple<size_t, int, WallTime, uint64_t, size_t>;
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < view_->deliveries.size(); ++i) {
    const DeliveryView& delivery = view_->deliveries[i];
    if (!Handled(delivery) || published_on_[i] || !Seen(delivery.ack_called)) continue;
    candidates.push_back({delivery.message, delivery.subscription, delivery.callback_start, delivery.process_span, i});
  }
  std::sort(candidates.begin(), candidates.end());
  const auto same = [](const Candidate& a, const Candidate& b) {
    return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b);
  };
  candidates.erase(std::unique(candidates.begin(), candidates.end(), same), candidates.end());
  // By time, not by the order in which messages and subscriptions were met.
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair{std::get<2>(a), std::get<3>(a)} < std::pair{std::get<2>(b), std::get<3>(b)};
  });
  std::vector<size_t> leaves;
  for (const Candidate& candidate : candidates) leaves.push_back(std::get<4>(candidate));
  return leaves;
}

// Fills walk_ from the leaf to the root. False unless the walk has as many hops
// as it should, each of them whole. A cycle of parents meets more deliveries than
// there are, so it ends too.
bool PathBuilder::Walk(size_t leaf) {
  walk_.clear();
  const size_t most = hops_.value_or(view_->deliveries.size());
  for (size_t at = leaf; at != kNone;) {
    const DeliveryView& delivery = view_->deliveries[at];
    const MessageView& message = view_->messages[delivery.message];
    if (walk_.size() == most || !Handled(delivery)) return false;
    // Our own spans are whole; others' may lack a part, which the hop then says.
    if (hops_ ? !Published(message) : !Seen(message.publish_call)) return false;
    walk_.push_back(at);
    at = DeliveryOfProcess(message.parent);
  }
  return !hops_ || walk_.size() == *hops_;
}

Path PathBuilder::MakePath() const {
  const DeliveryView& first = view_->deliveries[walk_.back()];
  const DeliveryView& last = view_->deliveries[walk_.front()];
  const MessageView& root = view_->messages[first.message];
  Path path;
  path.arm = context_ == nullptr ? root.arm : context_->places[root.client_place].arm;
  path.slot = root.slot_label == 0 ? 0 : root.slot_label - 1;
  path.trace_hi = view_->trace_hi;
  path.trace_lo = view_->trace_lo;
  path.scheduled = Seen(root.scheduled) ? root.scheduled : root.publish_call;
  path.root_span = root.create_span;
  std::vector<HopTimes> hops;
  hops.reserve(walk_.size());
  for (size_t i = walk_.size(); i-- > 0;) {
    const DeliveryView& delivery = view_->deliveries[walk_[i]];
    const WallTime work_end =
        i == 0 ? LastWorkEnd(delivery) : view_->messages[view_->deliveries[walk_[i - 1]].message].publish_call;
    hops.push_back(TimesOfHop(view_->messages[delivery.message], delivery, SiblingsOf(delivery.message), work_end));
  }
  hops.front().stages[static_cast<size_t>(Stage::kSendLateness)].length = root.publish_call - path.scheduled;
  path.until_handled = LastWorkEnd(last) - path.scheduled;
  if (Seen(last.ack_end)) {
    WallTime acked = last.ack_end;
    for (const HopTimes& hop : hops) acked = std::max(acked, hop.ack_end.value_or(acked));
    path.until_acked = acked - path.scheduled;
  }
  path.hops = HopList(hops);
  return path;
}

std::span<const DeliveryView* const> PathBuilder::SiblingsOf(size_t message) const {
  const auto less = [](const auto& entry, size_t wanted) { return entry.first < wanted; };
  const auto begin = std::lower_bound(by_message_.begin(), by_message_.end(), message, less);
  const auto end = std::lower_bound(begin, by_message_.end(), message + 1, less);
  return {siblings_.data() + (begin - by_message_.begin()), static_cast<size_t>(end - begin)};
}

std::vector<std::vector<const DeliveryView*>> DeliveriesOf(const TraceView& view) {
  std::vector<std::vector<const DeliveryView*>> all(view.messages.size());
  for (const DeliveryView& one : view.deliveries) all[one.message].push_back(&one);
  return all;
}

HopTimes TimesOfDelivery(const TraceView& view, size_t delivery, std::span<const DeliveryView* const> siblings) {
  const DeliveryView& of = view.deliveries[delivery];
  DeliveryView whole = of;
  if (!Seen(whole.callback_start)) whole.callback_start = whole.received;
  WallTime end = LastWorkEnd(of);
  if (!Seen(end)) end = Seen(of.nack_called) ? of.nack_called : whole.callback_start;
  HopTimes hop = TimesOfHop(view.messages[of.message], whole, siblings, end);
  if (!Seen(of.callback_start)) {
    hop.missing |= 1 << static_cast<int>(Stage::kDispatchGap) | 1 << static_cast<int>(Stage::kWork);
  }
  if (!Seen(of.ack_called) && !Seen(of.nack_called)) hop.missing |= 1 << static_cast<int>(Stage::kWork);
  return hop;
}

std::vector<Path> BuildPaths(std::span<const Span> spans, std::optional<int> hops) {
  const TraceView view = ViewFromSpans(spans);
  return PathBuilder().Build(view, hops, nullptr);
}

}  // namespace hopgap::trace
