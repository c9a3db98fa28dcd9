#include "broker/delays.h"

#include <algorithm>

#include "base/draw.h"
#include "base/text.h"

namespace hopgap::broker {

std::string_view LegName(Leg leg) {
  switch (leg) {
    case Leg::kPublishBefore: return "publish_before_commit";
    case Leg::kPublishAfter: return "publish_after_commit";
    case Leg::kDeliver: return "deliver";
    case Leg::kModack: return "modack";
    case Leg::kAck: return "ack";
  }
  return "unknown";
}

absl::StatusOr<QuantileTable> QuantileTable::Make(std::vector<Point> points) {
  if (points.empty()) return absl::InvalidArgumentError("a quantile table needs at least one point");
  if (points[0].fraction != 0) return absl::InvalidArgumentError("point 0: the first fraction must be 0");
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].delay < Duration{0}) {
      return absl::InvalidArgumentError(StrCat("point ", i, ": the delay is negative"));
    }
    if (points[i].fraction > kFractionOne) {
      return absl::InvalidArgumentError(StrCat("point ", i, ": the fraction is above 1"));
    }
    if (i == 0) continue;
    if (points[i].fraction <= points[i - 1].fraction) {
      return absl::InvalidArgumentError(StrCat("point ", i, ": the fraction does not rise"));
    }
    if (points[i].delay < points[i - 1].delay) {
      return absl::InvalidArgumentError(StrCat("point ", i, ": the delay falls"));
    }
  }
  QuantileTable table;
  // All zero is the table that is not there.
  if (points.back().delay > Duration{0}) table.points_ = std::move(points);
  return table;
}

Duration QuantileTable::At(uint64_t fraction) const {
  if (points_.empty()) return Duration{0};
  const auto after = std::upper_bound(points_.begin(), points_.end(), fraction,
                                      [](uint64_t f, const Point& p) { return f < p.fraction; });
  const Point& low = *(after - 1);
  if (after == points_.end()) return low.delay;
  const auto rise = static_cast<unsigned __int128>((after->delay - low.delay).count());
  const uint64_t width = after->fraction - low.fraction;
  const auto part = static_cast<uint64_t>(rise * (fraction - low.fraction) / width);
  return low.delay + Duration{static_cast<int64_t>(part)};
}

Duration QuantileTable::Mean() const {
  if (points_.empty()) return Duration{0};
  // Twice the area under the straight lines, and the flat end.
  unsigned __int128 area = 0;
  for (size_t i = 1; i < points_.size(); ++i) {
    const auto heights = static_cast<uint64_t>((points_[i].delay + points_[i - 1].delay).count());
    area += static_cast<unsigned __int128>(heights) * (points_[i].fraction - points_[i - 1].fraction);
  }
  area += static_cast<unsigned __int128>(2 * static_cast<uint64_t>(points_.back().delay.count())) *
          (kFractionOne - points_.back().fraction);
  return Duration{static_cast<int64_t>(area / (2 * static_cast<unsigned __int128>(kFractionOne)))};
}

const QuantileTable& Profile::Table(bool exactly_once_subscription, Leg leg, bool cold) const {
  const bool publish = leg == Leg::kPublishBefore || leg == Leg::kPublishAfter;
  const bool own = exactly_once_subscription && !publish;
  const auto index = static_cast<size_t>(leg);
  const std::optional<QuantileTable>& of_cold = (own ? cold_exactly_once : cold_standard)[index];
  return cold && of_cold ? *of_cold : (own ? exactly_once : standard)[index];
}

bool Profile::HasCold() const {
  const auto given = [](const std::optional<QuantileTable>& table) { return table.has_value(); };
  return std::any_of(cold_standard.begin(), cold_standard.end(), given) ||
         std::any_of(cold_exactly_once.begin(), cold_exactly_once.end(), given);
}

bool LegUses::NoteUse(Leg leg, Instant now, const Profile& profile) {
  std::optional<Instant>& last = last_[static_cast<size_t>(leg)];
  const bool cold = !last || now - *last >= profile.cold_after;
  last = now;
  return cold;
}

DrawKey DrawKeyFor(std::optional<std::string_view> draw_attribute, std::string_view topic, uint64_t arrival) {
  if (draw_attribute) {
    const size_t dot = draw_attribute->find('.');
    const auto hop = ParseNumber<uint64_t>(draw_attribute->substr(0, dot));
    const auto slot =
        dot == std::string_view::npos ? std::nullopt : ParseNumber<uint64_t>(draw_attribute->substr(dot + 1));
    if (hop && slot) return {.hop = *hop, .slot = *slot, .from_message = true};
  }
  return {.hop = HashName(topic), .slot = arrival, .from_message = false};
}

Duration Delays::Draw(bool exactly_once, Leg leg, const DrawKey& key, uint64_t attempt, bool cold) const {
  const uint64_t leg_key = Mix(options_.seed, key.hop, static_cast<uint64_t>(leg));
  const bool stratified = key.from_message && attempt == 0 && key.slot < options_.strata;
  const uint64_t fraction =
      stratified ? StratifiedFraction(leg_key, options_.strata, key.slot) : FractionOf(Mix(leg_key, key.slot, attempt));
  return options_.profile.Table(exactly_once, leg, cold).At(fraction) + options_.planted[static_cast<size_t>(leg)];
}

}  // namespace hopgap::broker
