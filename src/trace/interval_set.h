#pragma once

#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "base/time.h"

namespace hopgap::trace {

// What of a stretch of time nobody has claimed yet. Claims may overlap each
// other and the ends: each gets what is left, so that their lengths, none of
// them negative, never add up to more than the whole. A stretch that ends
// before it starts is empty.
class Unclaimed {
 public:
  Unclaimed(WallTime from, WallTime to) {
    if (from < to) pieces_.push_back({from, to});
  }

  // Takes what is left of [from, to); returns its length.
  Duration Claim(WallTime from, WallTime to) {
    if (from >= to) return Duration{0};
    Duration claimed{0};
    Pieces left;
    for (const Piece& piece : pieces_) {
      const WallTime start = std::clamp(from, piece.from, piece.to);
      const WallTime end = std::clamp(to, piece.from, piece.to);
      claimed += end - start;
      if (piece.from < start) left.push_back({piece.from, start});
      if (end < piece.to) left.push_back({end, piece.to});
    }
    pieces_ = std::move(left);
    return claimed;
  }

 private:
  struct Piece {
    WallTime from, to;
  };
  using Pieces = absl::InlinedVector<Piece, 4>;
  Pieces pieces_;
};

}  // namespace hopgap::trace
