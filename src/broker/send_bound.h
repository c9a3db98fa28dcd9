#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/time.h"
#include "broker/journal_record.h"

namespace hopgap::broker {

// B of one exactly-once subscription: no message with a sequence at or above it
// was ever sent, and the journal knows it ahead of the send. Raised in steps
// that cover about kCover of sending: a raise soon after the last one doubles
// the step, a late one halves it, down to none at all. The step is what a crash
// holds back although it was never sent, so it should be no larger.
class SendBound {
 public:
  static constexpr Duration kCover = std::chrono::milliseconds{100};
  static constexpr Sequence kStepMin = 16;  // the first step that is worth taking
  static constexpr Sequence kStepMax = 65'536;

  explicit SendBound(Sequence durable) : durable_(durable), requested_(durable) {}

  Sequence durable() const { return durable_; }
  Sequence requested() const { return requested_; }
  bool raising() const { return requested_ > durable_; }
  Sequence step() const { return step_; }

  // Asks for everything below `needed`, and a step more. Returns the bound to
  // commit. Requires: needed > requested().
  Sequence Raise(Sequence needed, Instant now) {
    if (last_raise_ && now - *last_raise_ < kCover) {
      step_ = std::min(std::max(kStepMin, 2 * step_), kStepMax);
    } else if (last_raise_ && now - *last_raise_ > 10 * kCover) {
      step_ = step_ / 2 < kStepMin ? 0 : step_ / 2;
    }
    last_raise_ = now;
    requested_ = needed + step_;
    return requested_;
  }

  void OnDurable(Sequence bound) {
    durable_ = std::max(durable_, bound);
    requested_ = std::max(requested_, durable_);
  }

 private:
  Sequence durable_;
  Sequence requested_;
  Sequence step_ = 0;
  std::optional<Instant> last_raise_;
};

}  // namespace hopgap::broker
