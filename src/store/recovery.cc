// What Log does at the start: opens the segments, reads what they hold from the
// newest checkpoint on, and finds where it really ends.

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "broker/checkpoint_record.h"
#include "store/log.h"

namespace hopgap::store {
namespace {

absl::Status DamagedAt(uint64_t segment, uint64_t offset, std::string_view what) {
  return absl::DataLossError(StrCat(Segment::NameOf(segment), ", offset ", offset, ": ", what));
}

}  // namespace

absl::Status Log::OpenSegments() {
  const absl::StatusOr<std::vector<std::string>> names = directory_->List();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (name == Segment::kSpareName) {  // a crash left it while it was being made
      if (absl::Status removed = directory_->Remove(name); !removed.ok()) return removed;
    }
    const std::optional<uint64_t> number = Segment::NumberOf(name);
    if (!number) continue;
    absl::StatusOr<std::unique_ptr<File>> file = directory_->Open(name);
    if (!file.ok()) return file.status();
    if ((*file)->size() != segment_bytes_) {
      return DamagedAt(*number, (*file)->size(), StrCat("it ends here instead of at ", segment_bytes_));
    }
    absl::StatusOr<std::shared_ptr<Segment>> segment = Segment::Open(key_, *number, *std::move(file));
    if (!segment.ok()) return segment.status();
    needed_.emplace(*number, *std::move(segment));
  }
  return absl::OkStatus();
}

absl::Status Log::ReadSegments(const Visit& visit) {
  Position at = checkpoint_.position().value_or(Position{.segment = 1, .offset = Segment::kHeaderBytes, .sequence = 1});
  if (needed_.empty() && !checkpoint_.position()) {
    pool_.Start({}, 1);
    const absl::StatusOr<bool> made = pool_.Work(Directory::Fill::kReserved);
    if (!made.ok()) return made.status();
    return NextSegment();
  }
  if (!needed_.contains(at.segment))
    return DamagedAt(at.segment, at.offset, "the file is missing: the journal begins there");
  std::vector<std::pair<Frame, Position>> group;  // that has not come to its end yet
  for (;;) {
    const Segment& segment = *needed_.at(at.segment);
    const bool believed = planted_ == Planted::kTornTailAccepted;
    const std::optional<Frame> frame = ReadFrame(segment.bytes(), at.offset, segment.mark(), believed);
    if (frame && frame->sequence == at.sequence) {
      group.emplace_back(*frame, at);
      at.offset += FrameBytes(frame->payload.size());
      ++at.sequence;
      if (!frame->last_of_group) continue;
      for (const auto& [whole, place] : group) {
        if (absl::Status read = ReadOne(whole, place, visit); !read.ok()) return read;
      }
      next_group_ = frame->group + 1;
      group.clear();
      continue;
    }
    // The segment is full, or the journal ends here.
    const auto next = needed_.find(at.segment + 1);
    if (next == needed_.end()) break;
    const auto first = ReadFrame(next->second->bytes(), Segment::kHeaderBytes, next->second->mark());
    if (!first || first->sequence != at.sequence) break;
    at = {.segment = at.segment + 1, .offset = Segment::kHeaderBytes, .sequence = at.sequence};
  }
  const Position end = group.empty() ? at : group.front().second;
  if (absl::Status checked = CheckEnd(end, at); !checked.ok()) return checked;
  return Settle(end);
}

absl::Status Log::ReadOne(const Frame& frame, const Position& at, const Visit& visit) {
  since_checkpoint_ += FrameBytes(frame.payload.size());
  if (!bodies_ && checkpoint_.position() && broker::KindOf(frame.payload) == broker::RecordKind::kCheckpointEnded) {
    const auto ended = broker::DecodeCheckpointRecord(pubsub::Bytes(std::string(frame.payload)));
    if (!ended.ok()) return DamagedAt(at.segment, at.offset, MessageOf(ended.status()));
    bodies_ = std::get<broker::CheckpointEnded>(*ended).segments;
    checkpoint_bytes_ = since_checkpoint_;
  }
  const broker::StoredRecord record{
      .bytes = needed_.at(at.segment)->Part(frame.payload),
      .place = {.segment = at.segment, .frame = static_cast<uint32_t>(at.offset), .offset = 0}};
  const absl::Status visited =
      visit(record, [this](const broker::Place& place, uint32_t length) { return FindBody(place, length); });
  if (visited.ok()) return visited;
  return DamagedAt(at.segment, at.offset, MessageOf(visited));
}

// A group is written after the one before it is on the disk. So whatever intact
// record lies behind the last whole group belongs to the one that was being
// written, or what is damaged at `damaged` was whole once. The torn group goes as
// a whole, also what is intact at its front, and its number is given again: a
// number is one more than that of the group before, however often it is torn.
absl::Status Log::CheckEnd(const Position& end, const Position& damaged) {
  struct Rest {
    Segment* segment;
    uint64_t from, to;
  };
  std::vector<Rest> rests;
  const bool full = segment_bytes_ - damaged.offset <= kSegmentBytesMin;
  for (auto at = needed_.find(end.segment); at != needed_.end(); ++at) {
    // A record that did not fit is what the next segment begins with, and every record fits into the smallest.
    if (at->first > end.segment && !full) break;
    const uint64_t from = at->first == end.segment ? end.offset : Segment::kHeaderBytes;
    Rest rest{.segment = at->second.get(), .from = from, .to = from};
    const std::string_view bytes = rest.segment->bytes();
    for (auto found = FindFrame(bytes, from, rest.segment->mark()); found;
         found = FindFrame(bytes, rest.to, rest.segment->mark())) {
      const Frame frame = *ReadFrame(bytes, *found, rest.segment->mark());
      if (frame.group > next_group_) {
        return DamagedAt(damaged.segment, damaged.offset,
                         StrCat("a record is damaged here, and later ones follow (", Segment::NameOf(at->first),
                                ", offset ", *found, "). Restore the directory from a copy"));
      }
      rest.to = *found + FrameBytes(frame.payload.size());
    }
    if (rest.to > rest.from) rests.push_back(rest);
  }
  // What is left of the torn group must not be met again, behind what is written next.
  for (const Rest& rest : rests) {
    absl::Status wiped = rest.segment->Write(rest.from, std::string(rest.to - rest.from, '\0'));
    if (wiped.ok()) wiped = rest.segment->Sync();
    if (!wiped.ok()) return wiped;
  }
  return absl::OkStatus();
}

// Everything behind the end is a spare; what the checkpoint does not need is given back.
absl::Status Log::Settle(const Position& end) {
  next_sequence_ = end.sequence;
  end_ = end.offset;
  active_ = needed_.at(end.segment);
  std::deque<std::shared_ptr<Segment>> spares;
  uint64_t next = end.segment + 1;
  for (auto at = needed_.find(end.segment + 1); at != needed_.end(); at = needed_.erase(at)) {
    if (at->first != next)
      return DamagedAt(next, 0, StrCat("the file is missing, but ", Segment::NameOf(at->first), " is there"));
    spares.push_back(std::move(at->second));
    ++next;
  }
  pool_.Start(std::move(spares), next);
  const uint64_t begin = checkpoint_.position() ? checkpoint_.position()->segment : 1;
  if (!bodies_ && checkpoint_.position()) {
    return DamagedAt(begin, checkpoint_.position()->offset, "the checkpoint that begins here has no end");
  }
  DropAllBut(begin, bodies_.value_or(std::vector<uint64_t>{}));
  bodies_.reset();
  // Before the first publish comes it is known whether the disk is full.
  if (end_ > segment_bytes_ / kHurryAtPart) pool_.Hurry();
  for (size_t i = 0; i < SegmentPool::kSparesWanted; ++i) {
    const absl::StatusOr<bool> worked = pool_.Work(Directory::Fill::kReserved);
    if (!worked.ok()) return worked.status();
  }
  return absl::OkStatus();
}

absl::StatusOr<pubsub::Bytes> Log::FindBody(const broker::Place& place, uint32_t length) {
  const auto found = needed_.find(place.segment);
  if (found == needed_.end()) return DamagedAt(place.segment, place.frame, "the file is missing: bodies lie in it");
  const Segment& segment = *found->second;
  const broker::Place frame_at{.segment = place.segment, .frame = place.frame, .offset = 0};
  const std::string_view bytes = segment.bytes();
  if (verified_ != frame_at) {
    if (!ReadFrame(bytes, place.frame, segment.mark()))
      return DamagedAt(place.segment, place.frame, "a body's record is damaged");
    verified_ = frame_at;
  }
  const uint64_t payload = Load32(bytes, place.frame + 4);
  if (uint64_t{place.offset} + length > payload) {
    return DamagedAt(place.segment, place.frame,
                     StrCat("a body would lie behind the end of its record at ", place.offset));
  }
  return segment.Part(bytes.substr(uint64_t{place.frame} + kFrameHeaderBytes + place.offset, length));
}

}  // namespace hopgap::store
