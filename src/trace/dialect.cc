#include "trace/dialect.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "trace/vocabulary.h"

namespace hopgap::trace {
namespace {

constexpr std::array<std::string_view, kClients> kClientNames = {
    "unknown", "Go v1", "Go v2", "Java", "Python", "Node.js", "C++", "messaging conventions"};

struct ScopeRule {
  std::string_view part;
  Client client;
};
// The first that is part of the scope's name decides.
constexpr ScopeRule kScopes[] = {
    {"cloud.google.com/go/pubsub/v2", Client::kGo2},
    {"cloud.google.com/go/pubsub", Client::kGo1},
    {"com.google.cloud.pubsub", Client::kJava},
    {"pubsub_v1", Client::kPython},
    {"google.cloud.pubsub", Client::kPython},
    {"google-cloud-pubsub", Client::kPython},
    {"@google-cloud/pubsub", Client::kNode},
    {"gl-cpp", Client::kCpp},
    {"google-cloud-cpp", Client::kCpp},
    {"gcloud-cpp", Client::kCpp},
};

// Attributes in other clients' words; the Go library's is last.
constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
    {"messaging.gcp_pubsub.message.exactly_once_delivery", words::kExactlyOnce},
    {"messaging.gcp_pubsub.subscription.exactly_once_delivery", words::kExactlyOnce},
    {"messaging.gcp_pubsub.message.ack_deadline_seconds", words::kAckDeadline},
    {"messaging.gcp_pubsub.ack_deadline_seconds", words::kAckDeadline},
    {"messaging.gcp_pubsub.ack_deadline", words::kAckDeadline},
    {"messaging.message_id", words::kMessageId},
    {"messaging.destination", words::kDestination},
};

Client GoOf(const Span& span) {
  return span.Text(words::kSystem) == "pubsub" || span.name == "subscriber flow control" ? Client::kGo1 : Client::kGo2;
}

bool HasKeyOf(const Span& span, std::string_view prefix) {
  return std::any_of(span.attributes.begin(), span.attributes.end(),
                     [prefix](const auto& one) { return one.first.starts_with(prefix); });
}

std::optional<Client> ClientOfLanguage(const Span& span) {
  if (span.language == "go") return GoOf(span);
  if (span.language == "java") return Client::kJava;
  if (span.language == "python") return Client::kPython;
  if (span.language == "nodejs") return Client::kNode;
  if (span.language == "cpp") return Client::kCpp;
  return std::nullopt;
}

// A name that ends (or, in the conventions' newer order, begins) with what is done.
struct Operation {
  std::string_view what, resource;
  bool first = false;
};
constexpr std::string_view kOperations[] = {"create",  "publish", "send", "subscribe", "receive", "process",
                                            "deliver", "modack",  "ack",  "nack",      "settle",  "consume"};
bool IsOperation(std::string_view word) {
  return std::find(std::begin(kOperations), std::end(kOperations), word) != std::end(kOperations);
}

std::optional<Operation> OperationOf(std::string_view name) {
  const size_t last = name.rfind(' ');
  if (last == std::string_view::npos || last == 0) return std::nullopt;
  if (IsOperation(name.substr(last + 1))) return Operation{name.substr(last + 1), name.substr(0, last), false};
  const size_t first = name.find(' ');
  if (first == last && IsOperation(name.substr(0, first))) {
    return Operation{name.substr(0, first), name.substr(first + 1), true};
  }
  return std::nullopt;
}

bool OfMessaging(const Span& span) {
  return span.kind == SpanKind::kProducer || span.kind == SpanKind::kConsumer || HasKeyOf(span, "messaging.");
}

bool Is(const Span& span, std::string_view suffix) { return std::string_view(span.name).ends_with(suffix); }

void Rename(Span& span, std::string name) {
  if (span.name == name) return;
  span.attributes.emplace_back(kOriginalName, std::exchange(span.name, std::move(name)));
}

void MarkWhole(Span& span) { span.attributes.emplace_back(kWhole, true); }

// One RPC for several messages, of which each has a create span of its own: only
// then does it link to them. A producer span alone is the whole publish.
bool IsWholePublish(const Span& span, Client client) {
  return span.kind == SpanKind::kProducer && span.links.empty() && client != Client::kNode &&
         span.Find("code.function") == nullptr;
}

void CanonicalOperation(Span& span, const Operation& operation, Client client) {
  const auto named = [&](std::string_view suffix) { Rename(span, StrCat(operation.resource, suffix)); };
  if (operation.what == "publish" || operation.what == "send") {
    const bool whole = IsWholePublish(span, client);
    if (whole) MarkWhole(span);
    return named(whole ? words::kCreate : words::kPublish);
  }
  if (operation.what == "receive" && span.kind == SpanKind::kConsumer) return named(words::kSubscribe);
  if (operation.what == "process" || operation.what == "deliver" || operation.what == "consume") {
    if (span.kind == SpanKind::kConsumer) MarkWhole(span);
    return named(words::kProcess);
  }
  if (operation.what == "settle") return named(words::kAck);
  if (operation.what != "receive" && operation.first) named(StrCat(" ", operation.what));
}

void CanonicalName(Span& span, Client client) {
  if (span.name == "subscriber flow control") return Rename(span, std::string(words::kConcurrencyControl));
  if (span.name == "subscriber scheduler") return Rename(span, std::string(words::kScheduler));
  const std::string before = span.name;  // what the operation looks at
  const std::optional<Operation> operation = OperationOf(before);
  if (!operation || (operation->first && !OfMessaging(span))) return;
  CanonicalOperation(span, *operation, client);
}

// "gl-cpp.publish_start" is "publish start".
void CanonicalEvent(SpanEvent& event) {
  constexpr std::string_view kCpp = "gl-cpp.";
  if (event.name.starts_with(kCpp)) event.name.erase(0, kCpp.size());
  if (event.name.ends_with("_start") || event.name.ends_with("_end") || event.name.ends_with("_called")) {
    std::replace(event.name.begin(), event.name.end(), '_', ' ');
  }
}

void CanonicalKeys(Attributes& attributes) {
  for (auto& [key, value] : attributes) {
    if (!std::string_view(key).starts_with("messaging.")) continue;
    for (const auto& [theirs, ours] : kKeys) {
      if (key == theirs) key = std::string(ours);
    }
    std::string* text = std::get_if<std::string>(&value);
    if (key == words::kResult && text != nullptr && (*text == "ack" || *text == "nack")) *text += "ed";
  }
}

}  // namespace

std::string_view ClientName(Client client) {
  const auto index = static_cast<size_t>(client);
  HOPGAP_CHECK(index < kClientNames.size(), "no such client");
  return kClientNames[index];
}

Client ClientOf(const Span& span) {
  for (const ScopeRule& rule : kScopes) {
    if (span.scope.find(rule.part) != std::string::npos) return rule.client;
  }
  const bool pubsub = HasKeyOf(span, "messaging.gcp_pubsub.") || span.Text(words::kSystem) == words::kSystemPubsub ||
                      span.Text(words::kSystem) == "pubsub";
  if (pubsub || span.name.starts_with("subscribe")) {
    if (const std::optional<Client> client = ClientOfLanguage(span)) return *client;
  }
  if (span.Find("messaging.gcp_pubsub.subscription.exactly_once_delivery") != nullptr) return Client::kCpp;
  if (span.Find(words::kExactlyOnce) != nullptr) return GoOf(span);
  const bool event_of_cpp = std::any_of(span.events.begin(), span.events.end(),
                                        [](const SpanEvent& event) { return event.name.starts_with("gl-cpp."); });
  if (event_of_cpp) return Client::kCpp;
  if (span.kind == SpanKind::kProducer && Is(span, " send") && pubsub) return Client::kNode;
  return OfMessaging(span) ? Client::kConventions : Client::kUnknown;
}

Role RoleOf(const Span& span) {
  if (span.scope == kBrokerScope) return Role::kBroker;
  if (span.name == words::kPublisherFlowControl || span.name == words::kPublisherBatching) return Role::kPublisherPart;
  if (span.name == words::kConcurrencyControl || span.name == words::kScheduler) return Role::kSubscriberPart;
  constexpr std::pair<std::string_view, Role> kSuffixes[] = {
      {words::kCreate, Role::kCreate},      {words::kSubscribe, Role::kSubscribe}, {words::kProcess, Role::kProcess},
      {words::kPublish, Role::kPublishRpc}, {words::kModack, Role::kModackRpc},    {words::kAck, Role::kAckRpc},
      {words::kNack, Role::kNackRpc}};
  for (const auto& [suffix, role] : kSuffixes) {
    if (Is(span, suffix)) return role;
  }
  return span.kind == SpanKind::kServer ? Role::kServer : Role::kOther;
}

void Canonicalize(Span& span) {
  if (span.scope == kBrokerScope) return;
  const Client client = ClientOf(span);
  for (SpanEvent& event : span.events) {
    CanonicalEvent(event);
    CanonicalKeys(event.attributes);
  }
  CanonicalName(span, client);
  CanonicalKeys(span.attributes);
}

}  // namespace hopgap::trace
