#include "formats/page_json.h"

#include <cmath>
#include <optional>
#include <string>

#include "stats/sample.h"

namespace hopgap::formats {
namespace {

using Json = OrderedJson;

Json Exact(double nanoseconds) {
  const double whole = std::round(nanoseconds);
  return whole == 0 ? 0.0 : whole / 1e6;  // no -0.0
}
Json Exact(Duration d) { return Exact(static_cast<double>(d.count())); }
Json Exact(std::optional<int64_t> v) {
  if (!v || stats::IsInfinite(*v)) return nullptr;
  return Exact(static_cast<double>(*v));
}
Json Plotted(Duration d) {
  const double whole = std::round(static_cast<double>(d.count()) / 1e3);
  return whole == 0 ? 0.0 : whole / 1e3;
}
Json MeanJson(Duration total, uint64_t n) {
  return n == 0 ? Json(nullptr) : Exact(static_cast<double>(total.count()) / static_cast<double>(n));
}

// An interval's end: a number, null (no such limit) or "inf", "-inf".
Json End(const std::optional<int64_t>& v) {
  if (!v) return nullptr;
  if (stats::IsInfinite(*v)) return *v > 0 ? "inf" : "-inf";
  return Exact(static_cast<double>(*v));
}

Json QuantileDifferenceJson(const stats::QuantileDifference& d) {
  return {{"p", d.p.AsDouble()},
          {"value", End(d.value)},
          {"low", End(d.low)},
          {"high", End(d.high)},
          {"supported", d.supported}};
}
Json QuantileDifferencesJson(const std::vector<stats::QuantileDifference>& all) {
  Json out = Json::array();
  for (const stats::QuantileDifference& d : all) out.push_back(QuantileDifferenceJson(d));
  return out;
}
Json ShiftJson(const std::optional<stats::HodgesLehmann>& h) {
  if (!h) return nullptr;
  return {{"value", End(h->value)}, {"low", End(h->low)}, {"high", End(h->high)}};
}

Json CurveJson(const report::Curve& curve) {
  Json x = Json::array(), up_to = Json::array();
  for (const report::Curve::Point& point : curve.points) {
    x.push_back(Plotted(point.value));
    up_to.push_back(point.up_to);
  }
  return {{"n", curve.n}, {"unfinished", curve.unfinished}, {"band", curve.band}, {"ms", x}, {"up_to", up_to}};
}

Json CompositionJson(const report::Composition& c) {
  Json stages = Json::array();
  for (const Duration total : c.stages) stages.push_back(MeanJson(total, c.n));
  const trace::DispatchParts& d = c.dispatch;
  return {{"quantile", c.quantile},
          {"n", c.n},
          {"mean", MeanJson(c.whole, c.n)},
          {"asked", MeanJson(c.asked, c.n)},
          {"stages", stages},
          {"dispatch",
           {MeanJson(d.lease_wait, c.n), MeanJson(d.lease_batching, c.n), MeanJson(d.flow_control, c.n),
            MeanJson(d.scheduler, c.n), MeanJson(d.other, c.n)}}};
}

Json OverTimeJson(const report::OverTime& over_time) {
  Json at = Json::array(), ms = Json::array(), slot = Json::array(), heat = Json::array(), late = Json::array();
  for (const report::OverTime::Point& point : over_time.points) {
    at.push_back(Plotted(point.at));
    ms.push_back(Plotted(point.value));
    slot.push_back(point.slot);
  }
  for (const auto& bin : over_time.heat) heat.push_back(bin);
  for (const std::optional<Duration>& d : over_time.late_max) late.push_back(d ? Plotted(*d) : Json(nullptr));
  return {{"at_ms", at}, {"ms", ms}, {"slot", slot}, {"heat", heat}, {"late_max_ms", late}};
}

Json ArmJson(const report::PageArm& arm) {
  Json compositions = Json::array(), marks = Json::array();
  for (const report::Composition& c : arm.compositions) compositions.push_back(CompositionJson(c));
  for (const report::Mark& m : arm.marks) marks.push_back({{"label", m.label}, {"rank", m.rank}, {"slot", m.slot}});
  Json first = nullptr, serial = nullptr;
  if (arm.first) first = {{"ms", Exact(arm.first->value)}, {"rank", arm.first->rank}};
  if (arm.serial) serial = {{"lag1", arm.serial->lag1}, {"effective_n", arm.serial->effective_n}};
  return {{"name", arm.name},
          {"curve", CurveJson(arm.curve)},
          {"compositions", compositions},
          {"marks", marks},
          {"over_time", OverTimeJson(arm.over_time)},
          {"first", first},
          {"serial", serial}};
}

Json InstantJson(const std::optional<WallTime>& at, WallTime scheduled) {
  return at ? Json((*at - scheduled).count()) : Json(nullptr);
}

// Arrays, since there are thousands of them; web/src/message.js reads them.
Json HopJson(const trace::HopTimes& h, WallTime scheduled) {
  Json client = Json::array(), other = Json::array(), stages = Json::array();
  for (const WallTime at : {h.publish_call, h.publish_start, h.publish_end, h.received, h.callback_start, h.work_end}) {
    client.push_back((at - scheduled).count());
  }
  for (const auto& at : {h.accepted, h.committed, h.written, h.read_posted, h.modack_start, h.modack_end, h.ack_called,
                         h.ack_start, h.ack_end}) {
    other.push_back(InstantJson(at, scheduled));
  }
  for (const trace::StageTime& s : h.stages) stages.push_back({s.length.count(), s.added.count(), s.waited.count()});
  const trace::DispatchParts& d = h.dispatch;
  return {
      {"c", client},
      {"o", other},
      {"s", stages},
      {"d",
       {d.lease_wait.count(), d.lease_batching.count(), d.flow_control.count(), d.scheduler.count(), d.other.count()}},
      {"a", h.attempts},
      {"r", h.messages_in_response},
      {"m", h.stream}};
}

Json MessageJson(const trace::Path& path) {
  Json hops = Json::array();
  for (const trace::HopTimes& hop : path.hops) hops.push_back(HopJson(hop, path.scheduled));
  return {{"arm", path.arm},
          {"slot", path.slot},
          {"handled", path.until_handled.count()},
          {"acked", path.until_acked ? Json(path.until_acked->count()) : Json(nullptr)},
          {"hops", hops}};
}

Json Number(const std::optional<double>& v) {
  if (!v) return nullptr;
  if (std::isinf(*v)) return *v > 0 ? "inf" : "-inf";
  return *v;
}

Json MetricJson(const report::MetricComparison& m) {
  return {{"metric", m.metric},
          {"n_first", m.n_first},
          {"n_second", m.n_second},
          {"p50_first_ms", Exact(m.p50_first)},
          {"p50_second_ms", Exact(m.p50_second)},
          {"quantiles_ms", QuantileDifferencesJson(m.quantiles)},
          {"shift_ms", ShiftJson(m.shift)},
          {"detectable_ms", Exact(m.detectable)},
          {"second_is", report::WordName(m.word)}};
}

}  // namespace

OrderedJson PageToJson(const report::Page& page, const report::Summary& summary) {
  Json arms = Json::array(), comparisons = Json::array(), messages = Json::array();
  for (const report::PageArm& arm : page.arms) arms.push_back(ArmJson(arm));
  for (const report::PageComparison& c : page.comparisons) {
    comparisons.push_back({{"arm", c.arm},
                           {"baseline", c.baseline},
                           {"shift", QuantileDifferencesJson(c.shift)},
                           {"unpaired", ShiftJson(c.unpaired)},
                           {"detectable", Exact(c.detectable)}});
  }
  for (const trace::Path& path : page.messages) messages.push_back(MessageJson(path));
  return {{"answer", page.answer},
          {"words", page.words},
          {"groups", summary.groups},
          {"span_ms", Plotted(page.span)},
          {"low_ms", Exact(page.low)},
          {"high_ms", Exact(page.high)},
          {"is_sample", summary.is_sample},
          {"messages_cut", page.messages_cut},
          {"over_time_max", report::kOverTimeMax},
          {"curve_points_max", report::kCurvePointsMax},
          {"arms", std::move(arms)},
          {"comparisons", std::move(comparisons)},
          {"messages", std::move(messages)}};
}

OrderedJson ComparisonToJson(const report::RunComparison& c) {
  Json arms = Json::array();
  for (const report::ArmComparison& arm : c.arms) {
    Json metrics = Json::array();
    for (const report::MetricComparison& m : arm.metrics) metrics.push_back(MetricJson(m));
    arms.push_back({{"arm", arm.arm}, {"metrics", metrics}, {"deciles_ms", QuantileDifferencesJson(arm.deciles)}});
  }
  return {{"schema", "hopgap.compare/1"}, {"first", c.first},
          {"second", c.second},           {"answer", c.answer},
          {"warnings", c.warnings},       {"differing", c.differing},
          {"only_first", c.only_first},   {"only_second", c.only_second},
          {"arms", std::move(arms)}};
}

OrderedJson JudgementToJson(const report::Judgement& j) {
  const bool ratio = j.threshold.of == report::Threshold::Of::kRatio;
  const auto figure = [ratio](const std::optional<double>& v) {
    if (!v || std::isinf(*v) || ratio) return Number(v);
    return Exact(*v);
  };
  return {{"threshold", j.threshold.text},
          {"outcome", report::OutcomeName(j.outcome)},
          {"unit", ratio ? Json(nullptr) : Json("ms")},
          {"value", figure(j.value)},
          {"low", figure(j.low)},
          {"high", figure(j.high)},
          {"n", j.n},
          {"why", j.why.empty() ? Json(nullptr) : Json(j.why)}};
}

}  // namespace hopgap::formats
