#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/sorted_runs.h"
#include "trace/span_pack.h"
#include "trace/trace_scan.h"

namespace hopgap::trace {

// A delivery whose parent is no publish (or that has none) joins the trace of the
// one that it names otherwise, with everything below it: by a link, of several
// the one that ended last; else, where asked for, by message id.
//
// Holds a line for each publish and for each delivery that joins, not their spans.
class DeliveryJoin {
 public:
  // `packer` outlives this.
  DeliveryJoin(SpanPacker& packer, bool message_ids) : packer_(packer), message_ids_(message_ids) {}

  // Looks through all spans, twice.
  absl::Status Find(const SortedRuns& runs);
  bool any() const { return !parents_.empty(); }

  // Writes all spans anew, those that join into the traces they belong to;
  // `left_out` says what was left out on the way.
  absl::Status Rewrite(const SortedRuns& from, SortedRuns& to, TraceScan::LeftOut& left_out);

  uint64_t linked() const { return linked_; }
  uint64_t joined_ids() const { return joined_ids_; }

 private:
  using Id = std::pair<uint64_t, uint64_t>;
  struct Publish {
    Id trace;
    uint64_t span;
    WallTime end;
  };
  struct Parent {
    SortedRuns::Key of;
    uint64_t parent;
  };
  absl::Status TakePublishes(const SortedRuns& runs);
  bool MayJoin(const TraceScan& scan, const SpanHead& head) const;
  absl::Status Join(const TraceScan& scan, size_t index);
  const Publish* PublishOf(const Span& delivery);
  const Publish* PublishAt(const SpanLink& link) const;
  Id TraceOf(Id trace) const;
  absl::Status RewriteSpan(const TraceScan& scan, size_t index, std::optional<uint64_t> parent, SortedRuns& to);

  SpanPacker& packer_;
  bool message_ids_;
  std::vector<Publish> publishes_;  // by trace and span
  absl::flat_hash_map<std::string, size_t> by_message_id_;
  std::vector<std::pair<Id, Id>> moved_;  // from, to; by from
  std::vector<Parent> parents_;           // by the delivery
  uint64_t linked_ = 0, joined_ids_ = 0;
  Span span_;
  std::string packed_;
};

}  // namespace hopgap::trace
