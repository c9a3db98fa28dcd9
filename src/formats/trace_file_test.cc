#include "formats/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "formats/otlp_json.h"
#include "formats/otlp_line_scan.h"
#include "formats/otlp_proto.h"
#include "formats/span_builder.h"
#include "formats/temporary_folder_testing.h"

namespace hopgap::formats {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using trace::Span;

// One create span, one event, one link, as each form says it. Times are 2026-05-07T10:00:00.000001Z and 3 us later.
constexpr int64_t kStart = 1'778'148'000'000'001'000;
constexpr char kOtlp[] =
    R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"api"}},{"key":"host.name","value":{"stringValue":"h1"}}]},"scopeSpans":[{"scope":{"name":"cloud.google.com/go/pubsub/v2","version":"2.7.0"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b7","parentSpanId":"00f067aa0ba902b6","name":"t create","kind":4,"startTimeUnixNano":"1778148000000001000","endTimeUnixNano":"1778148000000004000","attributes":[{"key":"messaging.batch.message_count","value":{"intValue":"2"}}],"events":[{"timeUnixNano":"1778148000000002000","name":"publish start"}],"links":[{"traceId":"0af7651916cd43dd8448eb211c80319d","spanId":"00f067aa0ba902b8"}]}]}]}]})";
constexpr char kTempo[] =
    R"({"batches":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"api"}},{"key":"host.name","value":{"stringValue":"h1"}}]},"scopeSpans":[{"scope":{"name":"cloud.google.com/go/pubsub/v2","version":"2.7.0"},"spans":[{"traceId":"CvdlGRbNQ92ESOshHIAxnA==","spanId":"APBnqgupArc=","parentSpanId":"APBnqgupArY=","name":"t create","kind":"SPAN_KIND_PRODUCER","startTimeUnixNano":"1778148000000001000","endTimeUnixNano":"1778148000000004000","attributes":[{"key":"messaging.batch.message_count","value":{"intValue":"2"}}],"events":[{"timeUnixNano":"1778148000000002000","name":"publish start"}],"links":[{"traceId":"CvdlGRbNQ92ESOshHIAxnQ==","spanId":"APBnqgupArg="}]}]}]}]})";
constexpr char kJaeger[] = R"({"data":[{"traceID":"af7651916cd43dd8448eb211c80319c","spans":[
  {"traceID":"af7651916cd43dd8448eb211c80319c","spanID":"f067aa0ba902b7","operationName":"t create",
   "references":[{"refType":"FOLLOWS_FROM","traceID":"0af7651916cd43dd8448eb211c80319d","spanID":"00f067aa0ba902b8"},
                 {"refType":"CHILD_OF","traceID":"af7651916cd43dd8448eb211c80319c","spanID":"f067aa0ba902b6"}],
   "startTime":1778148000000001,"duration":3,
   "tags":[{"key":"span.kind","type":"string","value":"producer"},
           {"key":"messaging.batch.message_count","type":"int64","value":"2"},
           {"key":"otel.scope.name","type":"string","value":"cloud.google.com/go/pubsub/v2"},
           {"key":"otel.scope.version","type":"string","value":"2.7.0"}],
   "logs":[{"timestamp":1778148000000002,"fields":[{"key":"event","type":"string","value":"publish start"}]}],
   "processID":"p1"}],
  "processes":{"p1":{"serviceName":"api","tags":[{"key":"host.name","type":"string","value":"h1"}]}}}]})";
constexpr char kZipkin[] = R"([{"traceId":"0af7651916cd43dd8448eb211c80319c","id":"00f067aa0ba902b7",
  "parentId":"00f067aa0ba902b6","name":"t create","kind":"PRODUCER","timestamp":1778148000000001,"duration":3,
  "localEndpoint":{"serviceName":"api"},"annotations":[{"timestamp":1778148000000002,"value":"publish start"}],
  "tags":{"messaging.batch.message_count":"2","otel.scope.name":"cloud.google.com/go/pubsub/v2",
          "otel.scope.version":"2.7.0","host.name":"h1"}}])";
constexpr char kV1[] = R"({"projectId":"p","traceId":"0af7651916cd43dd8448eb211c80319c","spans":[
  {"spanId":"67667974448284343","parentSpanId":"67667974448284342","kind":"RPC_CLIENT","name":"t create",
   "startTime":"2026-05-07T10:00:00.000001Z","endTime":"2026-05-07T10:00:00.000004Z",
   "labels":{"messaging.batch.message_count":"2","service.name":"api","host.name":"h1",
             "otel.scope.name":"cloud.google.com/go/pubsub/v2","otel.scope.version":"2.7.0"}}]})";
constexpr char kV2[] = R"({"spans":[{"name":"projects/p/traces/0af7651916cd43dd8448eb211c80319c/spans/00f067aa0ba902b7",
  "spanId":"00f067aa0ba902b7","parentSpanId":"00f067aa0ba902b6","displayName":{"value":"t create"},
  "spanKind":"PRODUCER","startTime":"2026-05-07T10:00:00.000001Z","endTime":"2026-05-07T10:00:00.000004Z",
  "attributes":{"attributeMap":{"messaging.batch.message_count":{"intValue":"2"},
    "service.name":{"stringValue":{"value":"api"}},"host.name":{"stringValue":{"value":"h1"}},
    "otel.scope.name":{"stringValue":{"value":"cloud.google.com/go/pubsub/v2"}},
    "otel.scope.version":{"stringValue":{"value":"2.7.0"}}}},
  "timeEvents":{"timeEvent":[{"time":"2026-05-07T10:00:00.000002Z",
    "annotation":{"description":{"value":"publish start"}}}]},
  "links":{"link":[{"traceId":"0af7651916cd43dd8448eb211c80319d","spanId":"00f067aa0ba902b8"}]}}]})";
constexpr char kAllSpans[] =
    R"({"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"00f067aa0ba902b7","parent_span_id":"00f067aa0ba902b6","name":"t create","kind":"4","start_time":"2026-05-07 10:00:00.000001 UTC","end_time":"2026-05-07 10:00:00.000004 UTC","duration_nano":"3000","attributes":"{\"messaging.batch.message_count\":2,\"otel.scope.name\":\"cloud.google.com/go/pubsub/v2\",\"otel.scope.version\":\"2.7.0\"}","resource":{"attributes":"{\"service.name\":\"api\",\"host.name\":\"h1\"}"},"events":[{"time":"2026-05-07 10:00:00.000002 UTC","name":"publish start"}],"links":[{"trace_id":"0af7651916cd43dd8448eb211c80319d","span_id":"00f067aa0ba902b8"}]})";
constexpr char kClickHouse[] =
    R"({"Timestamp":"2026-05-07 10:00:00.000001000","TraceId":"0af7651916cd43dd8448eb211c80319c","SpanId":"00f067aa0ba902b7","ParentSpanId":"00f067aa0ba902b6","SpanName":"t create","SpanKind":"Producer","ServiceName":"api","ResourceAttributes":{"service.name":"api","host.name":"h1"},"ScopeName":"cloud.google.com/go/pubsub/v2","ScopeVersion":"2.7.0","SpanAttributes":{"messaging.batch.message_count":"2"},"Duration":"3000","StatusCode":"Unset","Events.Timestamp":["2026-05-07 10:00:00.000002000"],"Events.Name":["publish start"],"Events.Attributes":[{}],"Links.TraceId":["0af7651916cd43dd8448eb211c80319d"],"Links.SpanId":["00f067aa0ba902b8"]})";

absl::StatusOr<TraceSource> ReadAll(std::string_view bytes, std::vector<Span>& spans) {
  return ReadTraceBytes(bytes, "run", [&](std::vector<Span>& some) {
    spans.insert(spans.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    return absl::OkStatus();
  });
}
std::string WhyNot(std::string_view bytes) {
  std::vector<Span> spans;
  return std::string(MessageOf(ReadAll(bytes, spans).status()));
}

std::string Gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string Protobuf() {
  std::vector<Span> spans;
  EXPECT_TRUE(ReadAll(kOtlp, spans).ok());
  return EncodeOtlpRequests(spans, {.attributes = {{"host.name", std::string("h1")}}}, {}).at(0).bytes;
}
std::string Frame(const std::string& payload) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(payload.size() >> shift & 0xff);
  return out + payload;
}

TEST(TraceFileTest, EveryFormSaysTheSameSpan) {
  const std::pair<std::string, SpanForm> forms[] = {{kOtlp, SpanForm::kOtlpJson},
                                                    {kTempo, SpanForm::kTempo},
                                                    {StrCat(R"({"trace":)", kOtlp, "}"), SpanForm::kOtlpJson},
                                                    {StrCat("[", kOtlp, "]"), SpanForm::kOtlpJson},
                                                    {kJaeger, SpanForm::kJaeger},
                                                    {kZipkin, SpanForm::kZipkin},
                                                    {StrCat("[", kZipkin, "]"), SpanForm::kZipkin},
                                                    {kV1, SpanForm::kCloudTraceV1},
                                                    {StrCat(R"({"traces":[)", kV1, "]}"), SpanForm::kCloudTraceV1},
                                                    {kV2, SpanForm::kCloudTraceV2},
                                                    {kAllSpans, SpanForm::kAllSpans},
                                                    {kClickHouse, SpanForm::kClickHouse},
                                                    {Protobuf(), SpanForm::kOtlpProtobuf},
                                                    {Frame(Protobuf()), SpanForm::kCollectorFrames},
                                                    {Frame(kOtlp), SpanForm::kCollectorFrames}};
  for (const auto& [text, form] : forms) {
    SCOPED_TRACE(text);
    std::vector<Span> spans;
    const absl::StatusOr<TraceSource> source = ReadAll(text, spans);
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_THAT(source->forms, Contains(form));
    EXPECT_FALSE(source->partial());
    ASSERT_THAT(spans, SizeIs(1));
    const Span& span = spans[0];
    EXPECT_EQ(span.trace_hi, 0x0af7651916cd43ddu);
    EXPECT_EQ(span.trace_lo, 0x8448eb211c80319cu);
    EXPECT_EQ(span.span, 0x00f067aa0ba902b7u);
    EXPECT_EQ(span.parent, 0x00f067aa0ba902b6u);
    EXPECT_EQ(span.name, "t create");
    EXPECT_EQ(span.kind, form == SpanForm::kCloudTraceV1 ? trace::SpanKind::kClient : trace::SpanKind::kProducer);
    EXPECT_EQ(ToNanos(span.start), kStart);
    EXPECT_EQ(span.end - span.start, Duration{3'000});
    EXPECT_EQ(span.service, "api");
    EXPECT_EQ(span.host, "h1");
    EXPECT_EQ(span.scope, trace::kGoScope);
    const bool ours = form == SpanForm::kOtlpProtobuf || text == Frame(Protobuf());  // our exporter has no versions
    EXPECT_EQ(span.scope_version, ours ? "" : "2.7.0");
    EXPECT_EQ(span.Int("messaging.batch.message_count"), 2);
    if (FactsOf(form).events) {
      ASSERT_THAT(span.events, SizeIs(1));
      EXPECT_EQ(span.events[0].name, "publish start");
      EXPECT_EQ(ToNanos(span.events[0].at), kStart + 1'000);
    }
    if (FactsOf(form).links) {
      ASSERT_THAT(span.links, SizeIs(1));
      EXPECT_EQ(span.links[0].trace_lo, 0x8448eb211c80319du);
      EXPECT_EQ(span.links[0].span, 0x00f067aa0ba902b8u);
    }
  }
}

TEST(TraceFileTest, C64_EverySpellingOfNoParentIsARoot) {
  for (const char* parent : {R"("0000000000000000")", R"("")", "null", R"("0")"}) {
    for (
        const std::string& text :
        {StrCat(R"([{"traceId":"0a","id":"0b","timestamp":1,"duration":1,"parentId":)", parent, "}]"),
         StrCat(R"({"trace_id":"0a","span_id":"0b","start_time":"1","duration_nano":1,"parent_span_id":)", parent, "}"),
         StrCat(
             R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0000000000000000000000000000000a","spanId":"000000000000000b","parentSpanId":)",
             parent, "}]}]}]}")}) {
      std::vector<Span> spans;
      ASSERT_TRUE(ReadAll(text, spans).ok()) << text;
      ASSERT_THAT(spans, SizeIs(1)) << text;
      EXPECT_EQ(spans[0].parent, 0u) << text;
    }
  }
}

TEST(TraceFileTest, C65_ACutOffLineIsNamedAndTheRestIsRead) {
  const std::string line = StrCat(kOtlp, "\n");
  std::vector<Span> spans;
  const absl::StatusOr<TraceSource> source = ReadAll(StrCat(line, line, line, "\n", line.substr(0, 40)), spans);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(source->spans, 3u);
  EXPECT_TRUE(source->partial());
  EXPECT_THAT(source->warnings, ElementsAre(HasSubstr("run:5: no JSON")));
}

TEST(TraceFileTest, C66_NanosecondsAreExactHoweverTheyAreSpelled) {
  for (const char* start : {R"("1581452772000000321")", "1581452772000000321"}) {
    std::vector<Span> spans;
    const std::string text = StrCat(
        R"({"resource_spans":[{"scope_spans":[{"spans":[{"trace_id":"0AF7651916CD43DD8448EB211C80319C","span_id":"00F067AA0BA902B7","kind":"SPAN_KIND_PRODUCER","start_time_unix_nano":)",
        start, R"(,"attributes":[{"key":"k","value":{"int_value":2}}]}]}]}]})");
    const absl::StatusOr<TraceSource> source = ReadAll(text, spans);
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ(ToNanos(spans.at(0).start), 1'581'452'772'000'000'321);
    EXPECT_EQ(spans[0].span, 0x00f067aa0ba902b7u);
    EXPECT_EQ(spans[0].kind, trace::SpanKind::kProducer);
    EXPECT_EQ(spans[0].Int("k"), 2);
    EXPECT_THAT(source->warnings, ElementsAre(HasSubstr("snake_case")));
  }
}

TEST(TraceFileTest, C67_CloudTraceV1HasDecimalIdsAndAnyFraction) {
  for (const auto& [text, nanos] :
       {std::pair("2026-05-07T10:00:00.123456789Z", 123'456'789), std::pair("2026-05-07T10:00:00.1Z", 100'000'000),
        std::pair("2026-05-07T10:00:00Z", 0)}) {
    std::vector<Span> spans;
    const std::string page = StrCat(
        R"({"traces":[{"projectId":"p","traceId":"0af7651916cd43dd8448eb211c80319c","spans":[{"spanId":"67667974448284343","parentSpanId":"0","name":"x","startTime":")",
        text, R"(","endTime":")", text, R"("}]}]})");
    ASSERT_TRUE(ReadAll(page, spans).ok());
    ASSERT_THAT(spans, SizeIs(1));
    EXPECT_EQ(spans[0].span, 0x00f067aa0ba902b7u);
    EXPECT_EQ(spans[0].parent, 0u);
    EXPECT_EQ(ToNanos(spans[0].start) % 1'000'000'000, nanos);
  }
}

TEST(TraceFileTest, C68_JaegersReferencesAndTypedTags) {
  std::vector<Span> spans;
  const absl::StatusOr<TraceSource> source = ReadAll(R"([
    {"traceID":"a","spanID":"1","operationName":"x","startTime":1,"duration":1,"references":[
      {"refType":"FOLLOWS_FROM","traceID":"a","spanID":"7"},{"refType":"CHILD_OF","traceID":"a","spanID":"8"}],
     "tags":[{"key":"s","type":"string","value":"true"},{"key":"b","type":"bool","value":true},
             {"key":"i","type":"int64","value":"2"}]},
    {"traceID":"a","spanID":"2","operationName":"y","startTime":1,"duration":1,"references":[
      {"refType":"FOLLOWS_FROM","traceID":"a","spanID":"9"}]},
    {"traceID":"a","spanID":"3","operationName":"z","startTime":1,"duration":1,"references":[
      {"refType":"CHILD_OF","traceID":"b","spanID":"9"}]}])",
                                                     spans);
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_THAT(spans, SizeIs(3));
  EXPECT_EQ(spans[0].parent, 8u);
  EXPECT_THAT(spans[0].links, SizeIs(1));
  EXPECT_EQ(std::get<bool>(*spans[0].Find("b")), true);
  EXPECT_EQ(std::get<int64_t>(*spans[0].Find("i")), 2);
  EXPECT_EQ(spans[1].parent, 9u);
  EXPECT_EQ(spans[2].parent, 0u);
  EXPECT_THAT(spans[2].links, SizeIs(1));
  EXPECT_EQ(FactsOf(SpanForm::kJaeger).precision, Duration{1'000});
}

TEST(TraceFileTest, OneBadSpanIsNamedWithItsLineAndTheRestIsRead) {
  std::vector<Span> spans;
  const absl::StatusOr<TraceSource> source = ReadAll(
      "[\n{\"traceId\":\"0a\",\"id\":\"0b\",\"timestamp\":1,\"duration\":1},\n"
      "{\"traceId\":\"0a\",\"id\":\"0c\",\"timestamp\":\"never\",\"duration\":1},\n{\"traceId\":\"xyz\",\"id\":\"0d\"},"
      "\n7]",
      spans);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(source->spans, 1u);
  EXPECT_EQ(source->bad_spans, 3u);
  EXPECT_THAT(
      source->warnings,
      ElementsAre(AllOf(HasSubstr("run:3:"), HasSubstr("timestamp: no time"), HasSubstr("0c")),
                  AllOf(HasSubstr("run:4:"), HasSubstr("traceId: 'xyz'")), HasSubstr("neither an object nor a list")));
}

TEST(TraceFileTest, WhatCannotBeReadEndsInOneClearSentence) {
  EXPECT_THAT(WhyNot(""), HasSubstr("run: is empty"));
  EXPECT_THAT(WhyNot(" \n\n"), HasSubstr("is empty"));
  EXPECT_THAT(WhyNot("hello\nworld"), HasSubstr("text, but no JSON"));
  EXPECT_THAT(WhyNot(std::string("\x01\x02\x03\x00\xff", 5)), HasSubstr("neither JSON nor OTLP protobuf"));
  EXPECT_THAT(WhyNot(R"({"a":1,"b":2})"), HasSubstr("its keys: a, b"));
  EXPECT_THAT(WhyNot(R"({"span":{},"extendedFields":{}})"), HasSubstr("_AllSpans"));
  EXPECT_THAT(WhyNot(std::string(kJaeger).substr(0, 700)), HasSubstr("ends in the middle"));
  EXPECT_THAT(WhyNot(Protobuf().substr(0, 100)), HasSubstr("the protobuf ends in the middle"));
  EXPECT_THAT(WhyNot(std::string("\x1f\x8b\x08\x00", 4)), HasSubstr("gzip data end in the middle"));
  EXPECT_THAT(WhyNot("\x28\xb5\x2f\xfd"
                     "aaaaaaaaaa"),
              HasSubstr("zstd data are damaged"));
  EXPECT_THAT(WhyNot("[[[[[[1]]]]]]"), HasSubstr("nothing could be read"));
  EXPECT_THAT(WhyNot("{\"a\": \"x\xff\"}"), HasSubstr("no JSON: The input is not valid UTF-8"));
  EXPECT_THAT(WhyNot("{\"a\": \"\x1b\"}"), HasSubstr("no JSON: "));
  EXPECT_THAT(WhyNot(std::string(5000, '[') + std::string(5000, ']')), HasSubstr("no JSON: "));
  EXPECT_THAT(WhyNot(Gzip(Gzip(std::string(kOtlp)))), HasSubstr("packed twice; unpack it once"));
  std::vector<Span> spans;
  const auto empty = ReadAll(R"({"resourceSpans":[]})", spans);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->spans, 0u);
  EXPECT_FALSE(empty->partial());
}

// In whatever form, what ends too early, is damaged, or holds nothing ends in one sentence that names the file.
TEST(TraceFileTest, EveryFormCutDamagedOrWithoutSpansEndsInOneSentence) {
  const std::pair<std::string, std::string> forms[] = {{kOtlp, R"({"resourceSpans":[]})"},
                                                       {kTempo, R"({"batches":[]})"},
                                                       {kJaeger, R"({"data":[]})"},
                                                       {kZipkin, "[]"},
                                                       {kV1, R"({"traces":[]})"},
                                                       {kV2, R"({"spans":[]})"},
                                                       {kAllSpans, "\n"},
                                                       {kClickHouse, "\n"},
                                                       {Protobuf(), ""},
                                                       {Frame(Protobuf()), Frame("")}};
  for (const auto& [whole, empty] : forms) {
    SCOPED_TRACE(whole);
    std::vector<Span> spans;
    for (const size_t size : {whole.size() - 1, whole.size() / 2, whole.size() / 4}) {
      const std::string why = WhyNot(whole.substr(0, size));
      EXPECT_THAT(why, HasSubstr("run: ")) << size;
      EXPECT_EQ(std::count(why.begin(), why.end(), '\n'), 0) << why;
    }
    std::string damaged = whole;
    damaged.replace(whole.size() / 3, 4, "\x01\xff\xfe\x02");
    EXPECT_THAT(WhyNot(damaged), HasSubstr("run: "));
    const absl::StatusOr<TraceSource> nothing = ReadAll(empty, spans);
    EXPECT_THAT(spans, IsEmpty());
    if (nothing.ok()) {
      EXPECT_FALSE(nothing->partial());
    } else {
      EXPECT_THAT(std::string(MessageOf(nothing.status())), HasSubstr("run"));
    }
  }
}

std::string LineOf(const std::vector<Span>& spans) {
  std::string line;
  AppendOtlpLine(spans, line);
  return line;
}

// The fast reader reads as the one over the tree does, or leaves the line to it.
TEST(OtlpLineScannerTest, ReadsAsTheOtherReaderDoesOrNotAtAll) {
  const auto with = [](std::string_view what, std::string_view instead) {
    std::string line = kOtlp;
    const size_t at = line.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return line.replace(at, what.size(), instead);
  };
  struct Case {
    std::string line;
    bool read;
  };
  const Case cases[] = {
      {kOtlp, true},
      {with(R"("kind":4)", R"( "kind" : 4 , "flags":257,"traceState":"","x":{"y":[1,-2.5e3,true,null,"z"]})"), true},
      {with(R"({"intValue":"2"})", R"({"intValue":-2})"), true},
      {with(R"({"intValue":"2"})", R"({"doubleValue":-0.25})"), true},
      {with(R"({"intValue":"2"})", R"({"boolValue":false})"), true},
      {with(R"({"intValue":"2"})", R"({"stringValue":"größer"})"), true},
      {with(R"("1778148000000001000")", "1778148000000001000"), true},
      {with(R"("00f067aa0ba902b6")", R"("")"), true},
      {with(R"("00f067aa0ba902b6")", "null"), true},
      {with(R"("links":)", R"("status":{"message":"late","code":2},"links":)"), true},
      {with(R"({"key":"service.name")", R"({"key":"args","value":{"arrayValue":{"values":[]}}},{"key":"service.name")"),
       true},
      {with(R"({"stringValue":"h1"})", R"({"arrayValue":{"values":[{"intValue":"1"}]}})"), false},
      // Of what stands twice both take the last; lists go on.
      {with(R"("kind":4)", R"("kind":4,"kind":5,"name":"first","name":"last")"), true},
      {with(R"("kind":4)", R"("kind":4,"attributes":[{"key":"a","value":{"stringValue":"1"}}])"), true},
      {with(R"("kind":4)", R"("kind":4,"events":[{"name":"one","name":"two"}])"), true},
      {with(R"("kind":4)",
            R"("kind":4,"links":[{"traceId":"0af7651916cd43dd8448eb211c80319e","spanId":"00f067aa0ba902b9"}])"),
       true},
      {with(R"("kind":4)", R"("parentSpanId":"","kind":4)"), true},
      {with(R"("kind":4)", R"("status":{"code":1,"code":2},"status":{"message":"late"},"kind":4)"), true},
      {with(R"({"intValue":"2"})", R"({"intValue":"2","stringValue":"x"},"value":{"boolValue":true})"), true},
      {with(R"({"stringValue":"h1"})", R"({"stringValue":"h1"},"value":{"stringValue":"h2"})"), true},
      {with(R"({"stringValue":"h1"})", R"({"stringValue":"h1"}},{"key":"host.name","value":{"stringValue":"h2"})"),
       true},
      {with(R"("scopeSpans":)",
            R"("resource":{"attributes":[{"key":"service.name","value":{"stringValue":"b"}}]},"scopeSpans":)"),
       true},
      {with(R"("scopeSpans":)", R"("scopeSpans":[],"scopeSpans":)"), true},
      {with(R"("version":"2.7.0")", R"("version":"2.7.0","version":"2.8.0")"), true},
      {with(R"({"resourceSpans":)", R"({"resourceSpans":[],"resourceSpans":)"), true},
      {with("t create", R"(t\u0020create)"), false},
      {with("t create",
            "t\x01"
            "create"),
       false},
      {with("t create",
            "t\xff"
            "create"),
       false},
      {with(R"({"intValue":"2"})", R"({"arrayValue":{"values":[]}})"), false},
      {with(R"({"intValue":"2"})", R"({"intValue":"9223372036854775808"})"), false},
      {with(R"({"intValue":"2"})", R"({"intValue":2.5})"), false},
      {with(R"({"intValue":"2"})", R"({"doubleValue":01})"), false},
      {with("\"kind\":4", "\"kind\":\"SPAN_KIND_PRODUCER\""), false},
      {with("traceId", "trace_id"), false},
      {with("0af7651916cd43dd8448eb211c80319c", "00000000000000000000000000000000"), false},
      {with("00f067aa0ba902b7", "00f067aa0ba902bx"), false},
      {with("]}]}]}", "]}]}"), false},
      {StrCat(kOtlp, kOtlp), false},
      {std::string(kOtlp).substr(0, 300), false},
      {"{}", false},
      {"[", false},
      {StrCat(R"({"x":)", std::string(200, '['), std::string(200, ']'), R"(,"resourceSpans":[]})"), false}};
  OtlpLineReader tree;
  OtlpLineScanner scanner;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.line);
    std::vector<Span> want, got;
    const bool readable = tree.Read(one.line, want).ok();
    std::string padded = one.line;
    padded.reserve(padded.size() + OtlpLineScanner::kPadding);
    EXPECT_EQ(scanner.Read(padded, got), one.read);
    if (one.read) {
      EXPECT_TRUE(readable);
      EXPECT_EQ(LineOf(got), LineOf(want));
      ASSERT_THAT(got, SizeIs(1));
      EXPECT_EQ(got[0].host, want[0].host);
      EXPECT_EQ(got[0].service, want[0].service);
      EXPECT_EQ(got[0].scope_version, want[0].scope_version);
    } else {
      EXPECT_THAT(got, IsEmpty());
    }
  }
}

TEST(TraceFileTest, WhatIsWholeBeforeTheCutIsKept) {
  std::vector<Span> spans;
  const absl::StatusOr<TraceSource> frames = ReadAll(Frame(Protobuf()) + Frame(Protobuf()).substr(0, 50), spans);
  ASSERT_TRUE(frames.ok()) << frames.status();
  EXPECT_EQ(frames->spans, 1u);
  EXPECT_THAT(frames->warnings, ElementsAre(HasSubstr("frame 2 ends in the middle")));
  const absl::StatusOr<TraceSource> protobuf = ReadAll(Protobuf() + Protobuf().substr(0, 50), spans);
  ASSERT_TRUE(protobuf.ok()) << protobuf.status();
  EXPECT_EQ(protobuf->spans, 1u);
  EXPECT_TRUE(protobuf->partial());
}

TEST(TraceFileTest, ZipkinsSharedIdsAndEventsWithAttributes) {
  std::vector<Span> spans;
  ASSERT_TRUE(ReadAll(R"([{"traceId":"0a","id":"0b","timestamp":5,"kind":"PRODUCER"},
    {"traceId":"0a","id":"0b","timestamp":6,"duration":1,"kind":"SERVER","shared":true,
     "annotations":[{"timestamp":6,"value":"\"ack start\": {\"messaging.batch.message_count\":3}"}]}])",
                      spans)
                  .ok());
  ASSERT_THAT(spans, SizeIs(2));
  EXPECT_EQ(spans[0].end, spans[0].start);  // an instant
  EXPECT_EQ(spans[1].parent, spans[0].span);
  EXPECT_NE(spans[1].span, spans[0].span);
  ASSERT_THAT(spans[1].events, SizeIs(1));
  EXPECT_EQ(spans[1].events[0].name, "ack start");
  EXPECT_THAT(spans[1].events[0].attributes, SizeIs(1));
}

TEST(TraceFileTest, ADocumentBeyondTheLimitIsRefusedByNumber) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/big.json";
  std::ofstream(path) << "{\n" << std::string(600'000, ' ') << "\"resourceSpans\":[]}";
  const auto ignore = [](std::vector<Span>&) { return absl::OkStatus(); };
  EXPECT_TRUE(ReadTraceFile(path, ignore).ok());
  const absl::Status status = ReadTraceFile(path, ignore, 500'000).status();
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("longer than 500000 bytes"));
  EXPECT_EQ(ReadTraceFile(folder.path() + "/none", ignore).status().code(), absl::StatusCode::kNotFound);
}

TEST(TraceFileTest, FoldersAreReadByNameWithoutWhatIsHidden) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/b/.hidden");
  for (const char* name : {"/z.json", "/b/a.json", "/.x", "/b/.hidden/y"}) std::ofstream(folder.path() + name) << "{}";
  const auto files = ExpandTraceFiles({"-", folder.path()});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre("-", folder.path() + "/b/a.json", folder.path() + "/z.json"));
  EXPECT_EQ(ExpandTraceFiles({folder.path() + "/none"}).status().code(), absl::StatusCode::kNotFound);
}

TEST(ParseInstantTest, ReadsWhatTablesPrint) {
  const WallTime want{std::chrono::seconds{1} + std::chrono::milliseconds{500}};
  for (const char* text : {"1970-01-01T00:00:01.5Z", "1970-01-01 00:00:01.5 UTC", "1970-01-01 00:00:01.500000000",
                           "1970-01-01T01:00:01.5+01:00", "1969-12-31 23:30:01.5-00:30", "1.5", "1.500000"}) {
    EXPECT_EQ(ParseInstant(text), want) << text;
  }
  for (const char* text :
       {"", "soon", "1970-01-01", "9999-01-01T00:00:00Z", "-1", "1.", "1970-01-01T00:00:01+1", "99999999999"}) {
    EXPECT_FALSE(ParseInstant(text).has_value()) << text;
  }
}

TEST(TraceFileTest, WhatStandsBehindPackedDataIsNothingOrNamed) {
  for (const std::string& behind : {std::string(), std::string(1000, '\0'), Gzip("\n" + std::string(kOtlp))}) {
    std::vector<Span> spans;
    const auto source = ReadAll(Gzip(kOtlp) + behind, spans);
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_FALSE(source->partial());
    EXPECT_GT(spans.size(), 0u);
  }
  std::vector<Span> spans;
  const auto source = ReadAll(Gzip(kOtlp) + "more", spans);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE(source->partial());
  EXPECT_THAT(source->warnings, Contains(HasSubstr("the gzip data are followed by something else")));
}

TEST(TraceFileTest, BlankLinesCountForTheNumbersOfLines) {
  std::vector<Span> spans;
  std::string line(kOtlp);
  std::replace(line.begin(), line.end(), '\n', ' ');
  const auto source = ReadAll("\n \n" + line + "\n{\"cut\n", spans);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(source->warnings, ElementsAre(HasSubstr("run:4: no JSON")));
}

}  // namespace
}  // namespace hopgap::formats
