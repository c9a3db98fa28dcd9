#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace hopgap::broker {

// The service's own texts, as recorded (reference: server semantics, §2).
absl::Status ResourceNotFound(std::string_view name);
absl::Status ResourceExists(std::string_view name);
absl::Status TooSmall(std::string_view what, int64_t value, int64_t minimum);
absl::Status TooLarge(std::string_view what, uint64_t value, uint64_t maximum);
// "10m", "9m59s", "744h", "1.5s": as the service writes durations.
std::string DurationText(Duration length);
absl::Status OutOfBounds(std::string_view what, Duration value, Duration minimum, Duration maximum);
absl::Status TooShort(std::string_view what, Duration value, Duration minimum);
absl::Status PayloadTooLarge(uint64_t maximum);
absl::Status BadAckDeadline(int64_t seconds, int64_t minimum, int64_t maximum);
absl::Status NoAckIds();
absl::Status MalformedAckId(std::string_view ack_id);
absl::Status SomeAckIdsInvalid(std::string_view first);  // why the first of them failed
absl::Status BadPageSize(int64_t page_size);
absl::Status BadPageToken(std::string_view token);
absl::Status DetachedSubscription();
absl::Status BadArgument(std::string_view argument);

// Ours: the service has no such limits, or does not show them.
absl::Status Stopping();
absl::Status DiskFull();
absl::Status LimitReached(std::string_view what, uint64_t maximum);

}  // namespace hopgap::broker
