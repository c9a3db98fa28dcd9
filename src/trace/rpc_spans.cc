#include <algorithm>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "trace/build.h"
#include "trace/span_writing.h"
#include "trace/vocabulary.h"

namespace hopgap::trace {
namespace {

// Which RPC an event is about, and at which end.
struct Side {
  SpanRole role = SpanRole::kPublishRpc;
  bool start = false;
};

std::optional<Side> SideOf(What what) {
  switch (what) {
    case What::kPublishStart: return Side{SpanRole::kPublishRpc, true};
    case What::kPublishEnd: return Side{SpanRole::kPublishRpc, false};
    case What::kReceiptModackStart:
    case What::kExtensionStart: return Side{SpanRole::kModackRpc, true};
    case What::kReceiptModackEnd:
    case What::kExtensionEnd: return Side{SpanRole::kModackRpc, false};
    case What::kAckStart: return Side{SpanRole::kAckRpc, true};
    case What::kAckEnd: return Side{SpanRole::kAckRpc, false};
    case What::kNackStart: return Side{SpanRole::kNackRpc, true};
    case What::kNackEnd: return Side{SpanRole::kNackRpc, false};
    default: return std::nullopt;
  }
}

struct Entry {
  uint16_t place = 0;
  SpanRole role = SpanRole::kPublishRpc;
  uint64_t rpc = 0;
  const Event* event = nullptr;
  bool start = false;

  auto Rpc() const { return std::tuple(place, role, rpc); }
  auto Order() const { return std::tuple(place, role, rpc, !start, event->at, event->message, event->delivery); }
};

struct Words {
  std::string_view suffix, function;
};
Words WordsOf(SpanRole role) {
  if (role == SpanRole::kPublishRpc) return {words::kPublish, "publishMessageBundle"};
  if (role == SpanRole::kAckRpc) return {words::kAck, "sendAck"};
  return {role == SpanRole::kNackRpc ? words::kNack : words::kModack, "sendModAck"};
}

void AddLeaseAttributes(const Event& start, Span& span) {
  Add(span.attributes, words::kAckDeadline, start.value);
  Add(span.attributes, words::kIsReceipt, start.what == What::kReceiptModackStart);
}

SpanLink LinkToMessage(const Entry& entry) {
  const MessageKey& key = entry.event->message;
  const bool publish = entry.role == SpanRole::kPublishRpc;
  return {.trace_hi = key.trace_hi,
          .trace_lo = key.trace_lo,
          .span = publish ? key.create_span : SpanId(SpanRole::kSubscribe, key, entry.event->delivery),
          .attributes = {}};
}

// One RPC from its events, starts first; nullopt while it has not both ends.
std::optional<Span> MakeSpan(std::span<const Entry> entries, const SpanContext& context) {
  const Event& first = *entries.front().event;
  const Event* end = nullptr;
  for (const Entry& entry : entries) {
    if (!entry.start && (end == nullptr || entry.event->at > end->at)) end = entry.event;
  }
  if (!entries.front().start || end == nullptr) return std::nullopt;
  const SpanRole role = entries.front().role;
  const Place& place = context.places[first.place];
  const auto [suffix, function] = WordsOf(role);
  const MessageKey id = RpcSpan(role, first.place, first.rpc);
  Span span;
  span.trace_hi = id.trace_hi;
  span.trace_lo = id.trace_lo;
  span.span = id.create_span;
  span.name = StrCat(place.resource, suffix);
  span.start = context.anchor.ToWall(first.at);
  span.end = context.anchor.ToWall(end->at);
  span.service = ServiceOf(place);
  span.scope = std::string(kGoScope);
  AddResource(
      span.attributes, place,
      role == SpanRole::kPublishRpc ? StrCat("projects/", place.project, "/topics/", place.resource) : place.resource);
  Add(span.attributes, words::kBatchCount, int64_t{first.count});
  AddText(span.attributes, words::kCodeFunction, function);
  if (role == SpanRole::kModackRpc) AddLeaseAttributes(first, span);
  SetStatus(span, end->value);
  for (const Entry& entry : entries) {
    if (entry.start) span.links.push_back(LinkToMessage(entry));
  }
  return span;
}

}  // namespace

std::vector<Span> RpcSpans(std::span<const Event> events, const SpanContext& context) {
  std::vector<Entry> entries;
  for (const Event& event : events) {
    const std::optional<Side> side = SideOf(event.what);
    if (!side) continue;
    entries.push_back({event.place, side->role, event.rpc, &event, side->start});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.Order() < b.Order(); });
  std::vector<Span> spans;
  for (size_t from = 0, to = 0; from < entries.size(); from = to) {
    while (to < entries.size() && entries[to].Rpc() == entries[from].Rpc()) ++to;
    std::optional<Span> span = MakeSpan(std::span(entries).subspan(from, to - from), context);
    if (span) spans.push_back(std::move(*span));
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::pair{a.start, a.span} < std::pair{b.start, b.span};
  });
  return spans;
}

}  // namespace hopgap::trace
