#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "pubsub/bytes.h"

// grpc.health.v1 as bytes: two calls of one field each way.
namespace hopgap::server {

inline constexpr std::string_view kHealthCheckPath = "/grpc.health.v1.Health/Check";
inline constexpr std::string_view kHealthWatchPath = "/grpc.health.v1.Health/Watch";

enum class HealthStatus : uint8_t { kUnknown = 0, kServing = 1, kNotServing = 2, kServiceUnknown = 3 };

// The service that a HealthCheckRequest asks for; "" asks for the whole server.
// InvalidArgument for malformed bytes.
absl::StatusOr<std::string> DecodeHealthRequest(std::string_view wire);
pubsub::Slices EncodeHealthResponse(HealthStatus status);

// Whether there is such a service here: the whole server, and the two halves of
// google.pubsub.v1 that it serves.
bool HasHealth(std::string_view service);

}  // namespace hopgap::server
