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

// Of spans with one id, [first, end), the one to keep: of those that end last and
// then start last the one with the most in it, whatever the order in the files was.
size_t TraceScan::FullestOf(size_t first, size_t end) {
  size_t best = end - 1;
  for (size_t i = first; i + 1 < end; ++i) {
    if (heads_[i].end() != heads_[best].end() || heads_[i].start != heads_[best].start) continue;
    const std::string_view one = BytesOf(i), other = BytesOf(best);
    if (one.size() > other.size() || (one.size() == other.size() && one > other)) best = i;
  }
  return best;
}

void TraceScan::DropDuplicates() {
  size_t first = 0, best = 0;
  KeepIf([&](size_t i) {
    if (i >= first) {
      size_t end = i + 1;
      while (end < heads_.size() && heads_[end].key.span == heads_[i].key.span) ++end;
      best = FullestOf(i, end);
      for (size_t one = i; one + 1 < end; ++one) {
        const bool times = heads_[one].start == heads_[one + 1].start && heads_[one].end() == heads_[one + 1].end();
        const bool alike = BytesOf(one) == BytesOf(one + 1);
        ++(!times ? left_out_.conflicting : alike ? left_out_.duplicates : left_out_.differing);
      }
      first = end;
    }
    return i == best;
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
  left_out_.overlong += heads_.size();
  ++left_out_.overlong_traces;
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
