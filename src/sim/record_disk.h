#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "sim/dice.h"
#include "sim/disk.h"

namespace hopgap::sim {

// A journal that loses records, not bytes, and costs next to nothing. Groups
// gather while a sync runs, and the next sync takes all of them; a lazy group
// waits for an awaited one. A crash keeps what was synced, and of the rest any
// prefix: what was written may have reached the disk, and the last record is
// then torn.
class RecordDisk final : public Disk {
 public:
  explicit RecordDisk(uint64_t seed) : dice_(seed, 77) {}

  absl::Status Replay(broker::Broker& broker) override {
    for (const pubsub::Bytes& record : durable_) {
      if (absl::Status replayed = broker.Replay(record); !replayed.ok()) return replayed;
    }
    return absl::OkStatus();
  }

  void Append(broker::Action& action) override {
    Group group{.token = action.token, .awaited = action.awaited, .records = {}};
    for (const pubsub::Slices& record : action.records) group.records.emplace_back(pubsub::Join(record));
    unsynced_.push_back(std::move(group));
  }

  bool wants_sync() const override {
    if (syncing()) return false;
    for (const Group& group : unsynced_) {
      if (group.awaited) return true;
    }
    return false;
  }
  void StartSync() override {
    syncing_ = true;
    under_way_ = unsynced_.size();
  }
  bool FinishSync(Instant now, bool fails, broker::Broker& broker, broker::Actions& out) override {
    if (fails) return false;
    broker::PersistToken last = 0;
    for (syncing_ = false; under_way_ > 0; --under_way_) {
      Group& group = unsynced_.front();
      last = group.token;
      for (pubsub::Bytes& record : group.records) durable_.push_back(std::move(record));
      unsynced_.pop_front();
    }
    broker.OnPersisted(now, last, out);
    return true;
  }

  void Crash() override {
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
    under_way_ = 0;
    syncing_ = false;
  }

 private:
  struct Group {
    broker::PersistToken token;
    bool awaited;
    std::vector<pubsub::Bytes> records;
  };
  Dice dice_;
  std::vector<pubsub::Bytes> durable_;
  std::deque<Group> unsynced_;
  size_t under_way_ = 0;
};

}  // namespace hopgap::sim
