#include "lab/handled_ids.h"

namespace hopgap::lab {

void HandledIds::Forget(Instant now) {
  while (!by_age_.empty() && by_age_.front().first + options_.window <= now) {
    ids_.erase(by_age_.front().second);
    by_age_.pop_front();
  }
}

bool HandledIds::Contains(Instant now, std::string_view id) {
  Forget(now);
  return ids_.count(std::string(id)) > 0;
}

void HandledIds::Add(Instant now, std::string_view id) {
  Forget(now);
  if (!ids_.emplace(id).second) return;  // its first handling counts
  by_age_.emplace_back(now, id);
  if (by_age_.size() <= options_.ids_max) return;
  ++forgotten_early_;
  ids_.erase(by_age_.front().second);
  by_age_.pop_front();
}

}  // namespace hopgap::lab
