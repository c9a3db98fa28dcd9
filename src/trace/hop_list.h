#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/hop.h"

namespace hopgap::trace {

// A hop as few bytes: of most lengths the instants say all, and only what differs
// from that is kept. Exact for every value, whether or not it makes sense.
void PackHop(const HopTimes& hop, std::string& out);
// Requires: `bytes` are of PackHop(), and nothing else.
HopTimes UnpackHop(std::string_view bytes);

// The hops of a path, in order, packed: a run of millions of messages holds them
// in a tenth of what the values would take. So elements are handed out by value;
// Replace() changes one.
class HopList {
 public:
  HopList() = default;
  explicit HopList(const std::vector<HopTimes>& hops);
  HopList(const HopList& other);
  HopList& operator=(const HopList& other);
  HopList(HopList&& other) noexcept;
  HopList& operator=(HopList&& other) noexcept;
  ~HopList() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Requires: index < size().
  // Const, so that a change to what is only a copy does not compile.
  const HopTimes operator[](size_t index) const;
  const HopTimes front() const { return (*this)[0]; }
  const HopTimes back() const { return (*this)[size_ - 1]; }
  void Replace(size_t index, const HopTimes& hop);
  void push_back(const HopTimes& hop);

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = HopTimes;
    using difference_type = ptrdiff_t;
    using pointer = const HopTimes*;
    using reference = const HopTimes;
    Iterator() = default;
    const HopTimes operator*() const;
    Iterator& operator++();
    Iterator operator++(int);
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    friend HopList;
    explicit Iterator(const char* at) : at_(at) {}
    const char* at_ = nullptr;
  };
  using iterator = Iterator;
  using const_iterator = Iterator;
  using value_type = HopTimes;
  Iterator begin() const { return Iterator(bytes_.get()); }
  Iterator end() const { return Iterator(bytes_.get() + used_); }

  friend bool operator==(const HopList& a, const HopList& b);

 private:
  void Assign(std::string_view bytes, size_t size);

  std::unique_ptr<char[]> bytes_;  // of each hop its length, in two bytes, and itself
  uint32_t used_ = 0, size_ = 0;
};

}  // namespace hopgap::trace
