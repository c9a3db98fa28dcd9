// Whether hopgap's intervals hold as often as they say: draws samples whose true
// quantiles are known, and counts. Prints docs/statistics.md (./dev statistics).
//
//   bench_statistics [--tiny]     exit code 1: an interval holds too rarely
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/draw.h"
#include "stats/compare.h"
#include "stats/interval.h"
#include "stats/quantile_difference.h"
#include "stats/rank.h"

namespace hopgap {
namespace {

using stats::Probability;
using stats::Sample;

constexpr uint64_t kSeed = 20261130;
constexpr double kScale = 1e6;       // draws of about 1 become milliseconds in nanoseconds
constexpr int64_t kShift = 300'000;  // between two samples that differ

enum class Shape { kSmooth, kSkewed, kBimodal };
constexpr Shape kShapes[] = {Shape::kSmooth, Shape::kSkewed, Shape::kBimodal};
const char* NameOf(Shape shape) {
  switch (shape) {
    case Shape::kSmooth: return "smooth";
    case Shape::kSkewed: return "skewed";
    case Shape::kBimodal: return "bimodal";
  }
  return "";
}

double Uniform(uint64_t word) {
  return (static_cast<double>(FractionOf(word)) + 0.5) / static_cast<double>(kFractionOne);
}
double Normal(uint64_t key) {
  return std::sqrt(-2 * std::log(Uniform(Mix(key, 1)))) * std::cos(2 * std::numbers::pi * Uniform(Mix(key, 2)));
}
double NormalBelow(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

int64_t Draw(Shape shape, uint64_t key) {
  const double z = Normal(key);
  double value = 0;
  switch (shape) {
    case Shape::kSmooth: value = 10 + z; break;
    case Shape::kSkewed: value = std::exp(z); break;
    case Shape::kBimodal: value = Uniform(Mix(key, 3)) < 0.9 ? 1 + 0.1 * z : 8 + 0.8 * z; break;
  }
  return std::llround(value * kScale);
}

double Below(Shape shape, double value) {
  switch (shape) {
    case Shape::kSmooth: return NormalBelow(value - 10);
    case Shape::kSkewed: return value <= 0 ? 0 : NormalBelow(std::log(value));
    case Shape::kBimodal: return 0.9 * NormalBelow((value - 1) / 0.1) + 0.1 * NormalBelow((value - 8) / 0.8);
  }
  return 0;
}

int64_t TrueQuantile(Shape shape, double p) {
  double low = -20, high = 200;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (Below(shape, middle) < p ? low : high) = middle;
  }
  return std::llround(low * kScale);
}

std::vector<int64_t> DrawMany(Shape shape, uint64_t key, size_t n, int64_t shift = 0) {
  std::vector<int64_t> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = Draw(shape, Mix(key, i)) + shift;
  return out;
}

struct Cover {
  size_t held = 0, of = 0;
  bool one_sided = false;
  void Add(const std::optional<int64_t>& low, const std::optional<int64_t>& high, int64_t truth) {
    if (!low && !high) return;
    one_sided = !low || !high;
    ++of;
    if ((!low || *low <= truth) && (!high || truth <= *high)) ++held;
  }
  std::string Text() const {
    if (of == 0) return "none";
    char text[32];
    std::snprintf(text, sizeof text, "%.3f%s", Share(), one_sided ? " (1)" : "");
    return text;
  }
  double Share() const { return of == 0 ? 1 : static_cast<double>(held) / static_cast<double>(of); }
  // Below 95 % by more than four standard deviations of the simulation.
  bool TooRare() const { return of > 0 && Share() < 0.95 - 4 * std::sqrt(0.95 * 0.05 / static_cast<double>(of)); }
};

constexpr size_t kSizes[] = {10, 31, 100, 1000};
constexpr Probability kQuantiles[] = {stats::kP50, stats::kP90, stats::kP95, stats::kP99};

struct Cell {
  Cover quantile[4], difference[4], shift, paired, mean, band;
  size_t false_alarms = 0, alarms_of = 0, seen = 0, seen_of = 0;
};

Cell Simulate(Shape shape, size_t n, size_t rounds) {
  Cell cell;
  int64_t truth[4];
  for (size_t q = 0; q < 4; ++q) truth[q] = TrueQuantile(shape, kQuantiles[q].AsDouble());
  for (size_t round = 0; round < rounds; ++round) {
    const uint64_t key = Mix(kSeed, static_cast<uint64_t>(shape) * 10'000 + n, round);
    const std::vector<int64_t> first = DrawMany(shape, Mix(key, 1), n);
    const std::vector<int64_t> second = DrawMany(shape, Mix(key, 2), n, kShift);
    const Sample a(first), b(second);
    for (size_t q = 0; q < 4; ++q) {
      const stats::Estimate e = *stats::EstimateQuantile(a, kQuantiles[q]);
      cell.quantile[q].Add(e.low, e.high, truth[q]);
      const stats::QuantileDifference d = *stats::CompareQuantile(b, a, kQuantiles[q]);
      cell.difference[q].Add(d.low, d.high, kShift);
    }
    if (const auto h = stats::CompareShift(b, a)) cell.shift.Add(h->low, h->high, kShift);
    // Pairs share their luck, and differ by a shift and noise around it.
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (size_t i = 0; i < n; ++i) {
      pairs.emplace_back(first[i] + kShift + std::llround(Normal(Mix(key, 3, i)) * kScale / 2), first[i]);
    }
    const stats::PairedDifference paired = stats::ComparePairs(pairs);
    cell.paired.Add(paired.median->low, paired.median->high, kShift);
    if (paired.mean_low) {
      cell.mean.Add(std::llround(*paired.mean_low), std::llround(*paired.mean_high), kShift);
    }
    double off = 0;
    for (size_t i = 0; i < n; ++i) {
      const double p = Below(shape, static_cast<double>(a.sorted()[i]) / kScale);
      off = std::max({off, std::fabs(static_cast<double>(i + 1) / static_cast<double>(n) - p),
                      std::fabs(static_cast<double>(i) / static_cast<double>(n) - p)});
    }
    cell.band.Add(0, off <= stats::DistributionBand(n) ? 0 : -1, 0);
    // Two arms that are the same must not be called different, and a shift of the smallest detectable size must be seen.
    const Sample same(DrawMany(shape, Mix(key, 4), n));
    if (const auto d = stats::CompareQuantile(same, a, stats::kP50); d->low && d->high) {
      ++cell.alarms_of;
      if (*d->low > 0 || *d->high < 0) ++cell.false_alarms;
    }
    if (const auto detectable = stats::SmallestDetectableShift(a, n)) {
      ++cell.seen_of;
      std::vector<int64_t> moved = DrawMany(shape, Mix(key, 5), n, *detectable);
      if (stats::TestRanks(Sample(std::move(moved)), a).p_value < 0.05) ++cell.seen;
    }
  }
  return cell;
}

std::string Share(size_t part, size_t of) {
  if (of == 0) return "none";
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(part) / static_cast<double>(of));
  return text;
}

void PrintHead(bool tiny) {
  std::printf(
      "# How often the intervals hold\n\n"
      "Written by `./dev statistics`, which draws samples whose true quantiles are known. Every interval claims 95 %%; "
      "a cell\n"
      "says in which share of the samples it held the truth. (1): at this n the interval has one side, and claims 97.5 "
      "%%;\n"
      "*none*: n gives no limit. *Smooth* is normal (10 ± 1 ms), *skewed* lognormal (median 1 ms, σ 1), *bimodal* 90 "
      "%% at\n"
      "1 ± 0.1 ms and 10 %% at 8 ± 0.8 ms, as a gate makes it. %s samples a cell (n = 1,000: %s), seed %llu.\n",
      tiny ? "200" : "10,000", tiny ? "200" : "2,000", static_cast<unsigned long long>(kSeed));
}

int Main(bool tiny) {
  PrintHead(tiny);
  std::vector<std::pair<std::string, Cell>> cells;
  bool bad = false;
  for (const Shape shape : kShapes) {
    for (const size_t n : kSizes) {
      const size_t rounds = tiny ? (n > 100 ? 0 : 200) : n == 1000 ? 2'000 : 10'000;
      if (rounds == 0) continue;
      cells.emplace_back(std::string(NameOf(shape)) + " | " + std::to_string(n), Simulate(shape, n, rounds));
    }
  }
  const auto table = [&](const char* title, const char* head, const char* rule, auto row) {
    std::printf("\n%s\n\n%s\n%s\n", title, head, rule);
    for (const auto& [name, cell] : cells) std::printf("| %s |%s\n", name.c_str(), row(cell).c_str());
  };
  const auto four = [&](const Cover(&covers)[4]) {
    std::string out;
    for (const Cover& c : covers) {
      out += " " + c.Text() + " |";
      bad = bad || c.TooRare();
    }
    return out;
  };
  table("## One quantile: order statistics at exact binomial ranks", "| data | n | p50 | p90 | p95 | p99 |",
        "|---|---|---|---|---|---|", [&](const Cell& c) { return four(c.quantile); });
  table("## The difference of a quantile of two independent samples (shift function, `compare`, thresholds)",
        "| data | n | p50 | p90 | p95 | p99 |", "|---|---|---|---|---|---|",
        [&](const Cell& c) { return four(c.difference); });
  table("## Shifts, pairs, the whole curve",
        "| data | n | Hodges-Lehmann, unpaired | median of pairs | mean of pairs (Student's t) | band of the "
        "distribution |",
        "|---|---|---|---|---|---|", [&](const Cell& c) {
          std::string out;
          for (const Cover* cover : {&c.shift, &c.paired, &c.mean, &c.band}) {
            out += " " + cover->Text() + " |";
            bad = bad || cover->TooRare();
          }
          return out;
        });
  table(
      "## Two samples of the same source called different, and a shift of the *smallest detectable* size seen "
      "(claimed: 0.8)",
      "| data | n | false alarms (at most 0.05) | seen |", "|---|---|---|---|", [&](const Cell& c) {
        return " " + Share(c.false_alarms, c.alarms_of) + " | " + Share(c.seen, c.seen_of) + " |";
      });
  std::printf(
      "\nQuantiles are type 7, linear between the neighbours of position 1 + p(n−1). All of this takes messages to be\n"
      "independent. Where neighbours resemble each other the report gives the lag-1 rank correlation r and the "
      "effective n,\n"
      "n (1 − r) / (1 + r): read the rows of that n. The smallest detectable shift is an estimate from the sample's "
      "own\n"
      "differences, so it is itself uncertain, most of all where a distribution has two humps and few values in "
      "one.\n");
  return bad ? 1 : 0;
}

}  // namespace
}  // namespace hopgap

int main(int argc, char** argv) { return hopgap::Main(argc > 1 && std::string_view(argv[1]) == "--tiny"); }
