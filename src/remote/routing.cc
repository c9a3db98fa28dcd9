#include "remote/routing.h"

#include <string_view>

#include "base/text.h"
#include "pubsub/wire.h"

namespace hopgap::remote {
namespace {

std::string_view ParameterName(pubsub::Method method) {
  switch (method) {
    case pubsub::Method::kCreateTopic:
    case pubsub::Method::kCreateSubscription:
    case pubsub::Method::kCreateSnapshot: return "name";
    case pubsub::Method::kUpdateTopic: return "topic.name";
    case pubsub::Method::kUpdateSubscription: return "subscription.name";
    case pubsub::Method::kUpdateSnapshot: return "snapshot.name";
    case pubsub::Method::kGetSnapshot:
    case pubsub::Method::kDeleteSnapshot: return "snapshot";
    case pubsub::Method::kGetTopic:
    case pubsub::Method::kListTopicSubscriptions:
    case pubsub::Method::kListTopicSnapshots:
    case pubsub::Method::kDeleteTopic:
    case pubsub::Method::kPublish: return "topic";
    case pubsub::Method::kListTopics:
    case pubsub::Method::kListSubscriptions:
    case pubsub::Method::kListSnapshots: return "project";
    case pubsub::Method::kGetSubscription:
    case pubsub::Method::kDeleteSubscription:
    case pubsub::Method::kDetachSubscription:
    case pubsub::Method::kSeek:
    case pubsub::Method::kPull:
    case pubsub::Method::kAcknowledge:
    case pubsub::Method::kModifyAckDeadline:
    case pubsub::Method::kStreamingPull: return "subscription";
  }
  return "name";
}

// As url.QueryEscape of the Go libraries: what is not unreserved is escaped.
std::string Escape(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter || std::string_view("-_.~").find(c) != std::string_view::npos) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  return out;
}

}  // namespace

std::string RoutingParams(pubsub::Method method, const pubsub::Slices& request) {
  if (request.empty()) return {};
  // Encoders write fields in order, so the name is in the first slice; the
  // slice may end inside a later field.
  pubsub::WireReader reader(request.front().view());
  if (!reader.Next() || reader.field().number != 1 || reader.field().type != pubsub::WireType::kBytes) return {};
  const std::string_view parameter = ParameterName(method);
  std::string_view name = reader.field().bytes;
  if (parameter.ends_with(".name")) {  // an update: field 1 is the resource, whose field 1 is its name
    pubsub::WireReader resource(name);
    if (!resource.Next() || resource.field().number != 1 || resource.field().type != pubsub::WireType::kBytes) {
      return {};
    }
    name = resource.field().bytes;
  }
  return StrCat(parameter, "=", Escape(name));
}

}  // namespace hopgap::remote
