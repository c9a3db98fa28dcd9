#include "formats/admin_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "broker/broker.h"
#include "formats/cloud_trace.h"
#include "formats/json_read.h"
#include "formats/json_text.h"
#include "trace/lease_failure_words.h"

namespace hopgap::formats {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::vector<std::string_view>;

constexpr char kSubscriptionCalls[] = "GET …/leases, POST …:expireLeases, …:failNext, …:pauseStreams, …:recycleStreams";

absl::Status BadField(std::string_view field, std::string_view text) {
  return absl::InvalidArgumentError(StrCat(field, ": ", text));
}

// The object in `body`, with no other fields than these; an empty body is one
// without fields.
absl::StatusOr<Json> ParseBody(std::string_view body, const Fields& fields) {
  if (body.empty()) return Json::object();
  absl::StatusOr<Json> object = ParseJson(body);
  if (!object.ok()) {
    return absl::InvalidArgumentError(StrCat("the body must be a JSON object: ", MessageOf(object.status())));
  }
  if (!object->is_object()) return absl::InvalidArgumentError("the body must be a JSON object");
  for (const auto& [name, value] : object->items()) {
    if (std::find(fields.begin(), fields.end(), name) != fields.end()) continue;
    std::string known;
    for (const std::string_view field : fields) known += StrCat(known.empty() ? "" : ", ", field);
    return BadField(Utf8(name),
                    fields.empty() ? "unknown field: this call takes none" : "unknown field: there are " + known);
  }
  return object;
}

absl::StatusOr<int64_t> WholeNumber(const Json& object, const char* field, int64_t low, int64_t high) {
  const Json& value = object.at(field);
  // Above 2^63 a number is unsigned and would turn negative.
  const bool fits = value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
  if (!fits || value.get<int64_t>() < low || value.get<int64_t>() > high) {
    return BadField(field, StrCat(value.dump(-1, ' ', true, Json::error_handler_t::replace), " is no whole number in [",
                                  low, ", ", high, "]"));
  }
  return value.get<int64_t>();
}

absl::StatusOr<Duration> Seconds(const Json& object, Duration longest) {
  if (!object.contains("seconds")) return BadField("seconds", "is missing");
  const Json& value = object.at("seconds");
  const double most = std::chrono::duration<double>(longest).count();
  const double seconds = value.is_number() ? value.get<double>() : -1;
  if (!(seconds >= 0 && seconds <= most)) {
    return BadField("seconds", StrCat(value.dump(-1, ' ', true, Json::error_handler_t::replace),
                                      " is no number in [0, ", static_cast<int64_t>(most), "]"));
  }
  return Duration{static_cast<int64_t>(std::llround(seconds * 1e9))};
}

absl::StatusOr<std::string> OneOf(const Json& object, const char* field, std::string_view first,
                                  std::string_view second) {
  const Json value = object.contains(field) ? object.at(field) : Json();
  if (value.is_string() && (value.get<std::string>() == first || value.get<std::string>() == second)) {
    return value.get<std::string>();
  }
  return BadField(field, StrCat("must be \"", first, "\" or \"", second, "\""));
}

absl::StatusOr<AdminCall> ParseExpire(const std::string& subscription, std::string_view body) {
  const absl::StatusOr<Json> object = ParseBody(body, {"message_id", "all"});
  if (!object.ok()) return object.status();
  const bool all = object->contains("all");
  if (all == object->contains("message_id")) return BadField("message_id", "give it, or \"all\": true");
  if (all && object->at("all") != true) return BadField("all", "may only be true");
  if (!all && (!object->at("message_id").is_string() || object->at("message_id").get<std::string>().empty())) {
    return BadField("message_id", "must be a text and not empty");
  }
  return broker::AdminRequest(broker::ExpireLeases{
      .subscription = subscription, .message_id = all ? "" : object->at("message_id").get<std::string>()});
}

absl::StatusOr<AdminCall> ParseFailNext(const std::string& subscription, std::string_view body) {
  const absl::StatusOr<Json> object = ParseBody(body, {"call", "failure", "times"});
  if (!object.ok()) return object.status();
  const absl::StatusOr<std::string> call = OneOf(*object, "call", "ack", "modack");
  if (!call.ok()) return call.status();
  const absl::StatusOr<std::string> failure = OneOf(*object, "failure", "transient", "permanent");
  if (!failure.ok()) return failure.status();
  absl::StatusOr<int64_t> times = int64_t{1};
  if (object->contains("times")) times = WholeNumber(*object, "times", 0, broker::FailNext::kTimesMax);
  if (!times.ok()) return times.status();
  return broker::AdminRequest(broker::FailNext{.subscription = subscription,
                                               .ack = *call == "ack",
                                               .permanent = *failure == "permanent",
                                               .times = static_cast<uint32_t>(*times)});
}

absl::StatusOr<AdminCall> ParsePause(const std::string& subscription, std::string_view body) {
  const absl::StatusOr<Json> object = ParseBody(body, {"seconds"});
  if (!object.ok()) return object.status();
  const absl::StatusOr<Duration> length = Seconds(*object, broker::PauseStreams::kLengthMax);
  if (!length.ok()) return length.status();
  return broker::AdminRequest(broker::PauseStreams{.subscription = subscription, .length = *length});
}

absl::StatusOr<AdminCall> ParseResponses(std::string_view body) {
  const absl::StatusOr<Json> object = ParseBody(body, {"messages_max", "policy"});
  if (!object.ok()) return object.status();
  if (object->empty()) return BadField("messages_max", "give it, or policy, or both");
  broker::SetResponses responses;
  if (object->contains("messages_max")) {
    const absl::StatusOr<int64_t> count =
        WholeNumber(*object, "messages_max", 1, static_cast<int64_t>(broker::SetResponses::kMessagesMax));
    if (!count.ok()) return count.status();
    responses.messages_max = static_cast<size_t>(*count);
  }
  if (object->contains("policy")) {
    const absl::StatusOr<std::string> policy = OneOf(*object, "policy", "eager", "gated");
    if (!policy.ok()) return policy.status();
    responses.policy = *policy == "gated" ? broker::ResponsePolicy::kGated : broker::ResponsePolicy::kEager;
  }
  return broker::AdminRequest(responses);
}

absl::Status Expect(std::string_view method, std::string_view wanted) {
  if (method == wanted) return absl::OkStatus();
  return absl::UnimplementedError(StrCat(method, " is not served here: ", wanted, " it"));
}

absl::StatusOr<AdminCall> NoFields(std::string_view body, AdminCall call) {
  const absl::StatusOr<Json> object = ParseBody(body, {});
  if (!object.ok()) return object.status();
  return call;
}

// `rest`: what follows projects/P/subscriptions/.
absl::StatusOr<AdminCall> ParseSubscriptionCall(std::string_view method, std::string_view project,
                                                std::string_view rest, std::string_view body) {
  const auto name = [&](std::string_view id) { return StrCat("projects/", project, "/subscriptions/", id); };
  if (const size_t slash = rest.find('/'); slash != std::string_view::npos && rest.substr(slash) == "/leases") {
    if (absl::Status status = Expect(method, "GET"); !status.ok()) return status;
    return NoFields(body, ListLeases{name(rest.substr(0, slash))});
  }
  const size_t colon = rest.rfind(':');
  const std::string_view verb = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  const std::string subscription = name(rest.substr(0, colon));
  const bool known = verb == "expireLeases" || verb == "failNext" || verb == "pauseStreams" || verb == "recycleStreams";
  if (!known) return absl::NotFoundError(StrCat("no such call on a subscription: there are ", kSubscriptionCalls));
  if (absl::Status status = Expect(method, "POST"); !status.ok()) return status;
  if (verb == "expireLeases") return ParseExpire(subscription, body);
  if (verb == "failNext") return ParseFailNext(subscription, body);
  if (verb == "pauseStreams") return ParsePause(subscription, body);
  return NoFields(body, broker::AdminRequest(broker::RecycleStreams{.subscription = subscription}));
}

absl::StatusOr<AdminCall> ParseProjectCall(std::string_view method, std::string_view rest, std::string_view body) {
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) {
    const size_t colon = rest.rfind(':');
    if (colon == std::string_view::npos || rest.substr(colon) != ":reset") {
      return absl::NotFoundError("no such call on a project: there is POST …:reset");
    }
    if (absl::Status status = Expect(method, "POST"); !status.ok()) return status;
    return NoFields(body, ResetProject{std::string(rest.substr(0, colon))});
  }
  constexpr std::string_view kCollection = "/subscriptions/";
  if (rest.substr(slash, kCollection.size()) != kCollection) {
    return absl::NotFoundError(StrCat("of a project's resources only subscriptions have calls: ", kSubscriptionCalls));
  }
  return ParseSubscriptionCall(method, rest.substr(0, slash), rest.substr(slash + kCollection.size()), body);
}

double ToSeconds(Duration length) { return static_cast<double>(length.count()) / 1e9; }

std::string Dump(const Json& document) { return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

absl::StatusOr<AdminCall> ParseAdminCall(std::string_view method, std::string_view path, std::string_view body) {
  if (path.substr(0, kAdminPrefix.size()) != kAdminPrefix) return absl::NotFoundError("not a path of the admin API");
  const std::string_view rest = path.substr(kAdminPrefix.size());
  constexpr std::string_view kProjects = "projects/";
  if (rest.substr(0, kProjects.size()) == kProjects) {
    return ParseProjectCall(method, rest.substr(kProjects.size()), body);
  }
  if (rest == "failures" || rest == "clock") {
    if (absl::Status status = Expect(method, "GET"); !status.ok()) return status;
    return NoFields(body, rest == "clock" ? AdminCall(ReadClock{}) : AdminCall(ListFailures{}));
  }
  if (rest == "clock:advance") {
    if (absl::Status status = Expect(method, "POST"); !status.ok()) return status;
    const absl::StatusOr<Json> object = ParseBody(body, {"seconds"});
    if (!object.ok()) return object.status();
    const absl::StatusOr<Duration> length = Seconds(*object, AdvanceClock::kLengthMax);
    if (!length.ok()) return length.status();
    return AdvanceClock{*length};
  }
  if (rest == "responses") {
    if (absl::Status status = Expect(method, "POST"); !status.ok()) return status;
    return ParseResponses(body);
  }
  return absl::NotFoundError("no such call: docs/admin.md lists them");
}

std::string TouchedJson(uint64_t touched) { return Dump({{"touched", touched}}); }

std::string LeasesJson(const broker::LeaseReport& report) {
  Json leases = Json::array(), blocked = Json::array();
  for (const broker::LeaseReport::Lease& lease : report.leases) {
    leases.push_back({{"message_id", lease.message_id},
                      {"ordering_key", lease.ordering_key},
                      {"ack_id", lease.ack_id},
                      {"delivery", lease.generation},
                      {"remaining_seconds", ToSeconds(lease.remaining)},
                      {"stream", lease.stream ? Json(*lease.stream) : Json(nullptr)},
                      {"held_after_restart", lease.held_after_restart}});
  }
  for (const broker::LeaseReport::BlockedKey& key : report.blocked) {
    blocked.push_back({{"ordering_key", key.ordering_key},
                       {"by_message_id", key.message_id},
                       {"which_is", key.state},
                       {"messages_waiting", key.waiting}});
  }
  return Dump({{"subscription", report.subscription},
               {"unacked", report.unacked},
               {"ready", report.ready},
               {"streams", report.streams},
               {"leases", leases},
               {"blocked", blocked},
               {"truncated", report.truncated}});
}

std::string FailuresJson(const std::vector<std::pair<WallTime, broker::LeaseFailure>>& failures) {
  Json list = Json::array();
  for (const auto& [at, failure] : failures) {
    list.push_back({{"time", FormatRfc3339(at)},
                    {"call", failure.ack ? "ack" : "modack"},
                    {"subscription", failure.subscription},
                    {"ack_id", failure.ack_id},
                    {"why", trace::LeaseFailureWord(static_cast<uint16_t>(failure.why))},
                    {"message_id", failure.message_id.empty() ? Json(nullptr) : Json(failure.message_id)},
                    {"delivery", failure.generation},
                    {"newest_delivery", failure.newest},
                    {"ended_seconds_ago", failure.ago ? Json(ToSeconds(*failure.ago)) : Json(nullptr)},
                    {"text", broker::Describe(failure)}});
  }
  return Dump({{"failures", list}});
}

std::string ClockJson(WallTime now, Duration ahead) {
  return Dump({{"time", FormatRfc3339(now)}, {"advanced_seconds", ToSeconds(ahead)}});
}

std::string ErrorJson(int code, const absl::Status& status) {
  const std::string name = absl::StatusCodeToString(status.code());
  return Dump({{"error", {{"code", code}, {"message", MessageOf(status)}, {"status", name}}}});
}

}  // namespace hopgap::formats
