#include "report/fit.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "report/layout.h"
#include "stats/interval.h"

namespace hopgap::report {
namespace {

using trace::DelayLeg;
using trace::HopTimes;

constexpr std::array<const char*, trace::kDelayLegs> kLegNames = {"publish_before_commit", "publish_after_commit",
                                                                  "deliver", "modack", "ack"};

// What a leg was seen to add, call by call.
class RawDelays {
 public:
  // A call of the leg at `at`, on the topic or subscription `where`.
  void Add(Duration length, WallTime at, size_t where) {
    if (length < Duration{0}) ++clipped;
    uses_.push_back({where, at, std::max<int64_t>(0, length.count()), true});
  }
  // One that is no sample, but use.
  void Note(WallTime at, size_t where) { uses_.push_back({where, at, 0, false}); }

  // The samples, first the warm ones; without `cold_after` all are.
  std::pair<std::vector<int64_t>, std::vector<int64_t>> Split(std::optional<Duration> cold_after) {
    std::stable_sort(uses_.begin(), uses_.end(),
                     [](const Use& a, const Use& b) { return std::pair(a.where, a.at) < std::pair(b.where, b.at); });
    std::pair<std::vector<int64_t>, std::vector<int64_t>> out;
    const Use* before = nullptr;
    for (const Use& use : uses_) {
      const bool first = before == nullptr || before->where != use.where;
      const bool cold = cold_after && (first || use.at - before->at >= *cold_after);
      if (use.sample) (cold ? out.second : out.first).push_back(use.value);
      before = &use;
    }
    return out;
  }

  uint64_t clipped = 0;

 private:
  struct Use {
    size_t where;
    WallTime at;
    int64_t value;
    bool sample;
  };
  std::vector<Use> uses_;
};

// A length that becomes a sample once a share of it is known.
struct Whole {
  Duration length;
  WallTime at;
  size_t where;
};

// What one kind of subscription showed.
struct KindSeen {
  RawDelays deliver, modack, ack;
  std::vector<Whole> gaps;  // publish end -> received, where the broker's side is not known
  uint64_t hops = 0, redelivered = 0, behind_a_read = 0, may_have_waited = 0, shared = 0;
  double responses = 0;
};

class Fitter {
 public:
  explicit Fitter(const FitOptions& options) : options_(options) {}
  void AddArm(const ArmRun& arm, bool publishes);
  Fit Finish(std::string group);

 private:
  void AddHop(const HopTimes& hop, size_t where, KindSeen& seen);
  void AddPublish(const HopTimes& hop, size_t where);
  static void NoteUse(const HopTimes& hop, size_t where, KindSeen& seen);
  void SplitPublishes();
  FittedLeg Leg(DelayLeg leg, const char* kind, RawDelays& raw, std::string how, const char* missing);
  void Assume(const KindSeen& seen, const char* kind);

  const FitOptions& options_;
  std::array<KindSeen, 2> seen_;
  RawDelays before_, after_;
  std::vector<Whole> publishes_;  // where the commit is not known
  size_t arms_ = 0;
  // A call answers for all its messages: once.
  std::set<std::pair<WallTime, WallTime>> publish_calls_, lease_calls_, ack_calls_;
  uint64_t shared_publishes_ = 0;
  bool broker_side_ = false;
  std::vector<std::string> assumed_;
};

// Every hop of every arm has a topic and a subscription of its own.
void Fitter::AddArm(const ArmRun& arm, bool publishes) {
  constexpr size_t kHopsMax = 1'000'000;
  const size_t first = arms_++ * kHopsMax;
  publish_calls_.clear();
  for (const trace::Path& path : arm.paths) {
    size_t where = first;
    for (const HopTimes& hop : path.hops) {
      KindSeen& seen = seen_[hop.exactly_once ? 1 : 0];
      if (!InPart(options_.part, path.slot)) {
        NoteUse(hop, where, seen);
      } else {
        if (publishes) AddPublish(hop, where);
        AddHop(hop, where, seen);
      }
      ++where;
    }
  }
}

// Of a message that is held back: it keeps what it uses warm all the same.
void Fitter::NoteUse(const HopTimes& hop, size_t where, KindSeen& seen) {
  seen.deliver.Note(hop.committed.value_or(hop.publish_end), where);
  if (hop.modack_start) seen.modack.Note(*hop.modack_start, where);
  if (hop.ack_start) seen.ack.Note(*hop.ack_start, where);
}

void Fitter::AddPublish(const HopTimes& hop, size_t where) {
  if (!publish_calls_.emplace(hop.publish_start, hop.publish_end).second) {
    ++shared_publishes_;
    return;
  }
  if (hop.committed) {
    broker_side_ = true;
    before_.Add(*hop.committed - hop.publish_start - options_.one_way, hop.publish_start, where);
    after_.Add(hop.publish_end - *hop.committed - options_.one_way, hop.publish_start, where);
  } else {
    publishes_.push_back({hop.publish_end - hop.publish_start - 2 * options_.one_way, hop.publish_start, where});
  }
}

void Fitter::AddHop(const HopTimes& hop, size_t where, KindSeen& seen) {
  ++seen.hops;
  seen.responses += 1.0 / std::max(1, hop.messages_in_response);
  if (hop.attempts > 1) {
    ++seen.redelivered;  // its lease ran out in between: that is no delay of the service
    seen.deliver.Note(hop.committed.value_or(hop.publish_end), where);
  } else if (hop.committed && hop.written) {
    seen.deliver.Add(*hop.written - *hop.committed, *hop.committed, where);
  } else if (hop.read_posted && *hop.read_posted > hop.publish_end) {
    ++seen.behind_a_read;  // it may have waited for its stream
    seen.deliver.Note(hop.publish_end, where);
  } else {
    if (!hop.read_posted) ++seen.may_have_waited;
    seen.gaps.push_back({hop.received - hop.publish_end, hop.publish_end, where});
  }
  if (hop.messages_in_response > 1) ++seen.shared;
  if (hop.modack_start && hop.modack_end && lease_calls_.emplace(*hop.modack_start, *hop.modack_end).second) {
    seen.modack.Add(*hop.modack_end - *hop.modack_start - 2 * options_.one_way, *hop.modack_start, where);
  }
  if (hop.ack_start && hop.ack_end && ack_calls_.emplace(*hop.ack_start, *hop.ack_end).second) {
    seen.ack.Add(*hop.ack_end - *hop.ack_start - 2 * options_.one_way, *hop.ack_start, where);
  }
}

// Without the commit only the whole call and the gap after it are known. The
// smallest constant share behind the commit that explains every negative gap
// leaves both distributions as observed.
void Fitter::SplitPublishes() {
  if (publishes_.empty()) return;
  Duration share{0};
  for (const KindSeen& seen : seen_) {
    for (const Whole& gap : seen.gaps) share = std::max(share, -gap.length);
  }
  const auto shortest = std::min_element(publishes_.begin(), publishes_.end(),
                                         [](const Whole& a, const Whole& b) { return a.length < b.length; });
  share = std::clamp(share, Duration{0}, std::max(Duration{0}, shortest->length));
  for (const Whole& call : publishes_) {
    before_.Add(call.length - share, call.at, call.where);
    after_.Add(share, call.at, call.where);
  }
  for (KindSeen& seen : seen_) {
    for (const Whole& gap : seen.gaps) seen.deliver.Add(gap.length + share, gap.at, gap.where);
  }
  assumed_.push_back(StrCat("the broker's commit is not in these spans: of every publish call ", Length(share),
                            " are taken as after it, the least that explains the most negative delivery gap"));
}

void Fitter::Assume(const KindSeen& seen, const char* kind) {
  if (seen.shared > 0) {
    assumed_.push_back(StrCat(seen.shared, " of ", seen.hops, " deliveries of ", kind,
                              " came with others in one response: its lease call counts once and is the slowest of "
                              "them, so single ones are faster than this"));
  }
  if (seen.behind_a_read > 0) {
    assumed_.push_back(StrCat(seen.behind_a_read, " of ", seen.hops, " deliveries of ", kind,
                              " are left out of 'deliver': the client read their stream too late to know"));
  }
  if (seen.may_have_waited > 0) {
    assumed_.push_back(StrCat("'deliver' of ", kind,
                              " holds what messages waited for a stream that was busy: these spans do not show when "
                              "the client read"));
  }
}

FittedLeg Fitter::Leg(DelayLeg leg, const char* kind, RawDelays& raw, std::string how, const char* missing) {
  auto [warm, cold] = raw.Split(options_.cold_after);
  if (warm.empty() && !cold.empty()) {
    assumed_.push_back(StrCat("every call of '", kLegNames[static_cast<size_t>(leg)], "' of ", kind,
                              " came after disuse: what it takes warm is not known, and taken to be the same"));
    warm.swap(cold);
  }
  FittedLeg fitted{.leg = leg,
                   .name = kLegNames[static_cast<size_t>(leg)],
                   .kind = kind,
                   .delays = stats::Sample(std::move(warm)),
                   .cold = stats::Sample(std::move(cold)),
                   .clipped = raw.clipped,
                   .how = std::move(how),
                   .missing = {}};
  if (fitted.delays.empty()) {
    fitted.how.clear();
    fitted.missing = missing;
  }
  return fitted;
}

Fit Fitter::Finish(std::string group) {
  SplitPublishes();
  Fit fit;
  fit.group = std::move(group);
  fit.cold_after = options_.cold_after;
  if (shared_publishes_ > 0) {
    assumed_.push_back(StrCat(shared_publishes_,
                              " messages went out in a publish call with others: such a call counts once and is the "
                              "slowest of them"));
  }
  const bool split = !broker_side_;
  fit.legs.push_back(Leg(DelayLeg::kPublishBefore, "both", before_,
                         split ? "publish call, less the share after its commit" : "publish call -> commit",
                         "no publish call ended"));
  fit.legs.push_back(Leg(DelayLeg::kPublishAfter, "both", after_, split ? "a constant share" : "commit -> publish end",
                         "no publish call ended"));
  for (size_t kind = 0; kind < seen_.size(); ++kind) {
    KindSeen& seen = seen_[kind];
    const char* name = kind == 1 ? "exactly_once" : "standard";
    const bool none = seen.hops == 0;
    const char* no_kind = kind == 1 ? "no exactly-once subscription in these spans" : "no standard one in these spans";
    if (!none) {
      fit.messages_per_response[kind] = static_cast<double>(seen.hops) / seen.responses;
      Assume(seen, name);
    }
    fit.legs.push_back(Leg(DelayLeg::kDeliver, name, seen.deliver,
                           split ? "publish end -> received, and the share" : "commit -> written",
                           none ? no_kind : "every message was redelivered, or read too late"));
    fit.legs.push_back(Leg(DelayLeg::kModack, name, seen.modack, "receipt modack start -> end",
                           none ? no_kind : "no receipt modack in these spans"));
    fit.legs.push_back(
        Leg(DelayLeg::kAck, name, seen.ack, "ack start -> end", none ? no_kind : "no ack call in these spans"));
  }
  fit.assumed = std::move(assumed_);
  return fit;
}

std::string QuantileCell(const stats::Sample& sample, stats::Probability p) {
  const std::optional<stats::Estimate> estimate = stats::EstimateQuantile(sample, p);
  if (!estimate || !estimate->supported) return "n too small";
  return Millis(static_cast<double>(estimate->value));
}

std::string FitRow(const stats::Sample& sample) {
  return PadLeft(std::to_string(sample.n()), 6) + PadLeft(QuantileCell(sample, stats::kP50), 9) +
         PadLeft(QuantileCell(sample, stats::kP95), 9) + "\n";
}

}  // namespace

bool InPart(FitOptions::Part part, uint64_t slot) {
  return part == FitOptions::Part::kAll || (slot % 2 == 0) == (part == FitOptions::Part::kEven);
}

const FittedLeg* Fit::Find(DelayLeg leg, bool exactly_once) const {
  for (const FittedLeg& fitted : legs) {
    if (fitted.leg == leg && (fitted.kind == "both" || (fitted.kind == "exactly_once") == exactly_once)) return &fitted;
  }
  return nullptr;
}

bool Fit::Observed(bool exactly_once) const {
  return std::any_of(legs.begin(), legs.end(), [&](const FittedLeg& fitted) {
    return fitted.kind == (exactly_once ? "exactly_once" : "standard") && !fitted.delays.empty();
  });
}

Fit FitRun(const Run& run, const FitOptions& options) {
  const std::string group = !options.group.empty() ? options.group : run.arms.empty() ? "" : run.arms.back().group;
  Fitter fitter(options);
  std::set<bool> kinds;
  for (const ArmRun& arm : run.arms) {
    // One who reads on pays for it elsewhere; the first of a kind is the plain one.
    if (arm.group != group || arm.paths.empty()) continue;
    const bool first = kinds.empty();
    if (!kinds.insert(arm.exactly_once_seen).second && !run.spans_only) continue;
    fitter.AddArm(arm, first || run.spans_only.has_value());
  }
  return fitter.Finish(group);
}

std::string RenderFit(const Fit& fit) {
  std::string out = StrCat("FIT     added delays of ", fit.group, ", ms\n",
                           "        leg                    kind              n      p50      p95\n");
  for (const FittedLeg& leg : fit.legs) {
    out += "        " + PadRight(leg.name, 23) + PadRight(leg.kind, 13);
    if (leg.delays.empty()) {
      out += StrCat("not observed: ", leg.missing, "\n");
      continue;
    }
    out += FitRow(leg.delays);
    if (!leg.cold.empty()) out += PadRight("          cold", 8 + 23 + 13) + FitRow(leg.cold);
  }
  if (fit.cold_after) {
    out += StrCat("        cold: not used for ", Length(*fit.cold_after), ", or not before\n");
  }
  for (size_t kind = 0; kind < fit.messages_per_response.size(); ++kind) {
    if (!fit.messages_per_response[kind]) continue;
    out += absl::StrFormat("        messages per response, %s: %.2f\n", kind == 1 ? "exactly-once" : "standard",
                           *fit.messages_per_response[kind]);
  }
  for (const std::string& sentence : fit.assumed) out += Wrap(sentence, 80, "ASSUMED ", "        ");
  return out;
}

}  // namespace hopgap::report
