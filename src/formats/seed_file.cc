#include "formats/seed_file.h"

#include <absl/strings/escaping.h>
#include <google/protobuf/util/message_differencer.h>
#include <google/pubsub/v1/pubsub.pb.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "formats/json_text.h"
#include "formats/seed_value.h"

namespace hopgap::formats {
namespace {

using Kind = SeedResource::Kind;

// Set by the server, or given by the entry's key: a value here would be dropped.
constexpr std::array<std::string_view, 6> kNotGiven = {"name",
                                                       "state",
                                                       "satisfies_pzs",
                                                       "detached",
                                                       "topic_message_retention_duration",
                                                       "analytics_hub_subscription_info"};

std::unique_ptr<google::protobuf::Message> NewResource(Kind kind) {
  if (kind == Kind::kTopic) return std::make_unique<google::pubsub::v1::Topic>();
  return std::make_unique<google::pubsub::v1::Subscription>();
}

class SeedReader {
 public:
  absl::StatusOr<Seed> Read(const YAML::Node& root) {
    if (absl::Status status = ReadRoot(root); !status.ok()) return status;
    return std::move(seed_);
  }

 private:
  absl::Status ReadRoot(const YAML::Node& root);
  absl::Status ReadProject(const YAML::Node& node, const std::string& project, int line);
  absl::Status ReadResources(Kind kind, const YAML::Node& node, const std::string& entry, int line);
  absl::Status ReadResource(const YAML::Node& node, SeedResource resource);
  absl::Status ReadField(const std::string& key, const YAML::Node& node, int line, SeedResource& resource);
  absl::Status ReadMessages(const YAML::Node& node, const SeedResource& topic, int line);
  absl::Status ReadMessage(const YAML::Node& node, SeedMessage message);

  SeedValues values_;
  std::string project_;
  Seed seed_;
};

absl::Status SeedReader::ReadRoot(const YAML::Node& root) {
  if (absl::Status status = values_.CheckMap(root, "", 1); !status.ok()) return status;
  for (const auto& pair : root) {
    const int line = SeedValues::LineOf(pair.first);
    if (pair.first.Scalar() != "projects") {
      return SeedValues::Error(line, "", StrCat("unknown key '", Utf8(pair.first.Scalar()), "': only 'projects'"));
    }
    if (absl::Status status = values_.CheckMap(pair.second, "projects", line); !status.ok()) return status;
    for (const auto& project : pair.second) {
      project_ = project.first.Scalar();
      const absl::Status status =
          ReadProject(project.second, StrCat("projects.", project_), SeedValues::LineOf(project.first));
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status SeedReader::ReadProject(const YAML::Node& node, const std::string& entry, int line) {
  if (node.IsNull()) return absl::OkStatus();
  if (absl::Status status = values_.CheckMap(node, entry, line); !status.ok()) return status;
  for (const auto& pair : node) {
    const std::string key = pair.first.Scalar();
    const int at = SeedValues::LineOf(pair.first);
    if (key != "topics" && key != "subscriptions") {
      return SeedValues::Error(at, entry, StrCat("unknown key '", Utf8(key), "': only 'topics' and 'subscriptions'"));
    }
    const Kind kind = key == "topics" ? Kind::kTopic : Kind::kSubscription;
    if (absl::Status status = ReadResources(kind, pair.second, StrCat(entry, ".", key), at); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status SeedReader::ReadResources(Kind kind, const YAML::Node& node, const std::string& entry, int line) {
  if (node.IsNull()) return absl::OkStatus();
  if (absl::Status status = values_.CheckMap(node, entry, line); !status.ok()) return status;
  const char* collection = kind == Kind::kTopic ? "topics" : "subscriptions";
  for (const auto& pair : node) {
    SeedResource resource;
    resource.kind = kind;
    resource.name = StrCat("projects/", project_, "/", collection, "/", pair.first.Scalar());
    resource.entry = StrCat(entry, ".", pair.first.Scalar());
    resource.line = SeedValues::LineOf(pair.first);
    if (absl::Status status = ReadResource(pair.second, std::move(resource)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SeedReader::ReadResource(const YAML::Node& node, SeedResource resource) {
  if (!node.IsNull()) {
    if (absl::Status status = values_.CheckMap(node, resource.entry, resource.line); !status.ok()) return status;
    for (const auto& pair : node) {
      const std::string key = pair.first.Scalar();
      const int line = SeedValues::LineOf(pair.first);
      const absl::Status status = key == "messages" && resource.kind == Kind::kTopic
                                      ? ReadMessages(pair.second, resource, line)
                                      : ReadField(key, pair.second, line, resource);
      if (!status.ok()) return status;
    }
  }
  auto& resources = resource.kind == Kind::kTopic ? seed_.topics : seed_.subscriptions;
  resources.push_back(std::move(resource));
  return absl::OkStatus();
}

absl::Status SeedReader::ReadField(const std::string& key, const YAML::Node& node, int line, SeedResource& resource) {
  const std::unique_ptr<google::protobuf::Message> value = NewResource(resource.kind);
  const google::protobuf::FieldDescriptor* field = SeedValues::FieldNamed(*value->GetDescriptor(), key);
  if (field == nullptr) {
    return SeedValues::Error(line, resource.entry,
                             StrCat("unknown field '", Utf8(key), "': see docs/seed.md for the fields there are"));
  }
  if (std::find(kNotGiven.begin(), kNotGiven.end(), field->name()) != kNotGiven.end()) {
    return SeedValues::Error(line, resource.entry,
                             StrCat("'", Utf8(key), "' is not for a seed to give: ",
                                    field->name() == "name" ? "the entry's key is its name" : "the broker sets it"));
  }
  for (const SeedField& before : resource.fields) {
    if (before.name != field->name()) continue;
    return SeedValues::Error(line, resource.entry, StrCat("'", field->name(), "' stands here twice, in two spellings"));
  }
  const std::string entry = StrCat(resource.entry, ".", field->name());
  if (absl::Status status = values_.Set(node, *field, entry, line, project_, *value); !status.ok()) return status;
  resource.fields.push_back({.name = field->name(), .line = line, .wire = value->SerializeAsString()});
  return absl::OkStatus();
}

absl::Status SeedReader::ReadMessages(const YAML::Node& node, const SeedResource& topic, int line) {
  if (!node.IsSequence()) return SeedValues::Error(line, topic.entry + ".messages", "must be a list");
  for (size_t i = 0; i < node.size(); ++i) {
    SeedMessage message;
    message.topic = topic.name;
    message.entry = StrCat(topic.entry, ".messages[", i, "]");
    message.line = SeedValues::LineOf(node[i]);
    if (absl::Status status = ReadMessage(node[i], std::move(message)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SeedReader::ReadMessage(const YAML::Node& node, SeedMessage message) {
  google::pubsub::v1::PubsubMessage value;
  if (absl::Status status = values_.CheckMap(node, message.entry, message.line); !status.ok()) return status;
  bool has_data = false;
  for (const auto& pair : node) {
    const std::string key = pair.first.Scalar();
    const int line = SeedValues::LineOf(pair.first);
    const std::string entry = StrCat(message.entry, ".", key);
    if (key == "data" || key == "data_base64") {
      if (std::exchange(has_data, true)) return SeedValues::Error(line, entry, "give data or data_base64, not both");
      std::string text;
      if (absl::Status status = values_.ReadText(pair.second, entry, line, text); !status.ok()) return status;
      if (key == "data") {
        value.set_data(std::move(text));
      } else if (!absl::Base64Unescape(text, value.mutable_data())) {
        return SeedValues::Error(line, entry, "is not base64");
      }
      continue;
    }
    const google::protobuf::FieldDescriptor* field = SeedValues::FieldNamed(*value.GetDescriptor(), key);
    if (field == nullptr || (field->name() != "attributes" && field->name() != "ordering_key")) {
      return SeedValues::Error(
          line, message.entry,
          StrCat("unknown field '", Utf8(key), "': only data, data_base64, attributes and ordering_key"));
    }
    google::pubsub::v1::PubsubMessage part;
    if (absl::Status status = values_.Set(pair.second, *field, entry, line, project_, part); !status.ok()) {
      return status;
    }
    value.MergeFrom(part);
  }
  message.ordering_key = value.ordering_key();
  message.wire = value.SerializeAsString();
  seed_.messages.push_back(std::move(message));
  return absl::OkStatus();
}

// Takes no notice of what is in a document.
class Ignore final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Not by YAML::LoadAll: it makes documents without end of a text that begins
// with a comma.
bool IsOneDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Ignore ignore;
  return parser.HandleNextDocument(ignore) && !parser.HandleNextDocument(ignore);
}

}  // namespace

std::string SeedResource::wire() const {
  google::pubsub::v1::Topic named;  // both kinds have their name in field 1
  named.set_name(name);
  std::string whole = named.SerializeAsString();
  for (const SeedField& field : fields) whole += field.wire;
  return whole;
}

absl::StatusOr<Seed> ParseSeed(std::string_view text) {
  if (text.size() > kSeedBytesMax) {
    return absl::InvalidArgumentError(
        StrCat("the seed is ", text.size(), " bytes: at most ", kSeedBytesMax, ". Publish large backlogs instead"));
  }
  // Names and labels of the wire are UTF-8; the parser would take anything.
  if (const std::string good = Utf8(text); good != text) {
    const auto bad = std::mismatch(text.begin(), text.end(), good.begin(), good.end()).first;
    return SeedValues::Error(1 + static_cast<int>(std::count(text.begin(), bad, '\n')), "", "is not UTF-8");
  }
  try {
    if (!IsOneDocument(std::string(text))) return SeedValues::Error(1, "", "a seed is one YAML document");
    return SeedReader().Read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    return SeedValues::Error(error.mark.line + 1, "", Utf8(error.msg));
  }
}

bool HasSeedField(SeedResource::Kind kind, std::string_view existing, const SeedField& field) {
  const std::unique_ptr<google::protobuf::Message> there = NewResource(kind), wanted = NewResource(kind);
  there->ParseFromArray(existing.data(), static_cast<int>(existing.size()));
  wanted->ParseFromString(field.wire);
  // A field that is set to its default is not on the wire: compare it alone.
  const google::protobuf::FieldDescriptor* named = there->GetDescriptor()->FindFieldByName(field.name);
  if (named->has_presence() &&
      there->GetReflection()->HasField(*there, named) != wanted->GetReflection()->HasField(*wanted, named)) {
    return false;
  }
  google::protobuf::util::MessageDifferencer differencer;
  const std::vector<const google::protobuf::FieldDescriptor*> compared = {named};
  return differencer.CompareWithFields(*there, *wanted, compared, compared);
}

}  // namespace hopgap::formats
