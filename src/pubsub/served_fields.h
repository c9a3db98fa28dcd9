#pragma once

#include <absl/status/status.h>

#include <optional>
#include <string_view>

// Private to this room: the known fields that are not served, so that none is
// taken and then ignored.
namespace hopgap::pubsub {

// Unimplemented "Topic.kms_key_name is not supported yet" if one of them asks
// for something. `unknown`: the fields that the reader of the resource did not
// take; with `path` only the field that this path of an update mask names, or
// leads into, counts.
absl::Status CheckTopicFields(std::string_view unknown, std::optional<std::string_view> path = std::nullopt);
absl::Status CheckSubscriptionFields(std::string_view unknown, std::optional<std::string_view> path = std::nullopt);
absl::Status CheckCreateSnapshotFields(std::string_view unknown);

// Whether a mask's path names such a field, or leads into one.
bool IsUnservedTopicField(std::string_view path);
bool IsUnservedSubscriptionField(std::string_view path);

}  // namespace hopgap::pubsub
