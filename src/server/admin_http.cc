#include "server/admin_http.h"

#include <absl/strings/match.h>

#include <string>
#include <utility>
#include <variant>

#include "base/text.h"
#include "formats/admin_json.h"
#include "server/project_reset.h"

namespace hopgap::server {
namespace {

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument: return 400;
    case absl::StatusCode::kUnauthenticated: return 401;
    case absl::StatusCode::kPermissionDenied: return 403;
    case absl::StatusCode::kNotFound: return 404;
    case absl::StatusCode::kUnimplemented: return 405;
    case absl::StatusCode::kFailedPrecondition: return 409;
    case absl::StatusCode::kResourceExhausted: return 429;
    case absl::StatusCode::kUnavailable: return 503;
    default: return 500;
  }
}

HttpReply Json(std::string text) {
  return {.status = 200, .content_type = "application/json", .body = std::move(text), .headers = {}};
}

bool OfThisMachine(std::string_view address) {
  if (address.substr(0, 7) == "::ffff:") address.remove_prefix(7);
  return address == "::1" || address.substr(0, 4) == "127.";
}

// "localhost", or an address, with or without a port. Addresses cannot be
// pointed elsewhere by whoever owns a name.
bool NamesThisMachine(std::string_view host) {
  if (!host.empty() && host.front() == '[') return host.find(']') != std::string_view::npos;
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "localhost" || (!name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos);
}

HttpReply Touched(const absl::StatusOr<uint64_t>& touched) {
  return touched.ok() ? Json(formats::TouchedJson(*touched)) : AdminError(touched.status());
}

struct Answering {
  Dispatcher& dispatcher;

  HttpReply operator()(const broker::AdminRequest& request) const { return Touched(dispatcher.Administer(request)); }
  HttpReply operator()(const formats::ResetProject& reset) const {
    return Touched(server::ResetProject(reset.project, dispatcher));
  }
  HttpReply operator()(const formats::ListLeases& list) const {
    const absl::StatusOr<broker::LeaseReport> report = dispatcher.Leases(list.subscription);
    return report.ok() ? Json(formats::LeasesJson(*report)) : AdminError(report.status());
  }
  HttpReply operator()(const formats::ListFailures&) const {
    return Json(formats::FailuresJson(dispatcher.NewestFailures()));
  }
  HttpReply operator()(const formats::ReadClock&) const { return Clock(dispatcher.ReadClock()); }
  HttpReply operator()(const formats::AdvanceClock& advance) const {
    return Clock(dispatcher.AdvanceClock(advance.length));
  }
  static HttpReply Clock(const absl::StatusOr<Dispatcher::Clock>& clock) {
    return clock.ok() ? Json(formats::ClockJson(clock->now, clock->ahead)) : AdminError(clock.status());
  }
};

}  // namespace

HttpReply AdminError(const absl::Status& status) {
  const int code = HttpStatusOf(status.code());
  return {.status = code, .content_type = "application/json", .body = formats::ErrorJson(code, status), .headers = {}};
}

absl::Status AdmitAdmin(const HttpCall& call, const Admission& admission) {
  if (!OfThisMachine(call.peer)) {
    return absl::PermissionDeniedError(StrCat("the admin API answers this machine alone, and not ", call.peer));
  }
  if (!NamesThisMachine(call.Header("Host"))) {
    return absl::PermissionDeniedError(
        StrCat("Host '", call.Header("Host"), "': the admin API answers to localhost and to addresses alone"));
  }
  const std::string_view type = call.Header("Content-Type");
  if (call.method != "GET" && !absl::StartsWithIgnoreCase(ToAbsl(type), "application/json")) {
    return absl::InvalidArgumentError(StrCat("Content-Type '", type, "': send application/json"));
  }
  return admission ? admission(call.path, call.Header("authorization")) : absl::OkStatus();
}

HttpReply AnswerAdmin(const HttpCall& call, Dispatcher& dispatcher) {
  const absl::StatusOr<formats::AdminCall> parsed = formats::ParseAdminCall(call.method, call.path, call.body);
  if (!parsed.ok()) return AdminError(parsed.status());
  return std::visit(Answering{dispatcher}, *parsed);
}

}  // namespace hopgap::server
