// How fast foreign traces are read, and what they cost in memory, beside jq on the
// same file: OTLP JSON lines as a collector writes them, of Go's spans.
//
//   bench_analyze [--tiny] [--shuffled] [MESSAGES]
//
// Of five spans a message. --shuffled: in no order at all, as from many exporters;
// 2,000,000 messages are the 10 million spans that are to fit into 1 GiB.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/draw.h"
#include "base/text.h"
#include "base/time.h"
#include "formats/otlp_json.h"
#include "formats/scratch_file.h"
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

constexpr uint64_t kParts = 5;

// One of the spans of one message in one hop, a second after the message before.
Span Make(uint64_t message, uint64_t part) {
  const WallTime zero{std::chrono::seconds{1'700'000'000 + message}};
  Span span;
  const auto set = [&](std::string name, uint64_t parent, SpanKind kind, int start_ms, int end_ms) {
    span.trace_hi = 7;
    span.trace_lo = message + 1;
    span.span = (message + 1) * 16 + part + 1;
    span.parent = parent == 0 ? 0 : (message + 1) * 16 + parent;
    span.name = std::move(name);
    span.kind = kind;
    span.start = zero + std::chrono::milliseconds{start_ms};
    span.end = zero + std::chrono::milliseconds{end_ms};
    span.service = "worker";
    span.scope = "cloud.google.com/go/pubsub/v2";
    span.attributes = {{"gcp.project_id", std::string("project")},
                       {"messaging.system", std::string("gcp_pubsub")},
                       {"messaging.destination.name", std::string("name")},
                       {"messaging.message.id", StrCat(message)}};
  };
  const auto event = [&](const char* name, int ms) {
    span.events.push_back(
        {zero + std::chrono::milliseconds{ms}, name, {{"messaging.batch.message_count", int64_t{1}}}});
  };
  switch (part) {
    case 0:
      set("t create", 0, SpanKind::kProducer, 0, 30);
      event("publish start", 10);
      event("publish end", 29);
      break;
    case 1: set("publisher batching", 1, SpanKind::kInternal, 0, 10); break;
    case 2:
      set("s subscribe", 1, SpanKind::kConsumer, 50, 400);
      span.attributes.emplace_back("messaging.gcp_pubsub.exactly_once_delivery", true);
      event("modack start", 50);
      event("modack end", 115);
      event("ack start", 390);
      event("ack end", 399);
      break;
    case 3: set("subscriber concurrency control", 3, SpanKind::kInternal, 115, 116); break;
    default: set("s process", 3, SpanKind::kConsumer, 116, 316);
  }
  return span;
}

void WriteFile(const std::string& path, uint64_t messages, bool shuffled) {
  constexpr uint64_t kShuffle = 20'240'611;
  std::ofstream file(path, std::ios::binary);
  std::vector<Span> spans;
  std::string line;
  const uint64_t all = messages * kParts;
  for (uint64_t i = 0; i < all; ++i) {
    const uint64_t at = shuffled ? Permute(kShuffle, all, i) : i;
    spans.push_back(Make(at / kParts, at % kParts));
    if (spans.size() < kLineSpans && i + 1 < all) continue;
    line.clear();
    formats::AppendOtlpLine(spans, line);
    file << line;
    spans.clear();
  }
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

double PeakMebibytes(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void Print(const char* what, double seconds, double spans, int who) {
  std::printf("%-14s %7.2f s  %9.0f spans/s  peak %5.0f MiB (%.2f kB a span)\n", what, seconds, spans / seconds,
              PeakMebibytes(who), PeakMebibytes(who) * 1024 / spans);
}

// What `analyze` does before it prints. The number of deliveries; nullopt if a file failed.
std::optional<size_t> Analyze(const std::string& path) {
  formats::FileScratch scratch("");
  trace::TraceSet set({.scratch = &scratch});
  if (!formats::ReadTraceFile(path, [&](std::vector<Span>& some) { return set.Add(some); }).ok()) return std::nullopt;
  report::FromSpans from_spans;
  report::ForeignBuilder builder;
  const absl::Status status = set.Finish({}, [&](std::span<const Span> trace) {
    const trace::TraceView view = trace::ViewFromSpans(trace);
    from_spans.AddTrace(trace, view);
    builder.AddTrace(view);
  });
  if (!status.ok()) return std::nullopt;
  const report::Foreign foreign = builder.Finish(set.quality());
  return foreign.rows.size();
}

bool RunCommand(const std::string& command) { return std::system(StrCat(command, " > /dev/null 2>&1").c_str()) == 0; }

int Run(uint64_t messages, bool shuffled) {
  const std::string path = StrCat(std::filesystem::temp_directory_path().string(), "/bench_analyze.jsonl");
  WriteFile(path, messages, shuffled);
  const auto megabytes = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
  double start = ProcessorSeconds(RUSAGE_SELF);
  const auto read = formats::ReadTraceFile(path, [](std::vector<Span>&) { return absl::OkStatus(); });
  const double reading = ProcessorSeconds(RUSAGE_SELF) - start;
  if (!read.ok()) return 1;
  const auto spans = static_cast<double>(read->spans);
  std::printf("%.0f spans%s, %.1f MB of OTLP JSON lines; seconds of one core\n", spans, shuffled ? ", shuffled" : "",
              megabytes);
  Print("read", reading, spans, RUSAGE_SELF);
  start = ProcessorSeconds(RUSAGE_SELF);
  const std::optional<size_t> deliveries = Analyze(path);
  Print("explain", ProcessorSeconds(RUSAGE_SELF) - start, spans, RUSAGE_SELF);
  if (RunCommand(StrCat(HOPGAP_BINARY, " analyze --json ", path))) {
    Print("hopgap analyze", ProcessorSeconds(RUSAGE_CHILDREN), spans, RUSAGE_CHILDREN);
  }
  start = ProcessorSeconds(RUSAGE_CHILDREN);
  if (RunCommand(StrCat("jq -c '.resourceSpans[].scopeSpans[].spans[]|[.traceId,.startTimeUnixNano,.endTimeUnixNano]' ",
                        path))) {
    const double jq = ProcessorSeconds(RUSAGE_CHILDREN) - start;
    std::printf("%-14s %7.2f s  %9.0f spans/s (three fields of each span, nothing computed)\n", "jq", jq, spans / jq);
  } else {
    std::printf("jq             not here (apt-get install jq), so there is nothing to compare with\n");
  }
  std::filesystem::remove(path);
  return deliveries == messages ? 0 : 1;
}

}  // namespace
}  // namespace hopgap

int main(int argc, char** argv) {
  uint64_t messages = hopgap::kMessages;
  bool shuffled = false;
  for (const std::string_view argument : std::vector<std::string_view>(argv + 1, argv + argc)) {
    shuffled = shuffled || argument == "--shuffled";
    messages = argument == "--tiny" ? hopgap::kTiny : hopgap::ParseNumber<uint64_t>(argument).value_or(messages);
  }
  return hopgap::Run(messages, shuffled);
}
