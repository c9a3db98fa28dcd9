#include "cli/arrival.h"

#include "base/text.h"
#include "cli/options.h"

namespace hopgap::cli {
namespace {

constexpr std::string_view kRampPrefix = "ramp:", kBurstsPrefix = "bursts:", kGapPrefix = "gap=";

absl::Status BadArrival(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("--arrival ", text, ": ", why));
}

absl::StatusOr<ArrivalPlan> ParseRamp(std::string_view text) {
  const std::string_view rates = text.substr(kRampPrefix.size());
  const size_t dash = rates.find('-');
  if (dash == std::string_view::npos) return BadArrival(text, "is not ramp:FROM-TO, such as ramp:5-50");
  const absl::StatusOr<uint64_t> from = ParseRate(rates.substr(0, dash)), to = ParseRate(rates.substr(dash + 1));
  if (!from.ok() || !to.ok()) {
    return BadArrival(text, "FROM and TO must be messages a second in [0.001, 100000]");
  }
  return ArrivalPlan{.millihertz = (*from + *to) / 2,
                     .arrival = {.kind = lab::Arrival::Kind::kRamp, .from_millihertz = *from, .to_millihertz = *to},
                     .text = std::string(text)};
}

absl::StatusOr<ArrivalPlan> ParseBursts(std::string_view text, uint64_t millihertz) {
  const std::string_view parts = text.substr(kBurstsPrefix.size());
  const size_t comma = parts.find(',');
  if (comma == std::string_view::npos || !parts.substr(comma + 1).starts_with(kGapPrefix)) {
    return BadArrival(text, "is not bursts:N,gap=TIME, such as bursts:10,gap=30s");
  }
  const std::optional<uint64_t> burst = ParseNumber<uint64_t>(parts.substr(0, comma));
  if (!burst || *burst < 1 || *burst > kBurstMax) {
    return BadArrival(text, StrCat("N is a whole number in [1, ", kBurstMax, "]"));
  }
  const absl::StatusOr<Duration> gap =
      ParseDuration("--arrival", std::string(parts.substr(comma + 1 + kGapPrefix.size())));
  if (!gap.ok() || *gap <= Duration{0} || *gap > kGapMax) return BadArrival(text, "TIME is a time in (0, 24h]");
  if (*burst > 1 && *gap <= lab::Schedule(millihertz, 1).period()) {
    return BadArrival(text, "the silence is no longer than the time between two messages at --rate");
  }
  ArrivalPlan plan{
      .millihertz = 0, .arrival = lab::Arrival::Bursts(millihertz, *burst, *gap), .text = std::string(text)};
  plan.millihertz = plan.arrival.MeanOfBursts();
  return plan;
}

}  // namespace

absl::StatusOr<ArrivalPlan> ParseArrival(std::string_view arrival, std::string_view rate, bool rate_given,
                                         uint64_t seed) {
  if (arrival.substr(0, kRampPrefix.size()) == kRampPrefix) {
    if (rate_given) return BadArrival(arrival, "says the rates itself; leave --rate out");
    return ParseRamp(arrival);
  }
  const bool bursts = arrival.starts_with(kBurstsPrefix);
  if (arrival != "constant" && arrival != "poisson" && !bursts) {
    return BadArrival(arrival, "is none of constant, poisson, ramp:FROM-TO, bursts:N,gap=TIME");
  }
  const absl::StatusOr<uint64_t> millihertz = ParseRate(rate);
  if (!millihertz.ok()) return millihertz.status();
  if (bursts) return ParseBursts(arrival, *millihertz);
  ArrivalPlan plan{.millihertz = *millihertz, .arrival = {}, .text = {}};
  if (arrival == "constant") return plan;
  plan.arrival = {.kind = lab::Arrival::Kind::kPoisson, .seed = seed};
  plan.text = std::string(arrival);
  return plan;
}

}  // namespace hopgap::cli
