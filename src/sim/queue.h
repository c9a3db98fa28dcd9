#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/time.h"

namespace hopgap::sim {

// The virtual world's future: what happens, ordered by when and then by when it
// was decided, so that a run has exactly one order.
template <typename Item>
class Queue {
 public:
  void Push(Instant at, Item item) {
    uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<uint32_t>(items_.size());
      items_.push_back(std::move(item));
    } else {
      slot = free_.back();
      free_.pop_back();
      items_[slot] = std::move(item);
    }
    heap_.push({at, next_order_++, slot});
  }

  bool empty() const { return heap_.empty(); }
  Instant NextAt() const { return heap_.top().at; }

  // Requires: not empty.
  Item Pop() {
    const uint32_t slot = heap_.top().slot;
    heap_.pop();
    Item item = std::move(items_[slot]);
    free_.push_back(slot);
    return item;
  }

 private:
  struct Entry {
    Instant at;
    uint64_t order;
    uint32_t slot;
    bool operator>(const Entry& other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
  std::vector<Item> items_;
  std::vector<uint32_t> free_;
  uint64_t next_order_ = 0;
};

}  // namespace hopgap::sim
