#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

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
    Duration claimed{0};
    if (from >= to) return claimed;
    for (size_t i = pieces_.size(); i-- > 0;) {
      const Piece piece = pieces_[i];
      const WallTime start = std::clamp(from, piece.from, piece.to);
      const WallTime end = std::clamp(to, piece.from, piece.to);
      claimed += end - start;
      pieces_[i] = {piece.from, start};
      if (end < piece.to) pieces_.push_back({end, piece.to});  // behind i: not met again
    }
    return claimed;
  }

 private:
  struct Piece {
    WallTime from, to;  // may be empty
  };
  std::vector<Piece> pieces_;
};

}  // namespace hopgap::trace
