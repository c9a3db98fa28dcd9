#pragma once

#include <vector>

#include "broker/delays.h"

namespace hopgap::formats {

// `points` points of the lognormal with this median and sigma, at equal steps
// of z from far below the median up to the quantile `cut`, with the median
// itself among them; the first is (0, 0).
// Requires: p50_ms > 0, sigma >= 0, 0.5 < cut < 1, points >= 3.
std::vector<broker::QuantileTable::Point> LognormalPoints(double p50_ms, double sigma, double cut, size_t points);

}  // namespace hopgap::formats
