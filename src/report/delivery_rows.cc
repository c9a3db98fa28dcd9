#include "report/delivery_rows.h"

#include "base/check.h"
#include "trace/hop_list.h"
#include "trace/packing.h"

namespace hopgap::report {
namespace {

constexpr size_t kRowChunkBytes = size_t{1} << 20;
constexpr int kRowChunkShift = 32;
constexpr uint8_t kHandled = 1, kSettled = 2, kExpired = 4;

}  // namespace

void DeliveryRows::push_back(const DeliveryRow& row) {
  packed_.clear();
  trace::PackWriter to(packed_);
  for (const uint64_t id : {row.trace_hi, row.trace_lo, row.create_span, row.subscribe_span}) to.Id(id);
  to.Word(row.group);
  to.Word(row.hosts);
  to.Signed(row.extensions);
  to.Byte(
      static_cast<uint8_t>((row.handled ? kHandled : 0) | (row.settled ? kSettled : 0) | (row.expired ? kExpired : 0)));
  const size_t before = packed_.size();
  trace::PackHop(row.hop, packed_);
  // The hop's length first: it ends where the next row begins.
  const size_t length = packed_.size() - before;
  HOPGAP_CHECK(length <= UINT16_MAX, "a packed hop is short");
  if (chunks_.empty() || chunks_.back().size() + packed_.size() + 2 > chunks_.back().capacity()) {
    chunks_.emplace_back().reserve(kRowChunkBytes);
  }
  std::string& chunk = chunks_.back();
  places_.push_back((chunks_.size() - 1) << kRowChunkShift | chunk.size());
  chunk += static_cast<char>(length & 0xff);
  chunk += static_cast<char>(length >> 8);
  chunk += packed_;
  skewed_.push_back(row.skewed);
}

const DeliveryRow DeliveryRows::operator[](size_t index) const {
  HOPGAP_CHECK(index < size(), "no such row");
  const std::string& chunk = chunks_[places_[index] >> kRowChunkShift];
  const std::string_view bytes = std::string_view(chunk).substr(places_[index] & ((uint64_t{1} << kRowChunkShift) - 1));
  const size_t length = static_cast<unsigned char>(bytes[0]) | static_cast<size_t>(static_cast<unsigned char>(bytes[1]))
                                                                   << 8;
  trace::PackReader from(bytes.substr(2));
  DeliveryRow row;
  row.trace_hi = from.Id();
  row.trace_lo = from.Id();
  row.create_span = from.Id();
  row.subscribe_span = from.Id();
  row.group = from.Word();
  row.hosts = from.Word();
  row.extensions = static_cast<int>(from.Signed());
  const uint8_t flags = from.Byte();
  row.handled = (flags & kHandled) != 0;
  row.settled = (flags & kSettled) != 0;
  row.expired = (flags & kExpired) != 0;
  row.skewed = skewed_[index];
  row.hop = trace::UnpackHop(from.rest().substr(0, length));
  return row;
}

}  // namespace hopgap::report
