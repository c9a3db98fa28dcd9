#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/foreign.h"
#include "report/layout.h"
#include "stats/sample.h"

// Known causes of latency, each looked for in the numbers of one subscription.
namespace hopgap::report {
namespace {

using trace::Client;
using trace::Stage;

constexpr double kMillisecond = 1e6;
// Below these a cause is not worth a sentence.
constexpr double kWorthFindingMs = 1;
constexpr double kTickMs = 100;   // of the ack and lease jobs of Go, Java and Node
constexpr size_t kFewest = 5;     // deliveries that a distribution's shape needs
constexpr size_t kColdFirst = 1;  // messages that may be cold
constexpr double kColdFactor = 3;

using RowValue = std::function<std::optional<Duration>(const DeliveryRow&)>;

std::string HexDigits(uint64_t word) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[word >> shift & 15];
  return out;
}
std::string TraceOf(const DeliveryRow& row) { return HexDigits(row.trace_hi) + HexDigits(row.trace_lo); }

// Values of a group with the row each came from, in order.
class Sorted {
 public:
  Sorted(const Foreign& foreign, const DeliveryGroup& group, const RowValue& value) : rows_(foreign.rows) {
    values_.reserve(group.rows.size());
    for (const size_t index : group.rows) {
      const DeliveryRow row = foreign.rows[index];
      if (const std::optional<Duration> one = value(row)) values_.emplace_back(one->count(), index);
    }
    std::sort(values_.begin(), values_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<int64_t> plain;
    plain.reserve(values_.size());
    for (const auto& [one, row] : values_) plain.push_back(one);
    sample_ = stats::Sample(std::move(plain));
  }
  size_t n() const { return values_.size(); }
  double Ms(stats::Probability p) const { return static_cast<double>(sample_.Quantile(p)) / kMillisecond; }
  double MeanMs() const {
    return static_cast<double>(sample_.FiniteSum()) / static_cast<double>(values_.size()) / kMillisecond;
  }
  double MaxMs() const { return static_cast<double>(values_.back().first) / kMillisecond; }
  double MinMs() const { return static_cast<double>(values_.front().first) / kMillisecond; }
  // "p50 65 ms [61, 70], p95 120 ms, n = 31".
  std::string Words() const {
    const stats::Estimate p50 = *stats::EstimateQuantile(sample_, stats::kP50);
    std::string out = "p50 " + Length(static_cast<double>(p50.value));
    if (p50.low && p50.high) {
      out += StrCat(" [", Millis(static_cast<double>(*p50.low)), ", ", Millis(static_cast<double>(*p50.high)), "]");
    }
    if (values_.size() >= 20) out += ", p95 " + Length(static_cast<double>(sample_.Quantile(stats::kP95)));
    return StrCat(out, ", n = ", values_.size());
  }
  std::string MedianTrace() const { return TraceOf(rows_[values_[(values_.size() - 1) / 2].second]); }
  std::string LargestTrace() const { return TraceOf(rows_[values_.back().second]); }

 private:
  const DeliveryRows& rows_;
  std::vector<std::pair<int64_t, size_t>> values_;
  stats::Sample sample_;
};

std::optional<Duration> LengthIn(const DeliveryRow& row, Stage stage) {
  if (!row.hop.Has(stage)) return std::nullopt;
  return row.hop.stages[static_cast<size_t>(stage)].length;
}

class Finder {
 public:
  Finder(const Foreign& foreign, const DeliveryGroup& group) : foreign_(foreign), group_(group) {}

  std::vector<Finding> Find() {
    Gate();
    HeadOfLine();
    LeaseTicker();
    PublishBatching();
    FlowControl();
    Scheduler();
    AckBatching();
    Cold();
    Redelivery();
    Amplification();
    return std::move(found_);
  }

 private:
  Sorted Of(const RowValue& value) const { return Sorted(foreign_, group_, value); }
  void Add(std::string key, std::string what, std::string numbers, std::string trace, double weight) {
    found_.push_back(
        {std::move(key), group_.subscription, std::move(what), std::move(numbers), std::move(trace), weight});
  }

  void Gate() {
    if (!group_.exactly_once) return;
    const Sorted wait = Of([](const DeliveryRow& row) -> std::optional<Duration> {
      if (!row.hop.has_lease_parts() || !row.hop.Has(Stage::kDispatchGap)) return std::nullopt;
      return row.hop.dispatch.lease_wait;
    });
    if (wait.n() == 0) return GateUnseen();
    if (wait.MeanMs() < kWorthFindingMs) return;
    Add("exactly_once_gate", "exactly-once makes handlers wait until the receipt modack has been answered",
        wait.Words(), wait.MedianTrace(), wait.MeanMs());
  }

  // Formats without events hide the receipt modack, but not that handlers waited.
  void GateUnseen() {
    if (group_.consumer == Client::kCpp) return;  // it sends none
    const Sorted gap = Of([](const DeliveryRow& row) { return LengthIn(row, Stage::kDispatchGap); });
    if (gap.n() == 0 || gap.MeanMs() < kWorthFindingMs) return;
    Add("exactly_once_gate_unseen",
        "exactly-once, and handlers start long after the receipt. The usual cause is that they wait for the receipt "
        "modack; "
        "none was seen here (no events in these spans), so how much of it that is, is not available. Whole gap",
        gap.Words(), gap.MedianTrace(), gap.MeanMs());
  }

  // While a receipt modack of one response is running, a client that waits for it
  // reads nothing further of that stream: what was received right after it ended
  // had waited behind it.
  void HeadOfLine() {
    const bool waits =
        group_.consumer == Client::kGo1 || group_.consumer == Client::kGo2 || group_.consumer == Client::kPython;
    if (!group_.exactly_once || !waits) return;
    std::vector<std::pair<WallTime, WallTime>> calls;  // end, start
    calls.reserve(group_.rows.size());
    for (const size_t index : group_.rows) {
      const trace::HopTimes hop = foreign_.rows[index].hop;
      if (hop.modack_start && hop.modack_end) calls.emplace_back(*hop.modack_end, *hop.modack_start);
    }
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());  // of one response
    // How many calls end within 2 ms by chance: with many, one that ended just before proves nothing.
    const double milliseconds = calls.empty() ? 0 : ToMillis(calls.back().first - calls.front().first);
    const bool rare = static_cast<double>(calls.size()) * 2 < 0.1 * milliseconds;
    const Sorted behind = Of([&](const DeliveryRow& row) -> std::optional<Duration> {
      if (!row.hop.Has(Stage::kDeliveryGap) || row.skewed) return std::nullopt;
      constexpr Duration kRightAfter{std::chrono::milliseconds{2}};
      auto at = std::upper_bound(calls.begin(), calls.end(), std::pair(row.hop.received, WallTime::max()));
      if (at == calls.begin()) return Duration{0};
      const auto& [end, start] = *--at;
      if (row.hop.received - end > kRightAfter) return Duration{0};
      // Behind several, one after the other, where that is no chance.
      WallTime since = start;
      while (rare && since > row.hop.publish_end) {
        at = std::upper_bound(calls.begin(), at, std::pair(since, WallTime::max()));
        if (at == calls.begin() || since - (--at)->first > kRightAfter || at->second >= since) break;
        since = at->second;
      }
      return std::max(Duration{0}, end - std::max(since, row.hop.publish_end));
    });
    if (behind.n() == 0 || behind.MeanMs() < kWorthFindingMs) return;
    Add("head_of_line",
        "messages waited behind the receipt modack of an earlier response of their stream, which hides in the delivery "
        "gap "
        "(estimated from client spans; the broker's would make it certain)",
        StrCat("mean ", Length(behind.MeanMs() * kMillisecond), ", ", behind.Words()), behind.LargestTrace(),
        behind.MeanMs());
  }

  // Uniform between 0 and 100 ms is the signature of a job that runs every 100 ms.
  static bool Ticks(const Sorted& wait) {
    return wait.n() >= kFewest && wait.Ms(stats::kP50) > 0.2 * kTickMs && wait.Ms(stats::kP50) < 1.15 * kTickMs &&
           wait.MaxMs() < 2 * kTickMs;
  }

  void LeaseTicker() {
    if (!group_.exactly_once) return;
    const Sorted wait = Of([](const DeliveryRow& row) -> std::optional<Duration> {
      if (!row.hop.has_lease_parts()) return std::nullopt;
      return row.hop.dispatch.lease_batching;
    });
    if (!Ticks(wait)) return;
    Add("receipt_ticker",
        "the client sends receipt modacks from a job that runs every 100 ms, so a lone message waits for it first",
        wait.Words(), wait.MedianTrace(), wait.MeanMs());
  }

  void PublishBatching() {
    const Sorted wait = Of([](const DeliveryRow& row) { return LengthIn(row, Stage::kClientPublish); });
    if (wait.n() == 0 || wait.Ms(stats::kP50) < 5) return;
    Add("publish_batching", "the publisher holds messages back before it sends (batching, or its flow control)",
        wait.Words(), wait.MedianTrace(), wait.MeanMs());
  }

  void FlowControl() {
    const Sorted wait = Of([](const DeliveryRow& row) { return std::optional(row.hop.dispatch.flow_control); });
    if (wait.n() == 0 || wait.MeanMs() < kWorthFindingMs) return;
    Add("flow_control", "messages wait for the subscriber's flow control (too many outstanding)", wait.Words(),
        wait.LargestTrace(), wait.MeanMs());
  }

  void Scheduler() {
    const Sorted wait = Of([](const DeliveryRow& row) { return std::optional(row.hop.dispatch.scheduler); });
    if (wait.n() == 0 || wait.MeanMs() < kWorthFindingMs) return;
    Add("scheduler", "messages wait for a free handler, or for the one before them with their ordering key",
        wait.Words(), wait.LargestTrace(), wait.MeanMs());
  }

  void AckBatching() {
    const Sorted wait = Of([](const DeliveryRow& row) -> std::optional<Duration> {
      if (!row.hop.ack_called || !row.hop.ack_start) return std::nullopt;
      return *row.hop.ack_start - *row.hop.ack_called;
    });
    if (!Ticks(wait)) return;
    Add("ack_batching", "acks wait for the client's next 100 ms tick; it delays only who waits for the ack's result",
        wait.Words(), wait.MedianTrace(), 0);
  }

  void Cold() {
    const auto until_callback = [](const DeliveryRow& row) -> std::optional<Duration> {
      if (!row.hop.Has(Stage::kDeliveryGap) || row.skewed || !row.handled) return std::nullopt;
      return row.hop.callback_start - row.hop.publish_call;
    };
    const Sorted all = Of(until_callback);
    if (all.n() < kFewest || group_.rows.size() <= kColdFirst) return;
    const DeliveryRow first = foreign_.rows[group_.rows.front()];
    const std::optional<Duration> cold = until_callback(first);
    if (!cold) return;
    const double ms = static_cast<double>(cold->count()) / kMillisecond;
    if (ms < kColdFactor * all.Ms(stats::kP50) || ms - all.Ms(stats::kP50) < 50) return;
    Add("cold_first",
        "the first message took much longer from publish call to callback: connections, tokens and streams were cold",
        StrCat(Length(ms * kMillisecond), ", the median ", Length(all.Ms(stats::kP50) * kMillisecond)), TraceOf(first),
        (ms - all.Ms(stats::kP50)) / static_cast<double>(all.n()));
  }

  void Redelivery() {
    uint64_t again = 0, expired = 0;
    for (const size_t index : group_.rows) {
      const DeliveryRow row = foreign_.rows[index];
      again += row.hop.redelivery_wait > Duration{0} ? 1 : 0;
      expired += row.expired ? 1 : 0;
    }
    if (again == 0) return;
    const Sorted lost = Of([](const DeliveryRow& row) -> std::optional<Duration> {
      if (row.hop.redelivery_wait <= Duration{0}) return std::nullopt;
      return row.hop.redelivery_wait;
    });
    Add("redelivery", "messages were delivered again; what was lost to the deliveries before",
        StrCat(again, " of ", group_.rows.size(), " deliveries",
               expired == 0 ? "" : StrCat(" (", expired, " leases expired)"), ", ", lost.Words()),
        lost.LargestTrace(), lost.MeanMs() * static_cast<double>(again) / static_cast<double>(group_.rows.size()));
  }

  void Amplification() {
    uint64_t extensions = 0;
    for (const size_t index : group_.rows) extensions += static_cast<uint64_t>(foreign_.rows[index].extensions);
    if (extensions < group_.rows.size()) return;
    Add("amplification", "callbacks outlive their leases, and each extension is a call",
        StrCat(extensions, " extensions for ", group_.rows.size(), " deliveries"), "", 0);
  }

  const Foreign& foreign_;
  const DeliveryGroup& group_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> FindingsOf(const Foreign& foreign) {
  std::vector<Finding> all;
  for (const DeliveryGroup& group : foreign.groups) {
    for (Finding& finding : Finder(foreign, group).Find()) all.push_back(std::move(finding));
  }
  // What costs most over all subscriptions first: one that is waited for everywhere
  // is the cause of what stands behind it somewhere.
  std::map<std::string, double> totals;
  for (const Finding& one : all) totals[one.key] += one.weight;
  std::stable_sort(all.begin(), all.end(), [&](const Finding& a, const Finding& b) {
    return std::pair(totals[a.key], a.weight) > std::pair(totals[b.key], b.weight);
  });
  return all;
}

}  // namespace hopgap::report
