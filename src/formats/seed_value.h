#pragma once

#include <absl/status/status.h>
#include <google/protobuf/message.h>
#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>

namespace hopgap::formats {

// Reads YAML values into protobuf's messages, by protobuf's JSON rules (names in
// snake_case or camelCase, durations as "600s"), with errors that name line and
// place. Throws what yaml-cpp throws.
class SeedValues {
 public:
  // InvalidArgument "line L: ENTRY: TEXT".
  static absl::Status Error(int line, std::string_view entry, std::string_view text);
  static int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

  // Counts a value against the limit, and checks that it is a map whose keys are
  // texts that stand there once.
  absl::Status CheckMap(const YAML::Node& node, std::string_view entry, int line);
  // A text. `out` is untouched on error.
  absl::Status ReadText(const YAML::Node& node, std::string_view entry, int line, std::string& out);

  // The field of `type` that `key` names, in either spelling; null if there is none.
  static const google::protobuf::FieldDescriptor* FieldNamed(const google::protobuf::Descriptor& type,
                                                             const std::string& key);

  // Sets `field` of `message` to what `node` holds. Names of topics without a
  // project get `project`'s.
  absl::Status Set(const YAML::Node& node, const google::protobuf::FieldDescriptor& field, std::string_view entry,
                   int line, std::string_view project, google::protobuf::Message& message);

 private:
  absl::Status Count(std::string_view entry, int line);
  absl::Status CheckNames(const YAML::Node& node, const google::protobuf::FieldDescriptor& field,
                          const std::string& entry, int line);
  absl::Status AppendJson(const YAML::Node& node, std::string_view entry, int line, size_t depth, std::string& out);

  size_t nodes_ = 0;
};

}  // namespace hopgap::formats
