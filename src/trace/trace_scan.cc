#include "trace/trace_scan.h"

#include <algorithm>

namespace hopgap::trace {
namespace {

constexpr Duration kTraceLongest = std::chrono::days{40};  // messages are kept for at most 31

}  // namespace

bool TraceScan::Next() {
  while (more_) {
    if (!TakeTrace()) return false;
    if (!checked_) {
      DropDuplicates();
      DropImpossible();
    }
    if (!heads_.empty()) return true;
  }
  return false;
}

bool TraceScan::TakeTrace() {
  heads_.clear();
  places_.clear();
  bytes_.clear();
  const SortedRuns::Key first = cursor_.key();
  do {
    if (!SpanPacker::UnpackHead(cursor_.key(), cursor_.bytes(), heads_.emplace_back())) {
      status_ = absl::DataLossError("a span came back damaged from the scratch file");
      more_ = false;
      return false;
    }
    places_.emplace_back(bytes_.size(), cursor_.bytes().size());
    bytes_.append(cursor_.bytes());
    more_ = cursor_.Next();
  } while (more_ && cursor_.key().hi == first.hi && cursor_.key().lo == first.lo);
  return cursor_.status().ok();
}

template <typename Keep>
void TraceScan::KeepIf(Keep keep) {
  size_t kept = 0;
  for (size_t i = 0; i < heads_.size(); ++i) {
    if (!keep(i)) continue;
    heads_[kept] = heads_[i];
    places_[kept++] = places_[i];
  }
  heads_.resize(kept);
  places_.resize(kept);
}

// Of spans with one id the last in order ends last, and is kept.
void TraceScan::DropDuplicates() {
  KeepIf([this](size_t i) {
    if (i + 1 == heads_.size() || heads_[i].key.span != heads_[i + 1].key.span) return true;
    const bool same = heads_[i].start == heads_[i + 1].start && heads_[i].end() == heads_[i + 1].end();
    ++(same ? left_out_.duplicates : left_out_.conflicting);
    return false;
  });
}

void TraceScan::DropImpossible() {
  WallTime first = WallTime::max(), last = WallTime::min();
  KeepIf([&](size_t i) {
    const SpanHead& head = heads_[i];
    if (head.end() < head.start) {
      ++(head.end() == WallTime{} ? left_out_.unended : left_out_.impossible);
      return false;
    }
    first = std::min(first, head.start);
    last = std::max(last, head.end());
    return true;
  });
  if (heads_.empty() || last - first <= kTraceLongest) return;
  left_out_.impossible += heads_.size();
  heads_.clear();
  places_.clear();
}

std::optional<size_t> TraceScan::Find(uint64_t span) const {
  const auto found = std::lower_bound(heads_.begin(), heads_.end(), span,
                                      [](const SpanHead& head, uint64_t wanted) { return head.key.span < wanted; });
  if (found == heads_.end() || found->key.span != span) return std::nullopt;
  return static_cast<size_t>(found - heads_.begin());
}

}  // namespace hopgap::trace
