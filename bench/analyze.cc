// How fast foreign traces are read, and what they cost in memory, beside jq on the
// same file: OTLP JSON lines as a collector writes them, of Go's spans.
//
//   bench_analyze [--tiny] [MESSAGES]
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "formats/otlp_json.h"
#include "formats/trace_file.h"
#include "report/foreign.h"
#include "report/from_spans.h"
#include "trace/trace_set.h"

namespace hopgap {
namespace {

constexpr uint64_t kMessages = 40'000, kTiny = 50;
constexpr size_t kLineSpans = 500;

using trace::Span;
using trace::SpanKind;

// The spans of one message in one hop, a second after the one before.
void Write(uint64_t i, std::vector<Span>& out) {
  const WallTime zero{std::chrono::seconds{1'700'000'000 + i}};
  const auto add = [&](std::string name, uint64_t id, uint64_t parent, SpanKind kind, int start_ms,
                       int end_ms) -> Span& {
    Span& span = out.emplace_back();
    span.trace_hi = 7;
    span.trace_lo = i + 1;
    span.span = (i + 1) * 16 + id;
    span.parent = parent == 0 ? 0 : (i + 1) * 16 + parent;
    span.name = std::move(name);
    span.kind = kind;
    span.start = zero + std::chrono::milliseconds{start_ms};
    span.end = zero + std::chrono::milliseconds{end_ms};
    span.service = "worker";
    span.scope = "cloud.google.com/go/pubsub/v2";
    span.attributes = {{"gcp.project_id", std::string("project")},
                       {"messaging.system", std::string("gcp_pubsub")},
                       {"messaging.destination.name", std::string("name")},
                       {"messaging.message.id", StrCat(i)}};
    return span;
  };
  const auto event = [&](Span& span, const char* name, int ms) {
    span.events.push_back(
        {zero + std::chrono::milliseconds{ms}, name, {{"messaging.batch.message_count", int64_t{1}}}});
  };
  Span& create = add("t create", 1, 0, SpanKind::kProducer, 0, 30);
  event(create, "publish start", 10);
  event(create, "publish end", 29);
  add("publisher batching", 2, 1, SpanKind::kInternal, 0, 10);
  Span& subscribe = add("s subscribe", 3, 1, SpanKind::kConsumer, 50, 400);
  subscribe.attributes.emplace_back("messaging.gcp_pubsub.exactly_once_delivery", true);
  event(subscribe, "modack start", 50);
  event(subscribe, "modack end", 115);
  event(subscribe, "ack start", 390);
  event(subscribe, "ack end", 399);
  add("subscriber concurrency control", 4, 3, SpanKind::kInternal, 115, 116);
  add("s process", 5, 3, SpanKind::kConsumer, 116, 316);
}

// Of one core, so that what else the machine does is not counted.
double ProcessorSeconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int Run(uint64_t messages) {
  const std::string path = StrCat(std::filesystem::temp_directory_path().string(), "/bench_analyze.jsonl");
  {
    std::ofstream file(path, std::ios::binary);
    std::vector<Span> spans;
    std::string line;
    for (uint64_t i = 0; i < messages; ++i) {
      Write(i, spans);
      if (spans.size() < kLineSpans && i + 1 < messages) continue;
      line.clear();
      formats::AppendOtlpLine(spans, line);
      file << line;
      spans.clear();
    }
  }
  const auto megabytes = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
  double start = ProcessorSeconds(RUSAGE_SELF);
  const auto read = formats::ReadTraceFile(path, [](std::vector<Span>&) { return absl::OkStatus(); });
  const double reading = ProcessorSeconds(RUSAGE_SELF) - start;
  if (!read.ok()) return 1;
  const auto spans = static_cast<double>(read->spans);
  std::printf("%.0f spans, %.1f MB of OTLP JSON lines; seconds of one core\n", spans, megabytes);
  std::printf("read      %6.2f s  %9.0f spans/s  peak %.0f MiB\n", reading, spans / reading, PeakMebibytes());
  start = ProcessorSeconds(RUSAGE_SELF);
  trace::TraceSet set;
  if (!formats::ReadTraceFile(path, [&](std::vector<Span>& some) { return set.Add(some); }).ok()) return 1;
  set.Finish();
  report::FromSpans from_spans;
  report::ForeignBuilder builder;
  set.ForEachTrace([&](std::span<const Span> trace) {
    const trace::TraceView view = trace::ViewFromSpans(trace);
    from_spans.AddTrace(trace, view);
    builder.AddTrace(view);
  });
  const report::Foreign foreign = builder.Finish(set.quality());
  const double whole = ProcessorSeconds(RUSAGE_SELF) - start;
  std::printf("analyse   %6.2f s  %9.0f spans/s  peak %.0f MiB (%.2f kB a span)\n", whole, spans / whole,
              PeakMebibytes(), PeakMebibytes() * 1024 / spans);
  const int status = std::system(
      StrCat("jq -c '.resourceSpans[].scopeSpans[].spans[]|[.traceId,.startTimeUnixNano,.endTimeUnixNano]' ", path,
             " > /dev/null 2>&1")
          .c_str());
  if (status == 0) {
    const double jq = ProcessorSeconds(RUSAGE_CHILDREN);
    std::printf("jq        %6.2f s  %9.0f spans/s (three fields of each span, nothing computed)\n", jq, spans / jq);
  } else {
    std::printf("jq        not here (apt-get install jq), so there is nothing to compare with\n");
  }
  std::filesystem::remove(path);
  return foreign.rows.size() == messages ? 0 : 1;
}

}  // namespace
}  // namespace hopgap

int main(int argc, char** argv) {
  uint64_t messages = hopgap::kMessages;
  for (const std::string_view argument : std::vector<std::string_view>(argv + 1, argv + argc)) {
    messages = argument == "--tiny" ? hopgap::kTiny : hopgap::ParseNumber<uint64_t>(argument).value_or(messages);
  }
  return hopgap::Run(messages);
}
