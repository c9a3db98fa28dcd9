#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <string>

namespace hopgap::tests {

// A seeded source of choices; the same everywhere for the same seed.
class Random {
 public:
  explicit Random(uint64_t seed) : key_(seed) {}

  uint64_t Next();
  uint64_t Below(uint64_t size) { return Next() % size; }
  bool Chance(uint64_t percent) { return Below(100) < percent; }

  // A value a codec may stumble over: zero, ends of ranges, varint borders.
  int64_t Integer();
  // UTF-8, of lengths around the borders of a one- and two-byte varint.
  std::string Text();
  std::string AnyBytes();

 private:
  uint64_t key_;
  uint64_t count_ = 0;
};

// HOPGAP_SEED, else 1.
uint64_t SeedFromEnvironment();

using FieldFilter = std::function<bool(const google::protobuf::FieldDescriptor&)>;

// Sets a random choice of the fields that `wanted` takes, here and in what they
// hold. Timestamps and Durations come out valid and inside the range of ours.
void Fill(Random& random, const FieldFilter& wanted, google::protobuf::Message& message);
inline bool EveryField(const google::protobuf::FieldDescriptor&) { return true; }

// Sets one field to something that is not its default. Requires: no map.
void SetToNonDefault(const google::protobuf::FieldDescriptor& field, google::protobuf::Message& message);

// Adds fields that no version of the contract has, here and in what is set.
void AddUnknownFields(Random& random, google::protobuf::Message& message);

}  // namespace hopgap::tests
