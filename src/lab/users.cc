#include "lab/users.h"

#include <absl/strings/str_format.h>

#include "base/check.h"
#include "base/text.h"

namespace hopgap::lab {
namespace {

// Drops that end in the first half of the schedule were those of a beginning.
constexpr uint64_t kBeginningOf = 2;

}  // namespace

std::optional<uint64_t> Users::Begin(uint64_t slot) {
  last_slot_ = slot;
  if (busy_ < users_) {
    ++busy_;
    return begun_++;
  }
  ++dropped_;
  last_dropped_ = slot;
  wanted_ = true;
  return std::nullopt;
}

void Users::Ended() {
  HOPGAP_CHECK(busy_ > 0, "an iteration ends once");
  --busy_;
}

bool Users::MakesAnother() {
  const bool makes = wanted_ && !making_ && users_ < options_.most;
  wanted_ = false;
  making_ = making_ || makes;
  return makes;
}

void Users::Made() {
  HOPGAP_CHECK(making_, "a user is made when it was asked for");
  making_ = false;
  ++users_;
}

std::string Users::Advice(const Schedule& schedule) const {
  if (dropped_ == 0) return "";
  const double seconds = ToMillis(schedule.DueAfter(last_dropped_)) / 1000;
  std::string out = absl::StrFormat("%d of %d slots were not sent, the last %.1f s after the first", dropped_,
                                    last_slot_ + 1, seconds);
  if (last_dropped_ < last_slot_ / kBeginningOf) {
    return StrCat(out, ": until then the rate was not the one asked for. ", users_,
                  " users were enough afterwards: begin with --users ", users_);
  }
  if (users_ < options_.most) return StrCat(out, ", while users were added: begin with more of them (--users)");
  return StrCat(out, ": ", users_, " users are too few for answers this slow (--users, --users-max)");
}

}  // namespace hopgap::lab
