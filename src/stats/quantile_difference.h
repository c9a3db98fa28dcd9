#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stats/interval.h"
#include "stats/sample.h"

namespace hopgap::stats {

// How far apart one quantile of two samples lies, with an interval made of the
// two exact intervals (MOVER: the distances to their ends, squared and added).
// Coverage is simulated in docs/statistics.md. Pairing is not used: samples
// that share their luck get an interval that is too wide rather than too narrow.
struct QuantileDifference {
  Probability p;
  int64_t value = 0;                     // first - second; may be infinite
  std::optional<int64_t> low{}, high{};  // unset: one of the samples is too small for it
  // Both quantiles say more than their samples' largest values do.
  bool supported = false;
};
// nullopt: a sample is empty, or both quantiles are infinite and have no difference.
std::optional<QuantileDifference> CompareQuantile(const Sample& first, const Sample& second, Probability p);
// The same of two estimates of that quantile, where the samples are gone.
std::optional<QuantileDifference> CompareEstimates(const Estimate& first, const Estimate& second, Probability p);

// The difference at each decile, and at p95 (Doksum's and Wilcox's shift
// function): "the same median and a worse tail" is a shape here. Intervals are
// pointwise. Deciles without a difference are left out.
std::vector<QuantileDifference> ShiftFunction(const Sample& first, const Sample& second);

// first / second of one quantile: the same on logarithms. nullopt unless both
// quantiles are positive and finite; a limit is unset where it would need the
// logarithm of something that is not positive.
struct QuantileRatio {
  double value = 0;
  std::optional<double> low{}, high{};  // high may be infinite
  bool supported = false;
};
std::optional<QuantileRatio> QuantileRatioOf(const Sample& first, const Sample& second, Probability p);

// Half the height of the band around an empirical distribution that holds the
// whole true one with 95 % (Dvoretzky-Kiefer-Wolfowitz, Massart's constant).
// Requires: n > 0.
double DistributionBand(size_t n);

}  // namespace hopgap::stats
