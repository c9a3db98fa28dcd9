#include "store/segment_pool.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace hopgap::store {
namespace {

// How often a full disk is asked again.
constexpr std::chrono::milliseconds kRetry{500};

}  // namespace

void SegmentPool::Start(std::deque<std::shared_ptr<Segment>> spares, uint64_t next_number) {
  const std::lock_guard lock(mu_);
  spares_ = std::move(spares);
  next_number_ = next_number;
}

absl::StatusOr<std::shared_ptr<Segment>> SegmentPool::Take() {
  for (;;) {
    {
      std::unique_lock lock(mu_);
      changed_.wait(lock, [this] { return !spares_.empty() || !working_; });
      hurry_ = spares_.size() <= 1;
      if (!spares_.empty()) {
        std::shared_ptr<Segment> next = std::move(spares_.front());
        spares_.pop_front();
        hurry_ = false;
        changed_.notify_all();
        return next;
      }
    }
    const absl::StatusOr<bool> worked = Work(Directory::Fill::kReserved);
    if (!worked.ok()) return worked.status();
    const std::lock_guard lock(mu_);
    if (spares_.empty() && disk_full_ && !working_) {
      return absl::ResourceExhaustedError(
          StrCat(directory_.name(), ": the disk is full, and so is the segment that was kept in reserve"));
    }
  }
}

void SegmentPool::GiveBack(std::shared_ptr<Segment> segment) {
  const std::lock_guard lock(mu_);
  given_back_.push_back(std::move(segment));
  changed_.notify_all();
}

void SegmentPool::Hurry() {
  const std::lock_guard lock(mu_);
  if (hurry_) return;
  hurry_ = true;
  changed_.notify_all();
}

// A file that was given back is better than a new one: while there is one spare
// left a new one waits until that is known not to come.
bool SegmentPool::WantsNew() const {
  return given_back_.empty() && (spares_.empty() || (spares_.size() < kSparesWanted && (hurry_ || next_number_ <= 2)));
}

absl::StatusOr<bool> SegmentPool::Work(Directory::Fill fill) {
  std::shared_ptr<Segment> old;
  uint64_t number = 0;
  {
    const std::lock_guard lock(mu_);
    if (working_ || (given_back_.empty() && !WantsNew())) return false;
    if (!given_back_.empty()) {
      old = std::move(given_back_.front());
      given_back_.pop_front();
    }
    working_ = true;
    if (spares_.size() < kSparesWanted) number = next_number_;
  }
  absl::StatusOr<std::shared_ptr<Segment>> made = Make(number, std::move(old), fill);
  const std::lock_guard lock(mu_);
  working_ = false;
  changed_.notify_all();
  const bool full = made.status().code() == absl::StatusCode::kResourceExhausted;
  if (!made.ok() && !full) return made.status();
  if (full) {
    const bool news = !disk_full_;
    disk_full_ = true;
    return news;
  }
  if (*made == nullptr) {  // deleted: there is room for another
    disk_full_ = false;
    return true;
  }
  spares_.push_back(*std::move(made));
  ++next_number_;
  if (spares_.size() >= kSparesWanted) disk_full_ = false;
  return true;
}

// A file that others still read from is deleted instead: they keep what they
// read. Null if `old` is gone and nothing was made of it.
absl::StatusOr<std::shared_ptr<Segment>> SegmentPool::Make(uint64_t number, std::shared_ptr<Segment> old,
                                                           Directory::Fill fill) {
  std::unique_ptr<File> file;
  if (old != nullptr) {
    const std::string name = Segment::NameOf(old->number());
    if (number == 0 || old->ReadByOthers()) {
      if (absl::Status removed = directory_.Remove(name); !removed.ok()) return removed;
      return std::shared_ptr<Segment>();
    }
    if (absl::Status renamed = directory_.Rename(name, Segment::kSpareName); !renamed.ok()) return renamed;
    if (absl::Status synced = directory_.Sync(); !synced.ok()) return synced;
    file = old->TakeFile();
  } else {
    absl::StatusOr<std::unique_ptr<File>> created = directory_.Create(Segment::kSpareName, segment_bytes_, fill);
    if (!created.ok()) return created.status();
    file = *std::move(created);
  }
  if (absl::Status written = file->Write(0, Segment::HeaderOf(number, file->size())); !written.ok()) return written;
  if (absl::Status synced = file->Sync(); !synced.ok()) return synced;
  absl::Status named = directory_.Rename(Segment::kSpareName, Segment::NameOf(number));
  if (!named.ok()) return named;
  if (planted_ == Planted::kNameNotSynced) return Segment::Open(key_, number, std::move(file));
  if (absl::Status synced = directory_.Sync(); !synced.ok()) return synced;
  return Segment::Open(key_, number, std::move(file));
}

void SegmentPool::WaitForWork() {
  std::unique_lock lock(mu_);
  const auto work = [this] {
    return stopped_ || (!working_ && !given_back_.empty()) || (!working_ && !disk_full_ && WantsNew());
  };
  if (disk_full_) {
    changed_.wait_for(lock, kRetry, work);
  } else {
    changed_.wait(lock, work);
  }
}

void SegmentPool::Stop() {
  const std::lock_guard lock(mu_);
  stopped_ = true;
  changed_.notify_all();
}

size_t SegmentPool::spares() const {
  const std::lock_guard lock(mu_);
  return spares_.size();
}

bool SegmentPool::disk_full() const {
  const std::lock_guard lock(mu_);
  return disk_full_;
}

uint64_t SegmentPool::files_beside_those_in_use() const {
  const std::lock_guard lock(mu_);
  return spares_.size() + given_back_.size() + (working_ ? 1 : 0);
}

}  // namespace hopgap::store
