#include "lab/schedule.h"

#include <cmath>
#include <string_view>

#include "base/check.h"
#include "base/draw.h"
#include "base/exponential.h"

namespace hopgap::lab {
namespace {

constexpr unsigned __int128 kNanosTimesMilli = 1'000'000'000'000u;
constexpr std::string_view kGapLabel = "arrival gap";
// Of the clients' tickers: no model has a longer tick, and the shorter ones divide it.
constexpr Duration kTickGrid{std::chrono::milliseconds{100}};
// Where in it slot 0 lies: as in the simulation, whose streams answer after one round trip of 0.2 ms.
constexpr Duration kFirstInTick{std::chrono::microseconds{200}};

// The time from slot `slot` to the next one.
Duration DrawGap(uint64_t millihertz, uint64_t seed, uint64_t slot) {
  const unsigned __int128 draw = ExponentialOf(Mix(seed, HashName(kGapLabel), slot));
  return Duration{static_cast<int64_t>((draw * kNanosTimesMilli / millihertz) >> kExponentialBits)};
}

// Where from * t + (to - from) * t^2 / 2L = slot, with L the ramp's length; in a
// form that also holds for from = to and loses no digits near the start.
Duration DueInRamp(const Arrival& arrival, uint64_t slots, uint64_t slot) {
  const auto from = static_cast<double>(arrival.from_millihertz), to = static_cast<double>(arrival.to_millihertz);
  const double share = static_cast<double>(slot) / static_cast<double>(slots);
  const double rate = std::sqrt(from * from * (1 - share) + to * to * share);  // at that instant
  const double seconds = 2e3 * static_cast<double>(slot) / (from + rate);
  return Duration{static_cast<int64_t>(seconds * 1e9)};
}

}  // namespace

Arrival Arrival::Bursts(uint64_t millihertz, uint64_t burst, Duration gap) {
  HOPGAP_CHECK(millihertz > 0 && burst > 0 && gap > Duration{0}, "bursts and silences have a length");
  return {
      .kind = Kind::kBursts, .from_millihertz = millihertz, .to_millihertz = millihertz, .burst = burst, .gap = gap};
}

uint64_t Arrival::MeanOfBursts() const {
  const auto within = static_cast<double>(burst - 1) / static_cast<double>(from_millihertz);  // thousands of seconds
  const double cycle = within + ToMillis(gap) / 1e6;
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(static_cast<double>(burst) / cycle)));
}

Schedule::Schedule(uint64_t millihertz, uint64_t slots, const Arrival& arrival)
    : millihertz_(millihertz), slots_(slots), arrival_(arrival) {
  if (arrival_.kind != Arrival::Kind::kPoisson) return;
  drawn_.reserve(slots_ + 1);
  Duration due{0};
  for (uint64_t slot = 0; slot <= slots_; ++slot) {
    drawn_.push_back(due);
    due += DrawGap(millihertz_, arrival_.seed, slot);
  }
}

uint64_t Schedule::SlotsIn(uint64_t millihertz, Duration length) {
  if (length <= Duration{0}) return 0;
  // ceil(length * rate): slot k is inside when k / rate < length.
  const unsigned __int128 product = static_cast<unsigned __int128>(length.count()) * millihertz;
  return static_cast<uint64_t>((product + kNanosTimesMilli - 1) / kNanosTimesMilli);
}

uint64_t Schedule::SlotsIn(uint64_t millihertz, const Arrival& arrival, Duration length, uint64_t most) {
  if (length <= Duration{0}) return 0;
  if (arrival.kind == Arrival::Kind::kPoisson) {
    uint64_t slots = 0;
    for (Duration due{0}; due < length && slots <= most; ++slots) due += DrawGap(millihertz, arrival.seed, slots);
    return slots;
  }
  if (arrival.kind == Arrival::Kind::kBursts) {
    const Schedule schedule(millihertz, 0, arrival);
    uint64_t inside = 0, beyond = most + 1;  // the first slot that is not inside lies in (inside, beyond]
    while (beyond - inside > 1) {
      const uint64_t middle = inside + (beyond - inside) / 2;
      (schedule.DueAfter(middle) < length ? inside : beyond) = middle;
    }
    return beyond;
  }
  uint64_t slots = SlotsIn(millihertz, length);
  // A ramp's length is its slots over the mean rate: one slot less, where that
  // would reach beyond `length`.
  const bool longer = static_cast<unsigned __int128>(slots) * kNanosTimesMilli >
                      static_cast<unsigned __int128>(length.count()) * millihertz;
  if (arrival.kind == Arrival::Kind::kRamp && longer && slots > 1) --slots;
  return slots > most ? most + 1 : slots;
}

Duration Schedule::DueAfter(uint64_t slot) const {
  if (arrival_.kind == Arrival::Kind::kConstant) {
    return Duration{static_cast<int64_t>(slot * kNanosTimesMilli / millihertz_)};
  }
  if (arrival_.kind == Arrival::Kind::kBursts) {
    const uint64_t silences = slot / arrival_.burst;
    const auto within = static_cast<unsigned __int128>(slot - silences) * kNanosTimesMilli / arrival_.from_millihertz;
    return Duration{static_cast<int64_t>(within)} + arrival_.gap * static_cast<int64_t>(silences);
  }
  HOPGAP_CHECK(slot <= slots_, "a slot of the schedule");
  return arrival_.kind == Arrival::Kind::kPoisson ? drawn_[slot] : DueInRamp(arrival_, slots_, slot);
}

Instant FirstSlotFrom(Instant earliest) {
  const Duration past = (earliest.time_since_epoch() - kFirstInTick) % kTickGrid;  // no instant is before the epoch
  return past == Duration{0} ? earliest : earliest + (kTickGrid - past);
}

}  // namespace hopgap::lab
