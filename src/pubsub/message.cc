#include "pubsub/message.h"

#include <memory>
#include <string>

#include "base/check.h"
#include "base/text.h"
#include "pubsub/timestamp.h"

namespace hopgap::pubsub {
namespace {

// PubsubMessage.
constexpr uint32_t kData = 1, kAttributes = 2, kMessageId = 3, kPublishTime = 4, kOrderingKey = 5;
// An entry of a map field.
constexpr uint32_t kKey = 1, kValue = 2;

// A tag below 16 and a length below 2^63.
constexpr size_t kHeaderBytesMax = 11;

using Entry = std::pair<std::string_view, std::string_view>;

absl::Status Malformed(std::string_view what) {
  return absl::InvalidArgumentError(StrCat("malformed PubsubMessage: ", what));
}

absl::Status ReadText(std::string_view name, std::string_view text, std::string_view& out) {
  if (!IsUtf8(text)) return Malformed(StrCat(name, " is not valid UTF-8"));
  out = text;
  return absl::OkStatus();
}

bool IsServerField(const WireField& field) {
  return field.Is(kMessageId, WireType::kBytes) || field.Is(kPublishTime, WireType::kBytes);
}

// A part left out of an entry has its default, and of a part given twice the
// last counts, as everywhere in protobuf.
bool ReadParts(std::string_view entry, Entry& out) {
  WireReader reader(entry);
  while (reader.Next()) {
    const WireField& field = reader.field();
    if (field.Is(kKey, WireType::kBytes)) out.first = field.bytes;
    if (field.Is(kValue, WireType::kBytes)) out.second = field.bytes;
  }
  return reader.ok();
}

absl::Status ReadEntry(std::string_view entry, Entry& out) {
  if (!ReadParts(entry, out)) return Malformed("attributes");
  if (!IsUtf8(out.first) || !IsUtf8(out.second)) return Malformed("attributes are not valid UTF-8");
  return absl::OkStatus();
}

// Visits the attributes of a message that was scanned before, so that they are known to be UTF-8.
template <typename Visitor>
void VisitAttributes(std::string_view wire, Visitor visit) {
  WireReader reader(wire);
  while (reader.Next()) {
    if (!reader.field().Is(kAttributes, WireType::kBytes)) continue;
    Entry attribute;
    if (ReadParts(reader.field().bytes, attribute)) visit(attribute);
  }
}

void WriteAttribute(std::string& out, const std::pair<std::string, std::string>& attribute) {
  const auto size_of = [](std::string_view part) { return 1 + VarintSize(part.size()) + part.size(); };
  WireWriter writer(out);
  writer.Header(kAttributes, size_of(attribute.first) + size_of(attribute.second));
  writer.Text(kKey, attribute.first);
  writer.Text(kValue, attribute.second);
}

// `wire` without its server fields: cut between whole fields only, so that
// every piece can still be walked.
Slices CutServerFields(const Bytes& wire) {
  Slices kept;
  const std::string_view text = wire.view();
  size_t run = 0, at = 0;
  const auto keep_run = [&] {
    if (at > run) kept.push_back(wire.Slice(text.substr(run, at - run)));
  };
  WireReader reader(text);
  while (reader.Next()) {
    const size_t end = at + reader.field().whole.size();
    if (IsServerField(reader.field())) {
      keep_run();
      run = end;
    }
    at = end;
  }
  keep_run();
  return kept;
}

}  // namespace

absl::StatusOr<Message> Message::Parse(Bytes wire) {
  Message message;
  message.wire_ = std::move(wire);
  message.size_ = message.wire_.size();
  if (absl::Status status = message.Scan(); !status.ok()) return status;
  return message;
}

absl::Status Message::Scan() {
  TimeParts parts;
  bool has_time = false;
  WireReader reader(wire_.view());
  while (reader.Next()) {
    const WireField& field = reader.field();
    server_fields_set_ |= IsServerField(field);
    if (field.Is(kPublishTime, WireType::kBytes)) {
      if (!ReadTimeParts(field.bytes, parts)) return Malformed("publish_time");
      has_time = true;
    } else if (absl::Status status = ScanField(field); !status.ok()) {
      return status;
    }
  }
  if (!reader.ok()) return Malformed("truncated, or a bad tag");
  if (has_time) publish_time_ = ToWallTime(parts);
  return absl::OkStatus();
}

absl::Status Message::ScanField(const WireField& field) {
  if (field.type != WireType::kBytes) return absl::OkStatus();
  switch (field.number) {
    case kData: data_ = field.bytes; return absl::OkStatus();
    case kAttributes: {
      ++attribute_count_;
      Entry ignored;
      return ReadEntry(field.bytes, ignored);
    }
    case kMessageId: return ReadText("message_id", field.bytes, message_id_);
    case kOrderingKey: return ReadText("ordering_key", field.bytes, ordering_key_);
    default: return absl::OkStatus();
  }
}

Message Message::Make(std::string_view data, const std::vector<std::pair<std::string, std::string>>& attributes,
                      std::string_view ordering_key) {
  std::string out;
  out.reserve(data.size() + ordering_key.size() + 2 * kHeaderBytesMax);
  WireWriter writer(out);
  if (!data.empty()) writer.Text(kData, data);
  for (const auto& attribute : attributes) WriteAttribute(out, attribute);
  if (!ordering_key.empty()) writer.Text(kOrderingKey, ordering_key);
  absl::StatusOr<Message> message = Parse(Bytes(std::move(out)));
  HOPGAP_CHECK(message.ok(), "Message::Make() takes UTF-8 attributes and key");
  return *std::move(message);
}

const Bytes& Message::wire() const {
  if (more_.empty() && tail_.empty()) return wire_;
  if (joined_.empty()) joined_ = Bytes(Join(wire_slices()));
  return joined_;
}

Slices Message::wire_slices() const {
  Slices slices;
  slices.reserve(more_.size() + 2);
  VisitSlices([&](const Bytes& piece) { slices.push_back(piece); });
  return slices;
}

std::optional<std::string_view> Message::Attribute(std::string_view key) const {
  std::optional<std::string_view> value;
  if (attribute_count_ == 0) return value;
  VisitSlices([&](const Bytes& piece) {
    VisitAttributes(piece.view(), [&](const Entry& entry) {
      if (entry.first == key) value = entry.second;
    });
  });
  return value;
}

std::vector<std::pair<std::string_view, std::string_view>> Message::Attributes() const {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  all.reserve(attribute_count_);
  VisitSlices(
      [&](const Bytes& piece) { VisitAttributes(piece.view(), [&](const Entry& entry) { all.push_back(entry); }); });
  return all;
}

Message Message::Accepted(std::string_view message_id, WallTime publish_time) const {
  Message accepted;
  if (server_fields_set_) {
    accepted.more_ = CutServerFields(wire_);
  } else {
    accepted.wire_ = wire_;
    accepted.more_ = more_;
  }
  const std::string time = EncodeTimeParts(ToTimeParts(publish_time));
  std::string tail;
  tail.reserve(message_id.size() + time.size() + 2 * kHeaderBytesMax);
  WireWriter writer(tail);
  writer.Text(kMessageId, message_id);
  writer.Text(kPublishTime, time);
  accepted.tail_ = Bytes(std::move(tail));
  accepted.message_id_ = accepted.tail_.view().substr(1 + VarintSize(message_id.size()), message_id.size());
  accepted.publish_time_ = publish_time;
  accepted.data_ = data_;
  accepted.ordering_key_ = ordering_key_;
  accepted.attribute_count_ = attribute_count_;
  accepted.VisitSlices([&](const Bytes& piece) { accepted.size_ += piece.size(); });
  return accepted;
}

}  // namespace hopgap::pubsub
