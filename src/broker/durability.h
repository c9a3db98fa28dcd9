#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "broker/broker.h"
#include "broker/catalog.h"
#include "broker/checkpoint.h"
#include "broker/commits.h"

namespace hopgap::broker {

// What the broker does for its journal: bodies move into it, checkpoints go to
// it, and publishes are held back while its disk is full.
class Durability {
 public:
  // All outlive it. `stopping`: nothing may come behind the leases of a clean stop.
  Durability(const Broker::Options& options, Catalog& catalog, Commits& commits, const uint64_t& next_message_id,
             const bool& stopping)
      : options_(options),
        catalog_(catalog),
        commits_(commits),
        next_message_id_(next_message_id),
        stopping_(stopping) {}

  void OnStored(const std::vector<StoredRecord>& records);
  // Requires: !checkpointing().
  void StartCheckpoint(CheckpointPlan plan, Actions& out);
  bool checkpointing() const { return checkpoint_ != nullptr; }
  void SetPublishRoom(uint64_t bytes) { publish_room_ = bytes; }
  const LiveBytes& live_bytes() const { return catalog_.live_bytes(); }
  uint64_t publish_room() const { return publish_room_; }

 private:
  void Persist(CheckpointWriter::Records records, Actions& out);

  const Broker::Options& options_;
  Catalog& catalog_;
  Commits& commits_;
  const uint64_t& next_message_id_;
  const bool& stopping_;
  std::unique_ptr<CheckpointWriter> checkpoint_;
  uint64_t publish_room_ = Journal::kUnlimited;
};

}  // namespace hopgap::broker
