// Any bytes as a file of spans: every reader is reached, since the bytes decide
// which one reads them. What is read goes on through joining, paths, findings and
// text, because spans of strangers are what those get.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/analysis_json.h"
#include "formats/summary_json.h"
#include "formats/trace_file.h"
#include "fuzz/fuzz.h"
#include "report/foreign.h"
#include "report/from_spans.h"
#include "report/summary.h"
#include "report/text.h"
#include "report/trace_text.h"
#include "trace/trace_set.h"

std::vector<std::string> hopgap::fuzz::Seeds() {
  return {
      R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10",
"spanId":"0102030405060708","name":"t create","kind":4,"startTimeUnixNano":"1581452772000000321",
"endTimeUnixNano":"1581452772000000421","attributes":[{"key":"messaging.system","value":{"stringValue":"gcp_pubsub"}}]}]}]}]})",
      R"([{"traceId":"0102030405060708090a0b0c0d0e0f10","id":"0102030405060708","name":"s subscribe","timestamp":1,
"duration":5,"kind":"CONSUMER","localEndpoint":{"serviceName":"w"},"tags":{"a":"b"}}])",
      R"({"data":[{"traceID":"0102","spans":[{"traceID":"0102","spanID":"03","operationName":"s process","references":[],
"startTime":1,"duration":2,"tags":[{"key":"k","type":"int64","value":2}],"processID":"p1"}],
"processes":{"p1":{"serviceName":"w"}}}]})",
      R"({"traces":[{"projectId":"p","traceId":"0102030405060708090a0b0c0d0e0f10","spans":[{"spanId":"5",
"name":"t create","startTime":"2026-05-07T10:00:00.1Z","endTime":"2026-05-07T10:00:00Z","labels":{"a":"b"}}]}]})"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hopgap;
  trace::TraceSet set(10'000);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<formats::TraceSource> source =
      formats::ReadTraceBytes(bytes, "fuzz", [&set](std::vector<trace::Span>& spans) { return set.Add(spans); });
  if (!source.ok()) return 0;
  set.Finish({.join_message_ids = size % 2 == 0});
  report::FromSpans from_spans;
  report::ForeignBuilder builder;
  set.ForEachTrace([&](std::span<const trace::Span> spans) {
    from_spans.AddTrace(spans);
    builder.AddTrace(spans);
    report::TraceText(spans);
  });
  const report::Foreign foreign = builder.Finish(set.quality());
  report::QualityText(foreign, {});
  report::DeliveriesText(foreign);
  report::FindingsText(foreign, std::nullopt);
  formats::AnalysisJson(foreign, {*source}, std::nullopt);
  formats::DeliveriesCsv(foreign);
  const report::Run run = from_spans.Finish("fuzz", set.quality().spans);
  if (!run.arms.empty()) report::RenderText(report::Summarize(run), {.per_hop = true});
  return 0;
}
