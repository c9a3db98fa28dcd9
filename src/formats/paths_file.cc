#include "formats/paths_file.h"

#include <array>
#include <optional>
#include <utility>

#include "base/draw.h"
#include "base/text.h"

namespace hopgap::formats {
namespace {

using trace::Path;

constexpr std::string_view kMagic = "hopgap.paths/1\n";
constexpr size_t kSumBytes = 8;
constexpr uint64_t kHopsMax = 1000;  // of one path; no chain is longer

// One description of a path's fields for both directions: `Codec` writes or
// reads each, in this order.
template <typename Codec, typename Hop>
void VisitHop(Codec& codec, Hop& hop, WallTime& at) {
  for (auto& stage : hop.stages) {
    codec.Signed(stage.length);
    codec.Signed(stage.added);
    codec.Signed(stage.waited);
  }
  auto& d = hop.dispatch;
  for (auto* part : {&d.lease_wait, &d.lease_batching, &d.flow_control, &d.scheduler, &d.other}) {
    codec.Signed(*part);
  }
  codec.Signed(hop.work.handler);
  codec.Signed(hop.work.ack_wait);
  codec.Signed(hop.redelivery_wait);
  codec.Presence(hop.server);
  if (hop.server) {
    auto& s = *hop.server;
    for (auto* part : {&s.accept, &s.commit, &s.queue, &s.stream_wait, &s.wire}) codec.Signed(*part);
  }
  codec.Bool(hop.exactly_once);
  codec.Int(hop.attempts);
  codec.Int(hop.messages_in_response);
  codec.Int(hop.stream);
  for (auto* instant :
       {&hop.publish_call, &hop.publish_start, &hop.publish_end, &hop.received, &hop.callback_start, &hop.work_end}) {
    codec.Instant(*instant, at);
  }
  for (auto* instant : {&hop.accepted, &hop.committed, &hop.written, &hop.read_posted, &hop.modack_start,
                        &hop.modack_end, &hop.ack_called, &hop.ack_start, &hop.ack_end}) {
    codec.Presence(*instant);
    if (*instant) codec.Instant(**instant, at);
  }
}

template <typename Codec, typename AnyPath>
void VisitPath(Codec& codec, AnyPath& path) {
  codec.Word(path.slot);
  codec.Word(path.trace_hi);
  codec.Word(path.trace_lo);
  codec.Word(path.root_span);
  WallTime at{};
  codec.Instant(path.scheduled, at);
  codec.Signed(path.until_handled);
  codec.Presence(path.until_acked);
  if (path.until_acked) codec.Signed(*path.until_acked);
  uint64_t hops = path.hops.size();
  codec.Word(hops);
  if (!codec.Fits(hops, kHopsMax)) return;
  if constexpr (Codec::kReads) {
    std::vector<trace::HopTimes> read(hops);
    for (trace::HopTimes& hop : read) VisitHop(codec, hop, at);
    path.hops = trace::HopList(read);
  } else {
    for (const trace::HopTimes& hop : path.hops) VisitHop(codec, hop, at);
  }
}

class PathWriter {
 public:
  static constexpr bool kReads = false;
  void Word(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void Signed(Duration value) {
    const auto bits = static_cast<uint64_t>(value.count());
    Word(bits << 1 ^ (value.count() < 0 ? ~uint64_t{0} : 0));
  }
  void Instant(WallTime value, WallTime& last) {
    Signed(value - last);
    last = value;
  }
  void Bool(bool value) { Word(value ? 1 : 0); }
  void Int(int value) { Signed(Duration{value}); }
  template <typename T>
  void Presence(const std::optional<T>& value) {
    Bool(value.has_value());
  }
  static bool Fits(uint64_t, uint64_t) { return true; }
  void Text(std::string_view text) {
    Word(text.size());
    out_ += text;
  }
  std::string& out() { return out_; }

 private:
  std::string out_;
};

// After the first failure it reads zeros.
class PathReader {
 public:
  static constexpr bool kReads = true;
  explicit PathReader(std::string_view bytes) : rest_(bytes) {}

  void Word(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return;
    }
    value = 0;
    Fail();
  }
  void Signed(Duration& value) {
    uint64_t word = 0;
    Word(word);
    value = Duration{static_cast<int64_t>(word >> 1 ^ (~(word & 1) + 1))};
  }
  void Instant(WallTime& value, WallTime& last) {
    Duration step{0};
    Signed(step);
    // Wraps like the bytes do: what is wrong with them the checksum says.
    value = last = WallTime{
        Duration{static_cast<int64_t>(static_cast<uint64_t>(ToNanos(last)) + static_cast<uint64_t>(step.count()))}};
  }
  void Bool(bool& value) {
    uint64_t word = 0;
    Word(word);
    if (word > 1) Fail();
    value = word == 1;
  }
  void Int(int& value) {
    Duration wide{0};
    Signed(wide);
    value = static_cast<int>(wide.count());
  }
  template <typename T>
  void Presence(std::optional<T>& value) {
    bool there = false;
    Bool(there);
    if (there) {
      value.emplace();
    } else {
      value.reset();
    }
  }
  bool Fits(uint64_t value, uint64_t limit) {
    if (value > limit) Fail();
    return ok_;
  }
  std::string_view Text() {
    uint64_t size = 0;
    Word(size);
    if (!Fits(size, rest_.size())) return {};
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }

 private:
  void Fail() {
    ok_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  bool ok_ = true;
};

absl::Status BadPaths(std::string_view origin, std::string_view what) {
  return absl::InvalidArgumentError(StrCat(origin, ": ", what, "; it was cut or changed after hopgap wrote it"));
}

std::string SumOf(std::string_view bytes) {
  uint64_t sum = HashName(bytes);
  std::string out;
  for (size_t i = 0; i < kSumBytes; ++i, sum >>= 8) out += static_cast<char>(sum & 0xff);
  return out;
}

}  // namespace

std::string WritePaths(const report::Run& run) {
  PathWriter writer;
  writer.out() = kMagic;
  writer.Word(run.arms.size());
  for (const report::ArmRun& arm : run.arms) {
    writer.Text(arm.name);
    writer.Word(arm.paths.size());
    for (const Path& path : arm.paths) VisitPath(writer, path);
  }
  writer.out() += SumOf(writer.out());
  return std::move(writer.out());
}

absl::Status ReadPaths(std::string_view bytes, std::string_view origin, report::Run& run) {
  if (!bytes.starts_with(kMagic)) return BadPaths(origin, "does not begin as a file of paths, version 1");
  if (bytes.size() < kMagic.size() + kSumBytes ||
      SumOf(bytes.substr(0, bytes.size() - kSumBytes)) != bytes.substr(bytes.size() - kSumBytes)) {
    return BadPaths(origin, "its checksum is wrong");
  }
  PathReader reader(bytes.substr(kMagic.size(), bytes.size() - kMagic.size() - kSumBytes));
  uint64_t arms = 0;
  reader.Word(arms);
  if (arms != run.arms.size()) return BadPaths(origin, StrCat(arms, " arms, but run.json has ", run.arms.size()));
  for (report::ArmRun& arm : run.arms) {
    const std::string_view name = reader.Text();
    if (name != arm.name)
      return BadPaths(origin, StrCat("arm '", name, "' stands where run.json has '", arm.name, "'"));
    uint64_t paths = 0;
    reader.Word(paths);
    arm.paths.clear();
    for (uint64_t i = 0; i < paths && reader.ok(); ++i) {
      Path& path = arm.paths.emplace_back();
      path.arm = arm.name;
      VisitPath(reader, path);
    }
  }
  if (!reader.ok() || !reader.empty()) return BadPaths(origin, "its paths do not end where the file does");
  run.is_sample = false;
  return absl::OkStatus();
}

}  // namespace hopgap::formats
