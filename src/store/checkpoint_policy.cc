#include "store/checkpoint_policy.h"

#include <algorithm>

namespace hopgap::store {
namespace {

constexpr uint64_t kSparsePart = 4;    // less than one of so many parts is live
constexpr uint64_t kUsePerLive = 2;    // bytes on the disk for each that is live, or of the newest checkpoint
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
  // The next checkpoint is about as large as the newest one. Uncounted, one that fills a segment would be reason
  // enough for another, for ever.
  const uint64_t enough = kUsePerLive * (live.total() + state.checkpoint_parts_bytes);
  const bool too_much = used > enough;
  const bool long_tail = state.since_checkpoint >
                         std::max(kTailSegments * state.segment_bytes, kTailPerCheckpoint * state.checkpoint_bytes);
  if (state.sealed.empty() || (!too_much && !long_tail && !disk_full)) return std::nullopt;

  std::vector<Sparse> segments;
  for (const uint64_t number : state.sealed) segments.push_back({live.Of(number), number});
  std::sort(segments.begin(), segments.end());
  broker::CheckpointPlan plan;
  uint64_t copied = 0, kept = used;
  uint64_t freed = 0;
  for (const Sparse& segment : segments) {
    const bool sparse = segment.live * kSparsePart < state.segment_bytes;
    if (!sparse && (kept <= enough || segment.live * kUsePerLive > state.segment_bytes)) break;
    copied += segment.live;
    // Half of the room is for the rest of the checkpoint and for acks.
    if (disk_full && copied > state.room / 2) break;
    freed += state.segment_bytes;
    kept -= std::min(kept, state.segment_bytes);
    if (segment.live > 0) plan.copy_forward.push_back(segment.number);
  }
  if (freed == 0 && (!long_tail || disk_full)) return std::nullopt;
  // On a full disk it has to win more than it takes, and than what it makes of the one before.
  if (disk_full && freed <= copied + kUsePerLive * state.checkpoint_parts_bytes) return std::nullopt;
  std::sort(plan.copy_forward.begin(), plan.copy_forward.end());
  return plan;
}

}  // namespace hopgap::store
