#include "formats/otlp_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "formats/otlp_span_testing.h"
#include "formats/temporary_folder_testing.h"

namespace hopgap::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using trace::AttributeValue;
using trace::Span;

bool Same(const Span& a, const Span& b) {
  const auto events = [](const Span& span) {
    std::vector<std::tuple<WallTime, std::string, trace::Attributes>> all;
    for (const auto& event : span.events) all.emplace_back(event.at, event.name, event.attributes);
    return all;
  };
  const auto links = [](const Span& span) {
    std::vector<std::tuple<uint64_t, uint64_t, uint64_t, trace::Attributes>> all;
    for (const auto& link : span.links) all.emplace_back(link.trace_hi, link.trace_lo, link.span, link.attributes);
    return all;
  };
  const auto plain = [](const Span& s) {
    return std::tie(s.trace_hi, s.trace_lo, s.span, s.parent, s.name, s.kind, s.start, s.end, s.attributes, s.status,
                    s.status_message, s.service, s.scope);
  };
  return plain(a) == plain(b) && events(a) == events(b) && links(a) == links(b);
}

std::vector<Span> Read(std::string_view line) {
  OtlpLineReader reader;
  std::vector<Span> spans;
  const absl::Status status = reader.Read(line, spans);
  EXPECT_TRUE(status.ok()) << status;
  return spans;
}

absl::Status Failure(std::string_view line) {
  OtlpLineReader reader;
  std::vector<Span> spans;
  const absl::Status status = reader.Read(line, spans);
  EXPECT_THAT(spans, IsEmpty());
  return status;
}

// A line with one span that has these fields besides its ids.
std::string LineWith(std::string_view fields) {
  return std::string(R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0000000000000000000000000000000a",)") +
         R"("spanId":"000000000000000b")" + std::string(fields) + "}]}]}]}";
}

TEST(OtlpJsonTest, WritesWhatTheCollectorReads) {
  const std::vector<Span> spans = {FullSpan()};
  std::string line;
  AppendOtlpLine(spans, line);
  EXPECT_EQ(line.back(), '\n');
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const nlohmann::json resource = nlohmann::json::parse(line)["resourceSpans"][0];
  EXPECT_EQ(resource["resource"]["attributes"][0]["key"], "service.name");
  EXPECT_EQ(resource["resource"]["attributes"][0]["value"]["stringValue"], "eos hop 1");
  EXPECT_EQ(resource["scopeSpans"][0]["scope"]["name"], "cloud.google.com/go/pubsub/v2");
  const nlohmann::json span = resource["scopeSpans"][0]["spans"][0];
  EXPECT_EQ(span["traceId"], "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(span["spanId"], "00000000000000ab");
  EXPECT_EQ(span["parentSpanId"], "00000000000000cd");
  EXPECT_EQ(span["kind"], 4);
  EXPECT_EQ(span["startTimeUnixNano"], "1581452772000000321");
  EXPECT_EQ(span["attributes"][0]["value"]["stringValue"], "a\"b\\c\n\x01é");
  EXPECT_EQ(span["attributes"][1]["value"]["intValue"], "-9007199254740993");
  EXPECT_EQ(span["attributes"][2]["value"]["boolValue"], true);
  EXPECT_EQ(span["attributes"][3]["value"]["doubleValue"], 0.1);
  EXPECT_EQ(span["events"][0]["timeUnixNano"], "1581452772000000500");
  EXPECT_EQ(span["links"][0]["spanId"], "0000000000000003");
  EXPECT_EQ(span["status"]["code"], 2);
  EXPECT_EQ(span["status"]["message"], "UNAVAILABLE");
}

TEST(OtlpJsonTest, ARootHasNoParentAndNothingWritesNothing) {
  std::string line;
  AppendOtlpLine({}, line);
  EXPECT_EQ(line, "");
  Span root = FullSpan();
  root.parent = 0;
  AppendOtlpLine(std::vector<Span>{root}, line);
  EXPECT_EQ(line.find("parentSpanId"), std::string::npos);
}

TEST(OtlpJsonTest, ReadsBackWhatItWrote) {
  std::vector<Span> spans = {FullSpan(), FullSpan(), FullSpan(), FullSpan()};
  spans[1].service = "hopgap-broker";
  spans[2].scope = "hopgap.broker";
  spans[3].attributes = {{"inf", std::numeric_limits<double>::infinity()}, {"empty", std::string()}};
  spans[3].events.clear();
  spans[3].links.clear();
  spans[3].status = 0;
  spans[3].status_message.clear();
  spans[3].kind = trace::SpanKind::kUnspecified;
  std::string line;
  AppendOtlpLine(spans, line);
  const std::vector<Span> read = Read(line);
  ASSERT_THAT(read, SizeIs(4));
  EXPECT_TRUE(Same(read[0], spans[0]));  // grouped: service, then scope
  EXPECT_TRUE(Same(read[1], spans[3]));
  EXPECT_TRUE(Same(read[2], spans[2]));
  EXPECT_TRUE(Same(read[3], spans[1]));
}

TEST(OtlpJsonTest, BytesThatAreNoUtf8AreReplaced) {
  const std::pair<std::string, std::string> cases[] = {{"\xff", "\xef\xbf\xbd"},
                                                       {"a\xc3", "a\xef\xbf\xbd"},
                                                       {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
                                                       {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                                                       {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}};
  for (const auto& [text, want] : cases) {
    Span span = FullSpan();
    span.name = text;
    std::string line;
    AppendOtlpLine(std::vector<Span>{span}, line);
    EXPECT_EQ(Read(line).at(0).name, want);
  }
}

// C66: exact nanoseconds, ids in either case, enums by name, integers bare or quoted.
TEST(OtlpJsonTest, ReadsEverySpellingC66) {
  const auto start = [](std::string_view fields) { return ToNanos(Read(LineWith(fields)).at(0).start); };
  EXPECT_EQ(start(R"(,"startTimeUnixNano":"1581452772000000321")"), 1581452772000000321);
  EXPECT_EQ(start(R"(,"startTimeUnixNano":1581452772000000321)"), 1581452772000000321);
  EXPECT_EQ(start(R"(,"start_time_unix_nano":1581452772000000321)"), 1581452772000000321);
  EXPECT_EQ(Read(LineWith(R"(,"kind":4)")).at(0).kind, trace::SpanKind::kProducer);
  EXPECT_EQ(Read(LineWith(R"(,"kind":"SPAN_KIND_PRODUCER")")).at(0).kind, trace::SpanKind::kProducer);
  EXPECT_EQ(Read(LineWith(R"(,"status":{"code":"STATUS_CODE_ERROR"})")).at(0).status, 2);
  for (const char* value : {R"("2")", "2"}) {
    const std::string field = std::string(R"(,"attributes":[{"key":"n","value":{"intValue":)") + value + "}}]";
    const Span span = Read(LineWith(field)).at(0);
    EXPECT_EQ(span.Int("n"), 2);
  }
  EXPECT_EQ(Read(LineWith(R"(,"parentSpanId":"00F067AA0BA902B7")")).at(0).parent, 0x00f067aa0ba902b7u);
  EXPECT_EQ(Read(LineWith(R"(,"parentSpanId":"00f067aa0ba902b7")")).at(0).parent, 0x00f067aa0ba902b7u);
}

// C64: five spellings of a root.
TEST(OtlpJsonTest, EverySpellingOfNoParentIsARootC64) {
  for (const char* field : {R"(,"parentSpanId":"0000000000000000")", R"(,"parentSpanId":"")", R"(,"parentSpanId":null)",
                            R"(,"parentSpanId":"0")", ""}) {
    EXPECT_EQ(Read(LineWith(field)).at(0).parent, 0u) << field;
  }
}

TEST(OtlpJsonTest, UnknownNamesAreSkippedAndNestedValuesBecomeText) {
  const Span span = Read(LineWith(R"(,"traceState":"x","flags":257,"droppedEventsCount":1,"attributes":[)"
                                  R"({"key":"list","value":{"arrayValue":{"values":[{"intValue":"1"}]}}},)"
                                  R"({"key":"bytes","value":{"bytesValue":"AQI="}},)"
                                  R"({"key":"nan","value":{"doubleValue":"NaN"}},{"key":"none","value":{}}])"))
                        .at(0);
  EXPECT_THAT(std::string(span.Text("list")), HasSubstr("\"intValue\""));
  EXPECT_EQ(span.Text("bytes"), "AQI=");
  EXPECT_TRUE(std::isnan(std::get<double>(*span.Find("nan"))));
  EXPECT_EQ(*span.Find("none"), AttributeValue(std::string()));
}

TEST(OtlpJsonTest, ReadsOldScopeNamesAndResourcesAfterTheirSpans) {
  const Span span =
      Read(
          R"({"resource_spans":[{"instrumentationLibrarySpans":[{"spans":[{"trace_id":"0000000000000000000000000000000a",)"
          R"("span_id":"000000000000000b","name":"x"}],"instrumentationLibrary":{"name":"lib"}}],)"
          R"("resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}}]}}]})")
          .at(0);
  EXPECT_EQ(span.scope, "lib");
  EXPECT_EQ(span.service, "svc");
}

TEST(OtlpJsonTest, ABadFieldIsNamed) {
  const std::pair<std::string, const char*> cases[] = {
      {"{", "no JSON"},
      {"[]", "no JSON object"},
      {R"({"batches":[]})", "no resourceSpans"},
      {R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0a","spanId":"000000000000000b"}]}]}]})", "traceId"},
      {R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"000000000000000b"}]}]}]})", "traceId: missing"},
      {LineWith(R"(,"parentSpanId":"AAAAAAAAAAA=")"), "parentSpanId"},
      {LineWith(R"(,"startTimeUnixNano":1.5)"), "startTimeUnixNano"},
      {LineWith(R"(,"startTimeUnixNano":"-1")"), "startTimeUnixNano"},
      {LineWith(R"(,"endTimeUnixNano":18446744073709551615)"), "endTimeUnixNano"},
      {LineWith(R"(,"kind":6)"), "kind"},
      {LineWith(R"(,"name":7)"), "name"},
      {LineWith(R"(,"attributes":{})"), "attributes"},
      {LineWith(R"(,"attributes":[{"key":"k","value":{"intValue":"1x"}}])"), "intValue"},
      {LineWith(R"(,"status":{"code":3})"), "status.code"},
  };
  for (const auto& [line, field] : cases) {
    const absl::Status status = Failure(line);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(std::string(status.message()), HasSubstr(field)) << line;
  }
}

class OtlpFileTest : public testing::Test {
 protected:
  std::string File(std::string_view text) {
    const std::string path = folder_.path() + "/run.jsonl";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static std::string Line(uint64_t id) {
    Span span = FullSpan();
    span.span = id;
    std::string line;
    AppendOtlpLine(std::vector<Span>{span}, line);
    return line;
  }

  TemporaryFolder folder_;
};

// C65: three lines, an empty one, and one that was cut off.
TEST_F(OtlpFileTest, ACutOffLineIsNamedAndTheRestIsReadC65) {
  const std::string path = File(Line(1) + Line(2) + Line(3) + "\n" + Line(4).substr(0, 40));
  std::vector<uint64_t> ids;
  const absl::StatusOr<OtlpFileSummary> summary = ReadOtlpFile(path, [&](std::vector<Span>& spans) {
    for (const Span& span : spans) ids.push_back(span.span);
    return absl::OkStatus();
  });
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_THAT(ids, ElementsAre(1, 2, 3));
  EXPECT_EQ(summary->lines, 3u);
  EXPECT_EQ(summary->spans, 3u);
  EXPECT_EQ(summary->bad_lines, 1u);
  ASSERT_THAT(summary->warnings, SizeIs(1));
  EXPECT_THAT(summary->warnings[0], HasSubstr("run.jsonl:5: "));
}

TEST_F(OtlpFileTest, SaysWhyAFileIsNotRead) {
  const auto ignore = [](std::vector<Span>&) { return absl::OkStatus(); };
  const std::string none = folder_.path() + "/none.jsonl";
  EXPECT_EQ(ReadOtlpFile(none, ignore).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadOtlpFile(none, ignore).status().message()), HasSubstr("none.jsonl"));
  const absl::Status status = ReadOtlpFile(File("hello\nworld\n"), ignore).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("run.jsonl:1"));
  EXPECT_EQ(ReadOtlpFile(folder_.path(), ignore).status().code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(ReadOtlpFile(File(""), ignore).ok());
}

TEST_F(OtlpFileTest, WarningsAreFewAndAFailingSinkEndsIt) {
  std::string text = Line(1);
  for (size_t i = 0; i < kWarningsMax + 5; ++i) text += "x\n";
  const std::string path = File(text);
  const auto summary = ReadOtlpFile(path, [](std::vector<Span>&) { return absl::OkStatus(); });
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->bad_lines, kWarningsMax + 5);
  EXPECT_THAT(summary->warnings, SizeIs(kWarningsMax));
  const auto full = ReadOtlpFile(path, [](std::vector<Span>&) { return absl::ResourceExhaustedError("full"); });
  EXPECT_EQ(full.status(), absl::ResourceExhaustedError("full"));
}

TEST_F(OtlpFileTest, SnakeCaseIsReadWithAWarning) {
  const std::string path = File(R"({"resource_spans":[]})");
  const auto summary = ReadOtlpFile(path, [](std::vector<Span>&) { return absl::OkStatus(); });
  ASSERT_TRUE(summary.ok());
  ASSERT_THAT(summary->warnings, SizeIs(1));
  EXPECT_THAT(summary->warnings[0], HasSubstr("snake_case"));
}

TEST_F(OtlpFileTest, ALineBeyondTheLimitIsSkippedAndNamed) {
  const std::string path = File(Line(1));
  std::ofstream out(path, std::ios::binary | std::ios::app);
  const std::string chunk(1 << 20, ' ');
  for (size_t written = 0; written <= kOtlpLineBytesMax; written += chunk.size()) out << chunk;
  out << "\n" << Line(2);
  out.close();
  const auto summary = ReadOtlpFile(path, [](std::vector<Span>&) { return absl::OkStatus(); });
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->spans, 2u);
  EXPECT_EQ(summary->bad_lines, 1u);
  EXPECT_THAT(summary->warnings.at(0), HasSubstr("run.jsonl:2: longer than"));
}

}  // namespace
}  // namespace hopgap::formats
