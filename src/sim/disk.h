#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>

#include "base/time.h"
#include "broker/broker.h"
#include "store/planted.h"

namespace hopgap::sim {

// The fault world's journal: keeps groups of records over a disk that fails. The
// world says when a sync begins and when it is done; the disk survives the processes.
class Disk {
 public:
  virtual ~Disk() = default;

  // A process begins: what is on the disk goes into `broker`. An error of a disk
  // that died on the way is no broken promise: see died().
  virtual absl::Status Replay(broker::Broker& broker) = 0;
  virtual void Append(broker::Action& action) = 0;

  bool syncing() const { return syncing_; }
  virtual bool wants_sync() const = 0;  // somebody waits, and none runs
  virtual void StartSync() { syncing_ = true; }
  // What is durable now is told to `broker`. False if it failed, as asked for by
  // `fails` or because the disk died or is full: the process ends.
  virtual bool FinishSync(Instant now, bool fails, broker::Broker& broker, broker::Actions& out) = 0;
  virtual uint64_t PublishRoom() const { return broker::Journal::kUnlimited; }

  // The process ended; what was not synced is lost, or not, or in part.
  virtual void Crash() = 0;
  // Faults begin, if the plan has any.
  virtual void StartFaults() {}
  // Faults have stopped: the disk does not die any more, and has room.
  virtual void CalmDown() {}
  virtual bool died() const { return false; }  // by a fault of the plan, since the last Crash()
  virtual absl::Status failure() const { return absl::OkStatus(); }

 protected:
  bool syncing_ = false;
};

struct StorePlan {
  bool on = false;  // the real journal of store/, over files that lose bytes
  uint64_t segment_bytes = 0;
  uint64_t bytes_max = 0;  // of the disk, while faults last
  uint64_t dies = 0;       // per 10,000 operations: power is lost in the middle of one
  store::Planted planted = store::Planted::kNone;
};

std::unique_ptr<Disk> MakeStoreDisk(uint64_t seed, const StorePlan& plan, HashKey key);

}  // namespace hopgap::sim
