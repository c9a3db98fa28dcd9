#include "store/log.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/text.h"
#include "broker/checkpoint_record.h"

namespace hopgap::store {
namespace {

using broker::RecordKind;

// A small disk holds at least this many segments.
constexpr uint64_t kSegmentsPerDisk = 8;

RecordKind KindOf(const pubsub::Slices& record) {
  return record.empty() ? RecordKind::kOrdinary : broker::KindOf(record[0].view());
}

absl::StatusOr<JournalFile> MakeJournal(Directory& directory, const Log::Options& options) {
  JournalFile about{.segment_bytes = options.segment_bytes, .key = options.fresh_key};
  if (about.segment_bytes == 0) {
    const absl::StatusOr<uint64_t> free = directory.FreeBytes();
    if (!free.ok()) return free.status();
    about.segment_bytes =
        std::clamp(std::bit_floor(*free / kSegmentsPerDisk), Log::kSegmentBytesMin, Log::kSegmentBytesMax);
  }
  absl::Status written = ReplaceFile(directory, JournalFile::kName, FormatJournalFile(about));
  if (!written.ok()) return written;
  return about;
}

absl::StatusOr<JournalFile> OpenJournal(Directory& directory, const Log::Options& options) {
  const absl::StatusOr<std::unique_ptr<File>> file = directory.Open(JournalFile::kName);
  if (file.ok()) {
    const absl::StatusOr<pubsub::Bytes> text = (*file)->Map();
    if (!text.ok()) return text.status();
    return ParseJournalFile(text->view());
  }
  if (!absl::IsNotFound(file.status())) return file.status();
  const absl::StatusOr<std::vector<std::string>> names = directory.List();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!Segment::NumberOf(name)) continue;
    return absl::FailedPreconditionError(
        StrCat("it holds ", name, " but no file ", JournalFile::kName, ", without which no segment can be read"));
  }
  return MakeJournal(directory, options);
}

absl::Status In(const Directory& directory, const absl::Status& status) {
  if (status.ok() || MessageOf(status).starts_with(directory.name())) return status;
  return absl::Status(status.code(), ToAbsl(StrCat(directory.name(), ": ", MessageOf(status))));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Log>> Log::Open(std::unique_ptr<Directory> directory, const Options& options) {
  if (absl::Status locked = directory->Lock(); !locked.ok()) return locked;
  const absl::StatusOr<JournalFile> about = OpenJournal(*directory, options);
  if (!about.ok()) return In(*directory, about.status());
  absl::StatusOr<CheckpointFile> checkpoint = CheckpointFile::Open(*directory);
  if (!checkpoint.ok()) return In(*directory, checkpoint.status());
  const std::string name = directory->name();
  std::unique_ptr<Log> log(new Log(std::move(directory), *about, *std::move(checkpoint), options.planted));
  if (absl::Status opened = log->OpenSegments(); !opened.ok()) return In(*log->directory_, opened);
  return log;
}

Log::Log(std::unique_ptr<Directory> directory, const JournalFile& about, CheckpointFile checkpoint, Planted planted)
    : directory_(std::move(directory)),
      key_(about.key),
      segment_bytes_(about.segment_bytes),
      planted_(planted),
      checkpoint_(std::move(checkpoint)),
      pool_(*directory_, key_, segment_bytes_, planted) {}

absl::Status Log::Replay(const Visit& visit) {
  HOPGAP_CHECK(!replayed_, "a journal is replayed once");
  replayed_ = true;
  return In(*directory_, ReadSegments(visit));
}

absl::StatusOr<Log::Stored> Log::Write(const std::vector<const pubsub::Slices*>& records) {
  HOPGAP_CHECK(replayed_, "a journal is replayed before it is written");
  Stored stored(records.size());
  for (Range range; range.first < records.size(); range.first = range.end) {
    uint64_t bytes = 0;
    for (range.end = range.first; range.end < records.size(); ++range.end) {
      const uint64_t frame = FrameBytes(pubsub::TotalSize(*records[range.end]));
      HOPGAP_CHECK(Segment::kHeaderBytes + frame <= segment_bytes_, "a record larger than a segment");
      if (end_ + bytes + frame > segment_bytes_) break;
      bytes += frame;
    }
    const absl::Status written = range.end == range.first ? NextSegment() : WriteGroup(records, range, stored);
    if (!written.ok()) return In(*directory_, written);
  }
  return stored;
}

absl::Status Log::WriteGroup(const std::vector<const pubsub::Slices*>& records, Range range, Stored& stored) {
  buffer_.clear();
  std::vector<uint64_t> offsets;
  for (size_t i = range.first; i < range.end; ++i) {
    offsets.push_back(end_ + buffer_.size());
    AppendFrame(buffer_, active_->mark(), next_sequence_ + (i - range.first), next_group_, i + 1 == range.end,
                *records[i]);
  }
  if (absl::Status written = active_->Write(end_, buffer_); !written.ok()) return written;
  if (planted_ == Planted::kCheckpointBeforeRecord && KindOf(*records[range.end - 1]) == RecordKind::kCheckpointEnded) {
    if (absl::Status set = checkpoint_.Set(*began_); !set.ok()) return set;
  }
  if (planted_ != Planted::kWriteNotSynced) {
    if (absl::Status synced = active_->Sync(); !synced.ok()) return synced;
  }
  ++next_group_;
  {
    const std::lock_guard lock(mu_);
    end_ += buffer_.size();
    since_checkpoint_ += buffer_.size();
  }
  since_began_ += buffer_.size();
  for (size_t i = range.first; i < range.end; ++i) {
    const RecordKind kind = KindOf(*records[i]);
    const uint64_t offset = offsets[i - range.first], sequence = next_sequence_++;
    if (kind == RecordKind::kCheckpointPart) parts_since_began_ += FrameBytes(pubsub::TotalSize(*records[i]));
    if (kind == RecordKind::kPublished || kind == RecordKind::kBodiesCopied) {
      const std::string_view bytes =
          active_->bytes().substr(offset + kFrameHeaderBytes, pubsub::TotalSize(*records[i]));
      stored[i] = broker::StoredRecord{
          .bytes = active_->Part(bytes),
          .place = {.segment = active_->number(), .frame = static_cast<uint32_t>(offset), .offset = 0}};
    }
    if (kind == RecordKind::kCheckpointBegan) NoteBegan({active_->number(), offset, sequence});
    if (kind != RecordKind::kCheckpointEnded) continue;
    if (absl::Status noted = NoteEnded(*records[i]); !noted.ok()) return noted;
  }
  if (end_ > segment_bytes_ / kHurryAtPart) pool_.Hurry();
  return absl::OkStatus();
}

absl::Status Log::NextSegment() {
  absl::StatusOr<std::shared_ptr<Segment>> next = pool_.Take();
  if (!next.ok()) return next.status();
  const std::lock_guard lock(mu_);
  active_ = *std::move(next);
  needed_.emplace(active_->number(), active_);
  end_ = Segment::kHeaderBytes;
  return absl::OkStatus();
}

void Log::NoteBegan(const Position& at) {
  began_ = at;
  since_began_ = end_ - at.offset;
  parts_since_began_ = 0;
}

absl::Status Log::NoteEnded(const pubsub::Slices& record) {
  HOPGAP_CHECK(began_.has_value(), "a checkpoint that ends without a beginning");
  const auto ended = broker::DecodeCheckpointRecord(pubsub::Bytes(pubsub::Join(record)));
  HOPGAP_CHECK(ended.ok(), "a checkpoint's end that cannot be read");
  if (absl::Status set = checkpoint_.Set(*began_); !set.ok()) return set;
  {
    const std::lock_guard lock(mu_);
    since_checkpoint_ = checkpoint_bytes_ = since_began_;
    checkpoint_parts_bytes_ = parts_since_began_;
  }
  DropAllBut(began_->segment, std::get<broker::CheckpointEnded>(*ended).segments);
  began_.reset();
  return absl::OkStatus();
}

// Only after the checkpoint is durable: what replays from an earlier one needs more.
void Log::DropAllBut(uint64_t from_segment, const std::vector<uint64_t>& bodies) {
  const std::lock_guard lock(mu_);
  for (auto at = needed_.begin(); at != needed_.end() && at->first < from_segment;) {
    const bool needed = std::binary_search(bodies.begin(), bodies.end(), at->first);
    if (needed && planted_ != Planted::kBodiesDropped) {
      ++at;
    } else {
      pool_.GiveBack(std::move(at->second));
      at = needed_.erase(at);
    }
  }
}

Log::State Log::state() const {
  const std::lock_guard lock(mu_);
  State state{.segment_bytes = segment_bytes_,
              .sealed = {},
              .since_checkpoint = since_checkpoint_,
              .checkpoint_bytes = checkpoint_bytes_,
              .checkpoint_parts_bytes = checkpoint_parts_bytes_,
              .room = active_ == nullptr ? 0 : segment_bytes_ - end_,
              .files = needed_.size() + pool_.files_beside_those_in_use()};
  for (const auto& [number, segment] : needed_) {
    if (segment != active_) state.sealed.push_back(number);
  }
  return state;
}

}  // namespace hopgap::store
