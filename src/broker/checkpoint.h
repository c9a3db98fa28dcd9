#pragma once

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "broker/catalog.h"
#include "broker/checkpoint_record.h"

namespace hopgap::broker {

// Writes the whole state as records. Begin() takes all that has to be true at
// one point: resources, bounds and what is acknowledged, which takes as long as
// there are resources and holes in the finished sequences. Next() takes a
// slice of the rest, a bounded number of messages at a time.
//
// What is written is the state that the records emitted so far lead to, also
// those that are not durable yet: a replay reads them first.
class CheckpointWriter {
 public:
  static constexpr size_t kCopiedBytesPerSlice = 512 << 10;
  static constexpr size_t kRangesPerRecord = 50'000;

  // The catalog outlives it; resources may come and go meanwhile.
  CheckpointWriter(Catalog& catalog, uint64_t next_message_id, CheckpointPlan plan, size_t messages_per_slice);

  using Records = std::vector<pubsub::Slices>;
  // Once, first.
  Records Begin();
  // Never empty; the last one holds CheckpointEnded.
  Records Next();
  bool done() const { return done_; }

 private:
  enum class Part { kBodies, kDeliveries };
  // Where Next() goes on: in one topic or subscription, at a sequence.
  struct Cursor {
    size_t index = 0;
    Sequence sequence = 0;
  };
  bool NextBodies(Records& out);
  bool NextDeliveries(Records& out);

  Catalog& catalog_;
  const uint64_t next_message_id_;
  const CheckpointPlan plan_;
  const size_t messages_per_slice_;
  std::vector<std::pair<Incarnation, Sequence>> topics_;         // and where each ended at Begin()
  std::vector<std::pair<Incarnation, Sequence>> subscriptions_;  // and where their topics did
  Part part_ = Part::kBodies;
  Cursor cursor_;
  std::set<uint64_t> segments_;  // that its bodies lie in
  bool done_ = false;
};

// Rebuilds the state from the records of one checkpoint, between which ordinary
// records come. Every refusal is DataLoss.
class CheckpointLoader {
 public:
  explicit CheckpointLoader(Catalog& catalog) : catalog_(catalog) {}

  absl::Status Apply(const StoredRecord& stored, const FindBody& find);
  bool complete() const { return complete_; }

 private:
  absl::Status Load(TopicPart record);
  absl::Status Load(SubscriptionPart record);
  absl::Status Load(SnapshotPart record);
  absl::Status Load(const SequenceSet& record);
  absl::Status LoadFinished(Subscription& subscription, const SequenceSet& record);
  absl::Status Load(const DeliveryStates& record);
  absl::Status Load(const BodiesStored& record, const FindBody& find);
  absl::Status Load(BodiesCopied record, const StoredRecord& stored);
  absl::Status LoadBody(Topic& topic, Sequence sequence, pubsub::Message message, const Place& place);
  absl::Status Finish();

  Catalog& catalog_;
  bool complete_ = false;
};

// Where a body lies that is a part of a stored record; nowhere if that is in memory.
Place PlaceOf(const StoredRecord& stored, const pubsub::Message& message);

// Makes what is known of a message that was accepted as so many-th of its topic.
// DataLoss if its id is no number.
absl::StatusOr<LoggedMessage> Logged(pubsub::Message message, const Catalog& catalog, const Topic& topic,
                                     uint64_t arrival);

}  // namespace hopgap::broker
