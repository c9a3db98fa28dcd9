#include "cli/fitting.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "formats/fit_json.h"
#include "formats/profile_file.h"

namespace hopgap::cli {

double Fitted::MessagesPerResponse(bool exactly_once) const {
  return fit.messages_per_response[exactly_once ? 1 : 0].value_or(1);
}

absl::StatusOr<Fitted> FitProfile(const report::Run& run, const std::string& group, report::FitOptions::Part part,
                                  const std::string& name, const std::string& source,
                                  std::optional<Duration> cold_after) {
  Fitted fitted;
  fitted.fit =
      report::FitRun(run, {.group = group, .one_way = SimulatedOneWay(), .cold_after = cold_after, .part = part});
  if (!fitted.fit.Observed(false) && !fitted.fit.Observed(true)) {
    std::string groups;
    for (const report::ArmRun& arm : run.arms) {
      if (groups.find(arm.group) == std::string::npos) groups += StrCat(groups.empty() ? "" : ", ", arm.group);
    }
    return absl::InvalidArgumentError(
        StrCat(source, ": no handled message in group '", fitted.fit.group, "'; its groups: ", groups));
  }
  fitted.json = formats::FittedProfileJson(fitted.fit, name, source);
  absl::StatusOr<formats::ProfileFile> file = formats::ParseProfile(fitted.json, "the fitted profile");
  if (!file.ok()) return file.status();
  fitted.profile = std::move(file->profile);
  return fitted;
}

std::string CapacityText(const VirtualChain& chain, const Formula& formula, double messages_per_response) {
  if (!formula.capacity) return "";
  const double rate = static_cast<double>(chain.millihertz) / 1e3;
  return absl::StrFormat(
      "by hand: a client that waits carries %.3g/s a hop = %d streams x %.2f messages per response / %.3g ms modack "
      "round trip; this chain gets %.4g/s (%.0f %%)",
      *formula.capacity, chain.arm.streams != 0 ? chain.arm.streams : chain.streams, messages_per_response,
      ToMillis(formula.modack), rate, 100 * rate / *formula.capacity);
}

VirtualChain WithFit(VirtualChain chain, const Fitted& fitted) {
  chain.profile = fitted.profile;
  chain.slots = std::max(chain.slots, kPredictedSlotsMin);
  return chain;
}

absl::StatusOr<report::PredictedArm> HoldAgainst(const report::ArmRun& measured, const VirtualChain& chain,
                                                 double messages_per_response, report::FitOptions::Part part) {
  absl::StatusOr<report::ArmRun> simulated = Predict(chain, nullptr);
  if (!simulated.ok()) return simulated.status();
  const Formula formula = ByHand(chain, messages_per_response);
  report::PredictedArm compared =
      report::ComparePrediction(measured, *simulated, part, formula.stages, part == report::FitOptions::Part::kAll);
  compared.note = CapacityText(chain, formula, messages_per_response);
  return compared;
}

}  // namespace hopgap::cli
