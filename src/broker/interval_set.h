#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace hopgap::broker {

// A set of numbers kept as intervals: its size in memory is the number of holes,
// however many numbers it holds. Acks come nearly in order, so it stays small.
class IntervalSet {
 public:
  // False if it was there.
  bool Insert(uint64_t number);
  bool Contains(uint64_t number) const;
  size_t intervals() const { return end_by_start_.size(); }

 private:
  std::map<uint64_t, uint64_t> end_by_start_;  // [start, end), apart from each other
};

}  // namespace hopgap::broker
