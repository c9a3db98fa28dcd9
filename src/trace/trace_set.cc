#include "trace/trace_set.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "trace/vocabulary.h"

namespace hopgap::trace {
namespace {

constexpr Duration kZeroLength{std::chrono::microseconds{1}};
constexpr Duration kLongest = std::chrono::days{40};  // messages are kept for at most 31
constexpr int kJoinsMax = 64;                         // of traces one after another; a circle ends there

std::pair<uint64_t, uint64_t> IdOf(const Span& span) { return {span.trace_hi, span.trace_lo}; }

auto KeyOf(const Span& span) { return std::tuple(span.trace_hi, span.trace_lo, span.span); }

// Orders and counts without moving spans more than once.
bool Before(const Span& a, const Span& b) {
  return std::tuple(a.trace_hi, a.trace_lo, a.span, a.end) < std::tuple(b.trace_hi, b.trace_lo, b.span, b.end);
}

bool SameTimes(const Span& a, const Span& b) { return a.start == b.start && a.end == b.end; }

struct RpcWords {
  std::string_view start, end;
};
RpcWords WordsOfRpc(Role role) {
  switch (role) {
    case Role::kPublishRpc: return {words::kPublishStart, words::kPublishEnd};
    case Role::kModackRpc: return {words::kModackStart, words::kModackEnd};
    case Role::kAckRpc: return {words::kAckStart, words::kAckEnd};
    default: return {words::kNackStart, words::kNackEnd};
  }
}

SpanEvent* EventOf(Span& span, std::string_view name) {
  for (SpanEvent& event : span.events) {
    if (event.name == name) return &event;
  }
  return nullptr;
}

SpanEvent& AddInferred(Span& span, std::string_view name, WallTime at) {
  return span.events.emplace_back(SpanEvent{at, std::string(name), {{std::string(kInferred), true}}});
}

bool Zero(const Span& span) { return span.end - span.start <= kZeroLength; }

}  // namespace

bool StartIsOfQueueing(Client client, Role rpc) {
  if (client == Client::kNode) return rpc == Role::kModackRpc || rpc == Role::kAckRpc || rpc == Role::kNackRpc;
  return client == Client::kPython && rpc == Role::kPublishRpc;
}

absl::Status TraceSet::Add(std::vector<Span>& spans) {
  if (spans_.size() + spans.size() > spans_max_) {
    return absl::ResourceExhaustedError(
        StrCat("more than ", spans_max_,
               " spans, which are held in memory (about 2 kB each): analyze fewer files, "
               "a shorter window or sampled traces"));
  }
  for (Span& span : spans) {
    Canonicalize(span);
    spans_.push_back(std::move(span));
  }
  spans.clear();
  return absl::OkStatus();
}

void TraceSet::Sort() { std::sort(spans_.begin(), spans_.end(), Before); }

Span* TraceSet::Find(uint64_t hi, uint64_t lo, uint64_t span) {
  const auto key = std::tuple(hi, lo, span);
  const auto found = std::lower_bound(spans_.begin(), spans_.end(), key,
                                      [](const Span& one, const auto& wanted) { return KeyOf(one) < wanted; });
  return found == spans_.end() || KeyOf(*found) != key ? nullptr : &*found;
}

// Of spans with one id the last in order ends last, and is kept.
void TraceSet::DropDuplicates() {
  size_t kept = 0;
  for (size_t i = 0; i < spans_.size(); ++i) {
    const bool last = i + 1 == spans_.size() || KeyOf(spans_[i]) != KeyOf(spans_[i + 1]);
    if (!last) {
      ++(SameTimes(spans_[i], spans_[i + 1]) ? quality_.duplicates : quality_.conflicting);
      continue;
    }
    if (kept != i) spans_[kept] = std::move(spans_[i]);
    ++kept;
  }
  spans_.resize(kept);
}

// Besides ends before starts: a trace that lasts longer than a message can live
// has a wrong clock or a wrong unit somewhere, and sums of such times mean nothing.
void TraceSet::DropImpossible() {
  std::erase_if(spans_, [this](const Span& span) {
    if (span.end >= span.start) return false;
    ++(span.end == WallTime{} ? quality_.unended : quality_.impossible);
    return true;
  });
  std::set<Id> endless;
  for (size_t from = 0; from < spans_.size();) {
    WallTime first = spans_[from].start, last = spans_[from].end;
    size_t to = from;
    for (; to < spans_.size() && IdOf(spans_[to]) == IdOf(spans_[from]); ++to) {
      first = std::min(first, spans_[to].start);
      last = std::max(last, spans_[to].end);
    }
    if (last - first > kLongest) endless.insert(IdOf(spans_[from]));
    from = to;
  }
  std::erase_if(spans_, [&](Span& span) {
    std::erase_if(span.events, [&span](const SpanEvent& event) {
      return event.at < span.start - kLongest || event.at > span.end + kLongest;
    });
    if (!endless.contains(IdOf(span))) return false;
    ++quality_.impossible;
    return true;
  });
}

// The publish that a delivery links to (of several the one that ended last), else
// the one with its message id.
const Span* TraceSet::PublishOf(const Span& delivery, const std::map<std::string, size_t, std::less<>>& by_message_id) {
  const Span* publish = nullptr;
  for (const SpanLink& link : delivery.links) {
    const Span* target = Find(link.trace_hi, link.trace_lo, link.span);
    if (target == nullptr || RoleOf(*target) != Role::kCreate) continue;
    if (publish == nullptr || publish->end < target->end) publish = target;
  }
  if (publish != nullptr) {
    ++quality_.linked;
    return publish;
  }
  const auto found = by_message_id.find(delivery.Text(words::kMessageId));
  if (found == by_message_id.end()) return nullptr;
  ++quality_.joined_ids;
  return &spans_[found->second];
}

// A delivery whose parent is no publish (or that has none) joins the trace of the
// one that it names otherwise, with everything below it.
void TraceSet::JoinDeliveries(bool message_ids) {
  std::map<std::string, size_t, std::less<>> by_message_id;
  for (size_t i = 0; message_ids && i < spans_.size(); ++i) {
    if (RoleOf(spans_[i]) != Role::kCreate) continue;
    if (const std::string_view id = spans_[i].Text(words::kMessageId); !id.empty()) by_message_id.emplace(id, i);
  }
  std::map<Id, Id> moved;  // trace -> trace, for traces of which a delivery joined
  for (Span& span : spans_) {
    const Role role = RoleOf(span);
    const bool whole = role == Role::kProcess && span.Find(kWhole) != nullptr;
    if ((role != Role::kSubscribe && !whole) || (span.links.empty() && !message_ids)) continue;
    const Span* parent = span.parent == 0 ? nullptr : Find(span.trace_hi, span.trace_lo, span.parent);
    if (parent != nullptr && (RoleOf(*parent) == Role::kCreate || RoleOf(*parent) == Role::kSubscribe)) continue;
    const Span* publish = PublishOf(span, by_message_id);
    if (publish == nullptr) continue;
    span.parent = publish->span;
    if (span.trace_hi == publish->trace_hi && span.trace_lo == publish->trace_lo) continue;
    moved[{span.trace_hi, span.trace_lo}] = {publish->trace_hi, publish->trace_lo};
  }
  if (moved.empty()) return;
  for (Span& span : spans_) {
    for (int steps = 0; steps < kJoinsMax; ++steps) {
      const auto found = moved.find({span.trace_hi, span.trace_lo});
      if (found == moved.end() || IsRpc(RoleOf(span))) break;
      std::tie(span.trace_hi, span.trace_lo) = found->second;
    }
    for (SpanLink& link : span.links) {  // of calls to deliveries that moved
      const auto found = moved.find({link.trace_hi, link.trace_lo});
      if (found != moved.end()) std::tie(link.trace_hi, link.trace_lo) = found->second;
    }
  }
  Sort();
}

void TraceSet::ApplyRpc(const Span& rpc, Role role, Span& target) {
  const auto [start_word, end_word] = WordsOfRpc(role);
  SpanEvent* start = EventOf(target, start_word);
  if (role == Role::kModackRpc && start != nullptr && std::abs((start->at - rpc.start).count()) > 1'000'000'000) {
    return;  // an extension: events have it already
  }
  const AttributeValue* receipt = rpc.Find(words::kIsReceipt);
  if (start == nullptr) {
    SpanEvent& made = AddInferred(target, start_word, rpc.start);
    if (receipt != nullptr) made.attributes.emplace_back(words::kIsReceipt, *receipt);
    ++quality_.inferred_events;
  } else if (StartIsOfQueueing(ClientOf(target), role) && start->at < rpc.start) {
    start->at = rpc.start;
  }
  if (EventOf(target, end_word) == nullptr) {
    SpanEvent& made = AddInferred(target, end_word, rpc.end);
    if (receipt != nullptr) made.attributes.emplace_back(words::kIsReceipt, *receipt);
    ++quality_.inferred_events;
  }
}

void TraceSet::JoinRpc(const Span& rpc, Role role) {
  RpcStats& stats = quality_.rpcs[static_cast<size_t>(role) - static_cast<size_t>(Role::kPublishRpc)];
  ++stats.calls;
  stats.total += rpc.end - rpc.start;
  const auto messages =
      static_cast<uint64_t>(std::max<int64_t>(rpc.Int(words::kBatchCount), static_cast<int64_t>(rpc.links.size())));
  stats.messages += messages;
  stats.messages_max = std::max(stats.messages_max, messages);
  for (const SpanLink& link : rpc.links) {
    if (Span* target = Find(link.trace_hi, link.trace_lo, link.span)) ApplyRpc(rpc, role, *target);
  }
}

// Links go from the call to its messages, back, or both ways.
void TraceSet::JoinRpcs() {
  std::vector<std::pair<const Span*, Span*>> back;
  for (Span& span : spans_) {
    const Role role = RoleOf(span);
    for (const SpanLink& link : span.links) {
      Span* other = Find(link.trace_hi, link.trace_lo, link.span);
      if (other == nullptr) {
        ++quality_.dangling_links;
      } else if ((role == Role::kCreate || role == Role::kSubscribe) && IsRpc(RoleOf(*other))) {
        back.emplace_back(other, &span);
      }
    }
  }
  for (const Span& span : spans_) {
    if (const Role role = RoleOf(span); IsRpc(role)) JoinRpc(span, role);
  }
  for (const auto& [rpc, target] : back) ApplyRpc(*rpc, RoleOf(*rpc), *target);
}

// Where neither events nor RPC spans came along, ends of spans still say when a
// publish ended (its create span ends then) and an ack (its subscribe span does).
void TraceSet::InferEnds() {
  for (Span& span : spans_) {
    const Role role = RoleOf(span);
    if (role == Role::kPublisherPart && span.name == words::kPublisherBatching) {
      Span* create = Find(span.trace_hi, span.trace_lo, span.parent);
      if (create == nullptr) continue;
      if (SpanEvent* start = EventOf(*create, words::kPublishStart)) {
        const bool queued = StartIsOfQueueing(ClientOf(*create), Role::kPublishRpc);
        if (queued && start->at < span.end) start->at = span.end;
        continue;
      }
      AddInferred(*create, words::kPublishStart, span.end);
      ++quality_.inferred_events;
    }
  }
  for (Span& span : spans_) {
    const Role role = RoleOf(span);
    const auto infer = [&](std::string_view word) {
      if (span.FindEvent(word) != nullptr) return;
      AddInferred(span, word, span.end);
      ++quality_.inferred_events;
    };
    const bool whole = span.Find(kWhole) != nullptr;
    if (role == Role::kCreate && !whole && !Zero(span)) infer(words::kPublishEnd);
    if (role != Role::kSubscribe) continue;
    if (span.Text(words::kResult) == "acked") infer(words::kAckEnd);
    if (span.Text(words::kResult) == "nacked") infer(words::kNackEnd);
  }
}

void TraceSet::Count() {
  quality_.spans = spans_.size();
  const Span* previous = nullptr;
  for (const Span& span : spans_) {
    const bool first =
        previous == nullptr || previous->trace_hi != span.trace_hi || previous->trace_lo != span.trace_lo;
    if (first) ++quality_.traces;
    previous = &span;
    const Client client = ClientOf(span);
    const Role role = RoleOf(span);
    if (client != Client::kUnknown && role != Role::kBroker) ++quality_.clients[{client, span.scope_version}];
    if (span.parent != 0 && role != Role::kOther && role != Role::kServer &&
        Find(span.trace_hi, span.trace_lo, span.parent) == nullptr) {
      ++quality_.missing_parents;
    }
    if (role != Role::kCreate && role != Role::kSubscribe) continue;
    auto& [zero, all] = quality_.zero_length[{client, role}];
    zero += Zero(span) ? 1 : 0;
    ++all;
  }
}

void TraceSet::Finish(const Joins& joins) {
  Sort();
  DropDuplicates();
  DropImpossible();
  JoinDeliveries(joins.join_message_ids);
  JoinRpcs();
  InferEnds();
  Count();
}

void TraceSet::ForEachTrace(const std::function<void(std::span<const Span>)>& take) const {
  for (size_t from = 0; from < spans_.size();) {
    size_t to = from + 1;
    while (to < spans_.size() && spans_[to].trace_hi == spans_[from].trace_hi &&
           spans_[to].trace_lo == spans_[from].trace_lo) {
      ++to;
    }
    take(std::span<const Span>(spans_).subspan(from, to - from));
    from = to;
  }
}

}  // namespace hopgap::trace
