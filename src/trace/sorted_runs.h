#pragma once

#include <absl/status/status.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/scratch.h"

namespace hopgap::trace {

// Sorts more records than memory holds: what is over the limit is sorted and
// written as a run, and the runs are merged while they are read.
//
// Records with equal keys keep the order in which they came. Without a scratch
// everything stays in memory, whatever the limit.
//
// Not thread-safe.
class SortedRuns {
 public:
  struct Key {
    uint64_t hi = 0, lo = 0, span = 0, order = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static constexpr size_t kRecordMax = size_t{1} << 31;

  // `scratch` outlives this, and may be null. `bytes_max`: of memory, for records
  // and their keys, before a run is written.
  SortedRuns(Scratch* scratch, size_t bytes_max) : scratch_(scratch), bytes_max_(bytes_max) {}

  // A failure is the scratch's. Requires: not finished.
  absl::Status Add(const Key& key, std::string_view bytes);
  // Once, after the last Add.
  absl::Status Finish();

  uint64_t size() const { return size_; }
  size_t runs() const { return runs_.size(); }  // that were written

  // Walks through all records in order. Several may be under way. Requires: Finish().
  class Cursor {
   public:
    explicit Cursor(const SortedRuns& of);
    // The next record; false at the end, and after a failure, which status() has.
    bool Next();
    const Key& key() const { return key_; }
    std::string_view bytes() const { return bytes_; }  // until the next Next()
    const absl::Status& status() const { return status_; }

   private:
    // A piece of a run that is in memory, and the record at its front.
    struct Piece {
      uint64_t from = 0, size = 0;  // in the file: what has not been read yet
      std::string buffer;
      size_t at = 0;
      Key key;
      std::string_view bytes;
    };
    bool Fill(Piece& piece, size_t needed);
    bool Front(Piece& piece);
    bool Later(size_t a, size_t b) const;

    const SortedRuns* of_;
    size_t next_ = 0;  // in memory
    size_t buffer_bytes_ = 0;
    std::vector<Piece> pieces_;
    std::vector<size_t> heap_;  // of pieces, the least key in front
    bool started_ = false;
    Key key_;
    std::string_view bytes_;
    absl::Status status_;
  };

 private:
  struct Entry {
    Key key;
    uint64_t at = 0;  // chunk, and place in it: later ones are larger
  };
  struct Run {
    uint64_t from = 0, size = 0;  // in the file
  };
  std::string_view BytesOf(const Entry& entry) const;
  void Sort();
  absl::Status Spill();

  Scratch* scratch_;
  size_t bytes_max_, held_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::string> chunks_;
  std::unique_ptr<ScratchFile> file_;  // of all runs; null: none was written
  std::vector<Run> runs_;
  uint64_t size_ = 0;
};

}  // namespace hopgap::trace
