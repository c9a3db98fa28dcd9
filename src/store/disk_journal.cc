#include "store/disk_journal.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/system_clock.h"
#include "store/checkpoint_policy.h"

namespace hopgap::store {
namespace {

constexpr size_t kWriters = 2;

}  // namespace

absl::StatusOr<std::unique_ptr<DiskJournal>> DiskJournal::Open(std::unique_ptr<Directory> directory, Options options) {
  HOPGAP_CHECK(options.on_failure != nullptr, "a journal needs somebody to tell of a failed disk");
  absl::StatusOr<std::unique_ptr<Log>> log = Log::Open(std::move(directory), options.log);
  if (!log.ok()) return log.status();
  return std::unique_ptr<DiskJournal>(new DiskJournal(*std::move(log), std::move(options)));
}

DiskJournal::DiskJournal(std::unique_ptr<Log> log, Options options)
    : options_(std::move(options)), log_(std::move(log)) {}

DiskJournal::~DiskJournal() { Close(); }

absl::Status DiskJournal::Replay(const Log::Visit& visit) {
  if (absl::Status replayed = log_->Replay(visit); !replayed.ok()) return replayed;
  if (!options_.threads) return absl::OkStatus();
  for (size_t i = 0; i < kWriters; ++i) threads_.emplace_back([this] { WriterLoop(); });
  threads_.emplace_back([this] { PreparerLoop(); });
  return absl::OkStatus();
}

void DiskJournal::Append(broker::PersistToken token, std::vector<pubsub::Slices> records, bool awaited, Done done) {
  Group group{.token = token,
              .records = std::move(records),
              .awaited = awaited,
              .done = std::move(done),
              .bytes = 0,
              .stored = {}};
  for (const pubsub::Slices& record : group.records) group.bytes += FrameBytes(pubsub::TotalSize(record));
  const std::lock_guard lock(mu_);
  HOPGAP_CHECK(!closing_, "appended to a journal that was closed");
  ++figures_.groups;
  queued_bytes_ += group.bytes;
  awaited_ += awaited ? 1 : 0;
  queue_.push_back(std::move(group));
  if (awaited || queue_.size() == 1) changed_.notify_all();
}

bool DiskJournal::MayWrite() const {
  if (writing_ || failed_ || queue_.empty()) return false;
  return awaited_ > 0 || lazy_due_ || closing_ || queued_bytes_ >= kGroupBytesMax;
}

std::vector<DiskJournal::Group> DiskJournal::TakeBatch() {
  std::vector<Group> batch;
  uint64_t bytes = 0;
  while (!queue_.empty() && (batch.empty() || bytes + queue_.front().bytes <= kGroupBytesMax)) {
    Group group = std::move(queue_.front());
    queue_.pop_front();
    bytes += group.bytes;
    awaited_ -= group.awaited ? 1 : 0;
    batch.push_back(std::move(group));
  }
  lazy_due_ = false;
  writing_ = true;
  return batch;
}

bool DiskJournal::Write(std::vector<Group>& batch) {
  std::vector<const pubsub::Slices*> records;
  uint64_t bytes = 0;
  for (const Group& group : batch) {
    for (const pubsub::Slices& record : group.records) records.push_back(&record);
    bytes += group.bytes;
  }
  const Instant begun = SteadyNow();
  absl::StatusOr<Log::Stored> stored = log_->Write(records);
  const Duration length = SteadyNow() - begun;
  if (!stored.ok()) {
    Fail(stored.status());
    return false;
  }
  size_t at = 0;
  for (Group& group : batch) {
    for (size_t i = 0; i < group.records.size(); ++i, ++at) {
      if ((*stored)[at]) group.stored.push_back(*std::move((*stored)[at]));
    }
  }
  const std::lock_guard lock(mu_);
  writing_ = false;
  queued_bytes_ -= bytes;
  ++figures_.writes;
  figures_.bytes += bytes;
  figures_.longest_write = std::max(figures_.longest_write, length);
  changed_.notify_all();
  return true;
}

void DiskJournal::Fail(const absl::Status& status) {
  {
    const std::lock_guard lock(mu_);
    if (std::exchange(failed_, true)) return;
    changed_.notify_all();
  }
  options_.on_failure(status);
}

void DiskJournal::WriterLoop() {
  std::unique_lock lock(mu_);
  for (;;) {
    if (!MayWrite()) {
      if (failed_ || (closing_ && queue_.empty())) return;
      if (queue_.empty() || writing_) {
        changed_.wait(lock);
      } else if (changed_.wait_for(lock, options_.lazy_wait) == std::cv_status::timeout) {
        lazy_due_ = !queue_.empty();
      }
      continue;
    }
    std::vector<Group> batch = TakeBatch();
    lock.unlock();
    if (Write(batch)) {
      for (Group& group : batch) group.done(group.token, std::move(group.stored));
    }
    batch.clear();
    lock.lock();
  }
}

void DiskJournal::PreparerLoop() {
  for (;;) {
    log_->pool().WaitForWork();
    {
      const std::lock_guard lock(mu_);
      if (closing_ || failed_) return;
    }
    const absl::StatusOr<bool> worked = log_->Work();
    if (!worked.ok()) return Fail(worked.status());
  }
}

bool DiskJournal::Step() {
  HOPGAP_CHECK(!options_.threads, "Step() is for a journal without threads");
  std::vector<Group> batch;
  {
    const std::lock_guard lock(mu_);
    if (failed_) return false;
    if (!queue_.empty()) batch = TakeBatch();
  }
  if (!batch.empty()) {
    if (!Write(batch)) return false;
    for (Group& group : batch) group.done(group.token, std::move(group.stored));
    return true;
  }
  const absl::StatusOr<bool> worked = log_->Work();
  if (!worked.ok()) Fail(worked.status());
  return worked.ok() && *worked;
}

std::optional<broker::CheckpointPlan> DiskJournal::NextCheckpoint(const broker::LiveBytes& live) {
  std::optional<broker::CheckpointPlan> plan = PlanCheckpoint(log_->state(), log_->pool().disk_full(), live);
  if (!plan) return std::nullopt;
  const std::lock_guard lock(mu_);
  ++figures_.checkpoints;
  return plan;
}

// On a full disk the last spare is for what makes it emptier.
uint64_t DiskJournal::PublishRoom() const {
  if (!log_->pool().disk_full()) return kUnlimited;
  const size_t spares = log_->pool().spares();
  if (spares >= SegmentPool::kSparesWanted) return kUnlimited;
  if (spares == 0) return 0;
  const uint64_t room = log_->state().room;
  const std::lock_guard lock(mu_);
  return room - std::min(room, queued_bytes_);
}

void DiskJournal::Close() {
  {
    const std::lock_guard lock(mu_);
    closing_ = true;
    changed_.notify_all();
  }
  log_->pool().Stop();
  for (std::thread& thread : threads_) {
    if (thread.get_id() != std::this_thread::get_id()) thread.join();
  }
  threads_.clear();
}

DiskJournal::Figures DiskJournal::figures() const {
  const Log::State state = log_->state();
  const std::lock_guard lock(mu_);
  Figures figures = figures_;
  figures.files = state.files;
  figures.segment_bytes = state.segment_bytes;
  return figures;
}

}  // namespace hopgap::store
