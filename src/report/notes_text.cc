#include <string>
#include <vector>

#include "base/text.h"
#include "report/layout.h"
#include "report/sections.h"

namespace hopgap::report {
namespace {

std::string Note(const std::string& text) { return Wrap(text, kWidthMin, "  ", "    "); }

// "lease wait 1231, scheduler 0.1": the parts that are not 0.
std::string PartsOf(const std::vector<std::pair<std::string_view, Duration>>& parts, uint64_t n) {
  std::string out;
  for (const auto& [name, total] : parts) {
    if (total == Duration{0}) continue;
    out += StrCat(out.empty() ? "" : ", ", name, " ", Millis(MeanOf(total, n)));
  }
  return out.empty() ? "all 0" : out;
}

// "812 ms at the median [790, 833], n = 20"
std::string SilenceMedian(const EndToEnd& one) {
  const std::string n = StrCat("n = ", one.n);
  if (!one.p50 || !one.p50->supported) return StrCat("nobody can say, ", n, " is too small,");
  const auto ms = [](int64_t nanoseconds) { return Millis(static_cast<double>(nanoseconds)); };
  std::string text = StrCat(ms(one.p50->value), " ms at the median");
  if (one.p50->low && one.p50->high) text += StrCat(" [", ms(*one.p50->low), ", ", ms(*one.p50->high), "]");
  return StrCat(text, ", ", n);
}

std::string DispatchNote(const ArmSummary& arm) {
  const trace::DispatchParts& d = arm.dispatch;
  return Note(StrCat("dispatch gap of ", arm.run.name, ", mean ms: ",
                     PartsOf({{"lease wait", d.lease_wait},
                              {"lease batching", d.lease_batching},
                              {"flow control", d.flow_control},
                              {"scheduler", d.scheduler},
                              {"other", d.other}},
                             arm.n)));
}

std::string ServerNote(const ArmSummary& arm) {
  const ServerSummary& s = arm.server;
  if (s.n == 0) return "";
  return Note(StrCat("publish start → received of ", arm.run.name, ", as the broker saw it, mean ms, n = ", s.n,
                     ": accept ", Millis(MeanOf(s.total.accept, s.n)), ", commit ", Millis(MeanOf(s.total.commit, s.n)),
                     ", queue ", Millis(MeanOf(s.total.queue, s.n)), ", stream wait ",
                     Millis(MeanOf(s.total.stream_wait, s.n)), ", wire ", Millis(MeanOf(s.total.wire, s.n))));
}

// One sentence for all arms: a negative gap is normal as long as the broker's
// instants explain it.
std::string NegativeNote(const Summary& summary) {
  std::string explained, unexplained;
  for (const ArmSummary& arm : summary.arms) {
    const NegativeGaps& g = arm.gaps;
    if (g.overtook > 0) {
      explained += StrCat(explained.empty() ? "" : ", ", arm.run.name, " ", g.overtook, " of ", g.gaps);
    }
    if (g.unexplained > 0) {
      unexplained += StrCat(unexplained.empty() ? "" : ", ", arm.run.name, " ", g.unexplained, " of ", g.gaps);
    }
  }
  std::string out;
  if (!explained.empty()) {
    out += Note(StrCat("negative delivery gaps: ", explained,
                       ": they overtook their publish's answer (the broker wrote the message before the publisher "
                       "had it); not an error, kept as they are"));
  }
  if (!unexplained.empty() && !summary.spans_only) {  // of spans alone the data quality says which are skew
    out += Note(StrCat("negative delivery gaps that no broker instant explains: ", unexplained,
                       ": look at the clocks, or at missing broker spans"));
  }
  return out;
}

std::string PlacementNotes(const Summary& summary) {
  std::string out;
  for (const Placement& p : summary.placements) {
    out += Note(StrCat("published ", p.figure, " (", p.what, "): p", Fixed(p.percent, 0), " of ", p.arm, ", ", p.below,
                       " of ", p.n, " at or below; ", p.fitted ? "fitted, not held out: " : "held out: ", p.reading));
  }
  if (!summary.no_placements_why.empty()) {
    out += Note(StrCat("published figures not placed: ", summary.no_placements_why));
  }
  return out;
}

std::string ResponsesNote(const Summary& summary) {
  std::string each, first;
  bool alike = true;
  for (const ArmSummary& arm : summary.arms) {
    if (arm.run.responses == 0) continue;
    const std::string own =
        Fixed(static_cast<double>(arm.run.messages_received) / static_cast<double>(arm.run.responses), 2);
    if (first.empty()) first = own;
    alike = alike && own == first;
    each += StrCat(each.empty() ? "" : ", ", arm.run.name, " ", own);
  }
  if (each.empty()) return "";
  return Note(StrCat("messages a response (", summary.configuration.response_policy,
                     "), mean: ", alike ? first + " in every arm" : each));
}

// What is missing in some messages only, so that its mean is too small.
std::string MissingNote(const ArmSummary& arm) {
  std::string each;
  for (size_t i = 0; i < trace::kStages; ++i) {
    if (arm.not_available[i] == 0) continue;
    each +=
        StrCat(each.empty() ? "" : ", ", trace::StageName(static_cast<trace::Stage>(i)), " in ", arm.not_available[i]);
  }
  if (each.empty()) return "";
  return Note(StrCat("not available, of ", Counted(arm.n, "message"), " of ", arm.run.name, ": ", each,
                     "; the time is in the next stage that is known, so the sum stands"));
}

std::string CountsNote(const Summary& summary) {
  std::string out;
  if (summary.spans_only) {
    for (const ArmSummary& arm : summary.arms) out += MissingNote(arm);
  }
  for (const ArmSummary& arm : summary.arms) {
    const ArmRun& run = arm.run;
    if (run.reprocessed > 0) {
      out +=
          Note(StrCat(run.name, ": ", run.reprocessed,
                      " copies published again by a retried worker (reprocessed): exactly-once does not cover those"));
    }
    if (run.handler_failures > 0) {
      out += Note(StrCat(run.name, ": ", Counted(run.handler_failures, "handling"),
                         " failed, as asked (--handler-failures), and were delivered again; see redelivery in the "
                         "delivery gap"));
    }
    if (run.deduplicated > 0) {
      out += Note(StrCat(run.name, ": ", run.deduplicated,
                         " copies dropped by their worker's store of handled messages (deduplicated)"));
    }
    if (arm.work.store > Duration{0}) {
      const double hops = static_cast<double>(arm.n) * summary.configuration.hops;
      out += Note(StrCat(run.name, ": ", Length(static_cast<double>(arm.work.store.count()) / hops),
                         " a hop of the work are spent with that store, before the next publish"));
    }
    if (arm.after_silence) {
      out += Note(StrCat(run.name, ": the first message after a silence took ", SilenceMedian(arm.after_silence->first),
                         ", until handled less work; the others ", SilenceMedian(arm.after_silence->others)));
    }
    if (arm.warm_up > 0) {
      out += Note(StrCat(run.name, ": ", Counted(arm.warm_up, "message"), " of the warm-up left out by rule"));
    }
  }
  const Configuration& c = summary.configuration;
  if (summary.is_sample) {
    out += Note(
        StrCat("spans of ", c.spans_of, " of ", Counted(c.spans_total, "message"), " only: every figure is of those"));
  }
  return out;
}

}  // namespace

std::string NotesText(const Summary& summary) {
  std::string out;
  for (const std::string& group : summary.groups) {
    const ArmSummary* focus = FocusArm(summary, group);
    if (focus->n == 0) continue;
    out += DispatchNote(*focus);
    out += ServerNote(*focus);
  }
  out += NegativeNote(summary) + PlacementNotes(summary) + ResponsesNote(summary) + CountsNote(summary);
  return out;
}

}  // namespace hopgap::report
