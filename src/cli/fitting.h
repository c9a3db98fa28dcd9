#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "broker/delays.h"
#include "cli/prediction.h"
#include "report/fit.h"
#include "report/prediction.h"
#include "report/run.h"

namespace hopgap::cli {

// A fit, and the profile it makes: the file's text is read back, so that what is
// simulated is what a file would give.
struct Fitted {
  report::Fit fit;
  std::string json;
  broker::Profile profile;
  double MessagesPerResponse(bool exactly_once) const;  // 1 where there was none
};

// InvalidArgument if there is no such group, or nothing was observed in it.
absl::StatusOr<Fitted> FitProfile(const report::Run& run, const std::string& group, report::FitOptions::Part part,
                                  const std::string& name, const std::string& source,
                                  std::optional<Duration> cold_after = {});

// The chain with the fitted profile, and long enough for the simulation's interval
// to be the narrower one.
VirtualChain WithFit(VirtualChain chain, const Fitted& fitted);
inline constexpr uint64_t kPredictedSlotsMin = 1'000;

// Simulates `chain` and holds it against the measured arm. Where all messages
// count, `chain` has to be the arm's own plan and seed: they are compared in pairs.
absl::StatusOr<report::PredictedArm> HoldAgainst(const report::ArmRun& measured, const VirtualChain& chain,
                                                 double messages_per_response, report::FitOptions::Part part);

// "a waiting client carries 9.8/s: streams (4) x messages per response (1.00) /
// modack round trip (413 ms); this chain gets 1/s (10 %)"; empty if it does not wait.
std::string CapacityText(const VirtualChain& chain, const Formula& formula, double messages_per_response);

}  // namespace hopgap::cli
