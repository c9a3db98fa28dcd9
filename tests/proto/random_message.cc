#include "random_message.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/unknown_field_set.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/draw.h"

namespace hopgap::tests {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

constexpr uint64_t kRepeatedMax = 4;
constexpr int kUnknownFieldBase = 1000;  // no message of the contract goes that far

// Sets a field, or adds an element to a repeated one.
class Setter {
 public:
  Setter(google::protobuf::Message& message, const FieldDescriptor& field)
      : message_(message), reflection_(*message.GetReflection()), field_(&field) {}

  void Text(std::string value) {
    field_->is_repeated() ? reflection_.AddString(&message_, field_, std::move(value))
                          : reflection_.SetString(&message_, field_, std::move(value));
  }
  void Int32(int32_t value) {
    field_->is_repeated() ? reflection_.AddInt32(&message_, field_, value)
                          : reflection_.SetInt32(&message_, field_, value);
  }
  void Int64(int64_t value) {
    field_->is_repeated() ? reflection_.AddInt64(&message_, field_, value)
                          : reflection_.SetInt64(&message_, field_, value);
  }
  void Bool(bool value) {
    field_->is_repeated() ? reflection_.AddBool(&message_, field_, value)
                          : reflection_.SetBool(&message_, field_, value);
  }
  void Enum(int value) {
    field_->is_repeated() ? reflection_.AddEnumValue(&message_, field_, value)
                          : reflection_.SetEnumValue(&message_, field_, value);
  }
  google::protobuf::Message& Child() {
    return field_->is_repeated() ? *reflection_.AddMessage(&message_, field_)
                                 : *reflection_.MutableMessage(&message_, field_);
  }

 private:
  google::protobuf::Message& message_;
  const Reflection& reflection_;
  const FieldDescriptor* field_;
};

void FillTimestamp(Random& random, google::protobuf::Message& message) {
  google::protobuf::Timestamp time;
  constexpr int64_t kSecondsMax = 9'000'000'000;  // the year 2255
  time.set_seconds(random.Chance(20) ? -static_cast<int64_t>(random.Below(kSecondsMax))
                                     : static_cast<int64_t>(random.Below(kSecondsMax)));
  time.set_nanos(random.Chance(20) ? 0 : static_cast<int32_t>(random.Below(1'000'000'000)));
  message.CopyFrom(time);
}

void FillDuration(Random& random, google::protobuf::Message& message) {
  google::protobuf::Duration length;
  constexpr int64_t kSecondsMax = 9'000'000'000;
  const int sign = random.Chance(20) ? -1 : 1;
  length.set_seconds(random.Chance(20) ? 0 : sign * static_cast<int64_t>(random.Below(kSecondsMax)));
  length.set_nanos(random.Chance(50) ? 0 : sign * static_cast<int32_t>(random.Below(1'000'000'000)));
  message.CopyFrom(length);
}

void FillOne(Random& random, const FieldFilter& wanted, const FieldDescriptor& field,
             google::protobuf::Message& message) {
  Setter set(message, field);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return set.Text(field.type() == FieldDescriptor::TYPE_BYTES ? random.AnyBytes() : random.Text());
    case FieldDescriptor::CPPTYPE_INT32: return set.Int32(static_cast<int32_t>(random.Integer()));
    case FieldDescriptor::CPPTYPE_INT64: return set.Int64(random.Integer());
    case FieldDescriptor::CPPTYPE_BOOL: return set.Bool(random.Chance(70));
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto values = static_cast<uint64_t>(field.enum_type()->value_count());
      return set.Enum(field.enum_type()->value(static_cast<int>(random.Below(values)))->number());
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: return Fill(random, wanted, set.Child());
    default: std::abort();  // the contract has no other types
  }
}

// Keys are made unique: equal ones would leave the winner to the map's order.
void FillMap(Random& random, const FieldDescriptor& field, google::protobuf::Message& message) {
  std::set<std::string> keys;
  for (uint64_t i = random.Below(kRepeatedMax + 1); i > 0; --i) {
    const std::string key = random.Text();
    if (!keys.insert(key).second) continue;
    google::protobuf::Message& entry = Setter(message, field).Child();
    Setter(entry, *field.message_type()->map_key()).Text(key);
    Setter(entry, *field.message_type()->map_value()).Text(random.Text());
  }
}

}  // namespace

uint64_t Random::Next() { return Mix(key_, ++count_); }

int64_t Random::Integer() {
  using Limits32 = std::numeric_limits<int32_t>;
  using Limits64 = std::numeric_limits<int64_t>;
  static constexpr std::array<int64_t, 14> kBorders = {
      0,  1, -1, 10, 127, 128, 16383, 16384, 600, Limits32::max(), Limits32::min(), Limits64::max(), Limits64::min(),
      601};
  return Chance(60) ? kBorders[Below(kBorders.size())] : static_cast<int64_t>(Next());
}

std::string Random::Text() {
  static constexpr std::array<std::string_view, 6> kPieces = {"a", "projects/p/topics/t",    "ä", "€",
                                                              "😀", std::string_view("\0", 1)};
  static constexpr std::array<size_t, 8> kSizes = {0, 1, 2, 63, 64, 65, 127, 128};
  std::string text;
  const size_t size = Chance(3) ? 20'000 : kSizes[Below(kSizes.size())];
  while (text.size() < size) text += kPieces[Below(kPieces.size())];
  return text;
}

std::string Random::AnyBytes() {
  std::string bytes(Chance(3) ? 20'000 : Below(200), '\0');
  for (char& byte : bytes) byte = static_cast<char>(Next());
  return bytes;
}

uint64_t SeedFromEnvironment() {
  const char* text = std::getenv("HOPGAP_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

void Fill(Random& random, const FieldFilter& wanted, google::protobuf::Message& message) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  if (type.full_name() == "google.protobuf.Timestamp") return FillTimestamp(random, message);
  if (type.full_name() == "google.protobuf.Duration") return FillDuration(random, message);
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!wanted(field) || !random.Chance(70)) continue;
    if (field.is_map()) {
      // The contract's own maps are all from text to text; Struct stays empty.
      const bool to_text = field.message_type()->map_value()->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      if (to_text) FillMap(random, field, message);
    } else if (field.is_repeated()) {
      for (uint64_t n = random.Below(kRepeatedMax + 1); n > 0; --n) FillOne(random, wanted, field, message);
    } else {
      FillOne(random, wanted, field, message);
    }
  }
}

void SetToNonDefault(const FieldDescriptor& field, google::protobuf::Message& message) {
  Setter set(message, field);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: return set.Text("something");
    case FieldDescriptor::CPPTYPE_INT32: return set.Int32(7);
    case FieldDescriptor::CPPTYPE_INT64: return set.Int64(7);
    case FieldDescriptor::CPPTYPE_BOOL: return set.Bool(true);
    case FieldDescriptor::CPPTYPE_ENUM: return set.Enum(field.enum_type()->value(2)->number());
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      google::protobuf::Message& child = set.Child();
      const google::protobuf::Descriptor& type = *child.GetDescriptor();
      if (type.field_count() > 0) SetToNonDefault(*type.field(0), child);
      return;
    }
    default: std::abort();
  }
}

void AddUnknownFields(Random& random, google::protobuf::Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection.ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
    if (!field->is_repeated()) {
      AddUnknownFields(random, *reflection.MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      AddUnknownFields(random, *reflection.MutableRepeatedMessage(&message, field, i));
    }
  }
  google::protobuf::UnknownFieldSet& unknown = *reflection.MutableUnknownFields(&message);
  for (uint64_t n = random.Below(kRepeatedMax); n > 0; --n) {
    const int number = kUnknownFieldBase + static_cast<int>(random.Below(100'000));
    switch (random.Below(4)) {
      case 0: unknown.AddVarint(number, random.Next()); break;
      case 1: unknown.AddFixed32(number, static_cast<uint32_t>(random.Next())); break;
      case 2: unknown.AddFixed64(number, random.Next()); break;
      default: *unknown.AddLengthDelimited(number) = random.AnyBytes();
    }
  }
}

}  // namespace hopgap::tests
