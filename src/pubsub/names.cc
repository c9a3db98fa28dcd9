#include "pubsub/names.h"

#include <string>

#include "base/text.h"
#include "pubsub/limits.h"

namespace hopgap::pubsub {
namespace {

constexpr std::string_view kProjects = "projects/";

absl::Status Invalid(std::string_view name) {
  return absl::InvalidArgumentError(
      StrCat("Invalid resource name given (name=", name,
             "). Refer to https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names for more information."));
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool IsIdCharacter(char c) {
  return IsLetter(c) || (c >= '0' && c <= '9') || std::string_view("-_.~+%").find(c) != std::string_view::npos;
}

bool IsId(std::string_view id) {
  if (id.size() < kIdBytesMin || id.size() > kIdBytesMax) return false;
  if (!IsLetter(id.front()) || id.starts_with(kReservedPrefix)) return false;
  for (const char c : id) {
    if (!IsIdCharacter(c)) return false;
  }
  return true;
}

// Any text without a slash: ids, numbers and domain-scoped ids all name a
// project, and no project is checked for existence.
bool IsProject(std::string_view project) { return !project.empty() && project.find('/') == std::string_view::npos; }

}  // namespace

absl::StatusOr<ResourceName> ParseName(std::string_view name, std::string_view collection) {
  std::string_view rest = name;
  if (!rest.starts_with(kProjects)) return Invalid(name);
  rest.remove_prefix(kProjects.size());
  const std::string_view project = rest.substr(0, rest.find('/'));
  rest.remove_prefix(project.size());
  if (!IsProject(project) || rest.size() < collection.size() + 2 || rest.front() != '/' ||
      rest.substr(1, collection.size()) != collection || rest[collection.size() + 1] != '/') {
    return Invalid(name);
  }
  const std::string_view id = rest.substr(collection.size() + 2);
  if (!IsId(id)) return Invalid(name);
  return ResourceName{project, id};
}

absl::StatusOr<std::string_view> ParseProject(std::string_view name) {
  if (!name.starts_with(kProjects) || !IsProject(name.substr(kProjects.size()))) return Invalid(name);
  return name.substr(kProjects.size());
}

std::string_view ShortName(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

}  // namespace hopgap::pubsub
