#include "cli/commands.h"

#include <cstdio>

#include "cli/exit_codes.h"

namespace hopgap::cli {

int Fail(int code, std::string_view text) {
  std::fprintf(stderr, "hopgap: %.*s\n", static_cast<int>(text.size()), text.data());
  return code;
}

int CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAlreadyExists: return kPortInUse;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded: return kUnreachable;
    case absl::StatusCode::kInternal: return kInternal;
    case absl::StatusCode::kUnauthenticated: return kRefused;
    case absl::StatusCode::kResourceExhausted: return kQuota;
    default: return kBadConfiguration;
  }
}

int CodeOfTarget(const absl::Status& status) { return absl::IsPermissionDenied(status) ? kRefused : CodeOf(status); }

}  // namespace hopgap::cli
