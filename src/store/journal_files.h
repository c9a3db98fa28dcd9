#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/draw.h"
#include "store/file.h"

namespace hopgap::store {

// The two small files beside the segments.

// "journal": says what the directory is; written once, last of all that makes a
// journal. A text of lines: "hopgap journal", "version 1", "segment_bytes N",
// "ack_id_key <32 hexadecimal digits>", "crc32c <8 of the lines before>".
struct JournalFile {
  static constexpr char kName[] = "journal";
  static constexpr uint64_t kVersion = 1;
  uint64_t segment_bytes = 0;
  HashKey key;
};
std::string FormatJournalFile(const JournalFile& file);
// FailedPrecondition for a newer version, DataLoss for anything else that is wrong.
absl::StatusOr<JournalFile> ParseJournalFile(std::string_view text);

// "checkpoint": where the newest complete checkpoint begins. Two slots, written in
// turn, so that a write that is torn leaves the other; no block is ever allocated
// for it, so a full disk does not matter.
class CheckpointFile {
 public:
  static constexpr char kName[] = "checkpoint";
  struct Position {
    uint64_t segment = 0;
    uint64_t offset = 0;
    uint64_t sequence = 0;  // of the first record there
    friend bool operator==(const Position&, const Position&) = default;
  };

  // Made if it is not there. DataLoss if both slots are damaged.
  static absl::StatusOr<CheckpointFile> Open(Directory& directory);
  // nullopt: there is none, the journal begins at its first record.
  const std::optional<Position>& position() const { return position_; }
  // Durable when it returns.
  absl::Status Set(const Position& position);

 private:
  CheckpointFile() = default;

  std::unique_ptr<File> file_;
  uint64_t changes_ = 0;
  std::optional<Position> position_;
};

}  // namespace hopgap::store
