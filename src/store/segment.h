#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/draw.h"
#include "store/file.h"

namespace hopgap::store {

// A file of frames. Its number is given once and never again; a file that is
// used again gets another number and, with it, another mark.
//
// First 64 bytes: "hopgapJ\n", u32 format version, u32 CRC-32C of the number and
// size behind it, u64 number, u64 size, zeros.
class Segment {
 public:
  static constexpr uint64_t kHeaderBytes = 64;
  static constexpr std::string_view kSpareName = "spare";  // being made: whatever is in it is nothing

  // "segment-" and the number in 16 hexadecimal digits.
  static std::string NameOf(uint64_t number);
  static std::optional<uint64_t> NumberOf(std::string_view name);
  static std::string HeaderOf(uint64_t number, uint64_t size);
  static uint64_t MarkOf(HashKey key, uint64_t number);

  // The file holds the header of this number. DataLoss if it does not.
  static absl::StatusOr<std::shared_ptr<Segment>> Open(HashKey key, uint64_t number, std::unique_ptr<File> file);

  uint64_t number() const { return number_; }
  uint64_t mark() const { return mark_; }
  std::string_view bytes() const { return pin_->view(); }
  // A part of it, which stays readable as long as somebody has it.
  pubsub::Bytes Part(std::string_view part) const { return pubsub::Bytes(pin_, part); }
  bool ReadByOthers() const;

  absl::Status Write(uint64_t offset, std::string_view bytes) { return file_->Write(offset, bytes); }
  absl::Status Sync() { return file_->Sync(); }
  // Ends this segment; its file can become another. Requires: not ReadByOthers().
  std::unique_ptr<File> TakeFile() { return std::move(file_); }

 private:
  Segment(uint64_t number, uint64_t mark, std::unique_ptr<File> file, pubsub::Bytes map);

  const uint64_t number_;
  const uint64_t mark_;
  std::unique_ptr<File> file_;
  std::shared_ptr<const pubsub::Bytes> pin_;  // shared with everybody who reads from it
};

}  // namespace hopgap::store
