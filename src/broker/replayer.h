#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "broker/catalog.h"
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
  absl::Status Apply(const pubsub::Bytes& wire);
  // The journal has ended: every unacked message gets its place.
  void Done(Instant now);

 private:
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

  Catalog& catalog_;
  uint64_t& next_message_id_;
  std::optional<std::vector<CleanStop::Lease>> clean_stop_;  // the last record, if it is one
};

}  // namespace hopgap::broker
