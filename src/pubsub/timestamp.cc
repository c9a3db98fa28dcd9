#include "pubsub/timestamp.h"

#include <limits>

#include "pubsub/wire.h"

namespace hopgap::pubsub {
namespace {

constexpr uint32_t kSeconds = 1, kNanos = 2;
constexpr int64_t kNanosPerSecond = 1'000'000'000;
// One second inside what 64 bits of nanoseconds hold, so that the nanos fit too.
constexpr int64_t kSecondsMax = std::numeric_limits<int64_t>::max() / kNanosPerSecond - 1;

}  // namespace

bool ReadTimeParts(std::string_view wire, TimeParts& parts) {
  WireReader reader(wire);
  while (reader.Next()) {
    if (reader.field().Is(kSeconds, WireType::kVarint)) parts.seconds = reader.field().AsSigned();
    if (reader.field().Is(kNanos, WireType::kVarint)) parts.nanos = reader.field().AsInt32();
  }
  return reader.ok();
}

std::string EncodeTimeParts(const TimeParts& parts) {
  std::string out;
  WireWriter writer(out);
  if (parts.seconds != 0) writer.Signed(kSeconds, parts.seconds);
  if (parts.nanos != 0) writer.Signed(kNanos, parts.nanos);
  return out;
}

std::optional<WallTime> ToWallTime(const TimeParts& parts) {
  if (parts.nanos < 0 || parts.nanos >= kNanosPerSecond) return std::nullopt;
  if (parts.seconds < -kSecondsMax || parts.seconds > kSecondsMax) return std::nullopt;
  return WallTime{Duration{parts.seconds * kNanosPerSecond + parts.nanos}};
}

std::optional<WallTime> ToNearestWallTime(const TimeParts& parts) {
  constexpr int64_t kYear1 = -62'135'596'800, kYear10000 = 253'402'300'800;
  if (parts.nanos < 0 || parts.nanos >= kNanosPerSecond) return std::nullopt;
  if (parts.seconds < kYear1 || parts.seconds >= kYear10000) return std::nullopt;
  if (parts.seconds < -kSecondsMax) return WallTime::min();
  if (parts.seconds > kSecondsMax) return WallTime::max();
  return ToWallTime(parts);
}

std::optional<Duration> ToDuration(const TimeParts& parts) {
  if (parts.nanos <= -kNanosPerSecond || parts.nanos >= kNanosPerSecond) return std::nullopt;
  if (parts.seconds < -kSecondsMax || parts.seconds > kSecondsMax) return std::nullopt;
  if ((parts.seconds > 0 && parts.nanos < 0) || (parts.seconds < 0 && parts.nanos > 0)) return std::nullopt;
  return Duration{parts.seconds * kNanosPerSecond + parts.nanos};
}

TimeParts ToTimeParts(Duration length) {
  const int64_t total = length.count();
  return {total / kNanosPerSecond, static_cast<int32_t>(total % kNanosPerSecond)};
}

TimeParts ToTimeParts(WallTime at) {
  const int64_t total = ToNanos(at);
  TimeParts parts{total / kNanosPerSecond, static_cast<int32_t>(total % kNanosPerSecond)};
  if (parts.nanos < 0) {
    parts.nanos += static_cast<int32_t>(kNanosPerSecond);
    --parts.seconds;
  }
  return parts;
}

}  // namespace hopgap::pubsub
