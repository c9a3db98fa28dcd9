#include "cli/arrival.h"

#include "base/text.h"
#include "cli/options.h"

namespace hopgap::cli {
namespace {

constexpr std::string_view kRampPrefix = "ramp:";

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

}  // namespace

absl::StatusOr<ArrivalPlan> ParseArrival(std::string_view arrival, std::string_view rate, bool rate_given,
                                         uint64_t seed) {
  if (arrival.substr(0, kRampPrefix.size()) == kRampPrefix) {
    if (rate_given) return BadArrival(arrival, "says the rates itself; leave --rate out");
    return ParseRamp(arrival);
  }
  if (arrival != "constant" && arrival != "poisson") {
    return BadArrival(arrival, "is none of constant, poisson, ramp:FROM-TO");
  }
  const absl::StatusOr<uint64_t> millihertz = ParseRate(rate);
  if (!millihertz.ok()) return millihertz.status();
  ArrivalPlan plan{.millihertz = *millihertz, .arrival = {}, .text = {}};
  if (arrival == "constant") return plan;
  plan.arrival = {.kind = lab::Arrival::Kind::kPoisson, .seed = seed};
  plan.text = std::string(arrival);
  return plan;
}

}  // namespace hopgap::cli
