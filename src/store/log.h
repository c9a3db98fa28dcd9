#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/draw.h"
#include "broker/journal.h"
#include "store/file.h"
#include "store/frame.h"
#include "store/journal_files.h"
#include "store/planted.h"
#include "store/segment_pool.h"

namespace hopgap::store {

// The journal's files, without threads: records go in and are on the disk when
// Write() returns (docs/journal-format.md says how they lie there). Keeps what
// the newest complete checkpoint and the records behind it need.
//
// Write() and Replay() are for one thread at a time; Work() may run beside them.
class Log {
 public:
  static constexpr uint64_t kSegmentBytesMax = 64 << 20, kSegmentBytesMin = 16 << 20;
  // One part of so many of a segment is written when the next one is no longer left to chance.
  static constexpr uint64_t kHurryAtPart = 4;
  struct Options {
    HashKey fresh_key;                 // of a directory that holds none yet
    uint64_t segment_bytes = 0;        // likewise; 0: chosen by the free space, between the two above
    Planted planted = Planted::kNone;  // test-only
  };

  // FailedPrecondition for a directory that another process uses, that a newer
  // hopgap wrote, or that holds segments of no journal; DataLoss for damage.
  static absl::StatusOr<std::unique_ptr<Log>> Open(std::unique_ptr<Directory> directory, const Options& options);

  // For ack ids: of this directory, for ever.
  HashKey key() const { return key_; }

  // Once, before the first Write(). What was written last and not to its end is
  // cut off; DataLoss, naming file and offset, if something is damaged that was
  // on the disk for sure.
  using Visit = std::function<absl::Status(const broker::StoredRecord&, const broker::FindBody&)>;
  absl::Status Replay(const Visit& visit);

  // Appends the records. For each, its stored form if it holds bodies. An
  // error is final: what is on the disk is unknown.
  using Stored = std::vector<std::optional<broker::StoredRecord>>;
  absl::StatusOr<Stored> Write(const std::vector<const pubsub::Slices*>& records);

  // Makes segments ready beside the writing; true if there was something to do.
  absl::StatusOr<bool> Work() { return pool_.Work(Directory::Fill::kZeroed); }
  SegmentPool& pool() { return pool_; }

  // For whoever decides when the next checkpoint is due.
  struct State {
    uint64_t segment_bytes = 0;
    std::vector<uint64_t> sealed;         // numbers, in order; the one being written is not among them
    uint64_t since_checkpoint = 0;        // bytes written behind the beginning of the newest complete one
    uint64_t checkpoint_bytes = 0;        // of that one, with what was written meanwhile
    uint64_t checkpoint_parts_bytes = 0;  // ... of its own records, without the bodies that were copied
    uint64_t room = 0;                    // left in the segment being written
    uint64_t files = 0;
  };
  State state() const;
  // That fits into a segment.
  uint64_t record_bytes_max() const { return segment_bytes_ - Segment::kHeaderBytes - kFrameHeaderBytes; }

 private:
  using Position = CheckpointFile::Position;
  // One write: records [first, end), which fit into what is left of a segment.
  struct Range {
    size_t first = 0, end = 0;
  };
  Log(std::unique_ptr<Directory> directory, const JournalFile& about, CheckpointFile checkpoint, Planted planted);

  // recovery.cc
  absl::Status OpenSegments();
  absl::Status ReadSegments(const Visit& visit);
  absl::Status ReadOne(const Frame& frame, const Position& at, const Visit& visit);
  absl::Status CheckEnd(const Position& end, const Position& damaged);
  absl::Status Settle(const Position& end);
  absl::StatusOr<pubsub::Bytes> FindBody(const broker::Place& place, uint32_t length);

  // log.cc
  absl::Status WriteGroup(const std::vector<const pubsub::Slices*>& records, Range range, Stored& stored);
  absl::Status NextSegment();
  void NoteBegan(const Position& at);
  absl::Status NoteEnded(const pubsub::Slices& record);
  void DropAllBut(uint64_t from_segment, const std::vector<uint64_t>& needed);

  const std::unique_ptr<Directory> directory_;
  const HashKey key_;
  const uint64_t segment_bytes_;
  const Planted planted_;
  CheckpointFile checkpoint_;
  SegmentPool pool_;
  bool replayed_ = false;

  mutable std::mutex mu_;                                // for state(), beside the one writer
  std::map<uint64_t, std::shared_ptr<Segment>> needed_;  // guarded; the active one is the last
  std::shared_ptr<Segment> active_;                      // guarded
  uint64_t end_ = 0;                                     // guarded; in the active segment
  uint64_t since_checkpoint_ = 0;                        // guarded
  uint64_t checkpoint_bytes_ = 0;                        // guarded
  uint64_t checkpoint_parts_bytes_ = 0;                  // guarded
  uint64_t next_sequence_ = 1;
  uint64_t next_group_ = 1;
  std::optional<Position> began_;                     // a checkpoint that is not complete
  uint64_t since_began_ = 0, parts_since_began_ = 0;  // bytes
  std::optional<std::vector<uint64_t>> bodies_;       // Replay(): the segments that the checkpoint names
  broker::Place verified_;                            // the frame that FindBody() summed last
  std::string buffer_;
};

}  // namespace hopgap::store
