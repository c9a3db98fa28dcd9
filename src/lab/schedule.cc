#include "lab/schedule.h"

namespace hopgap::lab {
namespace {
constexpr unsigned __int128 kNanosTimesMilli = 1'000'000'000'000u;
}

uint64_t Schedule::SlotsIn(uint64_t millihertz, Duration length) {
  if (length <= Duration{0}) return 0;
  // ceil(length * rate): slot k is inside when k / rate < length.
  const unsigned __int128 product = static_cast<unsigned __int128>(length.count()) * millihertz;
  return static_cast<uint64_t>((product + kNanosTimesMilli - 1) / kNanosTimesMilli);
}

Duration Schedule::DueAfter(uint64_t slot) const {
  return Duration{static_cast<int64_t>(slot * kNanosTimesMilli / millihertz_)};
}

}  // namespace hopgap::lab
