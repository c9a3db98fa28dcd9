#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "broker/catalog.h"
#include "broker/checkpoint.h"
#include "broker/journal_record.h"

namespace hopgap::broker {

// Rebuilds the state from the journal, one record after the other. Every record
// is a step that was decided before; what is in none (standard leases, added
// delays) is forgotten.
class Replayer {
 public:
  // Both outlive it. `next_message_id` is kept above every id that is met.
  Replayer(Catalog& catalog, uint64_t& next_message_id) : catalog_(catalog), next_message_id_(next_message_id) {}

  // DataLoss for a record that cannot be read, or does not fit what came before.
  // A checkpoint that is not at the very beginning adds nothing.
  absl::Status Apply(const StoredRecord& stored, const FindBody& find);
  // The journal has ended: every unacked message gets its place. DataLoss if it
  // ended inside the checkpoint that it began with.
  absl::Status Done(Instant now);

 private:
  absl::Status ApplyOrdinary(const StoredRecord& stored);
  absl::Status Apply(TopicCreated& record);
  absl::Status Apply(TopicDeleted& record);
  absl::Status Apply(SubscriptionCreated& record);
  absl::Status Apply(SubscriptionDeleted& record);
  absl::Status Apply(Published& record);
  absl::Status Apply(Acked& record);
  absl::Status Apply(Redelivered& record);
  absl::Status Apply(SendBoundRaised& record);
  absl::Status Apply(LeaseCeilingRaised& record);
  absl::Status Apply(Nacked& record);
  absl::Status Apply(LeaseLength& record);
  absl::Status Apply(CleanStop& record);
  absl::Status Apply(TopicUpdated& record);
  absl::Status Apply(SubscriptionUpdated& record);
  absl::Status Apply(SubscriptionDetached& record);
  absl::Status Apply(SnapshotCreated& record);
  absl::Status Apply(SnapshotUpdated& record);
  absl::Status Apply(SnapshotDeleted& record);
  absl::Status Apply(DeliveriesFailed& record);
  absl::Status Apply(Sought& record);
  absl::Status Apply(RetentionPassed& record);
  absl::StatusOr<Subscription*> Find(Incarnation subscription);
  void VoidCleanStop() {
    if (catalog_.planted() != Planted::kCleanStopNeverVoid) clean_stop_.reset();
  }

  Catalog& catalog_;
  uint64_t& next_message_id_;
  std::optional<CheckpointLoader> loader_;  // if the first record began a checkpoint, until it is complete
  uint64_t records_ = 0;
  const StoredRecord* stored_ = nullptr;  // the record being applied
  std::optional<CleanStop> clean_stop_;   // the last records put together, if they are of that kind
};

}  // namespace hopgap::broker
