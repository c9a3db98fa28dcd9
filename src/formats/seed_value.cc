#include "formats/seed_value.h"

#include <google/protobuf/util/json_util.h>

#include <set>

#include "base/text.h"
#include "formats/json_text.h"
#include "formats/seed_file.h"

namespace hopgap::formats {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr size_t kDepthMax = 16;

// Written as one JSON value, not as an object with fields.
bool WellKnown(const Descriptor& type) { return type.file()->package() == "google.protobuf"; }

bool NamesTopic(const FieldDescriptor& field) { return field.name() == "topic" || field.name() == "dead_letter_topic"; }

// Short names of topics become whole ones, here and below.
void Qualify(std::string_view project, google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated()) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Qualify(project, *reflection.MutableMessage(&message, field));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && NamesTopic(*field)) {
      const std::string name = reflection.GetString(message, field);
      if (name.find('/') != std::string::npos) continue;
      reflection.SetString(&message, field, StrCat("projects/", project, "/topics/", name));
    }
  }
}

}  // namespace

absl::Status SeedValues::Error(int line, std::string_view entry, std::string_view text) {
  return absl::InvalidArgumentError(StrCat("line ", line, ": ", entry, entry.empty() ? "" : ": ", text));
}

absl::Status SeedValues::Count(std::string_view entry, int line) {
  if (++nodes_ <= kSeedNodesMax) return absl::OkStatus();
  return Error(line, entry, StrCat("more than ", kSeedNodesMax, " values, repeated ones counted each time"));
}

absl::Status SeedValues::CheckMap(const YAML::Node& node, std::string_view entry, int line) {
  if (absl::Status status = Count(entry, line); !status.ok()) return status;
  if (!node.IsMap()) return Error(line, entry, "must be a map of names to values");
  std::set<std::string> seen;
  for (const auto& pair : node) {
    const int at = LineOf(pair.first);
    if (!pair.first.IsScalar()) return Error(at, entry, "a key must be a text");
    if (!seen.insert(pair.first.Scalar()).second) {
      return Error(at, entry, StrCat("'", Utf8(pair.first.Scalar()), "' stands here twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status SeedValues::ReadText(const YAML::Node& node, std::string_view entry, int line, std::string& out) {
  if (absl::Status status = Count(entry, line); !status.ok()) return status;
  if (!node.IsScalar()) return Error(line, entry, node.IsNull() ? "has no value" : "must be a text");
  out = node.Scalar();
  return absl::OkStatus();
}

const FieldDescriptor* SeedValues::FieldNamed(const Descriptor& type, const std::string& key) {
  const FieldDescriptor* field = type.FindFieldByName(key);
  return field != nullptr ? field : type.FindFieldByCamelcaseName(key);
}

// protobuf's own error for an unknown name knows no line.
absl::Status SeedValues::CheckNames(const YAML::Node& node, const FieldDescriptor& field, const std::string& entry,
                                    int line) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field.is_map() || WellKnown(*field.message_type())) {
    return absl::OkStatus();
  }
  if (field.is_repeated() && node.IsSequence()) {
    for (size_t i = 0; i < node.size(); ++i) {
      const YAML::Node item = node[i];
      for (const auto& pair : item) {
        if (!item.IsMap() || FieldNamed(*field.message_type(), pair.first.Scalar()) != nullptr) continue;
        return Error(LineOf(pair.first), entry, StrCat("unknown field '", Utf8(pair.first.Scalar()), "'"));
      }
    }
    return absl::OkStatus();
  }
  if (absl::Status status = CheckMap(node, entry, line); !status.ok()) return status;
  for (const auto& pair : node) {
    const std::string key = pair.first.Scalar();
    const FieldDescriptor* inner = FieldNamed(*field.message_type(), key);
    if (inner == nullptr) return Error(LineOf(pair.first), entry, StrCat("unknown field '", Utf8(key), "'"));
    absl::Status status = CheckNames(pair.second, *inner, StrCat(entry, ".", inner->name()), LineOf(pair.first));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Every scalar as a JSON text: protobuf reads numbers, truth values and enums
// from texts too, so what YAML would make of `on` or `1e3` does not matter.
absl::Status SeedValues::AppendJson(const YAML::Node& node, std::string_view entry, int line, size_t depth,
                                    std::string& out) {
  if (depth > kDepthMax) return Error(line, entry, StrCat("nested more than ", kDepthMax, " deep"));
  if (node.IsMap()) {
    if (absl::Status status = CheckMap(node, entry, line); !status.ok()) return status;
    out += '{';
    for (const auto& pair : node) {
      if (out.back() != '{') out += ',';
      AppendJsonText(pair.first.Scalar(), out);
      out += ':';
      const absl::Status status = AppendJson(pair.second, entry, LineOf(pair.first), depth + 1, out);
      if (!status.ok()) return status;
    }
    out += '}';
    return absl::OkStatus();
  }
  if (node.IsSequence()) {
    if (absl::Status status = Count(entry, line); !status.ok()) return status;
    out += '[';
    for (size_t i = 0; i < node.size(); ++i) {
      if (i > 0) out += ',';
      const absl::Status status = AppendJson(node[i], entry, LineOf(node[i]), depth + 1, out);
      if (!status.ok()) return status;
    }
    out += ']';
    return absl::OkStatus();
  }
  std::string text;
  if (absl::Status status = ReadText(node, entry, line, text); !status.ok()) return status;
  AppendJsonText(text, out);
  return absl::OkStatus();
}

absl::Status SeedValues::Set(const YAML::Node& node, const FieldDescriptor& field, std::string_view entry, int line,
                             std::string_view project, google::protobuf::Message& message) {
  if (absl::Status status = CheckNames(node, field, std::string(entry), line); !status.ok()) return status;
  std::string json = StrCat("{\"", field.name(), "\":");
  if (absl::Status status = AppendJson(node, entry, line, 0, json); !status.ok()) return status;
  json += '}';
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &message);
  if (!parsed.ok()) {
    const std::string why(parsed.message().data(), parsed.message().size());
    return Error(line, entry, StrCat("is not a ", field.type_name(), " as JSON has it: ", Utf8(why)));
  }
  Qualify(project, message);
  return absl::OkStatus();
}

}  // namespace hopgap::formats
