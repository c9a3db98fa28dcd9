#include "store/segment.h"

#include <charconv>

#include "base/text.h"
#include "store/crc32c.h"
#include "store/frame.h"

namespace hopgap::store {
namespace {

constexpr std::string_view kSegmentMagic = "hopgapJ\n";
constexpr uint32_t kSegmentVersion = 1;
constexpr std::string_view kSegmentPrefix = "segment-";
constexpr size_t kSegmentDigits = 16;
constexpr uint64_t kHeaderVersionAt = 8, kHeaderSumAt = 12, kHeaderNumberAt = 16, kHeaderSizeAt = 24;

}  // namespace

std::string Segment::NameOf(uint64_t number) { return StrCat(kSegmentPrefix, absl::Hex(number, absl::kZeroPad16)); }

std::optional<uint64_t> Segment::NumberOf(std::string_view name) {
  if (!name.starts_with(kSegmentPrefix) || name.size() != kSegmentPrefix.size() + kSegmentDigits) return std::nullopt;
  name.remove_prefix(kSegmentPrefix.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number, 16);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::string Segment::HeaderOf(uint64_t number, uint64_t size) {
  std::string header(kHeaderBytes, '\0');
  header.replace(0, kSegmentMagic.size(), kSegmentMagic);
  Store32(header, kHeaderVersionAt, kSegmentVersion);
  Store64(header, kHeaderNumberAt, number);
  Store64(header, kHeaderSizeAt, size);
  Store32(header, kHeaderSumAt, Crc32c(std::string_view(header).substr(kHeaderNumberAt)));
  return header;
}

uint64_t Segment::MarkOf(HashKey key, uint64_t number) { return SipHash(key, StrCat("segment ", number)); }

absl::StatusOr<std::shared_ptr<Segment>> Segment::Open(HashKey key, uint64_t number, std::unique_ptr<File> file) {
  absl::StatusOr<pubsub::Bytes> map = file->Map();
  if (!map.ok()) return map.status();
  if (map->size() < kHeaderBytes || map->view().substr(0, kHeaderBytes) != HeaderOf(number, file->size())) {
    return absl::DataLossError(StrCat(NameOf(number), ", offset 0: its header is damaged"));
  }
  return std::shared_ptr<Segment>(new Segment(number, MarkOf(key, number), std::move(file), *std::move(map)));
}

Segment::Segment(uint64_t number, uint64_t mark, std::unique_ptr<File> file, pubsub::Bytes map)
    : number_(number),
      mark_(mark),
      file_(std::move(file)),
      pin_(std::make_shared<const pubsub::Bytes>(std::move(map))) {}

bool Segment::ReadByOthers() const {
  if (pin_.use_count() > 1) return true;
  // What the last reader did comes before what follows: letting go of a copy acquires. (TSan knows no fences.)
  std::shared_ptr<const pubsub::Bytes> copy = pin_;
  copy.reset();
  return false;
}

}  // namespace hopgap::store
