#pragma once

#include <absl/status/statusor.h>

#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "broker/journal.h"
#include "broker/journal_record.h"

namespace hopgap::broker {

// A checkpoint is the whole state as records, in the journal like any other.
// CheckpointBegan and the resources that follow it in one group are the state at
// that point. What is too long for one group comes in slices, between ordinary
// records, each true at its own point: where bodies lie, generations, failures.
// CheckpointEnded makes it complete. A replay begins at the newest complete one.
struct CheckpointBegan {
  Incarnation last_incarnation = 0;
  uint64_t next_message_id = 0;
};
struct TopicPart {
  Incarnation topic = 0;
  Sequence next = 0;
  bool deleted = false;    // by name; a subscription or snapshot keeps it
  Sequence kept_from = 0;  // all from here on it keeps by its own retention; `next`: none
  pubsub::Topic value;
};
struct SubscriptionPart {
  Incarnation subscription = 0;
  Incarnation topic = 0;
  Sequence first = 0;
  Sequence send_bound = 0;
  Duration lease_ceiling{0};
  pubsub::Subscription value;
};
// As it was made, with what was changed since.
struct SnapshotPart {
  Incarnation snapshot = 0;
  Incarnation topic = 0;
  Sequence next = 0;
  std::vector<SequenceRange> unacked;
  pubsub::Snapshot value;
};
// Of the sequences in [from, to) of a subscription, those in `ranges` are what
// `which` says and the others are not. Of kFinished the first record begins at 0
// (a seek brings also what was published before the subscription), each at the end
// of the one before, and the last ends at the topic's next; a detached one has none.
struct SequenceSet {
  enum class Which : uint8_t {
    kFinished,
    kEnded,  // ... without an ack
    kKept,   // ... and still held, to be sought
  };
  Incarnation subscription = 0;
  Which which = Which::kFinished;
  Sequence from = 0, to = 0;
  std::vector<SequenceRange> ranges;  // rising, apart from each other
};
// What more is known of the messages of a subscription in [from, to), finished or
// not: these, and of all others in there nothing.
struct DeliveryStates {
  struct Item {
    Sequence sequence = 0;
    Generation generation = 0;  // the newest that is committed, or on its way
    Generation nacked = 0;
    uint32_t failures = 0;
    Generation failed = 0;  // of Returned; 0, too, if the checkpoint is older than this field
  };
  Incarnation subscription = 0;
  Sequence from = 0, to = 0;
  std::vector<Item> items;  // rising
};
// Where the bodies of messages that are not finished lie.
struct BodiesStored {
  struct Item {
    Sequence sequence = 0;
    Place place;
    uint32_t length = 0;
  };
  Incarnation topic = 0;
  std::vector<Item> items;
};
// Bodies that lay in memory, or in a segment that is to be left.
struct BodiesCopied {
  struct Item {
    Sequence sequence = 0;
    pubsub::Message message;
  };
  Incarnation topic = 0;
  std::vector<Item> items;
};
struct CheckpointEnded {
  std::vector<uint64_t> segments;  // those in which its bodies lie, in order
};

using CheckpointRecord = std::variant<CheckpointBegan, TopicPart, SubscriptionPart, SnapshotPart, SequenceSet,
                                      DeliveryStates, BodiesStored, BodiesCopied, CheckpointEnded>;

pubsub::Slices EncodeCheckpointRecord(const CheckpointRecord& record);
// DataLoss, saying what is wrong. Copied bodies share the ownership of `wire`.
absl::StatusOr<CheckpointRecord> DecodeCheckpointRecord(const pubsub::Bytes& wire);

// What a record is, by its first bytes: what the journal and the replay need to
// know without decoding it.
enum class RecordKind : uint8_t {
  kOrdinary,
  kPublished,  // ordinary, and holds bodies
  kCheckpointBegan,
  kCheckpointPart,
  kBodiesCopied,  // a part that holds bodies
  kCheckpointEnded,
};
RecordKind KindOf(std::string_view record);

}  // namespace hopgap::broker
