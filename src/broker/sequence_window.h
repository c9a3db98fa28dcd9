#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"

namespace hopgap::broker {

// A map from sequences that are added in rising order and removed in nearly the
// same order: an array lookup, memory for what is there. Kept in small chunks,
// each freed when it is empty, so that one message that nobody acks does not
// keep the slots of all that came after it.
template <typename T>
class SequenceWindow {
 public:
  // Requires: `sequence` is above all that were ever added.
  T& Add(uint64_t sequence, T value) {
    const uint64_t number = sequence / kChunk;
    if (chunks_.empty()) first_chunk_ = number;
    HOPGAP_CHECK(number + 1 >= first_chunk_ + chunks_.size(), "sequences must rise");
    while (first_chunk_ + chunks_.size() <= number) {
      chunks_.push_back(nullptr);
      DropEmpty(chunks_.size() < 2 ? 0 : chunks_.size() - 2);
    }
    return Fill(sequence, std::move(value));
  }

  // Anywhere, for what is rebuilt in no order. Requires: it is not there.
  T& Put(uint64_t sequence, T value) {
    const uint64_t number = sequence / kChunk;
    if (chunks_.empty()) first_chunk_ = number;
    for (; number < first_chunk_; --first_chunk_) chunks_.push_front(nullptr);
    while (first_chunk_ + chunks_.size() <= number) chunks_.push_back(nullptr);
    return Fill(sequence, std::move(value));
  }

  T* Find(uint64_t sequence) {
    const uint64_t number = sequence / kChunk;
    if (number < first_chunk_ || number - first_chunk_ >= chunks_.size()) return nullptr;
    const std::unique_ptr<Chunk>& chunk = chunks_[number - first_chunk_];
    if (!chunk) return nullptr;
    std::optional<T>& slot = chunk->slots[sequence % kChunk];
    return slot ? &*slot : nullptr;
  }

  void Remove(uint64_t sequence) {
    HOPGAP_CHECK(Find(sequence) != nullptr, "removed what is not there");
    const size_t index = static_cast<size_t>(sequence / kChunk - first_chunk_);
    chunks_[index]->slots[sequence % kChunk].reset();
    --chunks_[index]->count;
    --size_;
    // The newest chunk stays: the next sequence goes there.
    if (index + 1 < chunks_.size()) DropEmpty(index);
  }

  // In rising order. `visit(sequence, value)` may not add or remove.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (size_t i = 0; i < chunks_.size(); ++i) {
      if (!chunks_[i]) continue;
      for (uint64_t slot = 0; slot < kChunk; ++slot) {
        if (chunks_[i]->slots[slot]) visit((first_chunk_ + i) * kChunk + slot, *chunks_[i]->slots[slot]);
      }
    }
  }

  // The same from `from` on, until `visit` says false.
  template <typename Visit>
  void VisitFrom(uint64_t from, Visit visit) {
    const uint64_t first = from / kChunk;
    for (size_t i = first < first_chunk_ ? 0 : static_cast<size_t>(first - first_chunk_); i < chunks_.size(); ++i) {
      if (!chunks_[i]) continue;
      for (uint64_t slot = 0; slot < kChunk; ++slot) {
        const uint64_t sequence = (first_chunk_ + i) * kChunk + slot;
        if (sequence < from || !chunks_[i]->slots[slot]) continue;
        if (!visit(sequence, *chunks_[i]->slots[slot])) return;
      }
    }
  }

  size_t size() const { return size_; }

 private:
  static constexpr uint64_t kChunk = 32;
  struct Chunk {
    std::array<std::optional<T>, kChunk> slots;
    size_t count = 0;
  };

  // Requires: there is a place for its chunk.
  T& Fill(uint64_t sequence, T value) {
    std::unique_ptr<Chunk>& chunk = chunks_[sequence / kChunk - first_chunk_];
    if (!chunk) chunk = std::make_unique<Chunk>();
    std::optional<T>& slot = chunk->slots[sequence % kChunk];
    HOPGAP_CHECK(!slot, "sequence added twice");
    slot.emplace(std::move(value));
    ++chunk->count;
    ++size_;
    return *slot;
  }

  void DropEmpty(size_t index) {
    if (index < chunks_.size() && chunks_[index] && chunks_[index]->count == 0) chunks_[index].reset();
    while (chunks_.size() > 1 && !chunks_.front()) {
      chunks_.pop_front();
      ++first_chunk_;
    }
  }

  std::deque<std::unique_ptr<Chunk>> chunks_;
  uint64_t first_chunk_ = 0;
  size_t size_ = 0;
};

}  // namespace hopgap::broker
