#include "broker/durability.h"

#include "base/check.h"

namespace hopgap::broker {

void Durability::OnStored(const std::vector<StoredRecord>& records) {
  for (const StoredRecord& stored : records) {
    if (KindOf(stored.bytes.view()) == RecordKind::kPublished) {
      absl::StatusOr<Record> record = DecodeRecord(stored.bytes);
      HOPGAP_CHECK(record.ok(), "the journal gave back another record than it was given");
      auto& published = std::get<Published>(*record);
      Topic* topic = catalog_.FindTopic(published.topic);
      for (size_t i = 0; topic != nullptr && i < published.messages.size(); ++i) {
        const Place place = PlaceOf(stored, published.messages[i]);
        topic->log.MoveToStore(published.first + i, std::move(published.messages[i]), place);
      }
    } else {
      absl::StatusOr<CheckpointRecord> record = DecodeCheckpointRecord(stored.bytes);
      HOPGAP_CHECK(record.ok(), "the journal gave back another record than it was given");
      auto& copied = std::get<BodiesCopied>(*record);
      Topic* topic = catalog_.FindTopic(copied.topic);
      for (size_t i = 0; topic != nullptr && i < copied.items.size(); ++i) {
        const Place place = PlaceOf(stored, copied.items[i].message);
        topic->log.MoveToStore(copied.items[i].sequence, std::move(copied.items[i].message), place);
      }
    }
  }
}

void Durability::StartCheckpoint(CheckpointPlan plan, Actions& out) {
  HOPGAP_CHECK(checkpoint_ == nullptr, "a checkpoint inside another");
  if (stopping_) return;
  checkpoint_ = std::make_unique<CheckpointWriter>(catalog_, next_message_id_, std::move(plan),
                                                   options_.checkpoint_messages_per_slice);
  Persist(checkpoint_->Begin(), out);
}

// A slice waits for the one before it: that is what bounds how much of a
// checkpoint is on its way, and lets others between.
void Durability::Persist(CheckpointWriter::Records records, Actions& out) {
  commits_.PersistEncoded(
      std::move(records),
      [this](Instant, Actions& then) {
        if (checkpoint_->done() || stopping_) {
          checkpoint_.reset();  // nothing comes behind the leases of a clean stop
        } else {
          Persist(checkpoint_->Next(), then);
        }
      },
      out);
}

}  // namespace hopgap::broker
