#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/sorted_runs.h"
#include "trace/span_pack.h"

namespace hopgap::trace {

// Walks through packed spans trace by trace. Leaves out duplicates, spans
// that end before they start or have no end, and whole traces that last longer
// than a message can live: there a clock or a unit is wrong, and sums of such
// times mean nothing.
//
// Only the spans of one trace are in memory.
class TraceScan {
 public:
  struct LeftOut {
    uint64_t duplicates = 0;                  // alike in everything
    uint64_t differing = 0, conflicting = 0;  // the same times with other contents; other times
    uint64_t unended = 0, impossible = 0;
    uint64_t overlong = 0, overlong_traces = 0;  // spans of traces that last too long, and these
  };
  // `of` outlives this. `checked`: nothing is to be left out of it any more.
  TraceScan(const SortedRuns& of, bool checked) : cursor_(of), checked_(checked) { more_ = cursor_.Next(); }

  // The next trace; false at the end, and after a failure, which status() has.
  bool Next();
  const std::vector<SpanHead>& heads() const { return heads_; }  // by span id
  std::string_view BytesOf(size_t index) const {
    return std::string_view(bytes_).substr(places_[index].first, places_[index].second);
  }
  // Of the trace's spans the first with this id.
  std::optional<size_t> Find(uint64_t span) const;

  const LeftOut& left_out() const { return left_out_; }  // so far
  const absl::Status& status() const { return status_.ok() ? cursor_.status() : status_; }

 private:
  bool TakeTrace();
  void DropDuplicates();
  size_t FullestOf(size_t first, size_t end);
  void DropImpossible();
  template <typename Keep>
  void KeepIf(Keep keep);

  SortedRuns::Cursor cursor_;
  bool checked_, more_;
  std::vector<SpanHead> heads_;
  std::vector<std::pair<size_t, size_t>> places_;  // in bytes_, with the size
  std::string bytes_;
  LeftOut left_out_;
  absl::Status status_;
};

}  // namespace hopgap::trace
