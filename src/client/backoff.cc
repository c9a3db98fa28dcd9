#include "client/backoff.h"

#include <algorithm>

#include "base/draw.h"

namespace hopgap::client {

Duration Backoff::Pause() {
  const uint64_t fraction = FractionOf(Mix(key_, drawn_++));
  // 1 ns + [0, limit): above 0 and never above the limit. 128 bits hold the product.
  const auto product = static_cast<unsigned __int128>(limit_.count()) * fraction;
  const Duration pause{1 + static_cast<int64_t>(product / kFractionOne)};
  // Divided first: the limit may be hours, the factor must not overflow.
  limit_ = std::min(shape_.max, Duration{limit_.count() / 10 * shape_.factor_tenths});
  return pause;
}

void Backoff::Reset() { limit_ = shape_.initial; }

}  // namespace hopgap::client
