#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace hopgap::pubsub {

// google.protobuf.Timestamp and Duration, which look alike on the wire.
struct TimeParts {
  int64_t seconds = 0;
  int32_t nanos = 0;

  friend bool operator==(const TimeParts&, const TimeParts&) = default;
};

// Merges `wire` into `parts`, as protobuf does with a message that is given in
// several pieces. False if it is malformed.
bool ReadTimeParts(std::string_view wire, TimeParts& parts);

// The wire form; defaults are left out.
std::string EncodeTimeParts(const TimeParts& parts);

// nullopt if `parts` is no valid Timestamp or outside a WallTime's range.
std::optional<WallTime> ToWallTime(const TimeParts& parts);
// The same with the nearest end of the range for what is outside it; nullopt
// only for what no Timestamp is: nanos of no second, years outside 1 to 9999.
std::optional<WallTime> ToNearestWallTime(const TimeParts& parts);
// nullopt if `parts` is no valid Duration (both parts have one sign) or does not
// fit ours.
std::optional<Duration> ToDuration(const TimeParts& parts);
TimeParts ToTimeParts(WallTime at);  // nanos count forward, also before 1970
TimeParts ToTimeParts(Duration length);

}  // namespace hopgap::pubsub
