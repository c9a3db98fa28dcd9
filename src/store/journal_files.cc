#include "store/journal_files.h"

#include <absl/strings/str_cat.h>

#include <charconv>

#include "base/text.h"
#include "store/crc32c.h"
#include "store/frame.h"

namespace hopgap::store {
namespace {

constexpr std::string_view kTitle = "hopgap journal";
constexpr uint64_t kSlotBytes = 4096;  // apart from each other by more than a disk writes at once
constexpr uint64_t kSlots = 2;
constexpr uint64_t kSlotSumAt = 0, kSlotChangeAt = 8, kSlotSegmentAt = 16, kSlotOffsetAt = 24, kSlotSequenceAt = 32,
                   kSlotEnd = 40;

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(StrCat("file ", JournalFile::kName, ": ", what));
}

// "name value" -> value
std::optional<std::string_view> Value(std::string_view line, std::string_view name) {
  if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ') return std::nullopt;
  return line.substr(name.size() + 1);
}

std::optional<uint64_t> Hexadecimal(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string FormatJournalFile(const JournalFile& file) {
  std::string text =
      StrCat(kTitle, "\nversion ", JournalFile::kVersion, "\nsegment_bytes ", file.segment_bytes, "\nack_id_key ",
             absl::Hex(file.key.k0, absl::kZeroPad16), absl::Hex(file.key.k1, absl::kZeroPad16), "\n");
  text += StrCat("crc32c ", absl::Hex(Crc32c(text), absl::kZeroPad8), "\n");
  return text;
}

absl::StatusOr<JournalFile> ParseJournalFile(std::string_view text) {
  const std::vector<std::string_view> lines = Split(text, '\n');
  if (lines.size() < 2 || lines[0] != kTitle) return Damaged("is no journal of hopgap's");
  const auto version_text = Value(lines[1], "version");
  const auto version = version_text ? ParseNumber<uint64_t>(*version_text) : std::nullopt;
  if (!version) return Damaged("line 2 says no version");
  if (*version > JournalFile::kVersion) {
    return absl::FailedPreconditionError(StrCat("file ", JournalFile::kName, ": version ", *version,
                                                " was written by a newer hopgap; this one reads version ",
                                                JournalFile::kVersion, ". Use the newer one, or another directory"));
  }
  if (lines.size() != 6 || !lines[5].empty()) return Damaged("has not the five lines of version 1");
  const auto bytes_text = Value(lines[2], "segment_bytes");
  const auto bytes = bytes_text ? ParseNumber<uint64_t>(*bytes_text) : std::nullopt;
  const auto key = Value(lines[3], "ack_id_key"), sum_text = Value(lines[4], "crc32c");
  const auto sum = sum_text ? Hexadecimal(*sum_text) : std::nullopt;
  const std::string_view summed = text.substr(0, static_cast<size_t>(lines[4].data() - text.data()));
  if (!sum || *sum != Crc32c(summed)) return Damaged("its sum does not fit: it was damaged or edited");
  if (!bytes || !key || key->size() != 32) return Damaged("lines 3 and 4 say no size and key");
  const auto k0 = Hexadecimal(key->substr(0, 16)), k1 = Hexadecimal(key->substr(16));
  if (!k0 || !k1) return Damaged("line 4 is no key");
  return JournalFile{.segment_bytes = *bytes, .key = {*k0, *k1}};
}

absl::StatusOr<CheckpointFile> CheckpointFile::Open(Directory& directory) {
  CheckpointFile opened;
  absl::StatusOr<std::unique_ptr<File>> file = directory.Open(kName);
  if (absl::IsNotFound(file.status())) {
    file = directory.Create(kName, kSlots * kSlotBytes, Directory::Fill::kZeroed);
    if (file.ok()) {
      if (absl::Status synced = directory.Sync(); !synced.ok()) return synced;
    }
  }
  if (!file.ok()) return file.status();
  opened.file_ = *std::move(file);
  const absl::StatusOr<pubsub::Bytes> map = opened.file_->Map();
  if (!map.ok()) return map.status();
  const std::string_view bytes = map->view();
  bool damaged = bytes.size() != kSlots * kSlotBytes;
  for (uint64_t at = 0; !damaged && at < bytes.size(); at += kSlotBytes) {
    const std::string_view slot = bytes.substr(at, kSlotEnd);
    const uint64_t change = Load64(slot, kSlotChangeAt);
    if (slot.find_first_not_of('\0') == std::string_view::npos || change <= opened.changes_) continue;
    if (Load32(slot, kSlotSumAt) != Crc32c(slot.substr(kSlotChangeAt))) continue;
    opened.changes_ = change;
    opened.position_ = Position{.segment = Load64(slot, kSlotSegmentAt),
                                .offset = Load64(slot, kSlotOffsetAt),
                                .sequence = Load64(slot, kSlotSequenceAt)};
  }
  const bool nothing = bytes.find_first_not_of('\0') == std::string_view::npos;
  // A first write that was torn leaves one damaged slot and one of zeros: then there is no checkpoint.
  const bool second_written = !damaged && bytes.substr(kSlotBytes).find_first_not_of('\0') != std::string_view::npos;
  if (damaged || (!nothing && !opened.position_ && second_written)) {
    return absl::DataLossError(StrCat("file ", kName, ": damaged, both of its slots"));
  }
  return opened;
}

absl::Status CheckpointFile::Set(const Position& position) {
  std::string slot(kSlotEnd, '\0');
  ++changes_;
  Store64(slot, kSlotChangeAt, changes_);
  Store64(slot, kSlotSegmentAt, position.segment);
  Store64(slot, kSlotOffsetAt, position.offset);
  Store64(slot, kSlotSequenceAt, position.sequence);
  Store32(slot, kSlotSumAt, Crc32c(std::string_view(slot).substr(kSlotChangeAt)));
  // Odd changes go to the first slot.
  if (absl::Status written = file_->Write((changes_ + 1) % kSlots * kSlotBytes, slot); !written.ok()) return written;
  if (absl::Status synced = file_->Sync(); !synced.ok()) return synced;
  position_ = position;
  return absl::OkStatus();
}

}  // namespace hopgap::store
