#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/fit.h"

namespace hopgap::formats {

// Of a sample with more values a table keeps this many quantiles, evenly.
inline constexpr size_t kFittedPointsMax = 1'001;

// The fit as a profile file (profile_file.h): every order statistic is a point of
// its leg's table (type 7 quantiles beyond kFittedPointsMax), so that the table's
// quantiles are the sample's. Legs that were not observed are left out and named
// under "observed". The same fit gives the same bytes.
std::string FittedProfileJson(const report::Fit& fit, std::string_view name, std::string_view source);

}  // namespace hopgap::formats
