#include "pubsub/codec.h"

#include <utility>

#include "pubsub/timestamp.h"

namespace hopgap::pubsub::codec {
namespace {

// An entry of a map field.
constexpr uint32_t kKey = 1, kValue = 2;

}  // namespace

absl::Status ReadText(std::string_view type, const WireField& field, std::string& out) {
  if (!IsUtf8(field.bytes)) {
    return Malformed(type, StrCat("field ", field.number, " is not valid UTF-8"));
  }
  out = field.bytes;
  return absl::OkStatus();
}

absl::Status AddText(std::string_view type, const WireField& field, std::vector<std::string>& out) {
  return ReadText(type, field, out.emplace_back());
}

absl::Status ReadMapEntry(std::string_view type, const WireField& field, std::map<std::string, std::string>& out) {
  std::string key, value;
  absl::Status status = ForEachField(type, field.bytes, [&](const WireField& part) {
    switch (TagOf(part)) {
      case AsBytes(kKey): return ReadText(type, part, key);
      case AsBytes(kValue): return ReadText(type, part, value);
      default: return absl::OkStatus();
    }
  });
  if (status.ok()) out.insert_or_assign(std::move(key), std::move(value));
  return status;
}

absl::Status ReadDuration(std::string_view type, std::string_view name, const WireField& field,
                          std::optional<Duration>& out) {
  TimeParts parts = ToTimeParts(out.value_or(Duration{0}));
  if (!ReadTimeParts(field.bytes, parts)) return Malformed(type, name);
  out = ToDuration(parts);
  return out ? absl::OkStatus() : Malformed(type, StrCat(name, " is no duration that can be kept"));
}

absl::Status ReadTimestamp(std::string_view type, std::string_view name, const WireField& field,
                           std::optional<WallTime>& out) {
  TimeParts parts;
  if (out) parts = ToTimeParts(*out);
  if (!ReadTimeParts(field.bytes, parts)) return Malformed(type, name);
  out = ToNearestWallTime(parts);
  return out ? absl::OkStatus()
             : Malformed(type, StrCat(name, " is no timestamp (years 1 to 9999, nanos 0 to 999999999)"));
}

void WriteText(std::string& out, uint32_t number, std::string_view value) {
  if (!value.empty()) WireWriter(out).Text(number, value);
}

void WriteSigned(std::string& out, uint32_t number, int64_t value) {
  if (value != 0) WireWriter(out).Signed(number, value);
}

void WriteBool(std::string& out, uint32_t number, bool value) {
  if (value) WireWriter(out).Varint(number, 1);
}

void WriteTexts(std::string& out, uint32_t number, const std::vector<std::string>& values) {
  for (const std::string& value : values) WireWriter(out).Text(number, value);
}

void WriteDuration(std::string& out, uint32_t number, std::optional<Duration> value) {
  if (value) WireWriter(out).Text(number, EncodeTimeParts(ToTimeParts(*value)));
}

void WriteTimestamp(std::string& out, uint32_t number, std::optional<WallTime> value) {
  if (value) WireWriter(out).Text(number, EncodeTimeParts(ToTimeParts(*value)));
}

// Protobuf writes both parts of an entry, also when they are empty.
void WriteMap(std::string& out, uint32_t number, const std::map<std::string, std::string>& values) {
  WireWriter writer(out);
  for (const auto& [key, value] : values) {
    writer.Header(number, SizeInField(key.size()) + SizeInField(value.size()));
    writer.Text(kKey, key);
    writer.Text(kValue, value);
  }
}

}  // namespace hopgap::pubsub::codec
