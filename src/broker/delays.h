#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "trace/event.h"

namespace hopgap::broker {

using Leg = trace::DelayLeg;
std::string_view LegName(Leg leg);  // "publish_before_commit", ... as in profile files

// The inverse distribution function of one leg: added delay by probability,
// straight lines between the points, in integer arithmetic.
class QuantileTable {
 public:
  struct Point {
    uint64_t fraction = 0;  // of 2^53, rising
    Duration delay{0};      // not falling, >= 0
  };
  QuantileTable() = default;  // always 0
  // InvalidArgument, naming the point, unless the points rise from fraction 0
  // and the delays do not fall. The last delay holds up to fraction 1.
  static absl::StatusOr<QuantileTable> Make(std::vector<Point> points);

  Duration At(uint64_t fraction) const;
  Duration Mean() const;  // of the distribution the table describes
  bool zero() const { return points_.empty(); }

 private:
  std::vector<Point> points_;
};

// A latency profile: tables per subscription kind and leg. The publish legs are
// one table for both kinds (they are read for `standard`).
struct Profile {
  using Tables = std::array<QuantileTable, trace::kDelayLegs>;
  std::string name;
  Tables standard, exactly_once;
  // What a leg adds while it is cold; a leg without such a table never is.
  std::array<std::optional<QuantileTable>, trace::kDelayLegs> cold_standard, cold_exactly_once;
  Duration cold_after{0};  // a leg is cold that was not used for so long, or not yet
  const QuantileTable& Table(bool exactly_once_subscription, Leg leg, bool cold = false) const;
  bool HasCold() const;
};

// When a topic or subscription last used each leg. In memory only: who starts
// again begins cold, as does who is new.
class LegUses {
 public:
  // Whether `leg` is cold at `now`; afterwards it is in use.
  bool NoteUse(Leg leg, Instant now, const Profile& profile);

 private:
  std::array<std::optional<Instant>, trace::kDelayLegs> last_{};
};

// Names one draw: the message's "hop.slot" (no arm in it: arms share their
// luck, so differences are paired), else its topic and arrival number.
struct DrawKey {
  uint64_t hop = 0;
  uint64_t slot = 0;
  bool from_message = false;  // the attribute was there and well-formed
};
DrawKey DrawKeyFor(std::optional<std::string_view> draw_attribute, std::string_view topic, uint64_t arrival);

// Added delays: each a pure function of (seed, key, attempt, leg), and of whether
// the leg is cold: the same luck, read from another table.
class Delays {
 public:
  struct Options {
    Profile profile;
    uint64_t seed = 0;
    // > 0: the draws of slots [0, strata) at attempt 0 use the midpoint of each
    // 1/strata quantile once per hop and leg.
    uint64_t strata = 0;
    // Test-only: added to every draw of the leg.
    std::array<Duration, trace::kDelayLegs> planted{};
  };
  explicit Delays(Options options) : options_(std::move(options)) {}

  // `attempt`: how often this leg was drawn for this key before.
  Duration Draw(bool exactly_once, Leg leg, const DrawKey& key, uint64_t attempt, bool cold = false) const;
  const Profile& profile() const { return options_.profile; }

 private:
  Options options_;
};

}  // namespace hopgap::broker
