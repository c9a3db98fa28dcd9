#include "report/trace_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/layout.h"
#include "report/text.h"
#include "stats/sample.h"
#include "trace/dialect.h"
#include "trace/path_builder.h"
#include "trace/trace_view.h"
#include "trace/vocabulary.h"

namespace hopgap::report {
namespace {

using trace::DeliveryView;
using trace::MessageView;
using trace::Seen;
using trace::Span;
using trace::Stage;
namespace words = trace::words;

std::string TraceDigits(uint64_t word) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[word >> shift & 15];
  return out;
}

std::string TraceNote(std::string_view text) { return Wrap(text, kWidthMin, "    ", "      "); }

std::string At(WallTime at, WallTime zero) { return Millis(static_cast<double>((at - zero).count())); }

bool Inferred(const trace::SpanEvent& event) {
  return std::any_of(event.attributes.begin(), event.attributes.end(),
                     [](const auto& one) { return one.first == trace::kInferred; });
}

std::string SpanLine(const Span& span, WallTime zero) {
  const std::string_view original = span.Text(trace::kOriginalName);
  std::string text =
      StrCat(At(span.start, zero), " + ", Millis(static_cast<double>((span.end - span.start).count())), "  ", span.name,
             original.empty() ? "" : StrCat(" (in the file: ", original, ")"), "  [", TraceDigits(span.span),
             span.parent == 0 ? ", root" : StrCat(" in ", TraceDigits(span.parent)), "]",
             span.service.empty() ? "" : " " + span.service);
  for (const trace::SpanEvent& event : span.events) {
    text += StrCat("; ", event.name, " ", At(event.at, zero), Inferred(event) ? " (inferred)" : "");
  }
  return Wrap(text, kWidthMin, "  ", "      ");
}

// Where an instant that an event should give came from.
std::string FromEvent(const Span* span, std::string_view event) {
  if (span == nullptr) return "not known";
  const trace::SpanEvent* found = span->FindEvent(event);
  if (found == nullptr) return StrCat("not there (no \"", event, "\" in ", span->name, ")");
  return Inferred(*found)
             ? StrCat("inferred from where a span starts or ends (\"", event, "\" is not in ", span->name, ")")
             : StrCat("event \"", event, "\" of ", span->name);
}

std::string StageLine(const trace::HopTimes& hop, Stage stage, const std::string& ends) {
  const Duration length = hop.stages[static_cast<size_t>(stage)].length;
  return TraceNote(
      StrCat(trace::StageName(stage), ": ", hop.Has(stage) ? Length(length) : "not available", ", ", ends));
}

std::string DeliveryText(const trace::TraceView& view, size_t index, std::span<const DeliveryView* const> siblings,
                         WallTime zero) {
  const DeliveryView& delivery = view.deliveries[index];
  const MessageView& message = view.messages[delivery.message];
  if (delivery.span == nullptr || !Seen(delivery.received)) return "";
  const trace::HopTimes hop = trace::TimesOfDelivery(view, index, siblings);
  std::string out =
      Wrap(StrCat("Delivery at ", At(delivery.received, zero), " ms, ", delivery.span->name, ", ",
                  trace::ClientName(trace::ClientOf(*delivery.span)), hop.exactly_once ? ", exactly-once" : "",
                  hop.attempts > 1 ? StrCat(", one of ", hop.attempts, " attempts") : ""),
           kWidthMin, "  ", "    ");
  const std::string start = FromEvent(message.span, words::kPublishStart),
                    end = FromEvent(message.span, words::kPublishEnd);
  out += StageLine(hop, Stage::kClientPublish,
                   message.span == nullptr ? "no publish span" : StrCat("start of ", message.span->name, " → ", start));
  out += StageLine(hop, Stage::kPublishRpc, StrCat(start, " → ", end));
  out += StageLine(hop, Stage::kDeliveryGap, StrCat(end, " → start of ", delivery.span->name));
  if (hop.redelivery_wait > Duration{0}) {
    out += TraceNote(StrCat("  of it lost to earlier deliveries: ", Length(hop.redelivery_wait)));
  }
  out += StageLine(hop, Stage::kDispatchGap,
                   delivery.whole ? "one span holds receipt and callback"
                                  : StrCat("start of ", delivery.span->name, " → start of its process span"));
  if (hop.exactly_once) {
    out += TraceNote(hop.has_lease_parts() ? StrCat("  of it lease wait ", Length(hop.dispatch.lease_wait),
                                                    ", before it ", Length(hop.dispatch.lease_batching), ", from ",
                                                    FromEvent(delivery.span, words::kModackStart))
                                           : "  lease wait: not available, no receipt modack was seen");
  }
  out += StageLine(hop, Stage::kWork, "process span, to the ack call or the next publish");
  out += StageLine(hop, Stage::kAck,
                   delivery.pushed ? "a push has none"
                                   : StrCat("end of the process span → ", FromEvent(delivery.span, words::kAckEnd)));
  return out;
}

// A row of the composition table.
std::vector<std::string> Cells(const trace::Path& path) {
  std::vector<std::string> cells = {Millis(static_cast<double>(path.until_handled.count()))};
  for (int i = 1; i < trace::kPathStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    const bool any =
        std::any_of(path.hops.begin(), path.hops.end(), [stage](const auto& hop) { return hop.Has(stage); });
    cells.push_back(any ? Millis(static_cast<double>(path.StageSum(stage).count())) : "n/a");
  }
  return cells;
}

}  // namespace

std::string TraceText(std::span<const Span> spans) {
  if (spans.empty()) return "";
  std::vector<const Span*> order;
  for (const Span& span : spans) order.push_back(&span);
  std::stable_sort(order.begin(), order.end(), [](const Span* a, const Span* b) { return a->start < b->start; });
  const WallTime zero = order.front()->start;
  std::string out = StrCat("Trace ", TraceDigits(spans[0].trace_hi), TraceDigits(spans[0].trace_lo), ", ",
                           Counted(spans.size(), "span"), ", ms from its first\n");
  for (const Span* span : order) out += SpanLine(*span, zero);
  const trace::TraceView view = trace::ViewFromSpans(spans);
  const auto siblings = trace::DeliveriesOf(view);
  for (size_t i = 0; i < view.deliveries.size(); ++i) {
    out += "\n" + DeliveryText(view, i, siblings[view.deliveries[i].message], zero);
  }
  return out;
}

std::string CompositionText(const Run& run) {
  std::string out;
  for (const ArmRun& arm : run.arms) {
    if (arm.paths.empty()) continue;
    std::vector<const trace::Path*> order;
    for (const trace::Path& path : arm.paths) order.push_back(&path);
    std::stable_sort(order.begin(), order.end(),
                     [](const trace::Path* a, const trace::Path* b) { return a->until_handled < b->until_handled; });
    out += Wrap(StrCat("What messages near a quantile are made of, ", arm.name, ", ms, all hops, work included"),
                kWidthMin, "", "  ");
    Table table(6, 10, kWidthMin);
    for (const char* name : {"handled", "client", "publish", "gap", "dispatch", "work"}) table.AddColumn(name, "ms");
    std::string traces;
    for (const auto& [p, name] :
         {std::pair(stats::kP50, "p50"), std::pair(stats::kP90, "p90"), std::pair(stats::kP99, "p99")}) {
      const size_t rank = (order.size() - 1) * p.parts / stats::Probability::kWhole;
      const trace::Path& path = *order[rank];
      table.AddRow(StrCat("  ", name), Cells(path));
      traces += StrCat(traces.empty() ? "" : ", ", name, " ", TraceDigits(path.trace_hi), TraceDigits(path.trace_lo));
    }
    out += table.Render() + Wrap("traces: " + traces, kWidthMin, "  ", "    ");
  }
  return out;
}

}  // namespace hopgap::report
