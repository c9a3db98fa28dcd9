#pragma once

#include <nlohmann/json.hpp>

#include "report/compare.h"
#include "report/page.h"
#include "report/threshold.h"

namespace hopgap::formats {

// The page's data as JSON values. Lengths in tables are exact milliseconds, in
// plots milliseconds to the microsecond, in messages nanoseconds. Private to
// this room.
using OrderedJson = nlohmann::ordered_json;

OrderedJson PageToJson(const report::Page& page, const report::Summary& summary);
OrderedJson ComparisonToJson(const report::RunComparison& comparison);
OrderedJson JudgementToJson(const report::Judgement& judgement);

}  // namespace hopgap::formats
