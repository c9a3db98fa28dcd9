#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hopgap::pubsub {

// Protobuf's wire format, read and written by hand: the deciding rooms link no
// protobuf, and a message body is never parsed into objects.

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Appends fields to a string. Default values are the caller's to skip.
class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

  void Varint(uint32_t field, uint64_t value);
  void Signed(uint32_t field, int64_t value) { Varint(field, static_cast<uint64_t>(value)); }
  void Text(uint32_t field, std::string_view value);
  // Only the tag and length of a bytes field: the caller appends `size` bytes.
  void Header(uint32_t field, size_t size);
  static void AppendVarint(std::string& out, uint64_t value);

 private:
  void TagAndVarint(uint32_t field, WireType type, uint64_t value);

  std::string& out_;
};

// Takes one varint off the front of `text`. False, with `text` unchanged, if it
// is truncated or does not fit 64 bits.
bool TakeVarint(std::string_view& text, uint64_t& value);
size_t VarintSize(uint64_t value);

// Whether `text` is well-formed UTF-8. Protobuf's parsers refuse a string field
// that is not, so one such attribute would make its subscriber fail for ever.
bool IsUtf8(std::string_view text);

// One field as it stands in the input.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;      // kVarint, kFixed64, kFixed32
  std::string_view bytes;  // kBytes
  std::string_view whole;  // tag and all: what to copy to keep the field

  // Protobuf's conversions: an int32 is the low half of the varint.
  int64_t AsSigned() const { return static_cast<int64_t>(value); }
  int32_t AsInt32() const { return static_cast<int32_t>(static_cast<uint32_t>(value)); }
  bool AsBool() const { return value != 0; }
  // A field that arrives with another type than its own is an unknown field.
  bool Is(uint32_t wanted, WireType wanted_type) const { return number == wanted && type == wanted_type; }
};

// Walks the fields of one message in order, without copying.
//
//   WireReader reader(text);
//   while (reader.Next()) Use(reader.field());
//   if (!reader.ok()) ...          // truncated, a bad tag or a group
class WireReader {
 public:
  explicit WireReader(std::string_view text) : rest_(text) {}

  // False at the end and at the first malformed byte; ok() tells which.
  bool Next();
  const WireField& field() const { return field_; }
  bool ok() const { return ok_; }

 private:
  bool Fail();
  bool TakeFixed(size_t size);
  bool TakeBytes();

  std::string_view rest_;
  WireField field_;
  bool ok_ = true;
};

}  // namespace hopgap::pubsub
