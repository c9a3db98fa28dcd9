#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "trace/hop.h"

namespace hopgap::report {

struct DeliveryRow {
  uint64_t trace_hi = 0, trace_lo = 0, create_span = 0, subscribe_span = 0;
  size_t group = 0, hosts = 0;
  trace::HopTimes hop;
  int extensions = 0;  // lease calls that are no receipts
  bool handled = false, settled = false, expired = false;
  bool skewed = false;  // the delivery gap is unusable: its hosts' clocks disagree
};

// Rows as few bytes: there may be millions. They are handed out by value.
class DeliveryRows {
 public:
  size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }
  void push_back(const DeliveryRow& row);
  // Requires: index < size().
  const DeliveryRow operator[](size_t index) const;
  void SetSkewed(size_t index, bool skewed) { skewed_[index] = skewed; }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = DeliveryRow;
    using difference_type = ptrdiff_t;
    using pointer = const DeliveryRow*;
    using reference = const DeliveryRow;
    const DeliveryRow operator*() const { return (*of_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    friend DeliveryRows;
    Iterator(const DeliveryRows* of, size_t at) : of_(of), at_(at) {}
    const DeliveryRows* of_;
    size_t at_;
  };
  using const_iterator = Iterator;
  using value_type = DeliveryRow;
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  std::vector<std::string> chunks_;  // never moved, so that a million more need no copy of a million
  std::vector<uint64_t> places_;     // chunk and place in it
  std::vector<bool> skewed_;
  std::string packed_;
};

}  // namespace hopgap::report
