#include "report/placements.h"

#include <array>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace hopgap::report {
namespace {

using std::chrono::milliseconds;

// The experiment's shape: its figures say nothing about any other.
constexpr int kPublishedHops = 3;
constexpr Duration kPublishedWork = milliseconds{200};

struct Published {
  std::string_view figure, what, kind;
  Duration value;
  bool first_subscribe_span;  // else until acked
  bool fitted;
};
constexpr std::array<Published, 4> kPublished = {{
    {"3.212 s", "until acked, work included", "eos", milliseconds{3212}, false, false},
    {"1.303 s", "first subscribe span", "eos", milliseconds{1303}, true, false},
    {"764.9 ms", "until acked, work included", "std", std::chrono::microseconds{764'900}, false, true},
    {"264 ms", "first subscribe span", "std", milliseconds{264}, true, true},
}};

// Quantile bounds of the readings, in per cent.
constexpr uint64_t kInsideFrom = 5, kInsideTo = 95, kWarmTo = 75;

std::optional<Duration> FigureOf(const trace::Path& path, const Published& published) {
  if (!published.first_subscribe_span) return path.until_acked;
  if (path.hops.empty() || !path.hops[0].ack_end) return std::nullopt;
  return *path.hops[0].ack_end - path.hops[0].received;
}

// A message whose ack never came back lies above every figure.
Placement PlaceIn(const ArmSummary& arm, const Paths& paths, const Published& published) {
  Placement out;
  out.figure = published.figure;
  out.what = published.what;
  out.arm = arm.run.name;
  out.value = published.value;
  out.fitted = published.fitted;
  out.n = paths.size() + arm.unfinished;
  for (const trace::Path* path : paths) {
    const std::optional<Duration> figure = FigureOf(*path, published);
    if (figure && *figure <= published.value) ++out.below;
  }
  out.percent = 100.0 * static_cast<double>(out.below) / static_cast<double>(out.n);
  out.reading = ReadPlace(out.below, out.n);
  // A fitted figure was matched on purpose: where it falls tests nothing.
  if (out.fitted && out.reading.starts_with("inside")) out.reading = "inside";
  return out;
}

}  // namespace

std::string ReadPlace(uint64_t below, uint64_t n) {
  HOPGAP_CHECK(n > 0, "a place needs a sample");
  const uint64_t hundredfold = 100 * below;
  if (hundredfold < kInsideFrom * n) return "outside: below p5";
  if (hundredfold > kInsideTo * n) return "outside: above p95";
  if (hundredfold > kWarmTo * n) {
    return "inside, but the source says warm: about 1 s stays unexplained";
  }
  return "inside";
}

void SetPlacements(const std::vector<Paths>& paths, Summary& summary) {
  const Configuration& c = summary.configuration;
  if (!c.profile_is_builtin_replay) return;
  if (c.hops != kPublishedHops || c.work.drawn() || c.work.length != kPublishedWork || c.handler_failures > 0) {
    summary.no_placements_why = "the published figures are of 3 hops with 200 ms of work each";
    return;
  }
  for (const Published& published : kPublished) {
    for (size_t i = 0; i < paths.size(); ++i) {
      const ArmRun& arm = summary.arms[i].run;
      if (arm.group != "replay" || arm.kind != published.kind || paths[i].empty()) continue;
      summary.placements.push_back(PlaceIn(summary.arms[i], paths[i], published));
      break;
    }
  }
}

}  // namespace hopgap::report
