#include "formats/fit_json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace hopgap::formats {
namespace {

using Json = nlohmann::ordered_json;

double MillisOf(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

Json FittedTable(const stats::Sample& sample) {
  Json points = Json::array();
  if (sample.n() == 1) {
    points.push_back({0, MillisOf(sample.At(1))});
  } else if (sample.n() <= kFittedPointsMax) {
    for (size_t i = 0; i < sample.n(); ++i) {
      points.push_back({static_cast<double>(i) / static_cast<double>(sample.n() - 1), MillisOf(sample.At(i + 1))});
    }
  } else {
    constexpr size_t kSteps = kFittedPointsMax - 1;
    for (size_t i = 0; i <= kSteps; ++i) {
      const auto parts = static_cast<uint32_t>(i * stats::Probability::kWhole / kSteps);
      points.push_back({static_cast<double>(i) / kSteps, MillisOf(sample.Quantile(stats::Probability{parts}))});
    }
  }
  return {{"quantiles", points}};
}

}  // namespace

std::string FittedProfileJson(const report::Fit& fit, std::string_view name, std::string_view source) {
  bool cold = false;
  Json legs = Json::object(), samples = Json::object(), missing = Json::array(), fitted = Json::array();
  for (const report::FittedLeg& leg : fit.legs) {
    if (leg.delays.empty()) {
      missing.push_back(StrCat(leg.name, " ", leg.kind, ": ", leg.missing));
      continue;
    }
    Json& table = legs[leg.name][leg.kind] = FittedTable(leg.delays);
    samples[leg.name][leg.kind] = leg.delays.n();
    if (!leg.cold.empty()) {
      cold = true;
      table["cold"] = FittedTable(leg.cold);
      fitted.push_back(StrCat(leg.name, " ", leg.kind, ", cold: n = ", leg.cold.n()));
    }
    fitted.push_back(StrCat(leg.name, " ", leg.kind, ": n = ", leg.delays.n(), ", ", leg.how,
                            leg.clipped == 0 ? "" : StrCat("; ", leg.clipped, " came out below 0 and count as 0")));
  }
  Json responses = Json::object();
  if (fit.messages_per_response[0]) responses["standard"] = *fit.messages_per_response[0];
  if (fit.messages_per_response[1]) responses["exactly_once"] = *fit.messages_per_response[1];
  Json root = {{"name", name},
               {"description", "Fitted by hopgap fit: what a service was seen to add, not what it promises."},
               {"legs", legs},
               {"sources", {StrCat(source, ", arms of ", fit.group)}},
               {"fitted", fitted},
               {"guessed", fit.assumed},
               {"observed", {{"samples", samples}, {"messages_per_response", responses}, {"not_observed", missing}}}};
  if (cold) root["cold_after_ms"] = ToMillis(*fit.cold_after);
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hopgap::formats
