#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace hopgap::pubsub {

inline constexpr std::string_view kDeletedTopic = "_deleted-topic_";

// "projects/{project}/{collection}/{id}", taken apart.
struct ResourceName {
  std::string_view project;
  std::string_view id;
};

// InvalidArgument with the service's text ("Invalid resource name given
// (name=...)") unless `name` is of `collection` ("topics", "subscriptions") and
// its id is 3 to 255 of [A-Za-z0-9-_.~+%], begins with a letter and not with
// "goog". The views point into `name`.
absl::StatusOr<ResourceName> ParseName(std::string_view name, std::string_view collection);

// "projects/{project}" for lists.
absl::StatusOr<std::string_view> ParseProject(std::string_view name);

// The text after the last slash.
std::string_view ShortName(std::string_view name);

}  // namespace hopgap::pubsub
