#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hopgap::formats {

// One field of a resource, as the seed file gives it.
struct SeedField {
  std::string name;  // as in the API's definition
  int line = 0;      // 1-based, like all lines here
  std::string wire;  // the field alone, encoded; empty where it is given its default value
};

// A topic or a subscription to create.
struct SeedResource {
  enum class Kind : uint8_t { kTopic, kSubscription };
  Kind kind = Kind::kTopic;
  std::string name;   // whole: projects/…
  std::string entry;  // where it stands in the file: "projects.p.topics.orders"
  int line = 0;
  std::vector<SeedField> fields;  // in the order of the file

  // The whole resource, encoded.
  std::string wire() const;
};

struct SeedMessage {
  std::string topic;  // whole name
  std::string entry;  // "projects.p.topics.orders.messages[0]"
  int line = 0;
  std::string ordering_key;
  std::string wire;  // a PubsubMessage
};

// What `serve --seed FILE` is to create, in the order of the file.
struct Seed {
  std::vector<SeedResource> topics, subscriptions;
  std::vector<SeedMessage> messages;
};

inline constexpr size_t kSeedBytesMax = size_t{16} << 20;
inline constexpr size_t kSeedNodesMax = 1'000'000;  // values, those that YAML's aliases repeat counted each time

// Reads a seed file (docs/seed.md). Field names and types are those of
// google.pubsub.v1, in snake_case or camelCase; what they may hold is the
// broker's to check. InvalidArgument "line 12: projects.p.topics.orders.labels:
// …" for anything that is no seed: unknown, repeated and server-set fields too.
absl::StatusOr<Seed> ParseSeed(std::string_view text);

// Whether an existing resource (encoded, as the broker shows it) has what the
// file gives as this field. Requires: both are well-formed.
bool HasSeedField(SeedResource::Kind kind, std::string_view existing, const SeedField& field);

}  // namespace hopgap::formats
