#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "pubsub/wire.h"

// Private to this room: what the readers and writers of api.h and resources.h
// share.
namespace hopgap::pubsub::codec {

// Number and type together, for a switch: a field that arrives with another
// type than its own falls to the default, as an unknown field.
constexpr uint32_t Tag(uint32_t number, WireType type) { return number << 3 | static_cast<uint32_t>(type); }
constexpr uint32_t AsVarint(uint32_t number) { return Tag(number, WireType::kVarint); }
constexpr uint32_t AsBytes(uint32_t number) { return Tag(number, WireType::kBytes); }
inline uint32_t TagOf(const WireField& field) { return Tag(field.number, field.type); }

inline absl::Status Malformed(std::string_view type, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("malformed ", type, ": ", why));
}

// Hands every field of `wire` to `visit`, which returns a Status.
template <typename Visitor>
absl::Status ForEachField(std::string_view type, std::string_view wire, Visitor visit) {
  WireReader reader(wire);
  while (reader.Next()) {
    if (absl::Status status = visit(reader.field()); !status.ok()) return status;
  }
  if (!reader.ok()) return Malformed(type, "truncated, or a bad tag");
  return absl::OkStatus();
}

absl::Status ReadText(std::string_view type, const WireField& field, std::string& out);
absl::Status AddText(std::string_view type, const WireField& field, std::vector<std::string>& out);
// One entry of a map<string, string>; a repeated key replaces.
absl::Status ReadMapEntry(std::string_view type, const WireField& field, std::map<std::string, std::string>& out);

// A google.protobuf.Duration or Timestamp. Several occurrences merge.
// InvalidArgument for malformed bytes; for a Duration outside +-292 years; for a
// Timestamp whose nanos are none. A Timestamp outside a WallTime's range (years
// 1678 to 2262) becomes the nearest end of it: for ever, or never.
absl::Status ReadDuration(std::string_view type, std::string_view name, const WireField& field,
                          std::optional<Duration>& out);
absl::Status ReadTimestamp(std::string_view type, std::string_view name, const WireField& field,
                           std::optional<WallTime>& out);

// Proto3 leaves a default value out.
void WriteText(std::string& out, uint32_t number, std::string_view value);
void WriteSigned(std::string& out, uint32_t number, int64_t value);
void WriteBool(std::string& out, uint32_t number, bool value);
void WriteTexts(std::string& out, uint32_t number, const std::vector<std::string>& values);
void WriteMap(std::string& out, uint32_t number, const std::map<std::string, std::string>& values);
// A message counts as set by being there, so one of zero is written.
void WriteDuration(std::string& out, uint32_t number, std::optional<Duration> value);
void WriteTimestamp(std::string& out, uint32_t number, std::optional<WallTime> value);

// What a bytes field of this size takes, with a tag of one byte.
inline size_t SizeInField(size_t size) { return 1 + VarintSize(size) + size; }

}  // namespace hopgap::pubsub::codec
