#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/check.h"

namespace hopgap::broker {

// How many bytes of message bodies are still needed of each segment of the journal.
class LiveBytes {
 public:
  void Add(uint64_t segment, size_t bytes) {
    by_segment_[segment] += bytes;
    total_ += bytes;
  }

  void Remove(uint64_t segment, size_t bytes) {
    const auto found = by_segment_.find(segment);
    HOPGAP_CHECK(found != by_segment_.end() && found->second >= bytes, "removed bytes that were never added");
    total_ -= bytes;
    if ((found->second -= bytes) == 0) by_segment_.erase(found);
  }

  uint64_t Of(uint64_t segment) const {
    const auto found = by_segment_.find(segment);
    return found == by_segment_.end() ? 0 : found->second;
  }
  uint64_t total() const { return total_; }

 private:
  std::map<uint64_t, uint64_t> by_segment_;
  uint64_t total_ = 0;
};

// What messages that are not finished cost: bodies in memory, and bodies in the
// journal's segments.
struct Retained {
  // Of a message whose body is in a segment, what stays in memory to find it.
  static constexpr size_t kIndexBytes = 512;

  size_t memory = 0;
  LiveBytes stored;
};

}  // namespace hopgap::broker
