#include "broker/journal_record.h"

#include "base/text.h"
#include "pubsub/wire.h"

namespace hopgap::broker {
namespace {

using pubsub::Bytes;
using pubsub::Slices;
using pubsub::WireField;
using pubsub::WireReader;
using pubsub::WireType;
using pubsub::WireWriter;

// Field 1 of every record is its type; the numbers are for ever.
enum class RecordType : uint64_t {
  kTopicCreated = 1,
  kTopicDeleted,
  kSubscriptionCreated,
  kSubscriptionDeleted,
  kPublished,
  kAcked,
  kRedelivered,
  kSendBoundRaised,
  kLeaseCeilingRaised,
  kNacked,
  kLeaseLength,
  kCleanStop,
  kTopicUpdated,
  kSubscriptionUpdated,
  kSubscriptionDetached,
  kSnapshotCreated,
  kSnapshotUpdated,
  kSnapshotDeleted,
  kDeliveriesFailed = 40,
  kSought,
  kRetentionPassed,
};
constexpr uint32_t kType = 1;
constexpr uint32_t kOwner = 2;   // incarnation of the topic or subscription
constexpr uint32_t kValue = 3;   // resource, delivery, message or lease, possibly repeated
constexpr uint32_t kNumber = 4;  // first sequence, bound or length
constexpr uint32_t kTopic = 5;
constexpr uint32_t kSendBound = 6;
constexpr uint32_t kCeiling = 7;
constexpr uint32_t kSource = 9;     // the subscription that dead-lettered
constexpr uint32_t kDelivery = 10;  // of it
constexpr uint32_t kRanges = 8;     // packed: how far from the end of the last one, how long, ...

// Inside a delivery or a lease.
constexpr uint32_t kSequence = 1;
constexpr uint32_t kGeneration = 2;
constexpr uint32_t kLeaseOwner = 3;
constexpr uint32_t kRemaining = 4;

std::string Head(RecordType type, Incarnation owner) {
  std::string out;
  WireWriter writer(out);
  writer.Varint(kType, static_cast<uint64_t>(type));
  if (owner != 0) writer.Varint(kOwner, owner);
  return out;
}

std::string EncodeDelivery(const AckedDelivery& delivery) {
  std::string out;
  WireWriter writer(out);
  writer.Varint(kSequence, delivery.sequence);
  writer.Varint(kGeneration, delivery.generation);
  return out;
}

Slices Whole(std::string text) { return Slices{Bytes(std::move(text))}; }

Slices EncodeDeliveries(RecordType type, Incarnation owner, const std::vector<AckedDelivery>& deliveries) {
  std::string out = Head(type, owner);
  WireWriter writer(out);
  for (const AckedDelivery& delivery : deliveries) writer.Text(kValue, EncodeDelivery(delivery));
  return Whole(std::move(out));
}

Slices EncodeNumber(RecordType type, Incarnation owner, uint64_t number) {
  std::string out = Head(type, owner);
  WireWriter(out).Varint(kNumber, number);
  return Whole(std::move(out));
}

template <typename Value>
Slices EncodeValue(RecordType type, Incarnation owner, const Value& value) {
  std::string out = Head(type, owner);
  WireWriter(out).Text(kValue, pubsub::Encode(value));
  return Whole(std::move(out));
}

std::string EncodeRanges(const std::vector<SequenceRange>& ranges) {
  std::string out;
  Sequence last = 0;
  for (const SequenceRange& range : ranges) {
    WireWriter::AppendVarint(out, range.begin - last);
    WireWriter::AppendVarint(out, range.end - range.begin);
    last = range.end;
  }
  return out;
}

struct Encoder {
  Slices operator()(const TopicCreated& r) const { return EncodeValue(RecordType::kTopicCreated, r.topic, r.value); }
  Slices operator()(const TopicDeleted& r) const { return Whole(Head(RecordType::kTopicDeleted, r.topic)); }
  Slices operator()(const SubscriptionCreated& r) const {
    std::string out = Head(RecordType::kSubscriptionCreated, r.subscription);
    WireWriter writer(out);
    writer.Text(kValue, pubsub::Encode(r.value));
    writer.Varint(kNumber, r.first);
    writer.Varint(kTopic, r.topic);
    writer.Varint(kSendBound, r.send_bound);
    writer.Signed(kCeiling, r.lease_ceiling.count());
    return Whole(std::move(out));
  }
  Slices operator()(const SubscriptionDeleted& r) const {
    return Whole(Head(RecordType::kSubscriptionDeleted, r.subscription));
  }
  Slices operator()(const Published& r) const {
    Slices slices;
    std::string text = Head(RecordType::kPublished, r.topic);
    WireWriter writer(text);
    writer.Varint(kNumber, r.first);
    if (r.dead_lettered_by != 0) writer.Varint(kSource, r.dead_lettered_by);
    for (const AckedDelivery& delivery : r.dead_lettered) writer.Text(kDelivery, EncodeDelivery(delivery));
    for (const pubsub::Message& message : r.messages) {
      WireWriter(text).Header(kValue, message.wire_size());
      slices.emplace_back(std::move(text));
      text.clear();
      message.VisitSlices([&](const Bytes& piece) { slices.push_back(piece); });
    }
    if (!text.empty()) slices.emplace_back(std::move(text));
    return slices;
  }
  Slices operator()(const Acked& r) const { return EncodeDeliveries(RecordType::kAcked, r.subscription, r.deliveries); }
  Slices operator()(const Redelivered& r) const {
    return EncodeDeliveries(RecordType::kRedelivered, r.subscription, r.deliveries);
  }
  Slices operator()(const SendBoundRaised& r) const {
    return EncodeNumber(RecordType::kSendBoundRaised, r.subscription, r.bound);
  }
  Slices operator()(const LeaseCeilingRaised& r) const {
    return EncodeNumber(RecordType::kLeaseCeilingRaised, r.subscription, static_cast<uint64_t>(r.ceiling.count()));
  }
  Slices operator()(const Nacked& r) const {
    return EncodeDeliveries(RecordType::kNacked, r.subscription, r.deliveries);
  }
  Slices operator()(const DeliveriesFailed& r) const {
    return EncodeDeliveries(RecordType::kDeliveriesFailed, r.subscription, r.deliveries);
  }
  Slices operator()(const LeaseLength& r) const {
    std::string out = Head(RecordType::kLeaseLength, r.subscription);
    WireWriter writer(out);
    writer.Text(kValue, EncodeDelivery(r.delivery));
    writer.Signed(kNumber, r.length.count());
    return Whole(std::move(out));
  }
  Slices operator()(const TopicUpdated& r) const { return EncodeValue(RecordType::kTopicUpdated, r.topic, r.value); }
  Slices operator()(const SubscriptionUpdated& r) const {
    return EncodeValue(RecordType::kSubscriptionUpdated, r.subscription, r.value);
  }
  Slices operator()(const SubscriptionDetached& r) const {
    return EncodeNumber(RecordType::kSubscriptionDetached, r.subscription, r.as);
  }
  Slices operator()(const SnapshotCreated& r) const {
    std::string out = Head(RecordType::kSnapshotCreated, r.snapshot);
    WireWriter writer(out);
    writer.Text(kValue, pubsub::Encode(r.value));
    writer.Varint(kNumber, r.next);
    writer.Varint(kTopic, r.topic);
    writer.Text(kRanges, EncodeRanges(r.unacked));
    return Whole(std::move(out));
  }
  Slices operator()(const Sought& r) const {
    std::string out = Head(RecordType::kSought, r.subscription);
    WireWriter writer(out);
    writer.Varint(kNumber, r.next);
    writer.Text(kRanges, EncodeRanges(r.unacked));
    return Whole(std::move(out));
  }
  Slices operator()(const RetentionPassed& r) const {
    return EncodeNumber(RecordType::kRetentionPassed, r.owner, r.before);
  }
  Slices operator()(const SnapshotUpdated& r) const {
    return EncodeValue(RecordType::kSnapshotUpdated, r.snapshot, r.value);
  }
  Slices operator()(const SnapshotDeleted& r) const { return Whole(Head(RecordType::kSnapshotDeleted, r.snapshot)); }
  Slices operator()(const CleanStop& r) const {
    std::string out = Head(RecordType::kCleanStop, 0);
    if (r.more) WireWriter(out).Varint(kNumber, 1);
    for (const CleanStop::Lease& lease : r.leases) {
      std::string inner = EncodeDelivery(lease.delivery);
      WireWriter writer(inner);
      writer.Varint(kLeaseOwner, lease.subscription);
      writer.Signed(kRemaining, lease.remaining.count());
      WireWriter(out).Text(kValue, inner);
    }
    return Whole(std::move(out));
  }
};

// The fields of any record, before its type says what they mean.
struct Fields {
  uint64_t type = 0, owner = 0, number = 0, topic = 0, send_bound = 0, source = 0;
  Duration ceiling{0};
  std::vector<std::string_view> values, deliveries;
  std::string_view ranges;
};

absl::StatusOr<Fields> ReadFields(std::string_view wire) {
  Fields fields;
  WireReader reader(wire);
  while (reader.Next()) {
    const WireField& field = reader.field();
    if (field.Is(kType, WireType::kVarint)) {
      if (fields.type != 0) return absl::DataLossError("journal record: two types");
      fields.type = field.value;
    }
    if (field.Is(kOwner, WireType::kVarint)) fields.owner = field.value;
    if (field.Is(kNumber, WireType::kVarint)) fields.number = field.value;
    if (field.Is(kTopic, WireType::kVarint)) fields.topic = field.value;
    if (field.Is(kSendBound, WireType::kVarint)) fields.send_bound = field.value;
    if (field.Is(kCeiling, WireType::kVarint)) fields.ceiling = Duration{field.AsSigned()};
    if (field.Is(kValue, WireType::kBytes)) fields.values.push_back(field.bytes);
    if (field.Is(kRanges, WireType::kBytes)) fields.ranges = field.bytes;
    if (field.Is(kSource, WireType::kVarint)) fields.source = field.value;
    if (field.Is(kDelivery, WireType::kBytes)) fields.deliveries.push_back(field.bytes);
  }
  if (!reader.ok()) return absl::DataLossError("journal record: malformed bytes");
  return fields;
}

absl::StatusOr<CleanStop::Lease> ReadLease(std::string_view wire) {
  CleanStop::Lease lease{};
  WireReader reader(wire);
  while (reader.Next()) {
    const WireField& field = reader.field();
    if (field.Is(kSequence, WireType::kVarint)) lease.delivery.sequence = field.value;
    if (field.Is(kGeneration, WireType::kVarint)) lease.delivery.generation = static_cast<Generation>(field.value);
    if (field.Is(kLeaseOwner, WireType::kVarint)) lease.subscription = field.value;
    if (field.Is(kRemaining, WireType::kVarint)) lease.remaining = Duration{field.AsSigned()};
  }
  if (!reader.ok()) return absl::DataLossError("journal record: malformed delivery");
  return lease;
}

absl::StatusOr<std::vector<AckedDelivery>> ReadDeliveries(const std::vector<std::string_view>& values) {
  std::vector<AckedDelivery> deliveries;
  for (std::string_view value : values) {
    absl::StatusOr<CleanStop::Lease> lease = ReadLease(value);
    if (!lease.ok()) return lease.status();
    deliveries.push_back(lease->delivery);
  }
  return deliveries;
}

template <typename T>
absl::StatusOr<Record> WithDeliveries(const Fields& fields) {
  absl::StatusOr<std::vector<AckedDelivery>> deliveries = ReadDeliveries(fields.values);
  if (!deliveries.ok()) return deliveries.status();
  return Record(T{.subscription = fields.owner, .deliveries = *std::move(deliveries)});
}

absl::Status CheckOneValue(const Fields& fields) {
  if (fields.values.size() == 1) return absl::OkStatus();
  return absl::DataLossError(
      StrCat("journal record of type ", fields.type, " has ", fields.values.size(), " values instead of one"));
}

// The one value, read by `decode`.
template <typename Decoder>
auto ReadValue(const Fields& fields, Decoder decode) -> decltype(decode(std::string_view{})) {
  if (absl::Status status = CheckOneValue(fields); !status.ok()) return status;
  auto value = decode(fields.values[0]);
  if (!value.ok()) return absl::DataLossError(StrCat("journal record: ", MessageOf(value.status())));
  return value;
}

absl::StatusOr<Record> ReadTopicCreated(const Fields& fields) {
  absl::StatusOr<pubsub::Topic> value = ReadValue(fields, pubsub::DecodeTopic);
  if (!value.ok()) return value.status();
  return Record(TopicCreated{.topic = fields.owner, .value = *std::move(value)});
}

absl::StatusOr<Record> ReadTopicUpdated(const Fields& fields) {
  absl::StatusOr<pubsub::Topic> value = ReadValue(fields, pubsub::DecodeTopic);
  if (!value.ok()) return value.status();
  return Record(TopicUpdated{.topic = fields.owner, .value = *std::move(value)});
}

absl::StatusOr<Record> ReadSubscriptionUpdated(const Fields& fields) {
  absl::StatusOr<pubsub::Subscription> value = ReadValue(fields, pubsub::DecodeSubscription);
  if (!value.ok()) return value.status();
  return Record(SubscriptionUpdated{.subscription = fields.owner, .value = *std::move(value)});
}

absl::StatusOr<Record> ReadSnapshotUpdated(const Fields& fields) {
  absl::StatusOr<pubsub::Snapshot> value = ReadValue(fields, pubsub::DecodeSnapshot);
  if (!value.ok()) return value.status();
  return Record(SnapshotUpdated{.snapshot = fields.owner, .value = *std::move(value)});
}

absl::StatusOr<std::vector<SequenceRange>> ReadRanges(std::string_view packed, Sequence limit) {
  std::vector<SequenceRange> ranges;
  Sequence last = 0;
  while (!packed.empty()) {
    uint64_t gap = 0, length = 0;
    const bool read = pubsub::TakeVarint(packed, gap) && pubsub::TakeVarint(packed, length);
    // Each is below the limit, so no sum can wrap.
    if (!read || length == 0 || (gap == 0 && !ranges.empty()) || gap > limit - last || length > limit - last - gap) {
      return absl::DataLossError("journal record: malformed ranges");
    }
    ranges.push_back({last + gap, last + gap + length});
    last = ranges.back().end;
  }
  return ranges;
}

absl::StatusOr<Record> ReadSnapshotCreated(const Fields& fields) {
  absl::StatusOr<pubsub::Snapshot> value = ReadValue(fields, pubsub::DecodeSnapshot);
  if (!value.ok()) return value.status();
  absl::StatusOr<std::vector<SequenceRange>> unacked = ReadRanges(fields.ranges, fields.number);
  if (!unacked.ok()) return unacked.status();
  return Record(SnapshotCreated{.snapshot = fields.owner,
                                .topic = fields.topic,
                                .next = fields.number,
                                .unacked = *std::move(unacked),
                                .value = *std::move(value)});
}

absl::StatusOr<Record> ReadSought(const Fields& fields) {
  absl::StatusOr<std::vector<SequenceRange>> unacked = ReadRanges(fields.ranges, fields.number);
  if (!unacked.ok()) return unacked.status();
  return Record(Sought{.subscription = fields.owner, .next = fields.number, .unacked = *std::move(unacked)});
}

absl::StatusOr<Record> ReadSubscriptionCreated(const Fields& fields) {
  absl::StatusOr<pubsub::Subscription> value = ReadValue(fields, pubsub::DecodeSubscription);
  if (!value.ok()) return value.status();
  return Record(SubscriptionCreated{.subscription = fields.owner,
                                    .topic = fields.topic,
                                    .first = fields.number,
                                    .send_bound = fields.send_bound,
                                    .lease_ceiling = fields.ceiling,
                                    .value = *std::move(value)});
}

absl::StatusOr<Record> ReadPublished(const Fields& fields, const Bytes& wire) {
  absl::StatusOr<std::vector<AckedDelivery>> dead_lettered = ReadDeliveries(fields.deliveries);
  if (!dead_lettered.ok()) return dead_lettered.status();
  if (dead_lettered->size() != (fields.source == 0 ? 0 : fields.values.size())) {
    return absl::DataLossError("journal record: not as many dead letters as messages");
  }
  Published record{.topic = fields.owner,
                   .first = fields.number,
                   .messages = {},
                   .dead_lettered_by = fields.source,
                   .dead_lettered = *std::move(dead_lettered)};
  record.messages.reserve(fields.values.size());
  for (std::string_view value : fields.values) {
    absl::StatusOr<pubsub::Message> message = pubsub::Message::Parse(wire.Slice(value));
    if (!message.ok()) return absl::DataLossError(StrCat("journal record: ", MessageOf(message.status())));
    record.messages.push_back(*std::move(message));
  }
  return Record(std::move(record));
}

absl::StatusOr<Record> ReadLeaseLength(const Fields& fields) {
  if (absl::Status status = CheckOneValue(fields); !status.ok()) return status;
  absl::StatusOr<CleanStop::Lease> lease = ReadLease(fields.values[0]);
  if (!lease.ok()) return lease.status();
  return Record(LeaseLength{.subscription = fields.owner,
                            .delivery = lease->delivery,
                            .length = Duration{static_cast<int64_t>(fields.number)}});
}

absl::StatusOr<Record> ReadCleanStop(const Fields& fields) {
  CleanStop record{.leases = {}, .more = fields.number != 0};
  for (std::string_view value : fields.values) {
    absl::StatusOr<CleanStop::Lease> lease = ReadLease(value);
    if (!lease.ok()) return lease.status();
    record.leases.push_back(*lease);
  }
  return Record(std::move(record));
}

}  // namespace

Slices EncodeRecord(const Record& record) { return std::visit(Encoder{}, record); }

absl::StatusOr<Record> DecodeRecord(Bytes wire) {
  absl::StatusOr<Fields> fields = ReadFields(wire.view());
  if (!fields.ok()) return fields.status();
  switch (static_cast<RecordType>(fields->type)) {
    case RecordType::kTopicCreated: return ReadTopicCreated(*fields);
    case RecordType::kTopicDeleted: return Record(TopicDeleted{.topic = fields->owner});
    case RecordType::kSubscriptionCreated: return ReadSubscriptionCreated(*fields);
    case RecordType::kSubscriptionDeleted: return Record(SubscriptionDeleted{.subscription = fields->owner});
    case RecordType::kPublished: return ReadPublished(*fields, wire);
    case RecordType::kAcked: return WithDeliveries<Acked>(*fields);
    case RecordType::kRedelivered: return WithDeliveries<Redelivered>(*fields);
    case RecordType::kSendBoundRaised:
      return Record(SendBoundRaised{.subscription = fields->owner, .bound = fields->number});
    case RecordType::kLeaseCeilingRaised:
      return Record(
          LeaseCeilingRaised{.subscription = fields->owner, .ceiling = Duration{static_cast<int64_t>(fields->number)}});
    case RecordType::kNacked: return WithDeliveries<Nacked>(*fields);
    case RecordType::kLeaseLength: return ReadLeaseLength(*fields);
    case RecordType::kCleanStop: return ReadCleanStop(*fields);
    case RecordType::kTopicUpdated: return ReadTopicUpdated(*fields);
    case RecordType::kSubscriptionUpdated: return ReadSubscriptionUpdated(*fields);
    case RecordType::kSubscriptionDetached:
      return Record(SubscriptionDetached{.subscription = fields->owner, .as = fields->number});
    case RecordType::kSnapshotCreated: return ReadSnapshotCreated(*fields);
    case RecordType::kSnapshotUpdated: return ReadSnapshotUpdated(*fields);
    case RecordType::kSought: return ReadSought(*fields);
    case RecordType::kRetentionPassed: return Record(RetentionPassed{.owner = fields->owner, .before = fields->number});
    case RecordType::kDeliveriesFailed: return WithDeliveries<DeliveriesFailed>(*fields);
    case RecordType::kSnapshotDeleted: return Record(SnapshotDeleted{.snapshot = fields->owner});
  }
  return absl::DataLossError(StrCat("journal record of unknown type ", fields->type));
}

}  // namespace hopgap::broker
