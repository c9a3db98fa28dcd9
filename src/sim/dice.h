#pragma once

#include <cstdint>

#include "base/draw.h"
#include "base/time.h"

namespace hopgap::sim {

// One actor's luck: its draws are a function of (seed, actor, how many came
// before), so that what one actor draws never moves another's.
class Dice {
 public:
  Dice(uint64_t seed, uint64_t actor) : key_(Mix(seed, actor, 0x6661756c7473)) {}

  uint64_t Next() { return Mix(key_, ++drawn_); }
  // Of [0, size). Requires: size > 0.
  uint64_t Below(uint64_t size) { return Next() % size; }
  // Of [low, high], both included.
  uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }
  bool Chance(uint64_t permille) { return permille > 0 && Below(1000) < permille; }
  // Of [low, high], even on a logarithmic scale: the short and the long are both
  // drawn often. Requires: 0 < low <= high.
  Duration Between(Duration low, Duration high) {
    uint64_t octaves = 0;
    while (octaves < 62 && (low.count() << (octaves + 1)) <= high.count()) ++octaves;
    const auto base = static_cast<uint64_t>(low.count()) << Below(octaves + 1);
    const auto drawn = static_cast<int64_t>(base + Below(base));
    return Duration{drawn < high.count() ? drawn : high.count()};
  }

 private:
  uint64_t key_;
  uint64_t drawn_ = 0;
};

}  // namespace hopgap::sim
