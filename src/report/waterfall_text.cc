#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/layout.h"
#include "report/sections.h"

namespace hopgap::report {
namespace {

using trace::HopTimes;
using trace::Path;

constexpr size_t kWaterfallLabel = 9;

struct Segment {
  std::string_view glyph;
  WallTime from, to;
};

// The time axis of one message, cut into columns.
class Axis {
 public:
  Axis(WallTime start, WallTime end, size_t columns)
      : start_(start), length_(std::max<int64_t>(1, (end - start).count())), columns_(columns) {}

  Duration column() const { return Duration{length_ / static_cast<int64_t>(columns_)}; }
  size_t columns() const { return columns_; }

  // The column an instant falls into; the end belongs to the last one.
  size_t At(WallTime at) const {
    const int64_t offset = std::clamp<int64_t>((at - start_).count(), 0, length_ - 1);
    return static_cast<size_t>(static_cast<double>(offset) / static_cast<double>(length_) *
                               static_cast<double>(columns_));
  }

  // Each column shows the segment that fills most of it: nothing is stretched
  // to be seen. The first of equals wins.
  std::string Draw(const std::vector<Segment>& segments) const {
    std::string out;
    for (size_t i = 0; i < columns_; ++i) {
      const WallTime from = Edge(i), to = Edge(i + 1);
      std::string_view best = " ";
      Duration longest{0};
      for (const Segment& s : segments) {
        const Duration inside = std::min(s.to, to) - std::max(s.from, from);
        if (inside <= longest) continue;
        longest = inside;
        best = s.glyph;
      }
      out += best;
    }
    return out;
  }

  // "0         500       1000", each number from its column on.
  std::string Ruler() const {
    const Duration step = Step();
    std::string out;
    for (int64_t t = 0; t < length_; t += step.count()) {
      const std::string mark = "╷" + (t == 0 ? std::string("0 ms") : Millis(static_cast<double>(t)));
      const size_t column = At(start_ + Duration{t});
      if (column + Columns(mark) > columns_) break;
      out = PadRight(out, column) + mark;
    }
    return out;
  }

 private:
  WallTime Edge(size_t i) const {
    return start_ + Duration{static_cast<int64_t>(static_cast<double>(length_) * static_cast<double>(i) /
                                                  static_cast<double>(columns_))};
  }
  // 1, 2 or 5 times a power of ten, at least ten columns wide.
  Duration Step() const {
    const int64_t least = length_ * 10 / static_cast<int64_t>(columns_);
    for (int64_t power = 1000;; power *= 10) {
      for (int64_t factor : {1, 2, 5}) {
        if (factor * power >= least) return Duration{factor * power};
      }
    }
  }

  WallTime start_;
  int64_t length_;
  size_t columns_;
};

std::string TrimEnd(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string Row(std::string_view label, const std::string& drawing) {
  return TrimEnd(PadRight(label, kWaterfallLabel) + drawing) + "\n";
}

WallTime EndOf(const Path& path) {
  WallTime end = path.scheduled + path.until_handled;
  for (const HopTimes& hop : path.hops) {
    end = std::max({end, hop.publish_end, hop.work_end});
    if (hop.ack_end) end = std::max(end, *hop.ack_end);
  }
  return end;
}

WallTime StartOf(const Path& path) { return std::min(path.scheduled, path.hops[0].publish_call); }

std::vector<Segment> ClientSegments(const Path& path, size_t hop) {
  const HopTimes& h = path.hops[hop];
  std::vector<Segment> out;
  if (hop == 0) out.push_back({"░", path.scheduled, h.publish_call});
  out.push_back({"▓", h.received, h.callback_start});
  out.push_back({"█", h.callback_start, h.work_end});
  out.push_back({"p", h.publish_call, h.publish_end});
  out.push_back({"░", h.publish_end, h.received});
  return out;
}

std::string BrokerMarks(const HopTimes& hop, const Axis& axis) {
  std::vector<std::string> cells(axis.columns(), " ");
  if (hop.committed) cells[axis.At(*hop.committed)] = "c";
  if (hop.written) {
    std::string& cell = cells[axis.At(*hop.written)];
    cell = cell == "c" ? "+" : "w";
  }
  std::string out;
  for (const std::string& cell : cells) out += cell;
  return out;
}

std::string AckRow(const Path& path, size_t hop, const Axis& axis) {
  const HopTimes& h = path.hops[hop];
  if (!h.ack_called || !h.ack_end) return "";
  const WallTime rpc = h.ack_start.value_or(*h.ack_called);
  return Row(StrCat("  ack ", hop + 1), axis.Draw({{"·", *h.ack_called, rpc}, {"═", rpc, *h.ack_end}}));
}

// Client spans, the broker's instants below them, and below those the ack of
// the hop before, which runs while this hop's message is on its way.
std::string HopRows(const Path& path, size_t hop, const Axis& axis) {
  const HopTimes& h = path.hops[hop];
  std::string out = Row(StrCat("  hop ", hop + 1), axis.Draw(ClientSegments(path, hop)));
  if (h.committed || h.written) out += Row("  broker", BrokerMarks(h, axis));
  if (hop > 0) out += AckRow(path, hop - 1, axis);
  if (hop + 1 == path.hops.size()) out += AckRow(path, hop, axis);
  return out;
}

// What lies under one hop's ░: the delivery gap, and whose it was.
std::string GapText(const HopTimes& hop) {
  const Duration gap = hop.received - hop.publish_end;
  if (gap < Duration{0}) return StrCat("delivered ", Length(-gap), " before its publish was answered");
  if (!hop.written) return StrCat("░ ", Length(gap), " (no broker span says where)");
  const Duration held = std::clamp(*hop.written - hop.publish_end, Duration{0}, gap);
  return StrCat("░ ", Length(gap), ": ", Length(held), " until the broker wrote it, ", Length(gap - held),
                " on the wire or in the stream");
}

std::string HopText(const Path& path, size_t hop, size_t width) {
  const HopTimes& h = path.hops[hop];
  std::string text;
  const Duration late = h.publish_call - path.scheduled;
  if (hop == 0 && late > Duration{0}) text += StrCat("sent ", Length(late), " late; ");
  text += StrCat("publish ", Length(h.publish_end - h.publish_call), "; ", GapText(h), "; dispatch ",
                 Length(h.callback_start - h.received));
  if (h.dispatch.lease_wait > Duration{0}) text += StrCat(" (lease wait ", Length(h.dispatch.lease_wait), ")");
  text += StrCat("; work ", Length(h.work_end - h.callback_start));
  if (h.ack_called && h.ack_end) text += StrCat("; ack ", Length(*h.ack_end - *h.ack_called));
  if (h.attempts > 1) text += StrCat("; delivered ", h.attempts, " times");
  return Wrap(text, width, StrCat("  hop ", hop + 1, "  "), "         ");
}

const ArmSummary* Chosen(const Summary& summary, const TextOptions& options) {
  const ArmSummary* named = summary.Find(options.waterfall_arm);
  if (named && named->median) return named;
  for (auto group = summary.groups.rbegin(); group != summary.groups.rend(); ++group) {
    const ArmSummary* focus = FocusArm(summary, *group);
    if (focus && focus->median) return focus;
  }
  for (const ArmSummary& arm : summary.arms) {
    if (arm.median) return &arm;
  }
  return nullptr;
}

}  // namespace

std::string WaterfallText(const Summary& summary, const TextOptions& options) {
  const ArmSummary* arm = Chosen(summary, options);
  if (!arm || arm->median->hops.empty()) return "";
  const Path& path = *arm->median;
  const auto width = static_cast<size_t>(std::clamp(options.width, kWidthMin, kWidthMax));
  const Axis axis(StartOf(path), EndOf(path), width - kWaterfallLabel);
  std::string title =
      StrCat("The median message of ", arm->run.name, summary.configuration.simulated ? ", SIMULATED" : "", ": slot ",
             path.slot, ", ", Length(path.until_handled), " until handled");
  if (path.until_acked) title += StrCat(", ", Length(*path.until_acked), " until acked");
  std::string out = Wrap(StrCat(title, ", work included; a column is ", Length(axis.column())), width, "", "  ");
  out += Row("", axis.Ruler());
  for (size_t hop = 0; hop < path.hops.size(); ++hop) out += HopRows(path, hop, axis);
  out += Wrap(
      "p publish, ░ no client span covers it, ▓ dispatch, █ work, · ack held back, ═ ack RPC; the broker: "
      "c committed, w written, + both in one column",
      width, "  ", "  ");
  for (size_t hop = 0; hop < path.hops.size(); ++hop) out += HopText(path, hop, width);
  return out;
}

}  // namespace hopgap::report
