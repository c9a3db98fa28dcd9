#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/dice.h"
#include "store/file.h"

namespace hopgap::sim {

// A disk in memory that forgets what was not synced. Processes come and go, each
// with a Directory of its own over the same files. Power may be lost in the
// middle of any operation: that one and all after it then fail, until Crash()
// decides what is left of what was not synced: of a write all, nothing, its
// beginning up to any byte, or some of its sectors and not others; of creations,
// renames and removals the first few.
class FaultFiles {
 public:
  FaultFiles(uint64_t seed, uint64_t bytes_max) : dice_(seed, 78), bytes_max_(bytes_max) {}

  std::unique_ptr<store::Directory> Open();
  // Power is lost at the operation after so many more.
  void DieAfter(uint64_t operations) { operations_left_ = operations; }
  void Crash();
  void StartFaults(uint64_t dies) { dies_ = dies; }
  void CalmDown();
  bool dead() const { return dead_; }
  // Bytes written since the disk was first found full, if it is.
  uint64_t written_since_full() const { return full_at_ ? written_ - *full_at_ : 0; }

 private:
  class File;
  class Directory;
  using Range = std::pair<uint64_t, uint64_t>;
  struct Content {
    std::shared_ptr<std::string> seen;  // with what is not synced; mapped by the process
    std::string kept;
    std::vector<Range> unsynced;  // in the order in which they were written
  };
  using Names = std::map<std::string, std::shared_ptr<Content>, std::less<>>;
  struct Change {  // of a name: `content` takes it, or nothing has it any more
    std::string name;
    std::shared_ptr<Content> content;
  };

  absl::Status Operate();  // an error: the disk is dead
  void KeepSome(Content& content, const Range& range);
  uint64_t Used() const;

  Dice dice_;
  uint64_t bytes_max_;
  uint64_t dies_ = 0;  // per 10,000 operations
  uint64_t operations_left_ = ~uint64_t{0};
  bool dead_ = false;
  uint64_t written_ = 0;
  std::optional<uint64_t> full_at_;  // what was written by then
  Names seen_, kept_;
  std::vector<std::vector<Change>> unsynced_;  // each rename is one
};

}  // namespace hopgap::sim
