#include "trace/trace_set.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "trace/delivery_join.h"
#include "trace/trace_edit.h"
#include "trace/trace_scan.h"

namespace hopgap::trace {
namespace {

constexpr Duration kLongest = std::chrono::days{40};  // messages are kept for at most 31

// An event of another time than its span's has a wrong clock or unit.
void DropImpossibleEvents(Span& span) {
  const WallTime earliest = span.start > WallTime::min() + kLongest ? span.start - kLongest : WallTime::min();
  const WallTime latest = span.end < WallTime::max() - kLongest ? span.end + kLongest : WallTime::max();
  std::erase_if(span.events, [=](const SpanEvent& event) { return event.at < earliest || event.at > latest; });
}

void AddLeftOut(const TraceScan::LeftOut& left_out, SpanQuality& quality) {
  quality.duplicates += left_out.duplicates;
  quality.conflicting += left_out.conflicting;
  quality.unended += left_out.unended;
  quality.impossible += left_out.impossible;
  quality.differing += left_out.differing;
  quality.overlong += left_out.overlong;
  quality.overlong_traces += left_out.overlong_traces;
}

}  // namespace

bool StartIsOfQueueing(Client client, Role rpc) {
  if (client == Client::kNode) return rpc == Role::kModackRpc || rpc == Role::kAckRpc || rpc == Role::kNackRpc;
  return client == Client::kPython && rpc == Role::kPublishRpc;
}

TraceSet::TraceSet(const Options& options)
    : options_(options),
      packer_(std::make_unique<SpanPacker>()),
      runs_(std::make_unique<SortedRuns>(options.scratch, options.memory_max)) {}

absl::Status TraceSet::Add(std::vector<Span>& spans) {
  if (runs_->size() + spans.size() > options_.spans_max) {
    return absl::ResourceExhaustedError(
        StrCat("more than ", options_.spans_max, " spans: analyze fewer files, a shorter window or sampled traces"));
  }
  for (Span& span : spans) {
    Canonicalize(span);
    DropImpossibleEvents(span);
    SpanHead head{.key = KeyOf(span), .role = RoleOf(span), .client = ClientOf(span)};
    head.whole = span.Find(kWhole) != nullptr;
    const bool delivery = head.role == Role::kSubscribe || head.role == Role::kProcess;
    any_links_ = any_links_ || !span.links.empty();
    deliveries_link_ = deliveries_link_ || (delivery && !span.links.empty());
    packed_.clear();
    packer_->Pack(span, head, packed_);
    if (absl::Status status = runs_->Add(head.key, packed_); !status.ok()) return status;
  }
  spans.clear();
  return absl::OkStatus();
}

absl::Status TraceSet::JoinDeliveries(bool message_ids) {
  DeliveryJoin join(*packer_, message_ids);
  if (absl::Status status = join.Find(*runs_); !status.ok()) return status;
  quality_.linked = join.linked();
  quality_.joined_ids = join.joined_ids();
  if (!join.any()) return absl::OkStatus();
  auto joined = std::make_unique<SortedRuns>(options_.scratch, options_.memory_max);
  TraceScan::LeftOut left_out;
  if (absl::Status status = join.Rewrite(*runs_, *joined, left_out); !status.ok()) return status;
  AddLeftOut(left_out, quality_);
  runs_ = std::move(joined);
  checked_ = true;
  return absl::OkStatus();
}

absl::Status TraceSet::Finish(const Joins& joins, const Take& take) {
  if (absl::Status status = runs_->Finish(); !status.ok()) return status;
  spilled_ = runs_->runs() > 0;
  if (deliveries_link_ || joins.join_message_ids) {
    if (absl::Status status = JoinDeliveries(joins.join_message_ids); !status.ok()) return status;
  }
  if (any_links_) {
    links_ = std::make_unique<RpcLinks>(*packer_, options_.scratch, options_.memory_max / 4);
    if (absl::Status status = links_->Collect(*runs_, checked_); !status.ok()) return status;
  }
  return Pass(take, quality_);
}

absl::Status TraceSet::Finish(const Joins& joins) {
  return Finish(joins, [](std::span<const Span>) {});
}

absl::Status TraceSet::ForEachTrace(const Take& take) const {
  SpanQuality counted_before;
  return Pass(take, counted_before);
}

absl::Status TraceSet::Pass(const Take& take, SpanQuality& quality) const {
  TraceScan scan(*runs_, checked_);
  std::unique_ptr<RpcLinks::Walk> links;
  if (links_ != nullptr) links = std::make_unique<RpcLinks::Walk>(*links_);
  std::vector<Span> spans;  // only grows: what was unpacked before leaves its memory to the next
  std::vector<RpcTimes> calls;
  while (scan.Next()) {
    const std::vector<SpanHead>& heads = scan.heads();
    if (spans.size() < heads.size()) spans.resize(heads.size());
    for (size_t i = 0; i < heads.size(); ++i) {
      if (!packer_->Unpack(heads[i].key, scan.BytesOf(i), spans[i])) {
        return absl::DataLossError("a span came back damaged from the scratch file");
      }
      if (links == nullptr) continue;
      if (absl::Status status = links->Take(heads[i].key, calls); !status.ok()) return status;
      for (const RpcTimes& call : calls) quality.inferred_events += ApplyRpc(call, heads[i].client, spans[i]);
    }
    const std::span<Span> trace(spans.data(), heads.size());
    quality.inferred_events += InferEnds(heads, trace);
    CountTrace(heads, trace, quality);
    take(trace);
  }
  AddLeftOut(scan.left_out(), quality);
  if (links == nullptr) return scan.status();
  absl::Status status = links->Finish();
  quality.dangling_links = links->dangling();
  return scan.status().ok() ? status : scan.status();
}

}  // namespace hopgap::trace
