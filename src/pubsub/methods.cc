#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "base/text.h"
#include "pubsub/api.h"

namespace hopgap::pubsub {
namespace {

struct ServedMethod {
  Method method;
  std::string_view path;
};

constexpr std::array kServed = {
    ServedMethod{Method::kCreateTopic, "/google.pubsub.v1.Publisher/CreateTopic"},
    ServedMethod{Method::kGetTopic, "/google.pubsub.v1.Publisher/GetTopic"},
    ServedMethod{Method::kListTopics, "/google.pubsub.v1.Publisher/ListTopics"},
    ServedMethod{Method::kListTopicSubscriptions, "/google.pubsub.v1.Publisher/ListTopicSubscriptions"},
    ServedMethod{Method::kDeleteTopic, "/google.pubsub.v1.Publisher/DeleteTopic"},
    ServedMethod{Method::kUpdateTopic, "/google.pubsub.v1.Publisher/UpdateTopic"},
    ServedMethod{Method::kListTopicSnapshots, "/google.pubsub.v1.Publisher/ListTopicSnapshots"},
    ServedMethod{Method::kDetachSubscription, "/google.pubsub.v1.Publisher/DetachSubscription"},
    ServedMethod{Method::kPublish, "/google.pubsub.v1.Publisher/Publish"},
    ServedMethod{Method::kCreateSubscription, "/google.pubsub.v1.Subscriber/CreateSubscription"},
    ServedMethod{Method::kGetSubscription, "/google.pubsub.v1.Subscriber/GetSubscription"},
    ServedMethod{Method::kListSubscriptions, "/google.pubsub.v1.Subscriber/ListSubscriptions"},
    ServedMethod{Method::kDeleteSubscription, "/google.pubsub.v1.Subscriber/DeleteSubscription"},
    ServedMethod{Method::kUpdateSubscription, "/google.pubsub.v1.Subscriber/UpdateSubscription"},
    ServedMethod{Method::kCreateSnapshot, "/google.pubsub.v1.Subscriber/CreateSnapshot"},
    ServedMethod{Method::kGetSnapshot, "/google.pubsub.v1.Subscriber/GetSnapshot"},
    ServedMethod{Method::kListSnapshots, "/google.pubsub.v1.Subscriber/ListSnapshots"},
    ServedMethod{Method::kUpdateSnapshot, "/google.pubsub.v1.Subscriber/UpdateSnapshot"},
    ServedMethod{Method::kDeleteSnapshot, "/google.pubsub.v1.Subscriber/DeleteSnapshot"},
    ServedMethod{Method::kSeek, "/google.pubsub.v1.Subscriber/Seek"},
    ServedMethod{Method::kPull, "/google.pubsub.v1.Subscriber/Pull"},
    ServedMethod{Method::kAcknowledge, "/google.pubsub.v1.Subscriber/Acknowledge"},
    ServedMethod{Method::kModifyAckDeadline, "/google.pubsub.v1.Subscriber/ModifyAckDeadline"},
    ServedMethod{Method::kStreamingPull, "/google.pubsub.v1.Subscriber/StreamingPull"},
};

// The rest of the 38 calls of the published service.
constexpr std::array<std::string_view, 14> kNotServed = {
    "/google.pubsub.v1.Subscriber/ModifyPushConfig",
    "/google.pubsub.v1.SchemaService/CreateSchema",
    "/google.pubsub.v1.SchemaService/GetSchema",
    "/google.pubsub.v1.SchemaService/ListSchemas",
    "/google.pubsub.v1.SchemaService/ListSchemaRevisions",
    "/google.pubsub.v1.SchemaService/CommitSchema",
    "/google.pubsub.v1.SchemaService/RollbackSchema",
    "/google.pubsub.v1.SchemaService/DeleteSchemaRevision",
    "/google.pubsub.v1.SchemaService/DeleteSchema",
    "/google.pubsub.v1.SchemaService/ValidateSchema",
    "/google.pubsub.v1.SchemaService/ValidateMessage",
    "/google.iam.v1.IAMPolicy/GetIamPolicy",
    "/google.iam.v1.IAMPolicy/SetIamPolicy",
    "/google.iam.v1.IAMPolicy/TestIamPermissions",
};
static_assert(kServed.size() + kNotServed.size() == 38);

// "/google.iam.v1.IAMPolicy/GetIamPolicy" to "IAMPolicy.GetIamPolicy".
std::string ShortMethodName(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view service = path.substr(0, slash);
  return StrCat(service.substr(service.rfind('.') + 1), ".", path.substr(slash + 1));
}

}  // namespace

std::string_view MethodPath(Method method) {
  for (const ServedMethod& served : kServed) {
    if (served.method == method) return served.path;
  }
  CheckFailed(__FILE__, __LINE__, "MethodPath", "every Method has a path");
}

std::optional<Method> MethodFromPath(std::string_view path) {
  for (const ServedMethod& served : kServed) {
    if (served.path == path) return served.method;
  }
  return std::nullopt;
}

std::string UnimplementedText(std::string_view path) {
  HOPGAP_CHECK(!MethodFromPath(path), "a call that is served has no such text");
  if (std::find(kNotServed.begin(), kNotServed.end(), path) == kNotServed.end()) {
    return StrCat("no such method: ", path);
  }
  return StrCat(ShortMethodName(path), " is not supported yet");
}

}  // namespace hopgap::pubsub
