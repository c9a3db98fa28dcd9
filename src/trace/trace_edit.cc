#include "trace/trace_edit.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "trace/vocabulary.h"

namespace hopgap::trace {
namespace {

constexpr Duration kZeroLength{std::chrono::microseconds{1}};

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

std::optional<size_t> FindSpan(std::span<const SpanHead> heads, uint64_t span) {
  const auto found = std::lower_bound(heads.begin(), heads.end(), span,
                                      [](const SpanHead& head, uint64_t wanted) { return head.key.span < wanted; });
  if (found == heads.end() || found->key.span != span) return std::nullopt;
  return static_cast<size_t>(found - heads.begin());
}

void CountRpc(const Span& rpc, Role role, SpanQuality& quality) {
  RpcStats& stats = quality.rpcs[static_cast<size_t>(role) - static_cast<size_t>(Role::kPublishRpc)];
  ++stats.calls;
  stats.total += rpc.end - rpc.start;
  const auto messages =
      static_cast<uint64_t>(std::max<int64_t>(rpc.Int(words::kBatchCount), static_cast<int64_t>(rpc.links.size())));
  stats.messages += messages;
  stats.messages_max = std::max(stats.messages_max, messages);
}

// Batching ends when the publish is sent.
uint64_t InferPublishStart(const Span& batching, Client client, Span& create) {
  if (SpanEvent* start = EventOf(create, words::kPublishStart)) {
    const bool queued = StartIsOfQueueing(client, Role::kPublishRpc);
    if (queued && start->at < batching.end) start->at = batching.end;
    return 0;
  }
  AddInferred(create, words::kPublishStart, batching.end);
  return 1;
}

}  // namespace

uint64_t ApplyRpc(const RpcTimes& rpc, Client client, Span& span) {
  const auto [start_word, end_word] = WordsOfRpc(rpc.role);
  SpanEvent* start = EventOf(span, start_word);
  if (rpc.role == Role::kModackRpc && start != nullptr && std::abs((start->at - rpc.start).count()) > 1'000'000'000) {
    return 0;  // an extension: events have it already
  }
  uint64_t made = 0;
  const auto infer = [&](std::string_view word, WallTime at) {
    SpanEvent& event = AddInferred(span, word, at);
    if (rpc.receipt) event.attributes.emplace_back(words::kIsReceipt, *rpc.receipt);
    ++made;
  };
  if (start == nullptr) {
    infer(start_word, rpc.start);
  } else if (StartIsOfQueueing(client, rpc.role) && start->at < rpc.start) {
    start->at = rpc.start;
  }
  if (EventOf(span, end_word) == nullptr) infer(end_word, rpc.end);
  return made;
}

uint64_t InferEnds(std::span<const SpanHead> heads, std::span<Span> spans) {
  uint64_t made = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (heads[i].role != Role::kPublisherPart || spans[i].name != words::kPublisherBatching) continue;
    const std::optional<size_t> create = FindSpan(heads, spans[i].parent);
    if (create) made += InferPublishStart(spans[i], heads[*create].client, spans[*create]);
  }
  for (size_t i = 0; i < spans.size(); ++i) {
    Span& span = spans[i];
    const Role role = heads[i].role;
    if (role != Role::kCreate && role != Role::kSubscribe) continue;
    const auto infer = [&](std::string_view word) {
      if (span.FindEvent(word) != nullptr) return;
      AddInferred(span, word, span.end);
      ++made;
    };
    if (role == Role::kCreate && !Zero(span) && !heads[i].whole) infer(words::kPublishEnd);
    if (role != Role::kSubscribe) continue;
    const std::string_view result = span.Text(words::kResult);
    if (result == "acked") infer(words::kAckEnd);
    if (result == "nacked") infer(words::kNackEnd);
  }
  return made;
}

void CountTrace(std::span<const SpanHead> heads, std::span<const Span> spans, SpanQuality& quality) {
  quality.spans += spans.size();
  ++quality.traces;
  std::pair<const std::pair<Client, std::string>, uint64_t>* counted = nullptr;  // neighbours are often alike
  for (size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    const auto [client, role] = std::pair(heads[i].client, heads[i].role);
    if (IsRpc(role)) CountRpc(span, role, quality);
    if (client != Client::kUnknown && role != Role::kBroker) {
      if (counted == nullptr || counted->first.first != client || counted->first.second != span.scope_version) {
        counted = &*quality.clients.try_emplace({client, span.scope_version}, 0).first;
      }
      ++counted->second;
    }
    if (span.parent != 0 && role != Role::kOther && role != Role::kServer && !FindSpan(heads, span.parent)) {
      ++quality.missing_parents;
    }
    if (role != Role::kCreate && role != Role::kSubscribe) continue;
    auto& [zero, all] = quality.zero_length[{client, role}];
    zero += Zero(span) ? 1 : 0;
    ++all;
  }
}

}  // namespace hopgap::trace
