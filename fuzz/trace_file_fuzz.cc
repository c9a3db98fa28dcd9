// Any bytes as a file of spans: every reader is reached, since the bytes decide
// which one reads them. What is read goes on through joining, paths, findings and
// text, because spans of strangers are what those get.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "formats/analysis_json.h"
#include "formats/otlp_proto.h"
#include "formats/summary_json.h"
#include "formats/trace_file.h"
#include "fuzz/fuzz.h"
#include "report/foreign.h"
#include "report/from_spans.h"
#include "report/summary.h"
#include "report/text.h"
#include "report/trace_text.h"
#include "trace/trace_set.h"

namespace {

using hopgap::formats::SpanForm;

const char* const kTexts[] = {
    R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10",
"spanId":"0102030405060708","name":"t create","kind":4,"startTimeUnixNano":"1581452772000000321",
"endTimeUnixNano":"1581452772000000421","attributes":[{"key":"messaging.system","value":{"stringValue":"gcp_pubsub"}}]}]}]}]})",
    // One line, as the fast reader takes it, with all that it knows.
    R"({"resourceSpans":[{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"h"}},{"key":"n","value":{"arrayValue":{"values":[{"intValue":"1"}]}}}]},"scopeSpans":[{"scope":{"name":"cloud.google.com/go/pubsub/v2","version":"2"},"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","parentSpanId":"","flags":257,"name":"s subscribe","kind":5,"startTimeUnixNano":"1581452772000000321","endTimeUnixNano":1581452772000000421,"attributes":[{"key":"a","value":{"stringValue":"b"}},{"key":"c","value":{"intValue":"2"}},{"key":"d","value":{"doubleValue":-1.5e2}},{"key":"e","value":{"boolValue":true}}],"events":[{"timeUnixNano":"1581452772000000400","name":"ack start","attributes":[]}],"links":[{"traceId":"0102030405060708090a0b0c0d0e0f11","spanId":"0102030405060709"}],"status":{"code":2,"message":"m"}}]}]}]}
)",
    R"({"batches":[{"scopeSpans":[{"spans":[{"traceId":"CvdlGRbNQ92ESOshHIAxnA==","spanId":"APBnqgupArc=",
"name":"t create","kind":"SPAN_KIND_PRODUCER","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]})",
    R"([{"traceId":"0102030405060708090a0b0c0d0e0f10","id":"0102030405060708","name":"s subscribe","timestamp":1,
"duration":5,"kind":"CONSUMER","localEndpoint":{"serviceName":"w"},"tags":{"a":"b"},
"annotations":[{"timestamp":2,"value":"ack start"}]}])",
    R"({"data":[{"traceID":"0102","spans":[{"traceID":"0102","spanID":"03","operationName":"s process",
"references":[{"refType":"CHILD_OF","traceID":"0102","spanID":"04"}],"startTime":1,"duration":2,
"tags":[{"key":"k","type":"int64","value":2}],"logs":[{"timestamp":2,"fields":[{"key":"event","value":"ack end"}]}],
"processID":"p1"}],"processes":{"p1":{"serviceName":"w"}}}]})",
    R"({"traces":[{"projectId":"p","traceId":"0102030405060708090a0b0c0d0e0f10","spans":[{"spanId":"5",
"name":"t create","startTime":"2026-05-07T10:00:00.1Z","endTime":"2026-05-07T10:00:00Z","labels":{"a":"b"}}]}]})",
    R"({"spans":[{"name":"projects/p/traces/0af7651916cd43dd8448eb211c80319c/spans/00f067aa0ba902b7",
"spanId":"00f067aa0ba902b7","displayName":{"value":"t create"},"spanKind":"PRODUCER",
"startTime":"2026-05-07T10:00:00.000001Z","endTime":"2026-05-07T10:00:00.000004Z",
"attributes":{"attributeMap":{"n":{"intValue":"2"},"s":{"stringValue":{"value":"api"}}}},
"timeEvents":{"timeEvent":[{"time":"2026-05-07T10:00:00Z","annotation":{"description":{"value":"publish start"}}}]},
"links":{"link":[{"traceId":"0af7651916cd43dd8448eb211c80319d","spanId":"00f067aa0ba902b8"}]}}]})",
    R"({"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"00f067aa0ba902b7","name":"t create","kind":"4","start_time":"2026-05-07 10:00:00.000001 UTC","duration_nano":"3000","attributes":"{\"n\":2}","resource":{"attributes":"{\"service.name\":\"api\"}"},"events":[{"time":"2026-05-07 10:00:00 UTC","name":"publish start"}],"links":[{"trace_id":"0af7651916cd43dd8448eb211c80319d","span_id":"00f067aa0ba902b8"}]})",
    R"({"Timestamp":"2026-05-07 10:00:00.000001000","TraceId":"0af7651916cd43dd8448eb211c80319c","SpanId":"00f067aa0ba902b7","SpanName":"t create","SpanKind":"Producer","ServiceName":"api","ResourceAttributes":{"host.name":"h"},"SpanAttributes":{"n":"2"},"Duration":"3000","StatusCode":"Unset","Events.Timestamp":["2026-05-07 10:00:00"],"Events.Name":["publish start"],"Events.Attributes":[{}],"Links.TraceId":["0af7651916cd43dd8448eb211c80319d"],"Links.SpanId":["00f067aa0ba902b8"]})"};

}  // namespace

// At least one of each form: a form that no seed reaches is a form that is not fuzzed.
std::vector<std::string> hopgap::fuzz::Seeds() {
  std::vector<std::string> seeds(std::begin(kTexts), std::end(kTexts));
  std::vector<trace::Span> spans;
  std::set<SpanForm> reached;
  const auto read = [&](const std::string& seed) {
    const auto source = formats::ReadTraceBytes(seed, "seed", [&spans](std::vector<trace::Span>& some) {
      spans = some;
      return absl::OkStatus();
    });
    HOPGAP_CHECK(source.ok() && source->spans == 1, "a seed is no file of one span");
    reached.insert(source->forms.begin(), source->forms.end());
  };
  for (const std::string& seed : seeds) read(seed);
  const std::string protobuf = formats::EncodeOtlpRequests(spans, {}, {}).at(0).bytes;
  HOPGAP_CHECK(protobuf.size() < 256, "one byte of a frame's length is not enough");
  seeds.push_back(protobuf);
  seeds.push_back(std::string(3, '\0') + static_cast<char>(protobuf.size()) + protobuf);
  read(seeds[seeds.size() - 2]);
  read(seeds.back());
  HOPGAP_CHECK(reached.size() == formats::kSpanForms, "a form has no seed");
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hopgap;
  trace::TraceSet set({.spans_max = 10'000});
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<formats::TraceSource> source =
      formats::ReadTraceBytes(bytes, "fuzz", [&set](std::vector<trace::Span>& spans) { return set.Add(spans); });
  if (!source.ok()) return 0;
  report::FromSpans from_spans;
  report::ForeignBuilder builder;
  const absl::Status finished =
      set.Finish({.join_message_ids = size % 2 == 0}, [&](std::span<const trace::Span> spans) {
        from_spans.AddTrace(spans);
        builder.AddTrace(spans);
        report::TraceText(spans);
      });
  HOPGAP_CHECK(finished.ok(), "without a scratch nothing can fail");
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
