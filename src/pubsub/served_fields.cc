#include "pubsub/served_fields.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "pubsub/codec.h"

namespace hopgap::pubsub {
namespace {

using codec::ForEachField;

// What a request may ask of a field that is not served.
enum class Ask : uint8_t {
  kDefault,    // nothing: its type's default value
  kAbsent,     // nothing: a message counts as set by being there, even when empty
  kEmptyPush,  // nothing: an empty PushConfig, which makes a pull subscription
};

struct UnservedField {
  uint32_t number;
  WireType type;
  std::string_view name;
  Ask allowed;
};

// Fields that only the service writes (state and the like) are in no table:
// clients send them back as they got them, and the service ignores them.
constexpr std::array kUnservedOfTopic = {
    UnservedField{3, WireType::kBytes, "message_storage_policy", Ask::kAbsent},
    UnservedField{5, WireType::kBytes, "kms_key_name", Ask::kDefault},
    UnservedField{6, WireType::kBytes, "schema_settings", Ask::kAbsent},
    UnservedField{10, WireType::kBytes, "ingestion_data_source_settings", Ask::kAbsent},
    UnservedField{13, WireType::kBytes, "message_transforms", Ask::kAbsent},
    UnservedField{14, WireType::kBytes, "tags", Ask::kAbsent},
};
constexpr std::array kUnservedOfCreateSnapshot = {
    UnservedField{4, WireType::kBytes, "tags", Ask::kAbsent},
};
constexpr std::array kUnservedOfSubscription = {
    UnservedField{4, WireType::kBytes, "push_config", Ask::kEmptyPush},
    UnservedField{18, WireType::kBytes, "bigquery_config", Ask::kAbsent},
    UnservedField{22, WireType::kBytes, "cloud_storage_config", Ask::kAbsent},
    UnservedField{25, WireType::kBytes, "message_transforms", Ask::kAbsent},
    UnservedField{26, WireType::kBytes, "tags", Ask::kAbsent},
    UnservedField{27, WireType::kBytes, "bigtable_config", Ask::kAbsent},
};

absl::Status NotSupported(std::string_view type, std::string_view field) {
  return absl::UnimplementedError(StrCat(type, ".", field, " is not supported yet"));
}

absl::Status CheckEmptyPush(const UnservedField& known, std::string_view type, std::string_view wire) {
  constexpr uint32_t kEndpoint = 1, kLastOfPushConfig = 5;
  return ForEachField(type, wire, [&](const WireField& field) {
    const bool default_endpoint = field.Is(kEndpoint, WireType::kBytes) && field.bytes.empty();
    return field.number > kLastOfPushConfig || default_endpoint ? absl::OkStatus() : NotSupported(type, known.name);
  });
}

absl::Status CheckAsk(const UnservedField& known, std::string_view type, const WireField& field) {
  switch (known.allowed) {
    case Ask::kDefault:
      return field.value == 0 && field.bytes.empty() ? absl::OkStatus() : NotSupported(type, known.name);
    case Ask::kAbsent: break;
    case Ask::kEmptyPush: return CheckEmptyPush(known, type, field.bytes);
  }
  return NotSupported(type, known.name);
}

// A path below a field is that field's.
bool Names(std::string_view path, std::string_view field) {
  return path.starts_with(field) && (path.size() == field.size() || path[field.size()] == '.');
}

absl::Status Check(std::span<const UnservedField> table, std::string_view type, std::string_view unknown,
                   std::optional<std::string_view> path) {
  return ForEachField(type, unknown, [&](const WireField& field) {
    for (const UnservedField& known : table) {
      if (field.Is(known.number, known.type) && (!path || Names(*path, known.name))) {
        return CheckAsk(known, type, field);
      }
    }
    return absl::OkStatus();
  });
}

bool Knows(std::span<const UnservedField> table, std::string_view path) {
  return std::any_of(table.begin(), table.end(),
                     [path](const UnservedField& known) { return Names(path, known.name); });
}

}  // namespace

absl::Status CheckTopicFields(std::string_view unknown, std::optional<std::string_view> path) {
  return Check(kUnservedOfTopic, "Topic", unknown, path);
}

absl::Status CheckSubscriptionFields(std::string_view unknown, std::optional<std::string_view> path) {
  return Check(kUnservedOfSubscription, "Subscription", unknown, path);
}

absl::Status CheckCreateSnapshotFields(std::string_view unknown) {
  return Check(kUnservedOfCreateSnapshot, "CreateSnapshotRequest", unknown, std::nullopt);
}

bool IsUnservedTopicField(std::string_view path) { return Knows(kUnservedOfTopic, path); }
bool IsUnservedSubscriptionField(std::string_view path) { return Knows(kUnservedOfSubscription, path); }

}  // namespace hopgap::pubsub
