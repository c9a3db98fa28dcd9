#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/span.h"

namespace hopgap::live {

// The spans that a run's processes sent, by trace; those of RPCs (roots of their
// own) are let go. Thread-safe.
class SpanStore {
 public:
  static constexpr size_t kSpansMax = 5'000'000;  // beyond it they are dropped and counted
  using TraceId = std::pair<uint64_t, uint64_t>;

  // `last`: the ids of the subscriptions at the end of chains, without project.
  explicit SpanStore(std::set<std::string> last) : last_(std::move(last)) {}

  void Add(std::vector<trace::Span> spans);

  // Messages whose subscribe span at the end of its chain has come: handled, and
  // their ack answered. By the id of that subscription.
  std::map<std::string, uint64_t> Ended() const;
  uint64_t dropped() const;
  // The spans of a trace, which is then forgotten.
  std::vector<trace::Span> Take(const TraceId& id);

 private:
  const std::set<std::string> last_;
  mutable std::mutex mu_;
  // Guarded.
  std::map<TraceId, std::vector<trace::Span>> traces_;
  std::map<std::string, std::set<TraceId>> ended_;
  size_t spans_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace hopgap::live
