#include "store/frame.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "store/crc32c.h"

namespace hopgap::store {
namespace {

constexpr uint64_t kLengthAt = 4, kMarkAt = 8, kSequenceAt = 16, kGroupAt = 24;
constexpr uint64_t kSummedFrom = kLengthAt;
constexpr size_t kPayloadBytesMax = size_t{1} << 31;

static_assert(std::endian::native == std::endian::little, "numbers are stored as this machine has them");

}  // namespace

uint32_t Load32(std::string_view bytes, uint64_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}
uint64_t Load64(std::string_view bytes, uint64_t at) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}
void Store32(std::string& bytes, uint64_t at, uint32_t value) { std::memcpy(bytes.data() + at, &value, sizeof(value)); }
void Store64(std::string& bytes, uint64_t at, uint64_t value) { std::memcpy(bytes.data() + at, &value, sizeof(value)); }

void AppendFrame(std::string& out, uint64_t mark, uint64_t sequence, uint64_t group, bool last_of_group,
                 const pubsub::Slices& record) {
  const size_t begin = out.size();
  const size_t payload = pubsub::TotalSize(record);
  HOPGAP_CHECK(payload <= kPayloadBytesMax, "a record that no frame can hold");
  out.append(kFrameHeaderBytes, '\0');
  Store32(out, begin + kLengthAt, static_cast<uint32_t>(payload));
  Store64(out, begin + kMarkAt, mark);
  Store64(out, begin + kSequenceAt, sequence);
  Store64(out, begin + kGroupAt, 2 * group + (last_of_group ? 1 : 0));
  for (const pubsub::Bytes& piece : record) out += piece.view();
  const std::string_view summed = std::string_view(out).substr(begin + kSummedFrom);
  Store32(out, begin, Crc32c(summed));
  out.resize(begin + FrameBytes(payload), '\0');
}

std::optional<Frame> ReadFrame(std::string_view segment, uint64_t offset, uint64_t mark, bool believed) {
  if (offset > segment.size() || segment.size() - offset < kFrameHeaderBytes) return std::nullopt;
  if (Load64(segment, offset + kMarkAt) != mark) return std::nullopt;
  const uint64_t payload = Load32(segment, offset + kLengthAt);
  if (segment.size() - offset - kFrameHeaderBytes < payload) return std::nullopt;
  const std::string_view whole = segment.substr(offset, kFrameHeaderBytes + payload);
  if (!believed && Crc32c(whole.substr(kSummedFrom)) != Load32(whole, 0)) return std::nullopt;
  const uint64_t group = Load64(whole, kGroupAt);
  return Frame{.sequence = Load64(whole, kSequenceAt),
               .group = group / 2,
               .last_of_group = group % 2 == 1,
               .payload = whole.substr(kFrameHeaderBytes)};
}

std::optional<uint64_t> FindFrame(std::string_view segment, uint64_t offset, uint64_t mark) {
  for (; offset + kFrameHeaderBytes <= segment.size(); offset += kFrameAlignment) {
    if (Load64(segment, offset + kMarkAt) == mark && ReadFrame(segment, offset, mark)) return offset;
  }
  return std::nullopt;
}

}  // namespace hopgap::store
