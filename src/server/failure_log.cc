#include "server/failure_log.h"

#include "base/text.h"

namespace hopgap::server {

void FailureLog::Add(Instant now, WallTime wall, const broker::LeaseFailure& failure) {
  kept_.emplace_front(wall, failure);
  if (kept_.size() > kKept) kept_.pop_back();
  if (!line_) return;
  // The first second begins with the first failure; far from the minimum nothing overflows.
  if (second_ == Instant{Duration::min()} || now - second_ >= std::chrono::seconds{1}) {
    second_ = now;
    lines_ = 0;
    if (unsaid_ > 0) line_(StrCat(unsaid_, " more acks and modacks failed"));
    unsaid_ = 0;
  }
  if (lines_ >= kLinesPerSecondMax) {
    ++unsaid_;
    return;
  }
  ++lines_;
  line_(StrCat(failure.subscription, ": ", broker::Describe(failure)));
}

}  // namespace hopgap::server
