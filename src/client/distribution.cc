#include "client/distribution.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/check.h"

namespace hopgap::client {
namespace {

int64_t WholeSeconds(Duration length) { return std::chrono::floor<std::chrono::seconds>(length).count(); }

}  // namespace

AckTimeDistribution::AckTimeDistribution(Duration min, Duration max)
    : min_seconds_(WholeSeconds(min)), max_seconds_(WholeSeconds(max)) {
  HOPGAP_CHECK(min_seconds_ <= max_seconds_, "the shortest lease is longer than the longest");
  counts_.resize(static_cast<size_t>(max_seconds_ - min_seconds_ + 1));
}

void AckTimeDistribution::Add(Duration taken) {
  const int64_t seconds = std::clamp(WholeSeconds(taken), min_seconds_, max_seconds_);
  ++counts_[static_cast<size_t>(seconds - min_seconds_)];
  ++total_;
}

int32_t AckTimeDistribution::Percentile(double percentile) const {
  if (total_ == 0) return 0;
  // Millionths, so that 0.99 of 100 is rank 99 and not 100.
  const auto millionths = static_cast<uint64_t>(std::llround(percentile * 1e6));
  const uint64_t rank = std::max<uint64_t>(1, (total_ * millionths + 999'999) / 1'000'000);
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return static_cast<int32_t>(min_seconds_ + static_cast<int64_t>(i));
  }
  return static_cast<int32_t>(max_seconds_);
}

}  // namespace hopgap::client
