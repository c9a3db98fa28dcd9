#include "trace/rpc_links.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "trace/vocabulary.h"

namespace hopgap::trace {
namespace {

// What a link in the table is; a call follows, or the message that links to one.
enum class LinkKind : uint8_t { kOther, kOfCall, kToCall };

auto SpanOf(const SortedRuns::Key& key) { return std::tuple(key.hi, key.lo, key.span); }

absl::Status DamagedLink() { return absl::DataLossError("a link came back damaged from the scratch file"); }

}  // namespace

void RpcLinks::Pack(const Span& rpc, Role role) {
  PackWriter to(packed_);
  to.Byte(static_cast<uint8_t>(role));
  to.Signed(rpc.start.time_since_epoch().count());
  to.Signed(rpc.end.time_since_epoch().count());
  const AttributeValue* receipt = rpc.Find(words::kIsReceipt);
  packer_.PutAttributes(receipt == nullptr ? Attributes{} : Attributes{{std::string(words::kIsReceipt), *receipt}}, to);
}

absl::Status RpcLinks::Unpack(std::string_view bytes, RpcTimes& out) const {
  PackReader from(bytes);
  out.role = static_cast<Role>(from.Byte());
  out.start = WallTime{Duration{from.Signed()}};
  out.end = WallTime{Duration{from.Signed()}};
  Attributes receipt;
  packer_.TakeAttributes(from, receipt);
  if (!receipt.empty()) out.receipt = std::move(receipt.front().second);
  return from.failed() || !IsRpc(out.role) ? DamagedLink() : absl::OkStatus();
}

absl::Status RpcLinks::Collect(const SortedRuns& runs, bool checked) {
  TraceScan scan(runs, checked);
  while (scan.Next()) {
    for (size_t i = 0; i < scan.heads().size(); ++i) {
      if (!scan.heads()[i].linked) continue;
      if (absl::Status status = Add(scan, i); !status.ok()) return status;
    }
  }
  if (!scan.status().ok()) return scan.status();
  if (absl::Status status = links_.Finish(); !status.ok()) return status;
  if (any_back_) {
    if (absl::Status status = FindBack(runs, checked); !status.ok()) return status;
  }
  return back_.Finish();
}

absl::Status RpcLinks::Add(const TraceScan& scan, size_t index) {
  const SpanHead& head = scan.heads()[index];
  const bool call = IsRpc(head.role), message = head.role == Role::kCreate || head.role == Role::kSubscribe;
  packed_.clear();
  PackWriter to(packed_);
  if (call) {
    if (!packer_.Unpack(head.key, scan.BytesOf(index), span_)) return DamagedLink();
    std::swap(found_, span_.links);
    to.Byte(static_cast<uint8_t>(LinkKind::kOfCall));
    Pack(span_, head.role);
  } else {
    if (!packer_.UnpackLinks(head.key, scan.BytesOf(index), found_)) return DamagedLink();
    to.Byte(static_cast<uint8_t>(message ? LinkKind::kToCall : LinkKind::kOther));
    for (const uint64_t part : {head.key.hi, head.key.lo, head.key.span}) to.Id(part);
    any_back_ = any_back_ || message;
  }
  for (const SpanLink& link : found_) {
    const SortedRuns::Key key{link.trace_hi, link.trace_lo, link.span, links_.size()};
    if (absl::Status status = links_.Add(key, packed_); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Brings the calls that messages link to to the messages.
absl::Status RpcLinks::FindBack(const SortedRuns& runs, bool checked) {
  TraceScan scan(runs, checked);
  SortedRuns::Cursor links(links_);
  bool more = links.Next();
  while (more && scan.Next()) {
    for (size_t i = 0; i < scan.heads().size() && more; ++i) {
      const SpanHead& head = scan.heads()[i];
      for (; more && SpanOf(links.key()) <= SpanOf(head.key); more = links.Next()) {
        if (SpanOf(links.key()) != SpanOf(head.key) || !IsRpc(head.role)) continue;
        PackReader from(links.bytes());
        if (static_cast<LinkKind>(from.Byte()) != LinkKind::kToCall) continue;
        SortedRuns::Key message;
        message.hi = from.Id();
        message.lo = from.Id();
        message.span = from.Id();
        message.order = links.key().order;
        if (absl::Status status = AddBack(scan, i, message); !status.ok()) return status;
      }
    }
  }
  return links.status().ok() ? scan.status() : links.status();
}

absl::Status RpcLinks::AddBack(const TraceScan& scan, size_t index, const SortedRuns::Key& message) {
  const SpanHead& head = scan.heads()[index];
  if (!packer_.Unpack(head.key, scan.BytesOf(index), span_)) return DamagedLink();
  packed_.clear();
  Pack(span_, head.role);
  return back_.Add(message, packed_);
}

RpcLinks::Walk::Walk(const RpcLinks& of) : of_(of), links_(of.links_), back_(of.back_) {
  more_links_ = links_.Next();
  more_back_ = back_.Next();
}

absl::Status RpcLinks::Walk::Take(const SortedRuns::Key& span, std::vector<RpcTimes>& calls) {
  calls.clear();
  for (; more_links_ && SpanOf(links_.key()) <= SpanOf(span); more_links_ = links_.Next()) {
    if (SpanOf(links_.key()) != SpanOf(span)) {
      ++dangling_;
      continue;
    }
    const std::string_view bytes = links_.bytes();
    if (bytes.empty() || static_cast<LinkKind>(bytes[0]) != LinkKind::kOfCall) continue;
    if (absl::Status status = of_.Unpack(bytes.substr(1), calls.emplace_back()); !status.ok()) return status;
  }
  for (; more_back_ && SpanOf(back_.key()) <= SpanOf(span); more_back_ = back_.Next()) {
    if (SpanOf(back_.key()) != SpanOf(span)) continue;
    if (absl::Status status = of_.Unpack(back_.bytes(), calls.emplace_back()); !status.ok()) return status;
  }
  return links_.status().ok() ? back_.status() : links_.status();
}

absl::Status RpcLinks::Walk::Finish() {
  for (; more_links_; more_links_ = links_.Next()) ++dangling_;
  return links_.status().ok() ? back_.status() : links_.status();
}

}  // namespace hopgap::trace
