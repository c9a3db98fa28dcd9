#include "store/checkpoint_policy.h"

#include <algorithm>

namespace hopgap::store {
namespace {

constexpr uint64_t kSparsePart = 4;    // less than one of so many parts is live
constexpr uint64_t kUsePerLive = 2;    // bytes on the disk for each that is live
constexpr uint64_t kTailSegments = 4;  // read at a start, at least
constexpr uint64_t kTailPerCheckpoint = 8;

}  // namespace

std::optional<broker::CheckpointPlan> PlanCheckpoint(const Log::State& state, bool disk_full,
                                                     const broker::LiveBytes& live) {
  struct Sparse {
    uint64_t live = 0, number = 0;
    auto operator<=>(const Sparse&) const = default;
  };
  const uint64_t used = state.sealed.size() * state.segment_bytes;
  const bool too_much = used > kUsePerLive * live.total();
  const bool long_tail = state.since_checkpoint >
                         std::max(kTailSegments * state.segment_bytes, kTailPerCheckpoint * state.checkpoint_bytes);
  if (state.sealed.empty() || (!too_much && !long_tail && !disk_full)) return std::nullopt;

  std::vector<Sparse> segments;
  for (const uint64_t number : state.sealed) segments.push_back({live.Of(number), number});
  std::sort(segments.begin(), segments.end());
  broker::CheckpointPlan plan;
  uint64_t copied = 0, kept = used;
  bool frees = false;
  for (const Sparse& segment : segments) {
    const bool sparse = segment.live * kSparsePart < state.segment_bytes;
    if (!sparse && (kept <= kUsePerLive * live.total() || segment.live * kUsePerLive > state.segment_bytes)) break;
    copied += segment.live;
    // Half of the room is for the rest of the checkpoint and for acks.
    if (disk_full && copied > state.room / 2) break;
    frees = true;
    kept -= std::min(kept, state.segment_bytes);
    if (segment.live > 0) plan.copy_forward.push_back(segment.number);
  }
  if (!frees && !long_tail) return std::nullopt;
  if (!frees && disk_full) return std::nullopt;
  std::sort(plan.copy_forward.begin(), plan.copy_forward.end());
  return plan;
}

}  // namespace hopgap::store
