#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "base/time.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace hopgap::cli {

struct CloudTraceFlags {
  std::string since = "1h", service, save;
  std::string endpoint = "https://cloudtrace.googleapis.com";
};

// Kept by the caller until the command line is read.
void AddCloudTraceFlags(CLI::App& command, CloudTraceFlags& flags);

// Whether what is to be analysed is "cloudtrace:PROJECT".
bool IsCloudTrace(std::string_view source);

// Saves the project's traces as OTLP JSON lines and returns the file. The pages
// that came are in FILE.part, and where they end in FILE.part.json: called again
// with the same --save, it goes on after an error or a crash.
//
// `source` is "cloudtrace:PROJECT". What was read, and what the format loses, is
// said on standard error. InvalidArgument, NotFound, Unauthenticated,
// PermissionDenied, ResourceExhausted, Unavailable, each with what to do.
absl::StatusOr<std::string> FetchCloudTrace(std::string_view source, const CloudTraceFlags& flags);

}  // namespace hopgap::cli
