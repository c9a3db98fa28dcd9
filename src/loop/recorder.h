#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "trace/event.h"

namespace hopgap::loop {

// The places of a process. Shared by all its recorders, so that their events
// can be read together without renumbering. Clients of the broker can create
// any number of topics, so a full table is no error: what comes after shares
// its last place, "(others)", and is counted.
//
// Thread-safe.
class PlaceTable {
 public:
  static constexpr size_t kPlacesMax = 65'535;

  uint16_t Add(const trace::Place& place);
  std::vector<trace::Place> Snapshot() const;
  uint64_t shared() const;  // places that had to share the last one

 private:
  mutable std::mutex mu_;
  std::vector<trace::Place> places_;
  uint64_t shared_ = 0;
};

// Keeps the events of one strand in memory that was allocated and touched
// before the first of them, so that recording costs one store and no page
// fault. A full recorder drops further events and counts them: the count makes
// a run invalid, it is never silently short. Drain() makes room.
//
// Not thread-safe but for AddPlace(): one recorder belongs to one strand, and
// only tasks of that strand may record and drain (a strand orders the memory of
// its tasks, whatever threads they run on).
class Recorder final : public trace::EventSink {
 public:
  // `places` outlives the recorder.
  Recorder(size_t capacity, PlaceTable& places);

  void Record(const trace::Event& event) override;
  uint16_t AddPlace(const trace::Place& place) override { return places_.Add(place); }

  // In recording order, until the next Drain().
  std::span<const trace::Event> events() const { return {slots_.data(), size_}; }
  // Hands the events over in order and forgets them. `take` may not record here.
  void Drain(const std::function<void(std::span<const trace::Event>)>& take);

  size_t capacity() const { return slots_.size(); }
  uint64_t overflowed() const { return overflowed_; }            // events dropped since the beginning
  size_t most() const { return most_ > size_ ? most_ : size_; }  // the largest number held at once

 private:
  std::vector<trace::Event> slots_;
  size_t size_ = 0;
  size_t most_ = 0;
  uint64_t overflowed_ = 0;
  PlaceTable& places_;
};

}  // namespace hopgap::loop
