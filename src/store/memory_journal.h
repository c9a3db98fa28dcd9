#pragma once

#include <vector>

#include "broker/journal.h"

namespace hopgap::store {

// The journal of `--memory`, and of an embedded broker: the same path as with a
// disk, but it forgets. A group is "durable" as soon as it is given. A test may
// have it keep what it was given, in order, to replay any part of it.
//
// `done` runs inside Append(), on the caller's thread: the caller posts from it
// and does not call back into the broker there. Not thread-safe.
class MemoryJournal final : public broker::Journal {
 public:
  enum class Keep { kNothing, kRecords };
  explicit MemoryJournal(Keep keep = Keep::kNothing) : keep_(keep) {}

  void Append(broker::PersistToken token, std::vector<pubsub::Slices> records, bool awaited, Done done) override;

  // What was kept, each record joined to one piece.
  const std::vector<pubsub::Bytes>& records() const { return records_; }
  uint64_t groups() const { return groups_; }

 private:
  const Keep keep_;
  std::vector<pubsub::Bytes> records_;
  uint64_t groups_ = 0;
};

}  // namespace hopgap::store
