#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "base/draw.h"
#include "store/planted.h"
#include "store/segment.h"

namespace hopgap::store {

// Keeps segments ready to be written: one to go on with and one in reserve, so
// that a disk that is found full still takes what makes it emptier. Uses files
// again whose segments nobody needs, and deletes those that are too many.
//
// Thread-safe; one thread at a time is inside Work().
class SegmentPool {
 public:
  static constexpr size_t kSparesWanted = 2;

  // The directory outlives it.
  SegmentPool(Directory& directory, HashKey key, uint64_t segment_bytes, Planted planted)
      : directory_(directory), key_(key), segment_bytes_(segment_bytes), planted_(planted) {}

  // At the start: segments that were ready already, in the order of numbers, and
  // the number that the next new one gets.
  void Start(std::deque<std::shared_ptr<Segment>> spares, uint64_t next_number);

  // The next segment, after waiting for one that is being made. ResourceExhausted
  // if there is none and the disk is full.
  absl::StatusOr<std::shared_ptr<Segment>> Take();
  // Nothing in it is needed any more.
  void GiveBack(std::shared_ptr<Segment> segment);
  // A segment in use is filled so far that the next should not wait for one to be given back.
  void Hurry();

  // Makes one segment ready, or deletes one; true if there was something to do.
  // A full disk is no error. `fill`: how a new file is made.
  absl::StatusOr<bool> Work(Directory::Fill fill);
  // Returns when there may be work, or at once after Stop(). While the disk is
  // full it returns now and then.
  void WaitForWork();
  void Stop();

  size_t spares() const;
  bool disk_full() const;  // the last attempt to make a new file failed
  // Files, with those that are given back and not deleted yet.
  uint64_t files_beside_those_in_use() const;

 private:
  std::shared_ptr<Segment> NextToReuse();  // under the lock
  bool WantsNew() const;                   // likewise
  absl::StatusOr<std::shared_ptr<Segment>> Make(uint64_t number, std::shared_ptr<Segment> old, Directory::Fill fill);

  Directory& directory_;
  const HashKey key_;
  const uint64_t segment_bytes_;
  const Planted planted_;
  mutable std::mutex mu_;
  std::condition_variable changed_;
  // Guarded by mu_.
  std::deque<std::shared_ptr<Segment>> spares_, given_back_;
  uint64_t next_number_ = 1;
  bool working_ = false;
  bool hurry_ = false;
  bool disk_full_ = false;
  bool stopped_ = false;
};

}  // namespace hopgap::store
