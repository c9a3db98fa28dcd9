#include "trace/hop_list.h"

#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "trace/packing.h"

namespace hopgap::trace {
namespace {

using Moment = std::optional<WallTime>;

int64_t Nanos(const WallTime& at) { return at.time_since_epoch().count(); }
int64_t NanosOr(const Moment& at, int64_t otherwise) { return at ? Nanos(*at) : otherwise; }

// Flags: the two lowest, nine moments, and what is missing.
constexpr int kMomentsAt = 2, kMissingAt = 11;
constexpr size_t kFieldsMax = 64;  // bits of the mask of those that differ

std::array<Moment*, 9> MomentsOf(HopTimes& hop) {
  return {&hop.modack_start, &hop.modack_end, &hop.ack_called, &hop.ack_start,  &hop.ack_end,
          &hop.accepted,     &hop.committed,  &hop.written,    &hop.read_posted};
}

// Writes what differs from what was expected: a mask, then the differences.
class Squeezer {
 public:
  void Field(int64_t value, int64_t expected) {
    const int64_t difference = Difference(value, expected);
    if (difference != 0) {
      mask_ |= uint64_t{1} << fields_;
      differences_[kept_++] = difference;
    }
    ++fields_;
  }
  void WriteTo(PackWriter& out) const {
    out.Word(mask_);
    for (size_t i = 0; i < kept_; ++i) out.Signed(differences_[i]);
  }

 private:
  uint64_t mask_ = 0;
  size_t fields_ = 0, kept_ = 0;
  std::array<int64_t, kFieldsMax> differences_;
};

// The same calls, the other way round.
class Unsqueezer {
 public:
  explicit Unsqueezer(PackReader& from) : from_(from), mask_(from.Word()) {}
  void Field(int64_t& value, int64_t expected) {
    value = (mask_ & 1) == 0 ? expected : Sum(expected, from_.Signed());
    mask_ >>= 1;
  }

 private:
  PackReader& from_;
  uint64_t mask_;
};

// One description of the fields for both directions, those that often differ from
// what is expected first. What is expected may rest on the fields before alone.
template <typename Codec>
class HopFields {
 public:
  HopFields(Codec& codec, HopTimes& hop) : codec_(codec), hop_(hop) {}

  void Visit() {
    VisitInstants();
    VisitStages();
    VisitParts();
    if (hop_.server) VisitServer();
    for (StageTime& stage : hop_.stages) Length(stage.added, 0);
  }

 private:
  void Instant(WallTime& at, int64_t expected) {
    int64_t nanos = Nanos(at);
    codec_.Field(nanos, expected);
    at = WallTime{Duration{nanos}};
  }
  void Instant(Moment& at, int64_t expected) {
    if (at) Instant(*at, expected);
  }
  void Length(Duration& length, int64_t expected) {
    int64_t nanos = length.count();
    codec_.Field(nanos, expected);
    length = Duration{nanos};
  }
  void Number(int& number, int expected) {
    int64_t wide = number;
    codec_.Field(wide, expected);
    number = static_cast<int>(wide);
  }
  StageTime& Of(Stage stage) { return hop_.stages[static_cast<size_t>(stage)]; }
  static int64_t Between(const WallTime& from, const WallTime& to) { return Difference(Nanos(to), Nanos(from)); }
  static int64_t Between(const Moment& from, const Moment& to) { return from && to ? Between(*from, *to) : 0; }

  void VisitInstants() {
    Instant(hop_.publish_call, 0);
    Instant(hop_.publish_start, Nanos(hop_.publish_call));
    Instant(hop_.publish_end, Nanos(hop_.publish_start));
    Instant(hop_.received, Nanos(hop_.publish_end));
    Instant(hop_.callback_start, Nanos(hop_.received));
    Instant(hop_.work_end, Nanos(hop_.callback_start));
    Instant(hop_.modack_start, Nanos(hop_.received));
    Instant(hop_.modack_end, NanosOr(hop_.modack_start, Nanos(hop_.received)));
    Instant(hop_.ack_called, Nanos(hop_.work_end));
    Instant(hop_.ack_start, NanosOr(hop_.ack_called, Nanos(hop_.work_end)));
    Instant(hop_.ack_end, NanosOr(hop_.ack_start, Nanos(hop_.work_end)));
    Instant(hop_.accepted, Nanos(hop_.publish_start));
    Instant(hop_.committed, NanosOr(hop_.accepted, Nanos(hop_.publish_start)));
    Instant(hop_.written, NanosOr(hop_.committed, Nanos(hop_.received)));
    Instant(hop_.read_posted, Nanos(hop_.received));
  }

  void VisitStages() {
    const bool published = hop_.Has(Stage::kDeliveryGap);
    Length(Of(Stage::kSendLateness).length, 0);
    Length(Of(Stage::kClientPublish).length, Between(hop_.publish_call, hop_.publish_start));
    Length(Of(Stage::kPublishRpc).length, Between(hop_.publish_start, hop_.publish_end));
    Length(Of(Stage::kDeliveryGap).length, published ? Between(hop_.publish_end, hop_.received) : 0);
    Length(Of(Stage::kDispatchGap).length, Between(hop_.received, hop_.callback_start));
    Length(Of(Stage::kWork).length, Between(hop_.callback_start, hop_.work_end));
    Length(Of(Stage::kAck).length, Between(hop_.ack_called, hop_.ack_end));
  }

  void VisitParts() {
    DispatchParts& gap = hop_.dispatch;
    const bool gated = hop_.exactly_once && hop_.has_lease_parts() && hop_.modack_start;
    Length(gap.lease_wait, gated ? Between(hop_.modack_start, hop_.modack_end) : 0);
    Length(gap.lease_batching, gated ? Between(hop_.received, *hop_.modack_start) : 0);
    Length(gap.flow_control, 0);
    Length(gap.scheduler, 0);
    int64_t rest = Of(Stage::kDispatchGap).length.count();
    for (const Duration part : {gap.lease_wait, gap.lease_batching, gap.flow_control, gap.scheduler}) {
      rest = Difference(rest, part.count());
    }
    Length(gap.other, rest);
    WorkParts& work = hop_.work;
    Length(work.ack_wait, 0);
    Length(work.store, 0);
    Length(work.handler,
           Difference(Difference(Of(Stage::kWork).length.count(), work.ack_wait.count()), work.store.count()));
    Length(hop_.redelivery_wait, 0);
    Number(hop_.attempts, 1);
    Number(hop_.messages_in_response, 1);
    Number(hop_.stream, 0);
    const int64_t held = Sum(gap.flow_control.count(), gap.scheduler.count());
    const int64_t until_sent = Between(hop_.ack_called, hop_.ack_start);
    for (int stage = 0; stage < kStages; ++stage) {
      Length(Of(static_cast<Stage>(stage)).waited, static_cast<Stage>(stage) == Stage::kDispatchGap ? held
                                                   : static_cast<Stage>(stage) == Stage::kAck       ? until_sent
                                                                                                    : 0);
    }
  }

  void VisitServer() {
    ServerView& server = *hop_.server;
    Length(server.accept, hop_.accepted ? Between(hop_.publish_start, *hop_.accepted) : 0);
    Length(server.commit, Between(hop_.accepted, hop_.committed));
    Length(server.queue, Between(hop_.committed, hop_.written));
    Length(server.stream_wait, 0);
    const int64_t wire = hop_.written ? Between(*hop_.written, hop_.received) : 0;
    Length(server.wire, Difference(wire, server.stream_wait.count()));
  }

  Codec& codec_;
  HopTimes& hop_;
};

constexpr size_t kLengthBytes = sizeof(uint16_t);

std::string_view RowAt(const char* at) {
  uint16_t size = 0;
  std::memcpy(&size, at, kLengthBytes);
  return {at + kLengthBytes, size};
}

void AppendRow(const HopTimes& hop, std::string& out) {
  const size_t begin = out.size();
  out.append(kLengthBytes, '\0');
  PackHop(hop, out);
  const auto size = static_cast<uint16_t>(out.size() - begin - kLengthBytes);  // far below: 64 fields of 10 bytes
  std::memcpy(out.data() + begin, &size, kLengthBytes);
}

}  // namespace

void PackHop(const HopTimes& hop, std::string& out) {
  HopTimes fields = hop;
  uint64_t flags = (hop.exactly_once ? 1U : 0U) | (hop.server ? 2U : 0U) | uint64_t{hop.missing} << kMissingAt;
  int bit = kMomentsAt;
  for (const Moment* moment : MomentsOf(fields)) flags |= uint64_t{moment->has_value()} << bit++;
  PackWriter to(out);
  to.Word(flags);
  Squeezer codec;
  HopFields(codec, fields).Visit();
  codec.WriteTo(to);
}

HopTimes UnpackHop(std::string_view bytes) {
  PackReader from(bytes);
  HopTimes hop;
  const uint64_t flags = from.Word();
  hop.exactly_once = (flags & 1) != 0;
  if ((flags & 2) != 0) hop.server.emplace();
  hop.missing = static_cast<uint8_t>(flags >> kMissingAt);
  int bit = kMomentsAt;
  for (Moment* moment : MomentsOf(hop)) {
    if ((flags >> bit++ & 1) != 0) moment->emplace();
  }
  Unsqueezer codec(from);
  HopFields(codec, hop).Visit();
  HOPGAP_CHECK(!from.failed() && from.left() == 0, "a packed hop is whole");
  return hop;
}

HopList::HopList(const std::vector<HopTimes>& hops) {
  std::string bytes;
  for (const HopTimes& hop : hops) AppendRow(hop, bytes);
  Assign(bytes, hops.size());
}

HopList::HopList(const HopList& other) { *this = other; }

HopList& HopList::operator=(const HopList& other) {
  if (this != &other) Assign({other.bytes_.get(), other.used_}, other.size_);
  return *this;
}

HopList::HopList(HopList&& other) noexcept { *this = std::move(other); }

HopList& HopList::operator=(HopList&& other) noexcept {
  bytes_ = std::move(other.bytes_);
  used_ = std::exchange(other.used_, 0);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void HopList::Assign(std::string_view bytes, size_t size) {
  HOPGAP_CHECK(bytes.size() <= UINT32_MAX, "a path has fewer hops");
  std::unique_ptr<char[]> copy;
  if (!bytes.empty()) {
    copy = std::make_unique_for_overwrite<char[]>(bytes.size());
    std::memcpy(copy.get(), bytes.data(), bytes.size());
  }
  bytes_ = std::move(copy);
  used_ = static_cast<uint32_t>(bytes.size());
  size_ = static_cast<uint32_t>(size);
}

const HopTimes HopList::operator[](size_t index) const {
  HOPGAP_CHECK(index < size_, "no such hop");
  Iterator at = begin();
  for (; index > 0; --index) ++at;
  return *at;
}

void HopList::Replace(size_t index, const HopTimes& hop) {
  HOPGAP_CHECK(index < size_, "no such hop");
  std::vector<HopTimes> hops(begin(), end());
  hops[index] = hop;
  *this = HopList(hops);
}

void HopList::push_back(const HopTimes& hop) {
  std::string bytes(bytes_.get(), used_);
  AppendRow(hop, bytes);
  Assign(bytes, size_ + 1);
}

const HopTimes HopList::Iterator::operator*() const { return UnpackHop(RowAt(at_)); }

HopList::Iterator& HopList::Iterator::operator++() {
  const std::string_view row = RowAt(at_);
  at_ = row.data() + row.size();
  return *this;
}

HopList::Iterator HopList::Iterator::operator++(int) {
  const Iterator was = *this;
  ++*this;
  return was;
}

// Packing is a function of the values, so equal hops are equal bytes.
bool operator==(const HopList& a, const HopList& b) {
  return a.size_ == b.size_ && std::string_view(a.bytes_.get(), a.used_) == std::string_view(b.bytes_.get(), b.used_);
}

}  // namespace hopgap::trace
