#include "trace/sorted_runs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "trace/packing.h"

namespace hopgap::trace {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr int kChunkShift = 32;  // of Entry::at: a chunk with one record may be as long as a record
// Memory of a merge: it is shared by the runs, down to a page each.
constexpr size_t kMergeBytes = size_t{16} << 20, kBufferBytesMin = 4096, kBufferBytesMax = size_t{1} << 20;

// In a run: the size of the record, its key, the record.
struct RunHead {
  uint64_t size;
  SortedRuns::Key key;
};

}  // namespace

absl::Status SortedRuns::Add(const Key& key, std::string_view bytes) {
  HOPGAP_CHECK(bytes.size() < kRecordMax, "a record is longer than a place in a chunk");
  const size_t needed = bytes.size() + sizeof(uint32_t);
  if (chunks_.empty() || chunks_.back().size() + needed > chunks_.back().capacity()) {
    chunks_.emplace_back().reserve(std::max(kChunkBytes, needed));
    held_ += chunks_.back().capacity();
  }
  std::string& chunk = chunks_.back();
  entries_.push_back({key, (chunks_.size() - 1) << kChunkShift | chunk.size()});
  const auto size = static_cast<uint32_t>(bytes.size());
  char head[sizeof size];
  std::memcpy(head, &size, sizeof size);
  chunk.append(head, sizeof head);
  chunk.append(bytes);
  ++size_;
  if (scratch_ == nullptr || held_ + entries_.size() * sizeof(Entry) <= bytes_max_) return absl::OkStatus();
  return Spill();
}

std::string_view SortedRuns::BytesOf(const Entry& entry) const {
  const char* record = chunks_[entry.at >> kChunkShift].data() + (entry.at & ((uint64_t{1} << kChunkShift) - 1));
  uint32_t size = 0;
  std::memcpy(&size, record, sizeof size);
  return {record + sizeof size, size};
}

void SortedRuns::Sort() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.key != b.key ? a.key < b.key : a.at < b.at; });
}

absl::Status SortedRuns::Spill() {
  Sort();
  if (file_ == nullptr) {
    absl::StatusOr<std::unique_ptr<ScratchFile>> file = scratch_->Create();
    if (!file.ok()) return file.status();
    file_ = *std::move(file);
  }
  Run run{runs_.empty() ? 0 : runs_.back().from + runs_.back().size, 0};
  std::string out;
  for (const Entry& entry : entries_) {
    const std::string_view bytes = BytesOf(entry);
    const RunHead head{bytes.size(), entry.key};
    char text[sizeof head];
    std::memcpy(text, &head, sizeof head);
    out.append(text, sizeof text);
    out.append(bytes);
    if (out.size() < kBufferBytesMax && &entry != &entries_.back()) continue;
    run.size += out.size();
    if (absl::Status status = file_->Append(out); !status.ok()) return status;
    out.clear();
  }
  runs_.push_back(run);
  entries_.clear();
  chunks_.clear();
  held_ = 0;
  return absl::OkStatus();
}

absl::Status SortedRuns::Finish() {
  if (runs_.empty()) {
    Sort();
    return absl::OkStatus();
  }
  absl::Status status = entries_.empty() ? absl::OkStatus() : Spill();
  entries_ = {};
  return status;
}

SortedRuns::Cursor::Cursor(const SortedRuns& of) : of_(&of) {
  if (of.runs_.empty()) return;
  buffer_bytes_ = std::clamp(kMergeBytes / of.runs_.size(), kBufferBytesMin, kBufferBytesMax);
  pieces_.resize(of.runs_.size());
  for (size_t i = 0; i < pieces_.size(); ++i) {
    pieces_[i].from = of.runs_[i].from;
    pieces_[i].size = of.runs_[i].size;
  }
}

// Brings `needed` bytes into the buffer, if the run has so many.
bool SortedRuns::Cursor::Fill(Piece& piece, size_t needed) {
  const size_t held = piece.buffer.size() - piece.at;
  if (held >= needed) return true;
  const auto more = static_cast<size_t>(std::min<uint64_t>(piece.size, std::max(buffer_bytes_, needed) - held));
  if (held + more < needed) {
    status_ = absl::DataLossError("a run of spans ends in the middle of one: the scratch file was damaged");
    return false;
  }
  piece.buffer.erase(0, piece.at);
  piece.at = 0;
  piece.buffer.resize(held + more);
  status_ = of_->file_->ReadAt(piece.from, piece.buffer.data() + held, more);
  piece.from += more;
  piece.size -= more;
  return status_.ok();
}

// Takes the record at the front of what is left of the run; false at its end.
bool SortedRuns::Cursor::Front(Piece& piece) {
  if (piece.at == piece.buffer.size() && piece.size == 0) return false;
  RunHead head;
  if (!Fill(piece, sizeof head)) return false;
  std::memcpy(&head, piece.buffer.data() + piece.at, sizeof head);
  if (head.size > kRecordMax) {
    status_ = absl::DataLossError("a run of spans has an impossible length: the scratch file was damaged");
    return false;
  }
  if (!Fill(piece, sizeof head + head.size)) return false;
  piece.key = head.key;
  piece.bytes = std::string_view(piece.buffer).substr(piece.at + sizeof head, head.size);
  piece.at += sizeof head + head.size;
  return true;
}

// Of equals the earlier run is first.
bool SortedRuns::Cursor::Later(size_t a, size_t b) const {
  const auto order = pieces_[a].key <=> pieces_[b].key;
  return order == 0 ? a > b : order > 0;
}

bool SortedRuns::Cursor::Next() {
  if (of_->runs_.empty()) {
    if (next_ == of_->entries_.size()) return false;
    const Entry& entry = of_->entries_[next_++];
    key_ = entry.key;
    bytes_ = of_->BytesOf(entry);
    return true;
  }
  const auto later = [this](size_t a, size_t b) { return Later(a, b); };
  if (!std::exchange(started_, true)) {
    for (size_t i = 0; i < pieces_.size() && status_.ok(); ++i) {
      if (Front(pieces_[i])) heap_.push_back(i);
    }
    std::make_heap(heap_.begin(), heap_.end(), later);
  } else if (!heap_.empty()) {
    // The piece that gave the record before: only now may its bytes go.
    std::pop_heap(heap_.begin(), heap_.end(), later);
    if (Front(pieces_[heap_.back()])) {
      std::push_heap(heap_.begin(), heap_.end(), later);
    } else {
      heap_.pop_back();
    }
  }
  if (!status_.ok() || heap_.empty()) return false;
  key_ = pieces_[heap_.front()].key;
  bytes_ = pieces_[heap_.front()].bytes;
  return true;
}

}  // namespace hopgap::trace
