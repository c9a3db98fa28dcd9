#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/sorted_runs.h"
#include "trace/span_pack.h"
#include "trace/trace_scan.h"

namespace hopgap::trace {

// A call that gives a message's span instants that it may lack.
struct RpcTimes {
  Role role = Role::kPublishRpc;
  WallTime start{}, end{};
  std::optional<AttributeValue> receipt;  // what the call says of being a receipt modack
};

// All links of an analysis, by the span that they lead to, so that they meet it
// when it comes by. RPC spans link to their messages, messages to their RPC
// spans, or both.
class RpcLinks {
 public:
  // Both outlive this; `scratch` may be null. `bytes_max`: of memory, for each of two tables.
  RpcLinks(SpanPacker& packer, Scratch* scratch, size_t bytes_max)
      : packer_(packer), links_(scratch, bytes_max), back_(scratch, bytes_max) {}

  // Looks through all spans; twice, if messages link to calls.
  absl::Status Collect(const SortedRuns& runs, bool checked);

  // Goes through the links beside the spans. Requires: spans are asked for in order.
  class Walk {
   public:
    explicit Walk(const RpcLinks& of);
    // The calls that give this span instants: those that link to it, then those it links to.
    absl::Status Take(const SortedRuns::Key& span, std::vector<RpcTimes>& calls);
    absl::Status Finish();
    uint64_t dangling() const { return dangling_; }  // links to spans that were not asked for

   private:
    const RpcLinks& of_;
    SortedRuns::Cursor links_, back_;
    bool more_links_, more_back_;
    uint64_t dangling_ = 0;
  };

 private:
  absl::Status Add(const TraceScan& scan, size_t index);
  absl::Status FindBack(const SortedRuns& runs, bool checked);
  absl::Status AddBack(const TraceScan& scan, size_t index, const SortedRuns::Key& message);
  void Pack(const Span& rpc, Role role);
  absl::Status Unpack(std::string_view bytes, RpcTimes& out) const;

  SpanPacker& packer_;
  SortedRuns links_, back_;
  bool any_back_ = false;
  Span span_;
  std::vector<SpanLink> found_;
  std::string packed_;
};

}  // namespace hopgap::trace
