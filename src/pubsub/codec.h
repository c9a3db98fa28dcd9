#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
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

// Proto3 leaves a default value out.
void WriteText(std::string& out, uint32_t number, std::string_view value);
void WriteSigned(std::string& out, uint32_t number, int64_t value);
void WriteBool(std::string& out, uint32_t number, bool value);
void WriteTexts(std::string& out, uint32_t number, const std::vector<std::string>& values);
void WriteMap(std::string& out, uint32_t number, const std::map<std::string, std::string>& values);

// What a bytes field of this size takes, with a tag of one byte.
inline size_t SizeInField(size_t size) { return 1 + VarintSize(size) + size; }

}  // namespace hopgap::pubsub::codec
