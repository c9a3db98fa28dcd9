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

// An event of another time than its span's has a wrong clock or unit.
void DropImpossibleEvents(Span& span) {
  const WallTime earliest = span.start > WallTime::min() + kLongest ? span.start - kLongest : WallTime::min();
  const WallTime latest = span.end < WallTime::max() - kLongest ? span.end + kLongest : WallTime::max();
  std::erase_if(span.events, [=](const SpanEvent& event) { return event.at < earliest || event.at > latest; });
}

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
    DropImpossibleEvents(span);
    keys_.push_back({span.trace_hi, span.trace_lo, span.span, span.start, span.end,
                     static_cast<uint32_t>(spans_.size()), RoleOf(span), ClientOf(span)});
    spans_.push_back(std::move(span));
  }
  spans.clear();
  return absl::OkStatus();
}

// Of equals the one that came last is last.
void TraceSet::Sort() {
  std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
    return std::tie(a.hi, a.lo, a.span, a.end, a.at) < std::tie(b.hi, b.lo, b.span, b.end, b.at);
  });
}

// Puts the spans into the order of their keys, each moved once, and lets go of the
// dropped ones.
void TraceSet::Settle() {
  std::vector<uint32_t> from;
  from.reserve(spans_.size());
  for (const Key& key : keys_) from.push_back(key.at);
  from.insert(from.end(), dropped_.begin(), dropped_.end());
  dropped_.clear();
  for (size_t first = 0; first < from.size(); ++first) {
    if (from[first] == first) continue;
    Span held = std::move(spans_[first]);
    size_t at = first;
    for (size_t next; (next = from[at]) != first; at = next) {
      spans_[at] = std::move(spans_[next]);
      from[at] = static_cast<uint32_t>(at);
    }
    spans_[at] = std::move(held);
    from[at] = static_cast<uint32_t>(at);
  }
  spans_.resize(keys_.size());
  for (size_t i = 0; i < keys_.size(); ++i) keys_[i].at = static_cast<uint32_t>(i);
}

std::optional<size_t> TraceSet::Find(const Key& wanted, size_t from, size_t to) const {
  const auto begin = keys_.begin() + static_cast<ptrdiff_t>(from), end = keys_.begin() + static_cast<ptrdiff_t>(to);
  const auto found = std::lower_bound(begin, end, wanted, [](const Key& a, const Key& b) {
    return std::tie(a.hi, a.lo, a.span) < std::tie(b.hi, b.lo, b.span);
  });
  if (found == end || found->trace() != wanted.trace() || found->span != wanted.span) return std::nullopt;
  return static_cast<size_t>(found - keys_.begin());
}

std::optional<size_t> TraceSet::Find(uint64_t hi, uint64_t lo, uint64_t span) const {
  return Find({.hi = hi, .lo = lo, .span = span}, 0, keys_.size());
}

size_t TraceSet::EndOfTrace(size_t from) const {
  size_t to = from;
  while (to < keys_.size() && keys_[to].trace() == keys_[from].trace()) ++to;
  return to;
}

// Of spans with one id the last in order ends last, and is kept.
void TraceSet::DropDuplicates() {
  size_t kept = 0;
  for (size_t i = 0; i < keys_.size(); ++i) {
    const Key& key = keys_[i];
    const bool last = i + 1 == keys_.size() || key.trace() != keys_[i + 1].trace() || key.span != keys_[i + 1].span;
    if (!last) {
      const bool same = key.start == keys_[i + 1].start && key.end == keys_[i + 1].end;
      ++(same ? quality_.duplicates : quality_.conflicting);
      dropped_.push_back(key.at);
      continue;
    }
    keys_[kept++] = key;
  }
  keys_.resize(kept);
}

// Besides ends before starts: a trace that lasts longer than a message can live
// has a wrong clock or a wrong unit somewhere, and sums of such times mean nothing.
void TraceSet::DropImpossible() {
  std::erase_if(keys_, [this](const Key& key) {
    if (key.end >= key.start) return false;
    ++(key.end == WallTime{} ? quality_.unended : quality_.impossible);
    dropped_.push_back(key.at);
    return true;
  });
  std::set<Id> endless;
  for (size_t from = 0; from < keys_.size();) {
    WallTime first = keys_[from].start, last = keys_[from].end;
    const size_t to = EndOfTrace(from);
    for (size_t i = from; i < to; ++i) {
      first = std::min(first, keys_[i].start);
      last = std::max(last, keys_[i].end);
    }
    if (last - first > kLongest) endless.insert(keys_[from].trace());
    from = to;
  }
  if (endless.empty()) return;
  std::erase_if(keys_, [&](const Key& key) {
    if (!endless.contains(key.trace())) return false;
    ++quality_.impossible;
    dropped_.push_back(key.at);
    return true;
  });
}

// The publish that a delivery links to (of several the one that ended last), else
// the one with its message id.
std::optional<size_t> TraceSet::PublishOf(const Span& delivery,
                                          const std::map<std::string, size_t, std::less<>>& by_message_id) {
  std::optional<size_t> publish;
  for (const SpanLink& link : delivery.links) {
    const std::optional<size_t> target = Find(link.trace_hi, link.trace_lo, link.span);
    if (!target || keys_[*target].role != Role::kCreate) continue;
    if (!publish || keys_[*publish].end < keys_[*target].end) publish = target;
  }
  if (publish) {
    ++quality_.linked;
    return publish;
  }
  const auto found = by_message_id.find(delivery.Text(words::kMessageId));
  if (found == by_message_id.end()) return std::nullopt;
  ++quality_.joined_ids;
  return found->second;
}

// A delivery whose parent is no publish (or that has none) joins the trace of the
// one that it names otherwise, with everything below it.
void TraceSet::JoinDeliveries(bool message_ids) {
  std::map<std::string, size_t, std::less<>> by_message_id;
  for (size_t i = 0; message_ids && i < spans_.size(); ++i) {
    if (keys_[i].role != Role::kCreate) continue;
    if (const std::string_view id = spans_[i].Text(words::kMessageId); !id.empty()) by_message_id.emplace(id, i);
  }
  std::map<Id, Id> moved;  // trace -> trace, for traces of which a delivery joined
  for (size_t i = 0; i < spans_.size(); ++i) {
    const Role role = keys_[i].role;
    if (role != Role::kSubscribe && role != Role::kProcess) continue;
    Span& span = spans_[i];
    if (span.links.empty() && !message_ids) continue;
    if (role == Role::kProcess && span.Find(kWhole) == nullptr) continue;
    const std::optional<size_t> parent =
        span.parent == 0 ? std::nullopt : Find(span.trace_hi, span.trace_lo, span.parent);
    if (parent && (keys_[*parent].role == Role::kCreate || keys_[*parent].role == Role::kSubscribe)) continue;
    const std::optional<size_t> publish = PublishOf(span, by_message_id);
    if (!publish) continue;
    span.parent = keys_[*publish].span;
    if (keys_[*publish].trace() != keys_[i].trace()) moved[keys_[i].trace()] = keys_[*publish].trace();
  }
  if (!moved.empty()) Move(moved);
}

void TraceSet::Move(const std::map<Id, Id>& moved) {
  for (size_t i = 0; i < spans_.size(); ++i) {
    Span& span = spans_[i];
    for (int steps = 0; steps < kJoinsMax; ++steps) {
      const auto found = moved.find({span.trace_hi, span.trace_lo});
      if (found == moved.end() || IsRpc(keys_[i].role)) break;
      std::tie(span.trace_hi, span.trace_lo) = found->second;
    }
    std::tie(keys_[i].hi, keys_[i].lo) = std::tie(span.trace_hi, span.trace_lo);
    for (SpanLink& link : span.links) {  // of calls to deliveries that moved
      const auto found = moved.find({link.trace_hi, link.trace_lo});
      if (found != moved.end()) std::tie(link.trace_hi, link.trace_lo) = found->second;
    }
  }
  Sort();
  Settle();
}

void TraceSet::ApplyRpc(const Span& rpc, Role role, size_t target_at) {
  Span& target = spans_[target_at];
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
  } else if (StartIsOfQueueing(keys_[target_at].client, role) && start->at < rpc.start) {
    start->at = rpc.start;
  }
  if (EventOf(target, end_word) == nullptr) {
    SpanEvent& made = AddInferred(target, end_word, rpc.end);
    if (receipt != nullptr) made.attributes.emplace_back(words::kIsReceipt, *receipt);
    ++quality_.inferred_events;
  }
}

void TraceSet::CountRpc(const Span& rpc, Role role) {
  RpcStats& stats = quality_.rpcs[static_cast<size_t>(role) - static_cast<size_t>(Role::kPublishRpc)];
  ++stats.calls;
  stats.total += rpc.end - rpc.start;
  const auto messages =
      static_cast<uint64_t>(std::max<int64_t>(rpc.Int(words::kBatchCount), static_cast<int64_t>(rpc.links.size())));
  stats.messages += messages;
  stats.messages_max = std::max(stats.messages_max, messages);
}

// Links go from the call to its messages, back, or both ways.
void TraceSet::JoinRpcs() {
  std::vector<std::pair<size_t, size_t>> back;  // call, message
  for (size_t i = 0; i < spans_.size(); ++i) {
    const Role role = keys_[i].role;
    const Span& span = spans_[i];
    if (IsRpc(role)) CountRpc(span, role);
    for (const SpanLink& link : span.links) {
      const std::optional<size_t> other = Find(link.trace_hi, link.trace_lo, link.span);
      if (!other) {
        ++quality_.dangling_links;
      } else if (IsRpc(role)) {
        ApplyRpc(span, role, *other);
      } else if ((role == Role::kCreate || role == Role::kSubscribe) && IsRpc(keys_[*other].role)) {
        back.emplace_back(*other, i);
      }
    }
  }
  for (const auto& [rpc, target] : back) ApplyRpc(spans_[rpc], keys_[rpc].role, target);
}

// Where neither events nor RPC spans came along, ends of spans still say when a
// publish ended (its create span ends then) and an ack (its subscribe span does).
void TraceSet::InferEnds() {
  for (size_t from = 0, to = 0; from < keys_.size(); from = to) {
    to = EndOfTrace(from);
    for (size_t i = from; i < to; ++i) {
      const Span& span = spans_[i];
      if (keys_[i].role != Role::kPublisherPart || span.name != words::kPublisherBatching) continue;
      const std::optional<size_t> create =
          Find({.hi = span.trace_hi, .lo = span.trace_lo, .span = span.parent}, from, to);
      if (!create) continue;
      if (SpanEvent* start = EventOf(spans_[*create], words::kPublishStart)) {
        const bool queued = StartIsOfQueueing(keys_[*create].client, Role::kPublishRpc);
        if (queued && start->at < span.end) start->at = span.end;
        continue;
      }
      AddInferred(spans_[*create], words::kPublishStart, span.end);
      ++quality_.inferred_events;
    }
  }
  for (size_t i = 0; i < spans_.size(); ++i) {
    Span& span = spans_[i];
    const Role role = keys_[i].role;
    const auto infer = [&](std::string_view word) {
      if (span.FindEvent(word) != nullptr) return;
      AddInferred(span, word, span.end);
      ++quality_.inferred_events;
    };
    if (role == Role::kCreate && !Zero(span) && span.Find(kWhole) == nullptr) infer(words::kPublishEnd);
    if (role != Role::kSubscribe) continue;
    if (span.Text(words::kResult) == "acked") infer(words::kAckEnd);
    if (span.Text(words::kResult) == "nacked") infer(words::kNackEnd);
  }
}

void TraceSet::Count() {
  quality_.spans = spans_.size();
  std::pair<const std::pair<Client, std::string>, uint64_t>* counted = nullptr;  // neighbours are often alike
  for (size_t from = 0, to = 0; from < keys_.size(); from = to) {
    to = EndOfTrace(from);
    ++quality_.traces;
    for (size_t i = from; i < to; ++i) {
      const Span& span = spans_[i];
      const auto [client, role] = std::pair(keys_[i].client, keys_[i].role);
      if (client != Client::kUnknown && role != Role::kBroker) {
        if (counted == nullptr || counted->first.first != client || counted->first.second != span.scope_version) {
          counted = &*quality_.clients.try_emplace({client, span.scope_version}, 0).first;
        }
        ++counted->second;
      }
      if (span.parent != 0 && role != Role::kOther && role != Role::kServer &&
          !Find({.hi = span.trace_hi, .lo = span.trace_lo, .span = span.parent}, from, to)) {
        ++quality_.missing_parents;
      }
      if (role != Role::kCreate && role != Role::kSubscribe) continue;
      auto& [zero, all] = quality_.zero_length[{client, role}];
      zero += Zero(span) ? 1 : 0;
      ++all;
    }
  }
}

void TraceSet::Finish(const Joins& joins) {
  Sort();
  DropDuplicates();
  DropImpossible();
  Settle();
  JoinDeliveries(joins.join_message_ids);
  JoinRpcs();
  InferEnds();
  Count();
}

void TraceSet::ForEachTrace(const std::function<void(std::span<const Span>)>& take) const {
  for (size_t from = 0, to = 0; from < keys_.size(); from = to) {
    to = EndOfTrace(from);
    take(std::span<const Span>(spans_).subspan(from, to - from));
  }
}

}  // namespace hopgap::trace
