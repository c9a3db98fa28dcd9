#include "broker/interval_set.h"

#include <iterator>

namespace hopgap::broker {

bool IntervalSet::Insert(uint64_t number) {
  auto next = end_by_start_.upper_bound(number);
  if (next != end_by_start_.begin()) {
    auto previous = std::prev(next);
    if (number < previous->second) return false;
    if (number == previous->second) {
      ++previous->second;
      if (next != end_by_start_.end() && next->first == previous->second) {
        previous->second = next->second;
        end_by_start_.erase(next);
      }
      return true;
    }
  }
  if (next != end_by_start_.end() && next->first == number + 1) {
    auto node = end_by_start_.extract(next);
    node.key() = number;
    end_by_start_.insert(std::move(node));
    return true;
  }
  end_by_start_.emplace_hint(next, number, number + 1);
  return true;
}

bool IntervalSet::Erase(uint64_t number) {
  auto found = end_by_start_.upper_bound(number);
  if (found == end_by_start_.begin() || (--found)->second <= number) return false;
  const uint64_t start = found->first, end = found->second;
  if (start == number) {
    end_by_start_.erase(found);
  } else {
    found->second = number;
  }
  if (number + 1 < end) end_by_start_.emplace(number + 1, end);
  return true;
}

void IntervalSet::Append(uint64_t start, uint64_t end) {
  if (!end_by_start_.empty() && end_by_start_.rbegin()->second == start) {
    end_by_start_.rbegin()->second = end;
  } else {
    end_by_start_.emplace_hint(end_by_start_.end(), start, end);
  }
}

bool IntervalSet::Contains(uint64_t number) const {
  auto next = end_by_start_.upper_bound(number);
  return next != end_by_start_.begin() && number < std::prev(next)->second;
}

}  // namespace hopgap::broker
