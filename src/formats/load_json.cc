#include "formats/load_json.h"

#include <nlohmann/json.hpp>

#include "stats/interval.h"

namespace hopgap::formats {
namespace {

using Json = nlohmann::ordered_json;

double Millis(int64_t nanos) { return static_cast<double>(nanos) / 1e6; }

Json Lengths(const stats::Sample& sample) {
  Json out{{"n", sample.n()}};
  for (const auto& [name, p] : {std::pair{"p50", stats::kP50}, {"p90", stats::kP90}, {"p99", stats::kP99}}) {
    const std::optional<stats::Estimate> estimate = stats::EstimateQuantile(sample, p);
    const bool known = estimate && estimate->supported;
    Json limits{{"value", nullptr}, {"low", nullptr}, {"high", nullptr}};
    if (known) limits["value"] = Millis(estimate->value);
    if (known && estimate->low) limits["low"] = Millis(*estimate->low);
    if (known && estimate->high) limits["high"] = Millis(*estimate->high);
    out[name] = std::move(limits);
  }
  out["max"] = sample.empty() ? Json(nullptr) : Json(Millis(sample.sorted().back()));
  return out;
}

}  // namespace

std::string LoadJson(const std::vector<LoadTarget>& targets, uint64_t millihertz, std::string_view arrival,
                     uint64_t slots) {
  Json document{{"schema", "hopgap.load/1"},
                {"rate_per_second", static_cast<double>(millihertz) / 1000},
                {"arrival", arrival},
                {"messages_planned", slots},
                {"targets", Json::array()}};
  for (const LoadTarget& target : targets) {
    document["targets"].push_back({{"name", target.name},
                                   {"sent", target.sent},
                                   {"answered", target.answered},
                                   {"failed", target.failed},
                                   {"not_sent", target.not_sent},
                                   {"last_error", target.last_error.empty() ? Json(nullptr) : Json(target.last_error)},
                                   {"users", target.users == 0 ? Json(nullptr) : Json(target.users)},
                                   {"advice", target.advice.empty() ? Json(nullptr) : Json(target.advice)},
                                   {"late_ms", Lengths(target.late)},
                                   {"answer_ms", Lengths(target.answer)}});
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hopgap::formats
