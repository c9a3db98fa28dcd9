#pragma once

#include <absl/status/statusor.h>

#include <variant>

#include "broker/records.h"
#include "pubsub/bytes.h"

namespace hopgap::broker {

// The journal's records. Each is one tagged-varint message, so that a field may
// be added (an older reader skips it); a record type that the reader does not
// know is an error, as it would rebuild a wrong state.
using Record = std::variant<TopicCreated, TopicDeleted, SubscriptionCreated, SubscriptionDeleted, Published, Acked,
                            Redelivered, SendBoundRaised, LeaseCeilingRaised, Nacked, LeaseLength, CleanStop,
                            TopicUpdated, SubscriptionUpdated, SubscriptionDetached, SnapshotCreated, SnapshotUpdated,
                            SnapshotDeleted, DeliveriesFailed, Sought, RetentionPassed>;

// Message bodies are slices of their own: nothing is copied.
pubsub::Slices EncodeRecord(const Record& record);
// DataLoss, saying what is wrong, for malformed bytes and unknown record types.
// Decoded messages share the ownership of `wire`.
absl::StatusOr<Record> DecodeRecord(pubsub::Bytes wire);

}  // namespace hopgap::broker
