#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/layout.h"
#include "report/sections.h"
#include "report/text.h"

namespace hopgap::report {
namespace {

using Sign = stats::PairedDifference::Sign;
using trace::Stage;

constexpr double kWorthNaming = 0.10;  // of a difference or a whole

std::string Ms(double nanoseconds) { return Millis(nanoseconds) + " ms"; }

double WholeOf(const ArmSummary& arm) { return MeanOf(arm.handled - arm.asked, arm.n); }

// "the dispatch gap carries 1232 ms (76 %), ...; the delivery gap ...".
std::string Carriers(const Summary& summary, const ArmSummary& arm) {
  const Difference& whole = *summary.Find(arm.run.name, "until_handled");
  const auto total = static_cast<double>(whole.pairs.mean_sum);
  std::string out;
  for (int i = 0; i < trace::kPathStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    const Difference& d = *summary.Find(arm.run.name, trace::StageKey(stage));
    const auto sum = static_cast<double>(d.pairs.mean_sum);
    if (sum == 0 || std::fabs(sum) < kWorthNaming * std::fabs(total)) continue;
    const double mean = sum / static_cast<double>(d.pairs.mean_n);
    out += StrCat(out.empty() ? "" : "; ", trace::StageName(stage), " ", SignedMillis(mean), " ms");
    // A share makes sense only of a sum that it has a part in.
    if (sum / total > 0 && sum / total <= 1.0) out += StrCat(" (", Fixed(100 * sum / total, 0), " %)");
    // The cause is why the arm takes longer; of a stage that got shorter there is none to tell.
    out += StrCat(mean > 0 ? CauseOf(arm, stage) : "", " (", OriginOf(d, stage, summary.spans_only.has_value()), ")");
  }
  if (out.empty()) return "";
  return StrCat("Of the mean difference of ", SignedMillis(total / static_cast<double>(whole.pairs.mean_n)),
                " ms: ", out, ".");
}

std::string IntervalText(const stats::Estimate& e) {
  const auto end = [](const std::optional<int64_t>& v) {
    if (!v) return std::string("no limit");
    return stats::IsInfinite(*v) ? std::string(*v > 0 ? "inf" : "−inf") : SignedMillis(static_cast<double>(*v));
  };
  return StrCat("[", end(e.low), ", ", end(e.high), "]");
}

std::string DifferenceText(const Summary& summary, const ArmSummary& arm) {
  const Difference& d = *summary.Find(arm.run.name, "until_handled");
  const std::string base = summary.Find(d.baseline)->label;
  if (d.pairs.n == 0) return StrCat(arm.run.name, " and ", d.baseline, " finished no slot in common: no comparison.");
  const stats::Estimate& median = *d.pairs.median;
  const std::string support = StrCat("median of ", Counted(d.pairs.n, "pair"), " ",
                                     stats::IsInfinite(median.value) ? (median.value > 0 ? "inf" : "−inf")
                                                                     : SignedMillis(static_cast<double>(median.value)),
                                     " ms ", IntervalText(median));
  if (d.pairs.sign() == Sign::kUnresolved) {
    return StrCat(WhereOf(d.group), " no difference between ", arm.label, " and ", base, " can be resolved: ", support,
                  ".");
  }
  const bool slower = d.pairs.sign() == Sign::kSlower;
  std::string out =
      StrCat(WhereOf(d.group), " ", arm.label, " is ", slower ? "slower" : "faster", " than ", base, ": ", support);
  if (!stats::IsInfinite(median.value) && summary.configuration.hops > 1) {
    out += StrCat(", ", SignedMillis(static_cast<double>(median.value) / summary.configuration.hops), " ms a hop");
  }
  return StrCat(out, ". ", d.pairs.mean_n > 0 ? Carriers(summary, arm) : "");
}

std::string LeaseText(const Summary& summary, const ArmSummary& arm) {
  if (arm.run.kind != "eos" || arm.added_anything() || arm.dispatch.lease_wait == Duration{0}) return "";
  const uint64_t hops = arm.n * arm.hops.size();
  return StrCat("Handlers of ", arm.run.name, " wait ", Ms(MeanOf(arm.dispatch.lease_wait, hops)),
                " a hop for their lease", summary.spans_only ? "." : ": a round trip, nothing added.");
}

std::string BatchingText(const Summary& summary, const std::string& group) {
  const ArmSummary& arm = *summary.Baseline(group);
  if (arm.n == 0) return "";
  const double whole = WholeOf(arm);
  const double batching = MeanOf(arm.stages[static_cast<size_t>(Stage::kClientPublish)].waited, arm.n);
  if (whole <= 0 || batching < kWorthNaming * whole) return "";
  return StrCat("Of the ", Ms(whole), " that a message of ", arm.run.name, " takes ",
                summary.spans_only ? "(mean, its handlers' work included), " : "beyond its work (mean), ", Ms(batching),
                " (", Fixed(100 * batching / whole, 0), " %) are the publisher's batching.");
}

const ArmSummary* OfKind(const Summary& summary, const std::string& group, std::string_view kind) {
  for (const ArmSummary* arm : summary.Group(group)) {
    if (arm->run.kind == kind && arm->n > 0) return arm;
  }
  return nullptr;
}

std::string OverlapText(const Summary& summary, const std::string& group) {
  const ArmSummary* eos = OfKind(summary, group, "eos");
  const ArmSummary* overlap = OfKind(summary, group, "eos-overlap");
  if (!eos || !overlap || eos->run.client_model != "go") return "";  // other models' lease calls are not the same
  const double with = WholeOf(*eos), without = WholeOf(*overlap);
  std::string out = StrCat("With the same lease calls but no wait (", overlap->run.name, ") a message takes ",
                           Ms(without), " instead of ", Ms(with), " (means of ", overlap->n, " and ", eos->n, ")");
  // Disjoint intervals of the medians are a cautious test of two samples.
  const stats::Estimate& fast = *overlap->until_handled.p50;
  const stats::Estimate& slow = *eos->until_handled.p50;
  if (fast.high && slow.low && *fast.high < *slow.low) {
    return StrCat(out, ": it is the waiting that costs ", Ms(with - without), ", not the call.");
  }
  return StrCat(out, ": n = ", std::min(overlap->n, eos->n), " resolves no difference between the two.");
}

std::string HeadOfLineText(const Summary& summary, const ArmSummary& arm) {
  const ServerSummary& s = arm.server;
  if (s.n == 0 || summary.spans_only) return "";  // of how many streams, at which rate, spans do not say
  const Configuration& c = summary.configuration;
  const std::string streams = Counted(static_cast<uint64_t>(c.streams), "stream");
  if (s.queued == 0) {
    return StrCat(
        "No message of ", arm.run.name, " waited behind another on its stream (head-of-line wait ",
        s.stream_wait_max == Duration{0} ? "0" : "at most " + Ms(static_cast<double>(s.stream_wait_max.count())),
        " in ", s.deliveries, " deliveries): ", streams, c.streams == 1 ? " does" : " do", " at ",
        Fixed(c.rate_per_second, c.rate_per_second < 1 ? 2 : 0), "/s", ArrivalText(c), ".");
  }
  return StrCat("In ", arm.run.name, " ", s.queued, " of ", s.deliveries,
                " deliveries waited on their stream behind an earlier message's lease or handling, ",
                Ms(MeanOf(s.total.stream_wait, s.n)), " a message (mean), at most ",
                Ms(static_cast<double>(s.stream_wait_max.count())), ": ", streams, c.streams == 1 ? " is" : " are",
                " not enough, and that wait reads as slow delivery.");
}

using Sentences = std::vector<std::string>;

bool NothingCompleted(const Summary& summary) {
  return std::all_of(summary.arms.begin(), summary.arms.end(), [](const ArmSummary& arm) { return arm.n == 0; });
}

// What has to be known before any figure is believed.
void AddReservations(const Summary& summary, Sentences& out) {
  if (summary.configuration.simulated)
    out.push_back("SIMULATED: this is what the models predict; nothing was measured.");
  if (!summary.verdict.valid) {
    out.push_back("This run is INVALID: its figures also measure what went wrong, so draw nothing from them.");
  }
  if (summary.ended_early) {
    out.push_back(StrCat("It ended early (", summary.ended_early_why, "): only what had completed is in the figures."));
  }
  for (const std::string& note : summary.notes) out.push_back(StrCat("Note: ", note, "."));
  if (NothingCompleted(summary)) {
    out.push_back("Nothing completed in any arm: no figure can be given.");
    return;
  }
  for (const ArmSummary& arm : summary.arms) {
    if (arm.n == 0) {
      out.push_back(StrCat("Nothing completed in ", arm.run.name, ": no figure can be given."));
    } else if (arm.run.saturated_at) {
      out.push_back(StrCat(arm.run.name, " could not keep up: saturated at ", Fixed(*arm.run.saturated_at, 2),
                           "/s. Its latencies grow with the length of the run and are no property of the service."));
    }
  }
}

void AddGroup(const Summary& summary, const std::string& group, Sentences& out) {
  for (const ArmSummary* arm : summary.Group(group)) {
    const bool compared = summary.Find(arm->run.name, "until_handled") != nullptr;
    // The overlap arm is compared with the arm that waits, below.
    const bool below = arm->run.kind == "eos-overlap" && OfKind(summary, group, "eos");
    if (compared && !below && arm->n > 0) out.push_back(DifferenceText(summary, *arm));
    if (arm->n > 0) out.push_back(LeaseText(summary, *arm));
  }
  out.push_back(OverlapText(summary, group));
  const ArmSummary* focus = FocusArm(summary, group);
  if (focus->n > 0) out.push_back(HeadOfLineText(summary, *focus));
}

bool AnyQueued(const Summary& summary) {
  return std::any_of(summary.arms.begin(), summary.arms.end(),
                     [](const ArmSummary& arm) { return arm.server.queued > 0; });
}

}  // namespace

std::string WhereOf(std::string_view group) {
  if (group == "here") return "Here";
  return StrCat("In the ", group);
}

// What a stage's part of a difference is made of, the largest origin named.
std::string OriginOf(const Difference& d, Stage stage, bool spans_only) {
  const auto n = static_cast<double>(d.pairs.mean_n);
  const double added = static_cast<double>(d.added.count()) / n;
  const double waited = static_cast<double>(d.waited.count()) / n;
  const double machine = static_cast<double>(d.pairs.mean_sum) / n - added - waited;
  const double most = std::max({std::fabs(added), std::fabs(waited), std::fabs(machine)});
  std::string_view meaning = spans_only ? "the machines, the network or the service" : "the machine itself";
  if (most == std::fabs(added)) {
    // The wait for a lease is explained by the client; slow delivery by nothing we have.
    meaning = stage == Stage::kDeliveryGap ? "put in, and nothing here explains it" : "its delays were put in";
  } else if (most == std::fabs(waited)) {
    meaning = "held back by rule or queue";
  }
  return StrCat(meaning, ": ", Millis(added), " added, ", Millis(waited), " waited, ", Millis(machine), " machine");
}

// Why the stage is long in this arm, where the parts say so.
std::string CauseOf(const ArmSummary& arm, Stage stage) {
  if (stage == Stage::kDeliveryGap) return ", slower delivery";
  if (stage != Stage::kDispatchGap) return "";
  const Duration all = arm.stages[static_cast<size_t>(stage)].total;
  if (arm.dispatch.lease_wait * 2 > all) return ", the handler waiting for its lease";
  if (arm.dispatch.flow_control * 2 > all) return ", the client's flow control";
  if (arm.dispatch.scheduler * 2 > all) return ", waiting for a free handler";
  return "";
}

std::vector<std::string> Paragraphs(const Summary& summary) {
  std::vector<Sentences> paragraphs(1);
  AddReservations(summary, paragraphs[0]);
  if (summary.arms.size() == 1) paragraphs[0].push_back("One arm alone: there is nothing to compare it with.");
  bool batching_told = false;
  for (const std::string& group : summary.groups) {
    Sentences& sentences = paragraphs.emplace_back();
    if (!batching_told) sentences.push_back(BatchingText(summary, group));
    batching_told = batching_told || !sentences.back().empty();
    AddGroup(summary, group, sentences);
  }
  std::vector<std::string> out;
  for (const Sentences& sentences : paragraphs) {
    std::string text;
    for (const std::string& sentence : sentences) text += StrCat(text.empty() || sentence.empty() ? "" : " ", sentence);
    if (!text.empty()) out.push_back(text);
  }
  return out;
}

std::string WordsText(const Summary& summary, const TextOptions& options) {
  std::string out;
  for (const std::string& paragraph : Paragraphs(summary)) {
    out += Wrap(paragraph, static_cast<size_t>(std::clamp(options.width, kWidthMin, kWidthMax)),
                out.empty() ? "In words  " : "  ", "  ");
  }
  return out;
}

std::string NextText(const Summary& summary) {
  if (summary.spans_only) return "";
  const Configuration& c = summary.configuration;
  std::vector<std::pair<std::string, std::string>> lines;
  const bool saturated = std::any_of(summary.arms.begin(), summary.arms.end(),
                                     [](const ArmSummary& arm) { return arm.run.saturated_at.has_value(); });
  const std::string rate = Fixed(c.rate_per_second, c.rate_per_second < 1 ? 2 : 0);
  const bool ramp = c.rate_highest_per_second > c.rate_per_second;
  const std::string arrival = c.arrival.empty() ? "" : StrCat("--arrival ", c.arrival);
  const std::string load = ramp ? arrival : StrCat("--rate ", rate, arrival.empty() ? "" : " ", arrival);
  if (NothingCompleted(summary)) {
    lines.emplace_back("hopgap run --profile none --drain 60s", "is it the delays, or the target?");
  } else if (!summary.verdict.valid && !saturated) {
    lines.emplace_back("hopgap run", "again, on an idle machine: reasons above");
  } else if (saturated || AnyQueued(summary)) {
    lines.emplace_back(StrCat("hopgap run ", load, " --streams ", 4 * c.streams), "does the queue go away?");
  } else {
    lines.emplace_back("hopgap run --rate 5 --streams 1", "watch messages queue behind a lease");
  }
  if (summary.arms.size() == 1) lines.emplace_back("hopgap run --arm std --arm eos", "two arms to compare");
  if (c.rate_per_second < 100) lines.emplace_back("hopgap simulate --rate 100", "the open question, in seconds");
  if (!summary.saved_to.empty())
    lines.emplace_back("hopgap analyze " + summary.saved_to + " --per-hop", "hop by hop, from the spans");
  // A command is there to be copied: one that does not fit is not broken but left out.
  std::erase_if(lines, [](const auto& line) { return Columns(line.first) + 6 > kWidthMin; });
  size_t widest = 0;
  for (const auto& [command, why] : lines) widest = std::max(widest, Columns(command));
  std::string out;
  for (const auto& [command, why] : lines) {
    const std::string line = StrCat(out.empty() ? "Next  " : "      ", PadRight(command, widest), "  ", why);
    // A long folder name pushes the reason to a line of its own.
    out += Columns(line) <= kWidthMin ? line + "\n"
                                      : StrCat(out.empty() ? "Next  " : "      ", command, "\n        ", why, "\n");
  }
  return out;
}

}  // namespace hopgap::report
