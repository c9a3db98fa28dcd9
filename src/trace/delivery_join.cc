#include "trace/delivery_join.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "trace/vocabulary.h"

namespace hopgap::trace {
namespace {

constexpr int kJoinsMax = 64;  // of traces one after another; a circle ends there

absl::Status Damaged() { return absl::DataLossError("a span came back damaged from the scratch file"); }

}  // namespace

absl::Status DeliveryJoin::Find(const SortedRuns& runs) {
  if (absl::Status status = TakePublishes(runs); !status.ok()) return status;
  TraceScan scan(runs, false);
  while (scan.Next()) {
    for (size_t i = 0; i < scan.heads().size(); ++i) {
      if (!MayJoin(scan, scan.heads()[i])) continue;
      if (absl::Status status = Join(scan, i); !status.ok()) return status;
    }
  }
  publishes_ = {};
  by_message_id_ = {};
  return scan.status();
}

absl::Status DeliveryJoin::TakePublishes(const SortedRuns& runs) {
  TraceScan scan(runs, false);
  while (scan.Next()) {
    for (size_t i = 0; i < scan.heads().size(); ++i) {
      const SpanHead& head = scan.heads()[i];
      if (head.role != Role::kCreate) continue;
      publishes_.push_back({{head.key.hi, head.key.lo}, head.key.span, head.end()});
      if (!message_ids_) continue;
      if (!packer_.Unpack(head.key, scan.BytesOf(i), span_)) return Damaged();
      const std::string_view id = span_.Text(words::kMessageId);
      if (!id.empty()) by_message_id_.emplace(std::string(id), publishes_.size() - 1);
    }
  }
  return scan.status();
}

bool DeliveryJoin::MayJoin(const TraceScan& scan, const SpanHead& head) const {
  if (head.role != Role::kSubscribe && head.role != Role::kProcess) return false;
  if (!head.linked && !message_ids_) return false;
  if (head.role == Role::kProcess && !head.whole) return false;
  const std::optional<size_t> parent = head.parent == 0 ? std::nullopt : scan.Find(head.parent);
  if (!parent) return true;
  const Role role = scan.heads()[*parent].role;
  return role != Role::kCreate && role != Role::kSubscribe;
}

absl::Status DeliveryJoin::Join(const TraceScan& scan, size_t index) {
  const SpanHead& head = scan.heads()[index];
  if (!packer_.Unpack(head.key, scan.BytesOf(index), span_)) return Damaged();
  const Publish* publish = PublishOf(span_);
  if (publish == nullptr) return absl::OkStatus();
  parents_.push_back({head.key, publish->span});
  const Id trace{head.key.hi, head.key.lo};
  if (publish->trace == trace) return absl::OkStatus();
  if (!moved_.empty() && moved_.back().first == trace) {
    moved_.back().second = publish->trace;  // of several the last
  } else {
    moved_.emplace_back(trace, publish->trace);
  }
  return absl::OkStatus();
}

const DeliveryJoin::Publish* DeliveryJoin::PublishAt(const SpanLink& link) const {
  const auto key = [](const Publish& one) { return std::tuple(one.trace.first, one.trace.second, one.span); };
  const std::tuple wanted(link.trace_hi, link.trace_lo, link.span);
  const auto found = std::lower_bound(publishes_.begin(), publishes_.end(), wanted,
                                      [&](const Publish& one, const auto& target) { return key(one) < target; });
  return found == publishes_.end() || key(*found) != wanted ? nullptr : &*found;
}

const DeliveryJoin::Publish* DeliveryJoin::PublishOf(const Span& delivery) {
  const Publish* publish = nullptr;
  for (const SpanLink& link : delivery.links) {
    const Publish* target = PublishAt(link);
    if (target != nullptr && (publish == nullptr || publish->end < target->end)) publish = target;
  }
  if (publish != nullptr) {
    ++linked_;
    return publish;
  }
  const auto found = by_message_id_.find(ToAbsl(delivery.Text(words::kMessageId)));
  if (found == by_message_id_.end()) return nullptr;
  ++joined_ids_;
  return &publishes_[found->second];
}

DeliveryJoin::Id DeliveryJoin::TraceOf(Id trace) const {
  for (int steps = 0; steps < kJoinsMax; ++steps) {
    const auto found = std::lower_bound(moved_.begin(), moved_.end(), trace,
                                        [](const auto& one, const Id& wanted) { return one.first < wanted; });
    if (found == moved_.end() || found->first != trace) break;
    trace = found->second;
  }
  return trace;
}

absl::Status DeliveryJoin::RewriteSpan(const TraceScan& scan, size_t index, std::optional<uint64_t> parent,
                                       SortedRuns& to) {
  const SpanHead& head = scan.heads()[index];
  const Id was{head.key.hi, head.key.lo}, is = IsRpc(head.role) ? was : TraceOf(was);
  SortedRuns::Key key = head.key;
  std::tie(key.hi, key.lo) = is;
  if (!parent && !head.linked) return to.Add(key, scan.BytesOf(index));
  if (!packer_.Unpack(head.key, scan.BytesOf(index), span_)) return Damaged();
  span_.parent = parent.value_or(span_.parent);
  for (SpanLink& link : span_.links) {  // of calls to deliveries that moved
    std::tie(link.trace_hi, link.trace_lo) = TraceOf({link.trace_hi, link.trace_lo});
  }
  packed_.clear();
  packer_.Pack(span_, head, packed_);
  return to.Add(key, packed_);
}

absl::Status DeliveryJoin::Rewrite(const SortedRuns& from, SortedRuns& to, TraceScan::LeftOut& left_out) {
  TraceScan scan(from, false);
  size_t next = 0;  // of parents_, which are in the order of the spans
  while (scan.Next()) {
    for (size_t i = 0; i < scan.heads().size(); ++i) {
      std::optional<uint64_t> parent;
      if (next < parents_.size() && parents_[next].of == scan.heads()[i].key) parent = parents_[next++].parent;
      if (absl::Status status = RewriteSpan(scan, i, parent, to); !status.ok()) return status;
    }
  }
  left_out = scan.left_out();
  return scan.status().ok() ? to.Finish() : scan.status();
}

}  // namespace hopgap::trace
