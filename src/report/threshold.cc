#include "report/threshold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "report/layout.h"
#include "stats/interval.h"
#include "stats/quantile_difference.h"

namespace hopgap::report {
namespace {

using Of = Threshold::Of;
using Outcome = Judgement::Outcome;

constexpr std::string_view kForm =
    "it is ARM.METRIC.QUANTILE<LIMIT, for example eos.until_handled.p95<50ms, difference(eos,std).dispatch_gap.p50<1s "
    "or ratio(eos,std).until_handled.p50<2.5";

absl::Status BadThreshold(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(StrCat("threshold '", text, "': ", what));
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<Metric> MetricNamed(std::string_view key) {
  for (const Metric& metric : AllMetrics()) {
    if (MetricKey(metric) == key) return metric;
  }
  return std::nullopt;
}

// "p50", "p99.9"; at most three decimals.
std::optional<stats::Probability> ParseQuantile(std::string_view text) {
  if (!text.starts_with('p')) return std::nullopt;
  const std::optional<double> percent = ParseNumber<double>(text.substr(1));
  if (!percent || !(*percent > 0) || !(*percent < 100)) return std::nullopt;
  const double parts = *percent * (stats::Probability::kWhole / 100.0);
  const double whole = std::round(parts);
  if (std::fabs(parts - whole) > 1e-6 || whole < 1 || whole >= stats::Probability::kWhole) return std::nullopt;
  return stats::Probability{static_cast<uint32_t>(whole)};
}

std::optional<double> ParseLength(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1}, {"s", 1e9}};
  for (const auto& [unit, nanoseconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::optional<double> number = ParseNumber<double>(Trim(text.substr(0, text.size() - unit.size())));
    if (number && std::isfinite(*number)) return *number * nanoseconds;
  }
  return std::nullopt;
}

// The arm's part: "eos", or of two arms "ratio(eos,std)" and its dot. Cuts it off `rest`.
absl::Status ParseArms(std::string_view text, std::string_view& rest, Threshold& out) {
  for (const auto& [name, of] :
       {std::pair<std::string_view, Of>{"ratio(", Of::kRatio}, {"difference(", Of::kDifference}}) {
    if (!rest.starts_with(name)) continue;
    const size_t close = rest.find(')');
    const std::string_view inside =
        close == std::string_view::npos ? std::string_view() : rest.substr(name.size(), close - name.size());
    const std::vector<std::string_view> arms = Split(inside, ',');
    if (arms.size() != 2 || Trim(arms[0]).empty() || Trim(arms[1]).empty() ||
        !rest.substr(close + 1).starts_with('.')) {
      return BadThreshold(text, StrCat("after '", name, "' come two arms, ')' and '.': ", kForm));
    }
    out.of = of;
    out.arm = std::string(Trim(arms[0]));
    out.baseline = std::string(Trim(arms[1]));
    rest.remove_prefix(close + 2);
    return absl::OkStatus();
  }
  // Arms have dots in their names; the metric and the quantile's own dot come behind.
  const size_t quantile = rest.rfind(".p");
  const size_t metric = quantile == std::string_view::npos || quantile == 0 ? quantile : rest.rfind('.', quantile - 1);
  if (metric == std::string_view::npos || metric == 0) return BadThreshold(text, kForm);
  out.arm = std::string(rest.substr(0, metric));
  rest.remove_prefix(metric + 1);
  return absl::OkStatus();
}

std::string KnownMetrics() {
  std::string out;
  for (const Metric& metric : AllMetrics()) out += StrCat(out.empty() ? "" : ", ", MetricKey(metric));
  return out;
}

double AsDouble(int64_t value) {
  if (value == stats::kInfinite) return std::numeric_limits<double>::infinity();
  if (value == stats::kMinusInfinite) return -std::numeric_limits<double>::infinity();
  return static_cast<double>(value);
}
std::optional<double> AsDouble(std::optional<int64_t> value) {
  return value ? std::optional(AsDouble(*value)) : std::nullopt;
}

stats::Sample SampleOfArm(const Run& run, const std::string& name, const Metric& metric) {
  const auto arm = std::find_if(run.arms.begin(), run.arms.end(), [&](const ArmRun& a) { return a.name == name; });
  return SampleOf(Count(*arm, run), metric, AskedWork(run.configuration));
}

void SetFigures(const Threshold& t, const Run& run, Judgement& out) {
  const stats::Sample first = SampleOfArm(run, t.arm, t.metric);
  out.n = first.n();
  if (t.of == Of::kArm) {
    if (const auto e = stats::EstimateQuantile(first, t.quantile)) {
      out.value = AsDouble(e->value);
      out.low = AsDouble(e->low);
      out.high = AsDouble(e->high);
    }
    return;
  }
  const stats::Sample second = SampleOfArm(run, t.baseline, t.metric);
  out.n = std::min(first.n(), second.n());
  if (t.of == Of::kDifference) {
    if (const auto d = stats::CompareQuantile(first, second, t.quantile)) {
      out.value = AsDouble(d->value);
      out.low = AsDouble(d->low);
      out.high = AsDouble(d->high);
    }
  } else if (const auto r = stats::QuantileRatioOf(first, second, t.quantile)) {
    out.value = r->value;
    out.low = r->low;
    out.high = r->high;
  }
}

bool Keeps(const Threshold& t, double value) {
  if (value == t.limit) return t.inclusive;
  return t.below ? value < t.limit : value > t.limit;
}

std::string FigureText(const Threshold& t, const std::optional<double>& value, std::string_view none) {
  if (!value) return std::string(none);
  if (std::isinf(*value)) return *value > 0 ? "inf" : "−inf";
  return t.of == Of::kRatio ? Fixed(*value, 2) : Length(*value);
}

}  // namespace

absl::StatusOr<Threshold> ParseThreshold(std::string_view text) {
  Threshold out;
  out.text = std::string(text);
  const size_t sign = text.find_first_of("<>");
  if (sign == std::string_view::npos) return BadThreshold(text, StrCat("there is no < or >: ", kForm));
  out.below = text[sign] == '<';
  out.inclusive = text.substr(sign + 1).starts_with('=');
  std::string_view rest = Trim(text.substr(0, sign));
  const std::string_view limit = Trim(text.substr(sign + (out.inclusive ? 2 : 1)));
  if (absl::Status status = ParseArms(text, rest, out); !status.ok()) return status;
  const size_t dot = rest.find('.');
  const std::string_view key = rest.substr(0, dot);
  const std::optional<Metric> metric = MetricNamed(key);
  if (!metric) return BadThreshold(text, StrCat("'", key, "' is no metric; there are ", KnownMetrics()));
  out.metric = *metric;
  const std::string_view quantile = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  const std::optional<stats::Probability> p = ParseQuantile(quantile);
  if (!p)
    return BadThreshold(text,
                        StrCat("'", quantile, "' is no quantile; it is p50 or p99.9, between p0.001 and p99.999"));
  out.quantile = *p;
  const std::optional<double> number = out.of == Of::kRatio ? ParseNumber<double>(limit) : ParseLength(limit);
  if (!number || !std::isfinite(*number)) {
    return BadThreshold(text, out.of == Of::kRatio ? StrCat("'", limit, "' is no number; a ratio has no unit")
                                                   : StrCat("'", limit, "' is no length; it is 50ms, 1.5s or 200us"));
  }
  out.limit = *number;
  return out;
}

absl::Status CheckThreshold(const Threshold& threshold, const std::vector<std::string>& arms) {
  for (const std::string& arm : {threshold.arm, threshold.baseline}) {
    if (threshold.of == Of::kArm && arm == threshold.baseline) continue;
    if (std::find(arms.begin(), arms.end(), arm) != arms.end()) continue;
    std::string known;
    for (const std::string& name : arms) known += StrCat(known.empty() ? "" : ", ", name);
    return BadThreshold(threshold.text, StrCat("there is no arm '", arm, "'; there are ", known));
  }
  return absl::OkStatus();
}

Judgement Judge(const Threshold& threshold, const Run& run) {
  Judgement out;
  out.threshold = threshold;
  SetFigures(threshold, run, out);
  // The end that has to keep the promise for a pass, and the one that has to break it for a fail.
  const std::optional<double>& worst = threshold.below ? out.high : out.low;
  const std::optional<double>& best = threshold.below ? out.low : out.high;
  if (worst && Keeps(threshold, *worst)) {
    out.outcome = Outcome::kPass;
  } else if (best && !Keeps(threshold, *best)) {
    out.outcome = Outcome::kFail;
  } else if (!out.value) {
    out.why = "there is no such figure";
  } else if (!worst) {
    out.why = StrCat("n = ", out.n, " gives no ", threshold.below ? "upper" : "lower", " limit");
  } else {
    out.why = "the limit lies inside the interval";
  }
  return out;
}

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass: return "pass";
    case Outcome::kFail: return "fail";
    case Outcome::kInconclusive: break;
  }
  return "inconclusive";
}

std::string RenderJudgement(const Judgement& j) {
  std::string name(OutcomeName(j.outcome));
  for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
  const Threshold& t = j.threshold;
  std::string out =
      StrCat(PadRight(name, 13), t.text, ": ", FigureText(t, j.value, "no figure"), " [",
             FigureText(t, j.low, "no lower limit"), ", ", FigureText(t, j.high, "no upper limit"), "], n = ", j.n);
  if (!j.why.empty()) out += StrCat("; ", j.why);
  return out;
}

}  // namespace hopgap::report
