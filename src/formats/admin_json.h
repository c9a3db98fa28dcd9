#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "broker/admin_requests.h"
#include "broker/lease_failure.h"

// The admin API's calls and answers as JSON: docs/admin.md.
namespace hopgap::formats {

inline constexpr std::string_view kAdminPrefix = "/admin/v1/";

struct ResetProject {
  std::string project;
};
struct ListLeases {
  std::string subscription;
};
struct ListFailures {
  static constexpr size_t kKept = 1000;
};
struct ReadClock {};
struct AdvanceClock {
  static constexpr Duration kLengthMax = std::chrono::hours{24 * 366};
  Duration length{0};
};
using AdminCall = std::variant<broker::AdminRequest, ResetProject, ListLeases, ListFailures, ReadClock, AdvanceClock>;

// NotFound for a path that is none of ours, Unimplemented for a method that it
// does not take, InvalidArgument for a body that is not what it takes; each
// message says what there is instead.
absl::StatusOr<AdminCall> ParseAdminCall(std::string_view method, std::string_view path, std::string_view body);

std::string TouchedJson(uint64_t touched);
std::string LeasesJson(const broker::LeaseReport& report);
// Newest first.
std::string FailuresJson(const std::vector<std::pair<WallTime, broker::LeaseFailure>>& failures);
std::string ClockJson(WallTime now, Duration ahead);
// {"error": {"code": 404, "message": …, "status": "NOT_FOUND"}}, as Google's REST interfaces have it.
std::string ErrorJson(int code, const absl::Status& status);

}  // namespace hopgap::formats
