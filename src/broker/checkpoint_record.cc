#include "broker/checkpoint_record.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/text.h"
#include "pubsub/wire.h"

namespace hopgap::broker {
namespace {
// Apart from journal_record.cc, which reads and writes its records the same way.
namespace checkpoint_wire {

using pubsub::Bytes;
using pubsub::Slices;
using pubsub::WireField;
using pubsub::WireReader;
using pubsub::WireType;
using pubsub::WireWriter;

// Field 1 of every record in the journal is its type. Ordinary ones count from
// 1 (journal_record.cc); these begin here.
constexpr uint64_t kPublishedType = 5;
constexpr uint64_t kFirstType = 64;
enum class Type : uint64_t {
  kBegan = kFirstType,
  kTopic,
  kSubscription,
  kSnapshot,
  kSequenceSet,
  kDeliveryStates,
  kBodiesStored,
  kBodiesCopied,
  kEnded,
};

constexpr uint32_t kType = 1;
constexpr uint32_t kOwner = 2;
constexpr uint32_t kValue = 3;   // a resource, or a message (repeated)
constexpr uint32_t kPacked = 4;  // varints, one item after the other
constexpr uint32_t kTopicOf = 5;
constexpr uint32_t kFirst = 6;  // or next, or from
constexpr uint32_t kLast = 7;   // or to, bound, id
constexpr uint32_t kCeiling = 8;
constexpr uint32_t kDeleted = 9;
constexpr uint32_t kKeptFrom = 10;
constexpr uint32_t kWhich = 11;
constexpr uint32_t kFailed = 12;  // varints, one for each item with failures

std::string Head(Type type, Incarnation owner) {
  std::string out;
  WireWriter writer(out);
  writer.Varint(kType, static_cast<uint64_t>(type));
  writer.Varint(kOwner, owner);
  return out;
}

Slices Whole(std::string text) { return Slices{Bytes(std::move(text))}; }

Slices WithPacked(std::string head, const std::string& packed) {
  WireWriter(head).Text(kPacked, packed);
  return Whole(std::move(head));
}

void Put(std::string& out, uint64_t value) { WireWriter::AppendVarint(out, value); }

// Bodies of neighbours mostly lie one behind the other, in one frame or in the
// next: what is as expected costs no bytes.
enum class Step : uint64_t { kSameFrame, kNextFrame, kOtherSegment };
constexpr uint64_t kSteps = 4;

std::string PackPlaces(const std::vector<BodiesStored::Item>& items) {
  std::string out;
  Sequence expected = 0;
  Place at;
  uint64_t end = 0;
  for (const BodiesStored::Item& item : items) {
    const bool same_segment = item.place.segment == at.segment;
    const bool ahead = same_segment && item.place.frame == at.frame && item.place.offset >= end;
    const Step step = ahead                                         ? Step::kSameFrame
                      : same_segment && item.place.frame > at.frame ? Step::kNextFrame
                                                                    : Step::kOtherSegment;
    Put(out, (item.sequence - expected) * kSteps + static_cast<uint64_t>(step));
    if (step == Step::kOtherSegment) Put(out, item.place.segment);
    if (step == Step::kOtherSegment) Put(out, item.place.frame);
    if (step == Step::kNextFrame) Put(out, item.place.frame - at.frame);
    Put(out, step == Step::kSameFrame ? item.place.offset - end : item.place.offset);
    Put(out, item.length);
    expected = item.sequence + 1;
    at = item.place;
    end = uint64_t{item.place.offset} + item.length;
  }
  return out;
}

std::string PackRanges(Sequence from, const std::vector<SequenceRange>& ranges) {
  std::string out;
  Sequence end = from;
  for (const SequenceRange& range : ranges) {
    Put(out, range.begin - end);
    Put(out, range.end - range.begin);
    end = range.end;
  }
  return out;
}

struct Encoder {
  Slices operator()(const CheckpointBegan& r) const {
    std::string out = Head(Type::kBegan, r.last_incarnation);
    WireWriter(out).Varint(kLast, r.next_message_id);
    return Whole(std::move(out));
  }
  Slices operator()(const TopicPart& r) const {
    std::string out = Head(Type::kTopic, r.topic);
    WireWriter writer(out);
    writer.Varint(kFirst, r.next);
    writer.Varint(kDeleted, r.deleted ? 1 : 0);
    writer.Varint(kKeptFrom, r.kept_from);
    writer.Text(kValue, pubsub::Encode(r.value));
    return Whole(std::move(out));
  }
  Slices operator()(const SubscriptionPart& r) const {
    std::string out = Head(Type::kSubscription, r.subscription);
    WireWriter writer(out);
    writer.Varint(kTopicOf, r.topic);
    writer.Varint(kFirst, r.first);
    writer.Varint(kLast, r.send_bound);
    writer.Signed(kCeiling, r.lease_ceiling.count());
    writer.Text(kValue, pubsub::Encode(r.value));
    return Whole(std::move(out));
  }
  Slices operator()(const SnapshotPart& r) const {
    std::string out = Head(Type::kSnapshot, r.snapshot);
    WireWriter writer(out);
    writer.Varint(kTopicOf, r.topic);
    writer.Varint(kLast, r.next);
    writer.Text(kValue, pubsub::Encode(r.value));
    return WithPacked(std::move(out), PackRanges(0, r.unacked));
  }
  Slices operator()(const SequenceSet& r) const {
    std::string out = Head(Type::kSequenceSet, r.subscription);
    WireWriter writer(out);
    writer.Varint(kFirst, r.from);
    writer.Varint(kLast, r.to);
    writer.Varint(kWhich, static_cast<uint64_t>(r.which));
    return WithPacked(std::move(out), PackRanges(r.from, r.ranges));
  }
  Slices operator()(const DeliveryStates& r) const {
    std::string out = Head(Type::kDeliveryStates, r.subscription);
    WireWriter writer(out);
    writer.Varint(kFirst, r.from);
    writer.Varint(kLast, r.to);
    std::string packed, failed;
    Sequence expected = r.from;
    for (const DeliveryStates::Item& item : r.items) {
      Put(packed, item.sequence - expected);
      Put(packed, item.generation);
      Put(packed, item.nacked);
      Put(packed, item.failures);
      if (item.failures > 0) Put(failed, item.failed);
      expected = item.sequence + 1;
    }
    if (!failed.empty()) writer.Text(kFailed, failed);
    return WithPacked(std::move(out), packed);
  }
  Slices operator()(const BodiesStored& r) const {
    return WithPacked(Head(Type::kBodiesStored, r.topic), PackPlaces(r.items));
  }
  Slices operator()(const BodiesCopied& r) const {
    std::string packed;
    Sequence expected = 0;
    for (const BodiesCopied::Item& item : r.items) {
      Put(packed, item.sequence - expected);
      expected = item.sequence + 1;
    }
    std::string text = Head(Type::kBodiesCopied, r.topic);
    WireWriter(text).Text(kPacked, packed);
    Slices slices;
    for (const BodiesCopied::Item& item : r.items) {
      WireWriter(text).Header(kValue, item.message.wire_size());
      slices.emplace_back(std::move(text));
      text.clear();
      item.message.VisitSlices([&](const Bytes& piece) { slices.push_back(piece); });
    }
    if (!text.empty()) slices.emplace_back(std::move(text));
    return slices;
  }
  Slices operator()(const CheckpointEnded& r) const {
    std::string packed;
    uint64_t before = 0;
    for (const uint64_t segment : r.segments) {
      Put(packed, segment - before);
      before = segment;
    }
    return WithPacked(Head(Type::kEnded, 0), packed);
  }
};

struct Fields {
  uint64_t type = 0, owner = 0, topic = 0, first = 0, last = 0, deleted = 0, kept_from = 0, which = 0;
  Duration ceiling{0};
  std::string_view packed;
  std::optional<std::string_view> failed;
  std::vector<std::string_view> values;
};

absl::StatusOr<Fields> ReadFields(std::string_view wire) {
  Fields fields;
  WireReader reader(wire);
  while (reader.Next()) {
    const WireField& field = reader.field();
    if (field.Is(kType, WireType::kVarint)) {
      if (fields.type != 0) return absl::DataLossError("checkpoint record: two types");
      fields.type = field.value;
    }
    if (field.Is(kOwner, WireType::kVarint)) fields.owner = field.value;
    if (field.Is(kTopicOf, WireType::kVarint)) fields.topic = field.value;
    if (field.Is(kFirst, WireType::kVarint)) fields.first = field.value;
    if (field.Is(kLast, WireType::kVarint)) fields.last = field.value;
    if (field.Is(kDeleted, WireType::kVarint)) fields.deleted = field.value;
    if (field.Is(kKeptFrom, WireType::kVarint)) fields.kept_from = field.value;
    if (field.Is(kWhich, WireType::kVarint)) fields.which = field.value;
    if (field.Is(kCeiling, WireType::kVarint)) fields.ceiling = Duration{field.AsSigned()};
    if (field.Is(kPacked, WireType::kBytes)) fields.packed = field.bytes;
    if (field.Is(kFailed, WireType::kBytes)) fields.failed = field.bytes;
    if (field.Is(kValue, WireType::kBytes)) fields.values.push_back(field.bytes);
  }
  if (!reader.ok()) return absl::DataLossError("checkpoint record: malformed bytes");
  return fields;
}

absl::Status Malformed(std::string_view what) { return absl::DataLossError(StrCat("checkpoint record: bad ", what)); }

// Varints one after the other; a number that is too large or cut off is remembered.
class Unpacker {
 public:
  explicit Unpacker(std::string_view packed) : rest_(packed) {}
  bool more() const { return good_ && !rest_.empty(); }
  bool good() const { return good_; }
  uint64_t Take() {
    uint64_t value = 0;
    good_ = good_ && pubsub::TakeVarint(rest_, value);
    return value;
  }
  uint32_t TakeSmall() {
    const uint64_t value = Take();
    good_ = good_ && value <= std::numeric_limits<uint32_t>::max();
    return static_cast<uint32_t>(value);
  }
  // The sum; false once it does not fit.
  uint64_t Add(uint64_t base, uint64_t step) {
    good_ = good_ && step <= std::numeric_limits<uint64_t>::max() - base;
    return base + step;
  }
  uint32_t AddSmall(uint64_t base, uint64_t step) {
    const uint64_t sum = Add(base, step);
    good_ = good_ && sum <= std::numeric_limits<uint32_t>::max();
    return static_cast<uint32_t>(sum);
  }
  void Refuse() { good_ = false; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

absl::StatusOr<CheckpointRecord> ReadTopic(const Fields& fields) {
  if (fields.values.size() != 1) return Malformed("topic");
  absl::StatusOr<pubsub::Topic> value = pubsub::DecodeTopic(fields.values[0]);
  if (!value.ok()) return Malformed(StrCat("topic: ", MessageOf(value.status())));
  return CheckpointRecord(TopicPart{.topic = fields.owner,
                                    .next = fields.first,
                                    .deleted = fields.deleted != 0,
                                    .kept_from = fields.kept_from,
                                    .value = *std::move(value)});
}

absl::StatusOr<CheckpointRecord> ReadSubscription(const Fields& fields) {
  if (fields.values.size() != 1) return Malformed("subscription");
  absl::StatusOr<pubsub::Subscription> value = pubsub::DecodeSubscription(fields.values[0]);
  if (!value.ok()) return Malformed(StrCat("subscription: ", MessageOf(value.status())));
  return CheckpointRecord(SubscriptionPart{.subscription = fields.owner,
                                           .topic = fields.topic,
                                           .first = fields.first,
                                           .send_bound = fields.last,
                                           .lease_ceiling = fields.ceiling,
                                           .value = *std::move(value)});
}

// Rising, apart from each other, in [from, to).
absl::StatusOr<std::vector<SequenceRange>> UnpackRanges(std::string_view packed, Sequence from, Sequence to) {
  std::vector<SequenceRange> ranges;
  Unpacker in(packed);
  for (Sequence end = from; in.more();) {
    const Sequence begin = in.Add(end, in.Take());
    end = in.Add(begin, in.Take());
    if (end <= begin || end > to) in.Refuse();
    ranges.push_back({begin, end});
  }
  if (!in.good() || from > to) return Malformed("ranges of messages");
  return ranges;
}

absl::StatusOr<CheckpointRecord> ReadSnapshot(const Fields& fields) {
  if (fields.values.size() != 1) return Malformed("snapshot");
  absl::StatusOr<pubsub::Snapshot> value = pubsub::DecodeSnapshot(fields.values[0]);
  if (!value.ok()) return Malformed(StrCat("snapshot: ", MessageOf(value.status())));
  absl::StatusOr<std::vector<SequenceRange>> unacked = UnpackRanges(fields.packed, 0, fields.last);
  if (!unacked.ok()) return unacked.status();
  return CheckpointRecord(SnapshotPart{.snapshot = fields.owner,
                                       .topic = fields.topic,
                                       .next = fields.last,
                                       .unacked = *std::move(unacked),
                                       .value = *std::move(value)});
}

absl::StatusOr<CheckpointRecord> ReadSequenceSet(const Fields& fields) {
  using Which = SequenceSet::Which;
  if (fields.which > static_cast<uint64_t>(Which::kKept)) return Malformed("kind of a set of messages");
  absl::StatusOr<std::vector<SequenceRange>> ranges = UnpackRanges(fields.packed, fields.first, fields.last);
  if (!ranges.ok()) return ranges.status();
  return CheckpointRecord(SequenceSet{.subscription = fields.owner,
                                      .which = static_cast<Which>(fields.which),
                                      .from = fields.first,
                                      .to = fields.last,
                                      .ranges = *std::move(ranges)});
}

absl::StatusOr<CheckpointRecord> ReadDeliveryStates(const Fields& fields) {
  DeliveryStates record{.subscription = fields.owner, .from = fields.first, .to = fields.last, .items = {}};
  Unpacker in(fields.packed), failed(fields.failed.value_or(""));
  for (Sequence expected = record.from; in.more();) {
    const Sequence sequence = in.Add(expected, in.Take());
    const Generation generation = in.TakeSmall(), nacked = in.TakeSmall();
    const uint32_t failures = in.TakeSmall();
    const bool named = fields.failed && failures > 0;
    record.items.push_back({sequence, generation, nacked, failures, named ? failed.TakeSmall() : 0});
    if (sequence >= record.to) in.Refuse();
    expected = in.Add(sequence, 1);
  }
  const bool good = in.good() && failed.good() && !failed.more();
  if (!good || record.from > record.to) return Malformed("states of deliveries");
  return CheckpointRecord(std::move(record));
}

absl::StatusOr<CheckpointRecord> ReadPlaces(const Fields& fields) {
  BodiesStored record{.topic = fields.owner, .items = {}};
  Unpacker in(fields.packed);
  Place at;
  uint64_t end = 0;
  for (Sequence expected = 0; in.more();) {
    const uint64_t head = in.Take();
    const auto step = static_cast<Step>(head % kSteps);
    if (step == Step::kOtherSegment) at.segment = in.Take();
    if (step == Step::kOtherSegment) at.frame = in.TakeSmall();
    if (step == Step::kNextFrame) at.frame = in.AddSmall(at.frame, in.Take());
    at.offset = in.AddSmall(step == Step::kSameFrame ? end : 0, in.Take());
    if (head % kSteps > static_cast<uint64_t>(Step::kOtherSegment)) in.Refuse();
    const uint32_t length = in.TakeSmall();
    const Sequence sequence = in.Add(expected, head / kSteps);
    record.items.push_back({sequence, at, length});
    expected = in.Add(sequence, 1);
    end = uint64_t{at.offset} + length;
  }
  if (!in.good()) return Malformed("places of bodies");
  return CheckpointRecord(std::move(record));
}

absl::StatusOr<CheckpointRecord> ReadBodies(const Fields& fields, const Bytes& wire) {
  BodiesCopied record{.topic = fields.owner, .items = {}};
  Unpacker in(fields.packed);
  Sequence expected = 0;
  for (const std::string_view value : fields.values) {
    absl::StatusOr<pubsub::Message> message = pubsub::Message::Parse(wire.Slice(value));
    if (!message.ok()) return Malformed(StrCat("body: ", MessageOf(message.status())));
    const Sequence sequence = in.Add(expected, in.Take());
    record.items.push_back({sequence, *std::move(message)});
    expected = in.Add(sequence, 1);
  }
  if (!in.good() || in.more()) return Malformed("sequences of bodies");
  return CheckpointRecord(std::move(record));
}

absl::StatusOr<CheckpointRecord> ReadEnded(const Fields& fields) {
  CheckpointEnded record;
  Unpacker in(fields.packed);
  for (uint64_t before = 0; in.more();) record.segments.push_back(before = in.Add(before, in.Take()));
  if (!in.good()) return Malformed("segments");
  return CheckpointRecord(std::move(record));
}

}  // namespace checkpoint_wire
}  // namespace

pubsub::Slices EncodeCheckpointRecord(const CheckpointRecord& record) {
  return std::visit(checkpoint_wire::Encoder{}, record);
}

absl::StatusOr<CheckpointRecord> DecodeCheckpointRecord(const pubsub::Bytes& wire) {
  using checkpoint_wire::Type;
  absl::StatusOr<checkpoint_wire::Fields> fields = checkpoint_wire::ReadFields(wire.view());
  if (!fields.ok()) return fields.status();
  switch (static_cast<Type>(fields->type)) {
    case Type::kBegan:
      return CheckpointRecord(CheckpointBegan{.last_incarnation = fields->owner, .next_message_id = fields->last});
    case Type::kTopic: return checkpoint_wire::ReadTopic(*fields);
    case Type::kSubscription: return checkpoint_wire::ReadSubscription(*fields);
    case Type::kSnapshot: return checkpoint_wire::ReadSnapshot(*fields);
    case Type::kSequenceSet: return checkpoint_wire::ReadSequenceSet(*fields);
    case Type::kDeliveryStates: return checkpoint_wire::ReadDeliveryStates(*fields);
    case Type::kBodiesStored: return checkpoint_wire::ReadPlaces(*fields);
    case Type::kBodiesCopied: return checkpoint_wire::ReadBodies(*fields, wire);
    case Type::kEnded: return checkpoint_wire::ReadEnded(*fields);
  }
  return absl::DataLossError(StrCat("checkpoint record of unknown type ", fields->type));
}

RecordKind KindOf(std::string_view record) {
  using checkpoint_wire::Type;
  pubsub::WireReader reader(record.substr(0, 1 + pubsub::VarintSize(checkpoint_wire::kFirstType * 2)));
  if (!reader.Next() || !reader.field().Is(checkpoint_wire::kType, pubsub::WireType::kVarint))
    return RecordKind::kOrdinary;
  const uint64_t type = reader.field().value;
  if (type == checkpoint_wire::kPublishedType) return RecordKind::kPublished;
  if (type < checkpoint_wire::kFirstType) return RecordKind::kOrdinary;
  switch (static_cast<Type>(type)) {
    case Type::kBegan: return RecordKind::kCheckpointBegan;
    case Type::kBodiesCopied: return RecordKind::kBodiesCopied;
    case Type::kEnded: return RecordKind::kCheckpointEnded;
    default: return RecordKind::kCheckpointPart;
  }
}

}  // namespace hopgap::broker
