#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace hopgap::broker {

// A set of numbers kept as intervals: its size in memory is the number of holes,
// however many numbers it holds. Acks come nearly in order, so it stays small.
class IntervalSet {
 public:
  // False if it was there.
  bool Insert(uint64_t number);
  bool Contains(uint64_t number) const;
  // False if it was not there.
  bool Erase(uint64_t number);
  // Adds [start, end). Requires: start < end, and above all that is there.
  void Append(uint64_t start, uint64_t end);
  // visit(start, end) for each interval, in order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [start, end] : end_by_start_) visit(start, end);
  }
  std::optional<uint64_t> First() const {
    if (end_by_start_.empty()) return std::nullopt;
    return end_by_start_.begin()->first;
  }
  size_t intervals() const { return end_by_start_.size(); }

 private:
  std::map<uint64_t, uint64_t> end_by_start_;  // [start, end), apart from each other
};

}  // namespace hopgap::broker
