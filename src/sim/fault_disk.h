#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "broker/broker.h"
#include "sim/dice.h"

namespace hopgap::sim {

// A journal over a disk that forgets what was not synced. Groups gather while a
// sync runs, and the next sync takes all of them; a lazy group waits for an
// awaited one. A crash keeps what was synced, and of the rest any prefix: what
// was written may have reached the disk, and the last record is then torn.
class FaultDisk {
 public:
  explicit FaultDisk(uint64_t seed) : dice_(seed, 77) {}

  void Append(broker::PersistToken token, const std::vector<pubsub::Slices>& records, bool awaited) {
    Group group{.token = token, .awaited = awaited, .records = {}};
    for (const pubsub::Slices& record : records) group.records.emplace_back(pubsub::Join(record));
    unsynced_.push_back(std::move(group));
  }

  bool syncing() const { return syncing_ > 0; }
  bool wants_sync() const {
    if (syncing()) return false;
    for (const Group& group : unsynced_) {
      if (group.awaited) return true;
    }
    return false;
  }
  void StartSync() { syncing_ = unsynced_.size(); }
  // Returns the last token that is durable now. Requires: syncing().
  broker::PersistToken FinishSync() {
    broker::PersistToken last = 0;
    for (; syncing_ > 0; --syncing_) {
      Group& group = unsynced_.front();
      last = group.token;
      for (pubsub::Bytes& record : group.records) durable_.push_back(std::move(record));
      unsynced_.pop_front();
    }
    return last;
  }

  // The process ended. What is durable then is what a restart replays.
  void Crash() {
    size_t written = 0;
    for (const Group& group : unsynced_) written += group.records.size();
    size_t kept = dice_.Below(written + 1);
    for (Group& group : unsynced_) {
      for (pubsub::Bytes& record : group.records) {
        if (kept == 0) break;
        durable_.push_back(std::move(record));
        --kept;
      }
    }
    unsynced_.clear();
    syncing_ = 0;
  }

  const std::vector<pubsub::Bytes>& records() const { return durable_; }

 private:
  struct Group {
    broker::PersistToken token;
    bool awaited;
    std::vector<pubsub::Bytes> records;
  };
  Dice dice_;
  std::vector<pubsub::Bytes> durable_;
  std::deque<Group> unsynced_;
  size_t syncing_ = 0;
};

}  // namespace hopgap::sim
