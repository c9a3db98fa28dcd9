#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/time.h"
#include "broker/journal.h"
#include "store/log.h"

namespace hopgap::store {

// The journal on a disk. Groups that somebody awaits are written at once, with
// all that came before them, up to about 1 MiB by one write and one sync; lazy
// ones wait for those, or for `lazy_wait`.
//
// `done` is called by the thread that wrote. As it may then run the broker for a
// while, two threads take turns at writing: while one is busy with what it
// found out, the other writes the next groups. A third makes segments ready.
//
// Thread-safe, but Replay() comes before everything else.
class DiskJournal final : public broker::Journal {
 public:
  static constexpr uint64_t kGroupBytesMax = 1 << 20;
  struct Options {
    Log::Options log;
    Duration lazy_wait = std::chrono::milliseconds{50};
    // Without threads Step() does the work, for simulated worlds and tests.
    bool threads = true;
    // What to do when the disk failed: nothing that was appended and not
    // answered will be. The program should end; it may not go on as if.
    std::function<void(const absl::Status&)> on_failure;
  };
  // As Log::Open(). Requires: on_failure.
  static absl::StatusOr<std::unique_ptr<DiskJournal>> Open(std::unique_ptr<Directory> directory, Options options);
  // Close() first, unless the disk failed.
  ~DiskJournal() override;

  HashKey key() const { return log_->key(); }

  absl::Status Replay(const Log::Visit& visit) override;
  void Append(broker::PersistToken token, std::vector<pubsub::Slices> records, bool awaited, Done done) override;
  std::optional<broker::CheckpointPlan> NextCheckpoint(const broker::LiveBytes& live) override;
  uint64_t PublishRoom() const override;

  // Writes what waits, lazy or not, and returns when all is answered and no
  // thread runs any more. Nothing may be appended afterwards.
  void Close();
  // Without threads: writes one batch, lazy groups included, or makes one segment
  // ready. False if there was nothing to do.
  bool Step();

  struct Figures {
    uint64_t groups = 0;  // as appended
    uint64_t writes = 0;  // each one write and one sync, or a few at the end of a segment
    uint64_t bytes = 0;
    Duration longest_write{0};
    uint64_t checkpoints = 0;  // asked for
    uint64_t files = 0;
    uint64_t segment_bytes = 0;
  };
  Figures figures() const;

 private:
  struct Group {
    broker::PersistToken token = 0;
    std::vector<pubsub::Slices> records;
    bool awaited = false;
    Done done;
    uint64_t bytes = 0;  // in frames
    std::vector<broker::StoredRecord> stored;
  };
  DiskJournal(std::unique_ptr<Log> log, Options options);
  void WriterLoop();
  void PreparerLoop();
  bool MayWrite() const;                  // under the lock
  std::vector<Group> TakeBatch();         // likewise
  bool Write(std::vector<Group>& batch);  // without it; false: the disk failed
  void Fail(const absl::Status& status);

  const Options options_;
  const std::unique_ptr<Log> log_;
  mutable std::mutex mu_;
  std::condition_variable changed_;
  // Guarded by mu_.
  std::deque<Group> queue_;
  uint64_t queued_bytes_ = 0;
  size_t awaited_ = 0;     // of the queue
  bool lazy_due_ = false;  // what waits has waited long enough
  bool writing_ = false;
  bool closing_ = false;
  bool failed_ = false;
  Figures figures_;
  std::vector<std::thread> threads_;
};

}  // namespace hopgap::store
