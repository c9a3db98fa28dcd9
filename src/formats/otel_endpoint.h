#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/otel_settings.h"

// The parts of ReadOtelSettings(). Private to this room.
namespace hopgap::formats {

// A variable that was found: `name` is the one that counts.
struct OtelVariable {
  std::string name, value;
};

absl::Status BadVariable(const OtelVariable& variable, std::string_view expected);

// `k=v,k2=v2` with both percent-encoded, as W3C Baggage writes them.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ReadPairs(const OtelVariable& variable);

// Fills origin, path and tls. `of_traces`: the URL is used as it stands, else
// v1/traces is appended. `insecure` decides for a gRPC endpoint without a scheme.
absl::Status SetEndpoint(const OtelVariable& variable, bool of_traces, bool insecure, OtelSettings& settings);

}  // namespace hopgap::formats
