#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "broker/live_bytes.h"
#include "pubsub/bytes.h"

namespace hopgap::broker {

// Names one group of records that is on its way to the journal; rises by one.
using PersistToken = uint64_t;

// Where bytes lie in the journal. A segment's number is never used twice.
struct Place {
  uint64_t segment = 0;  // 0: nowhere; they are in memory only
  uint32_t frame = 0;    // where in the segment the record's frame begins
  uint32_t offset = 0;   // of the bytes inside the record
  friend auto operator<=>(const Place&, const Place&) = default;
};

// A record as the journal holds it. The bytes are read from the disk's cache
// when they are looked at, and keep the segment that they lie in.
struct StoredRecord {
  pubsub::Bytes bytes;
  Place place;
};

using FindBody = std::function<absl::StatusOr<pubsub::Bytes>(const Place& place, uint32_t length)>;

// What the next checkpoint does for the journal besides shortening the replay:
// bodies that lie in these segments (in order) are written again, after which
// nothing needs the segments any more.
struct CheckpointPlan {
  std::vector<uint64_t> copy_forward;
};

// The one durable thing. The broker emits groups of records (an action of kind
// kPersist); the adapter appends them here and tells the broker, on its strand,
// when a group is down. Groups become durable in the order in which they were
// appended. Implemented in `store`.
class Journal {
 public:
  // The stored form of the group's records that hold message bodies, if the
  // journal keeps them where they can be read.
  using Done = std::function<void(PersistToken token, std::vector<StoredRecord> stored)>;
  static constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

  virtual ~Journal() = default;

  // `awaited`: an answer waits for it; a lazy group may ride with the next.
  // `done` is called exactly once, from any thread, when the group and all
  // before it are durable; of two groups, in any order.
  virtual void Append(PersistToken token, std::vector<pubsub::Slices> records, bool awaited, Done done) = 0;

  // Once, before the first Append(): what an earlier process left, from the
  // newest complete checkpoint on. Stops at the first error of `visit`. DataLoss,
  // naming file and offset, for a journal that was damaged.
  virtual absl::Status Replay(const std::function<absl::Status(const StoredRecord&, const FindBody&)>& /*visit*/) {
    return absl::OkStatus();
  }

  // After a group is down: whether the broker should write a checkpoint now.
  // `live` is what it still needs of the segments.
  virtual std::optional<CheckpointPlan> NextCheckpoint(const LiveBytes& /*live*/) { return std::nullopt; }

  // How many bytes of messages may be published: limited while the disk is full,
  // so that acks, deletions and checkpoints still find room.
  virtual uint64_t PublishRoom() const { return kUnlimited; }
};

}  // namespace hopgap::broker
