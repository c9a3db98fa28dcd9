#include "live/span_store.h"

#include <string_view>

#include "trace/vocabulary.h"

namespace hopgap::live {
namespace {

constexpr std::string_view kSubscribe = trace::words::kSubscribe;  // of every client's dialect

}  // namespace

void SpanStore::Add(std::vector<trace::Span> spans) {
  std::lock_guard lock(mu_);
  for (trace::Span& span : spans) {
    if (span.parent == 0 && span.kind != trace::SpanKind::kProducer && !span.links.empty()) continue;
    if (spans_ >= kSpansMax) {
      ++dropped_;
      continue;
    }
    const TraceId id{span.trace_hi, span.trace_lo};
    if (span.name.ends_with(kSubscribe)) {
      const std::string subscription = span.name.substr(0, span.name.size() - kSubscribe.size());
      if (last_.count(subscription) > 0) ended_[subscription].insert(id);
    }
    traces_[id].push_back(std::move(span));
    ++spans_;
  }
}

std::map<std::string, uint64_t> SpanStore::Ended() const {
  std::map<std::string, uint64_t> counts;
  std::lock_guard lock(mu_);
  for (const auto& [subscription, traces] : ended_) counts[subscription] = traces.size();
  return counts;
}

uint64_t SpanStore::dropped() const {
  std::lock_guard lock(mu_);
  return dropped_;
}

std::vector<trace::Span> SpanStore::Take(const TraceId& id) {
  std::lock_guard lock(mu_);
  const auto found = traces_.find(id);
  if (found == traces_.end()) return {};
  std::vector<trace::Span> spans = std::move(found->second);
  traces_.erase(found);
  return spans;
}

}  // namespace hopgap::live
