#pragma once

#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/dialect.h"
#include "trace/span.h"

namespace hopgap::trace {

// The calls of one kind: an RPC span stands for all messages it links to, so it
// is counted once, however many those are.
struct RpcStats {
  uint64_t calls = 0, messages = 0, messages_max = 0;
  Duration total{0};
};

// What was found out about spans before any latency was computed.
struct SpanQuality {
  uint64_t spans = 0;  // without duplicates
  uint64_t traces = 0;
  uint64_t duplicates = 0;       // the same span once more
  uint64_t conflicting = 0;      // the same id with other times: the one that ends last was kept
  uint64_t missing_parents = 0;  // Pub/Sub spans whose parent is not here
  uint64_t dangling_links = 0;   // to spans that are not here
  uint64_t unended = 0;          // no end: left out
  uint64_t impossible = 0;       // end before start: left out
  uint64_t inferred_events = 0;  // made from RPC spans or from span ends
  uint64_t linked = 0;           // deliveries in a trace of their own, joined to their publish by a link
  uint64_t joined_ids = 0;       // the same by message id, where asked for
  std::map<std::pair<Client, std::string>, uint64_t> clients;                    // with version: spans
  std::map<std::pair<Client, Role>, std::pair<uint64_t, uint64_t>> zero_length;  // of all create and subscribe spans
  std::array<RpcStats, 4> rpcs;                                                  // publish, modack, ack, nack
  const RpcStats& Rpc(Role role) const {
    return rpcs[static_cast<size_t>(role) - static_cast<size_t>(Role::kPublishRpc)];
  }
};

// All spans of an analysis. Puts them into one set of words, takes duplicates
// out, and joins what tracing systems keep apart: RPC spans in traces of their
// own give the instants that messages lack, and a delivery that only links to its
// publish joins its trace.
//
// Not thread-safe.
class TraceSet {
 public:
  static constexpr size_t kSpansMax = 4'000'000;  // at most 2^32, by Key

  explicit TraceSet(size_t spans_max = kSpansMax) : spans_max_(spans_max) {}

  // Takes the spans (moves them out). ResourceExhausted, with what to do, beyond the limit.
  absl::Status Add(std::vector<Span>& spans);

  // Once, after the last Add. With `join_message_ids` a delivery whose publish its
  // context does not name joins the publish that has its message id.
  struct Joins {
    bool join_message_ids = false;
  };
  void Finish(const Joins& joins);
  void Finish() { Finish({}); }

  // Each trace's spans, by trace id. Requires: Finish().
  void ForEachTrace(const std::function<void(std::span<const Span>)>& take) const;
  const SpanQuality& quality() const { return quality_; }

 private:
  using Id = std::pair<uint64_t, uint64_t>;

  // What is asked of every span, beside the spans, so that sorting and finding
  // move and touch little: a span is ten times as large.
  struct Key {
    uint64_t hi = 0, lo = 0, span = 0;
    WallTime start{}, end{};
    uint32_t at = 0;  // in spans_
    Role role = Role::kOther;
    Client client = Client::kUnknown;
    Id trace() const { return {hi, lo}; }
  };

  void DropDuplicates();
  void DropImpossible();
  void JoinDeliveries(bool message_ids);
  std::optional<size_t> PublishOf(const Span& delivery,
                                  const std::map<std::string, size_t, std::less<>>& by_message_id);
  void Move(const std::map<Id, Id>& moved);
  void JoinRpcs();
  void CountRpc(const Span& rpc, Role role);
  void ApplyRpc(const Span& rpc, Role role, size_t target);
  void InferEnds();
  void Count();
  void Sort();
  void Settle();
  std::optional<size_t> Find(const Key& wanted, size_t from, size_t to) const;
  std::optional<size_t> Find(uint64_t hi, uint64_t lo, uint64_t span) const;
  size_t EndOfTrace(size_t from) const;

  size_t spans_max_;
  std::vector<Span> spans_;
  std::vector<Key> keys_;  // by trace, span and end; after Settle() keys_[i] is of spans_[i]
  std::vector<uint32_t> dropped_;
  SpanQuality quality_;
};

// Sends are timed by their queueing, or not at all, in some clients: an RPC span
// that is there says it better.
bool StartIsOfQueueing(Client client, Role rpc);

}  // namespace hopgap::trace
