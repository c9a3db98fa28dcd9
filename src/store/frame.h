#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pubsub/bytes.h"

namespace hopgap::store {

// One record in a segment (docs/journal-format.md). Little-endian, at a multiple
// of eight bytes:
//
//    0  u32  CRC-32C of everything behind it, up to the end of the payload
//    4  u32  bytes of payload
//    8  u64  mark of the segment: a keyed hash of its number, so that neither
//            what a recycled segment held before nor what a publisher made up
//            is ever taken for a record
//   16  u64  sequence of the record in the whole journal, from 1, without a gap
//   24  u64  2 * number of the group written and synced at once, + 1 on its last record
//   32       payload, then zeros up to a multiple of eight bytes
inline constexpr size_t kFrameHeaderBytes = 32;
inline constexpr size_t kFrameAlignment = 8;

struct Frame {
  uint64_t sequence = 0;
  uint64_t group = 0;
  bool last_of_group = false;
  std::string_view payload;
};

// Bytes that a payload of this size takes.
constexpr uint64_t FrameBytes(uint64_t payload) {
  return (kFrameHeaderBytes + payload + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
}

// Appends a frame whose payload is `record`, in pieces. Requires: it has at most 2^31 bytes.
void AppendFrame(std::string& out, uint64_t mark, uint64_t sequence, uint64_t group, bool last_of_group,
                 const pubsub::Slices& record);

// The frame at `offset`; nullopt if there is no whole, intact one of this mark.
// `believed`: test-only, its sum is not looked at.
std::optional<Frame> ReadFrame(std::string_view segment, uint64_t offset, uint64_t mark, bool believed = false);

// The next intact frame at or behind `offset`, found by looking at every place
// where one could begin. Its offset, or nullopt.
std::optional<uint64_t> FindFrame(std::string_view segment, uint64_t offset, uint64_t mark);

// Little-endian numbers in raw bytes. Requires: they lie inside.
uint32_t Load32(std::string_view bytes, uint64_t at);
uint64_t Load64(std::string_view bytes, uint64_t at);
void Store32(std::string& bytes, uint64_t at, uint32_t value);
void Store64(std::string& bytes, uint64_t at, uint64_t value);

}  // namespace hopgap::store
