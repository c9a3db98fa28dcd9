#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/layout.h"
#include "report/sections.h"
#include "report/text.h"

namespace hopgap::report {
namespace {

std::string Upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string Rate(double per_second) {
  const bool whole = per_second == static_cast<double>(static_cast<int64_t>(per_second));
  return Fixed(per_second, whole ? 0 : 2) + "/s";
}

std::string FirstLine(const Run& run) {
  const Configuration& c = run.configuration;
  std::string line = StrCat("hopgap ", run.version, " · ", Counted(static_cast<uint64_t>(c.hops), "hop"));
  line += c.work.length > Duration{0} ? StrCat(" × ", WorkText(c), " work") : std::string(", no work");
  if (c.handler_failures > 0) line += StrCat(" · ", absl::StrFormat("%g", 100 * c.handler_failures), " % fail");
  line += StrCat(" · ", Rate(c.rate_per_second), ArrivalText(c), " · ", Counted(c.messages, "message"), " an arm · ",
                 Counted(static_cast<uint64_t>(c.streams), "stream"));
  if (c.message_bytes > 0) line += StrCat(" · ", Counted(c.message_bytes, "byte"), " each");
  if (!c.preset.empty()) line += StrCat(" · preset ", c.preset);
  return Wrap(line, kWidthMin, "", "       ");
}

std::string Transport(const Configuration& c) {
  if (c.simulated) return "in virtual time";
  const std::string broker = c.target == "embedded" ? "embedded broker" : StrCat("broker at ", c.target);
  return StrCat("real gRPC, ", broker, c.processes ? ", a process per API and worker" : "");
}

std::string GroupLine(const Run& run, const std::string& group) {
  const Configuration& c = run.configuration;
  std::vector<std::string> names;
  std::string model;
  for (const ArmRun& arm : run.arms) {
    if (arm.group != group) continue;
    names.push_back(ShortName(arm));
    if (model.empty()) model = arm.client_model;
  }
  std::string text;
  for (const std::string& name : names) text += StrCat(text.empty() ? "" : ", ", name);
  if (group == "replay") {
    text += StrCat(": the broker answers late, by delays drawn from profile ", c.profile,
                   ". The delays are input, not measured.");
  } else {
    text += StrCat(": nothing added (client model ", model, ", ", Transport(c), ").");
  }
  return Wrap(text, kWidthMin, PadRight(Upper(group), 8), "        ");
}

// The delays as they are drawn, and how.
std::string PutIn(const Configuration& c) {
  if (c.added.empty()) return "";
  std::string text = "put in, p50 / p95 ms a call:";
  for (size_t i = 0; i < c.added.size(); ++i) {
    const AddedLeg& leg = c.added[i];
    text += StrCat(i == 0 ? " " : "; ", leg.leg, leg.kind == "both" ? "" : " " + leg.kind, " ",
                   Millis(leg.p50_ms * 1e6), " / ", Millis(leg.p95_ms * 1e6));
  }
  text += StrCat(". Seed ", c.seed);
  text += c.stratified ? ", stratified: each 1/n quantile of every leg once a hop." : ", independent draws.";
  return Wrap(text, kWidthMin, "        ", "        ");
}

std::string Conditions(const Configuration& c) {
  std::string text;
  if (c.simulated) text += "SIMULATED: virtual time, no sockets; no figure below was measured. ";
  text += StrCat("publish ", c.publish_mode, "; responses ", c.response_policy, "; at most ",
                 c.max_outstanding_messages, " outstanding messages a worker");
  if (c.warm_up > Duration{0}) text += StrCat("; the first ", Length(c.warm_up), " left out (warm-up)");
  return Wrap(text + ".", kWidthMin, "        ", "        ");
}

}  // namespace

std::string WorkText(const Configuration& c) {
  const std::string length = Length(c.work.length);
  switch (c.work.kind) {
    case WorkLaw::Kind::kExponential: return StrCat("exponential ", length);
    case WorkLaw::Kind::kLognormal: return StrCat("lognormal ", length, " (p99 ", Length(c.work.p99), ")");
    case WorkLaw::Kind::kFixed: break;
  }
  return length;
}

std::string TakenOffText(const Summary& summary) {
  return summary.configuration.work.drawn() ? StrCat("each message's own draw") : Length(summary.work);
}

std::string ArrivalText(const Configuration& c) {
  if (c.arrival.empty()) return "";
  return c.rate_highest_per_second > c.rate_per_second ? StrCat(" on average (", c.arrival, ")")
                                                       : StrCat(" (", c.arrival, ")");
}

std::optional<std::string> CapacityWarning(const Run& run) {
  const Configuration& c = run.configuration;
  const bool waiting = std::any_of(run.arms.begin(), run.arms.end(), [](const ArmRun& arm) {
    const bool stops = arm.client_model == "go" || arm.client_model == "go-v1" || arm.client_model == "python";
    return arm.group == "replay" && arm.kind.substr(0, 3) == "eos" && stops;
  });
  const auto modack = std::find_if(c.added.begin(), c.added.end(), [](const AddedLeg& leg) {
    return leg.leg == "modack" && leg.kind == "exactly-once";
  });
  if (!waiting || modack == c.added.end() || modack->mean_ms <= 0) return std::nullopt;
  const double capacity = c.streams * 1000.0 / modack->mean_ms;
  const double highest = std::max(c.rate_per_second, c.rate_highest_per_second);
  if (highest <= capacity) return std::nullopt;
  return StrCat("WARNING: ", Rate(highest), highest > c.rate_per_second ? ", the highest rate of the ramp," : "",
                " is more than ", Counted(static_cast<uint64_t>(c.streams), "stream"), " / ",
                Length(modack->mean_ms * 1e6), " (mean added modack) = ", Fixed(capacity, 1),
                "/s at one message a response: exactly-once arms that wait for their lease will fall behind.");
}

std::string RenderHeader(const Run& run) {
  std::string out = FirstLine(run);
  std::vector<std::string> groups;
  for (const ArmRun& arm : run.arms) {
    if (std::find(groups.begin(), groups.end(), arm.group) == groups.end()) groups.push_back(arm.group);
  }
  for (const std::string& group : groups) {
    out += GroupLine(run, group);
    if (group == "replay") out += PutIn(run.configuration);
  }
  out += Conditions(run.configuration);
  if (const auto warning = CapacityWarning(run)) out += Wrap(*warning, kWidthMin, "", "  ");
  return out;
}

std::string RenderProgressLine(const Progress& progress, int width) {
  std::string named, counts;
  uint64_t planned = 0, sent = 0;
  for (const Progress::Arm& arm : progress.arms) {
    named += StrCat(" ", arm.label, " ", arm.done);
    counts += StrCat(counts.empty() ? " " : "+", arm.done);
    planned += arm.planned;
    sent += arm.sent;
  }
  const std::string head = StrCat(PadRight("  " + progress.group, 9), "sent ", sent, "/", planned, " done");
  const std::string tail =
      StrCat(" late p99 ", Fixed(ToMillis(progress.late_p99), 1), " ms lost ", progress.lost, " twice ",
             progress.duplicates, " ", Fixed(ToMillis(progress.elapsed) / 1000, 1), " s",
             !progress.ended  ? ""
             : progress.valid ? " VALID"
                              : " INVALID");
  const auto limit = static_cast<size_t>(std::max(width, 1));
  for (const std::string& line : {head + named + tail, head + counts + tail}) {
    if (Columns(line) <= limit) return line;
  }
  // Too many arms to tell apart: their sum.
  uint64_t done = 0;
  for (const Progress::Arm& arm : progress.arms) done += arm.done;
  return Cut(StrCat(head, " ", done, tail), limit);
}

}  // namespace hopgap::report
