#include "store/segment.h"

#include <atomic>
#include <charconv>

#include "base/text.h"
#include "store/crc32c.h"
#include "store/frame.h"

namespace hopgap::store {
namespace {

constexpr std::string_view kMagic = "hopgapJ\n";
constexpr uint32_t kVersion = 1;
constexpr std::string_view kPrefix = "segment-";
constexpr size_t kDigits = 16;
constexpr uint64_t kVersionAt = 8, kSumAt = 12, kNumberAt = 16, kSizeAt = 24;

}  // namespace

std::string Segment::NameOf(uint64_t number) { return StrCat(kPrefix, absl::Hex(number, absl::kZeroPad16)); }

std::optional<uint64_t> Segment::NumberOf(std::string_view name) {
  if (!name.starts_with(kPrefix) || name.size() != kPrefix.size() + kDigits) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number, 16);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::string Segment::HeaderOf(uint64_t number, uint64_t size) {
  std::string header(kHeaderBytes, '\0');
  header.replace(0, kMagic.size(), kMagic);
  Store32(header, kVersionAt, kVersion);
  Store64(header, kNumberAt, number);
  Store64(header, kSizeAt, size);
  Store32(header, kSumAt, Crc32c(std::string_view(header).substr(kNumberAt)));
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
  std::atomic_thread_fence(std::memory_order_acquire);  // what the last reader did comes before what follows
  return false;
}

}  // namespace hopgap::store
