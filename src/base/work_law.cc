#include "base/work_law.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/draw.h"
#include "base/exponential.h"
#include "base/text.h"

namespace hopgap {
inline namespace base {
namespace {

constexpr std::string_view kWorkLabel = "work", kAngleLabel = "work angle";
constexpr double kNormalP99 = 2.3263478740408408;  // the standard normal's
constexpr double kTwoPi = 6.283185307179586;

double Unit(uint64_t word) { return (static_cast<double>(FractionOf(word)) + 0.5) / static_cast<double>(kFractionOne); }

double Spread(const WorkLaw& law) {
  return std::log(static_cast<double>(law.p99.count()) / static_cast<double>(law.length.count())) / kNormalP99;
}

Duration Bounded(double nanoseconds) {
  return Duration{static_cast<int64_t>(std::min(nanoseconds, static_cast<double>(kLongestWork.count())))};
}

}  // namespace

std::string WorkLaw::Text() const {
  const std::string length_text = StrCat(length.count(), "ns");
  switch (kind) {
    case Kind::kExponential: return StrCat(kExponentialPrefix, length_text);
    case Kind::kLognormal: return StrCat(kLognormalPrefix, length_text, kP99Mark, p99.count(), "ns");
    case Kind::kFixed: break;
  }
  return length_text;
}

Duration WorkLaw::mean() const {
  if (kind != Kind::kLognormal || length == Duration{0}) return length;
  const double spread = Spread(*this);
  return Bounded(static_cast<double>(length.count()) * std::exp(spread * spread / 2));
}

Duration WorkLaw::Of(uint64_t hop, uint64_t key) const {
  if (!drawn() || length == Duration{0}) return length;
  const uint64_t exponential = ExponentialOf(Mix(seed, HashName(kWorkLabel), hop, key));
  if (kind == Kind::kExponential) {
    const auto product = static_cast<unsigned __int128>(exponential) * static_cast<uint64_t>(length.count());
    return std::min(kLongestWork, Duration{static_cast<int64_t>(product >> kExponentialBits)});
  }
  // Box and Muller: the length of a normal pair from an exponential draw, its angle from another.
  const double radius = std::sqrt(2 * std::ldexp(static_cast<double>(exponential), -kExponentialBits));
  const double normal = radius * std::cos(kTwoPi * Unit(Mix(seed, HashName(kAngleLabel), hop, key)));
  return Bounded(static_cast<double>(length.count()) * std::exp(Spread(*this) * normal));
}

}  // namespace base
}  // namespace hopgap
