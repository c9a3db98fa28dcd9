#pragma once

#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/dialect.h"
#include "trace/rpc_links.h"
#include "trace/scratch.h"
#include "trace/sorted_runs.h"
#include "trace/span.h"
#include "trace/span_pack.h"

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
  uint64_t duplicates = 0;                     // the same span once more
  uint64_t conflicting = 0;                    // the same id with other times: the one that ends last was kept
  uint64_t differing = 0;                      // the same id and times, other contents: the fullest was kept
  uint64_t missing_parents = 0;                // Pub/Sub spans whose parent is not here
  uint64_t dangling_links = 0;                 // to spans that are not here
  uint64_t unended = 0;                        // no end: left out
  uint64_t impossible = 0;                     // end before start: left out
  uint64_t overlong = 0, overlong_traces = 0;  // spans of traces that last longer than a message can live: left out
  uint64_t inferred_events = 0;                // made from RPC spans or from span ends
  uint64_t linked = 0;                         // deliveries in a trace of their own, joined to their publish by a link
  uint64_t joined_ids = 0;                     // the same by message id, where asked for
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
// Spans are held packed, sorted by trace; what is over a limit goes to scratch
// files, and the analysis then reads trace by trace.
//
// Not thread-safe.
class TraceSet {
 public:
  static constexpr uint64_t kSpansMax = 200'000'000;
  static constexpr size_t kMemoryMax = size_t{160} << 20;  // of packed spans; links may have as much again

  struct Options {
    uint64_t spans_max = kSpansMax;
    size_t memory_max = kMemoryMax;
    Scratch* scratch = nullptr;  // outlives the set; without one all is held in memory
  };
  TraceSet() : TraceSet(Options{}) {}
  explicit TraceSet(const Options& options);

  // Takes the spans (and empties `spans`). ResourceExhausted, with what to do,
  // beyond the limit; any other failure is the scratch's.
  absl::Status Add(std::vector<Span>& spans);

  // Each trace's spans, by trace id, its spans by theirs.
  using Take = std::function<void(std::span<const Span>)>;

  // Once, after the last Add; hands out each trace. With `join_message_ids` a
  // delivery whose publish its context does not name joins the publish that has
  // its message id. A failure is the scratch's.
  struct Joins {
    bool join_message_ids = false;
  };
  absl::Status Finish(const Joins& joins, const Take& take);
  absl::Status Finish(const Joins& joins);
  absl::Status Finish() { return Finish(Joins{}); }

  // Hands out each trace once more. Requires: Finish().
  absl::Status ForEachTrace(const Take& take) const;
  const SpanQuality& quality() const { return quality_; }  // Requires: Finish()
  bool spilled() const { return spilled_; }

 private:
  absl::Status JoinDeliveries(bool message_ids);
  absl::Status Pass(const Take& take, SpanQuality& quality) const;

  Options options_;
  // Behind pointers, so that a set can be moved while others look at these.
  std::unique_ptr<SpanPacker> packer_;
  std::unique_ptr<SortedRuns> runs_;
  std::unique_ptr<RpcLinks> links_;  // null: no span has any
  bool checked_ = false;             // nothing is to be left out any more
  bool any_links_ = false, deliveries_link_ = false, spilled_ = false;
  std::string packed_;
  SpanQuality quality_;
};

// Sends are timed by their queueing, or not at all, in some clients: an RPC span
// that is there says it better.
bool StartIsOfQueueing(Client client, Role rpc);

}  // namespace hopgap::trace
