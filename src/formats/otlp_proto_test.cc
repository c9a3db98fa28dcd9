#include "formats/otlp_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "opentelemetry/proto/collector/trace/v1/trace_service.pb.h"

#include "formats/otlp_json.h"
#include "formats/otlp_span_testing.h"

namespace hopgap::formats {
namespace {

namespace collector = opentelemetry::proto::collector::trace::v1;
namespace wire = opentelemetry::proto::trace::v1;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using trace::Span;

std::vector<Span> Decoded(std::string_view bytes) {
  std::vector<Span> spans;
  const absl::StatusOr<OtlpTaken> taken = DecodeOtlpRequest(bytes, spans);
  EXPECT_TRUE(taken.ok()) << taken.status();
  return spans;
}

std::string Json(std::span<const Span> spans) {
  std::string line;
  AppendOtlpLine(spans, line);
  return line;
}

// A request with one span that `change` has spoilt, and a good one after it.
std::string Spoilt(const std::function<void(wire::Span&)>& change) {
  collector::ExportTraceServiceRequest request;
  auto* scope = request.add_resource_spans()->add_scope_spans();
  for (int i = 0; i < 2; ++i) {
    wire::Span* span = scope->add_spans();
    span->set_trace_id(std::string(16, '\1'));
    span->set_span_id(std::string(8, '\2'));
    if (i == 0) change(*span);
  }
  return request.SerializeAsString();
}

TEST(OtlpProtoTest, ReadsBackWhatItWrote) {
  std::vector<Span> spans = {FullSpan(), FullSpan(), FullSpan(), FullSpan()};
  spans[1].service = "hopgap-broker";
  spans[2].scope = "hopgap.broker";
  spans[3].parent = 0;
  spans[3].kind = trace::SpanKind::kUnspecified;
  const std::vector<OtlpRequest> requests = EncodeOtlpRequests(spans, {}, {});
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].spans, 4u);
  // The JSON has every field of a span, and groups as the request does.
  EXPECT_EQ(Json(Decoded(requests[0].bytes)), Json(spans));
  EXPECT_THAT(EncodeOtlpRequests({}, {}, {}), IsEmpty());
}

TEST(OtlpProtoTest, TheResourceNamesTheServiceAndTheRest) {
  std::vector<Span> spans = {FullSpan(), FullSpan()};
  spans[1].service = "";
  const OtlpResource resource{.service = "fallback", .attributes = {{"host.name", std::string("h")}}};
  const std::string bytes = EncodeOtlpRequests(spans, resource, {})[0].bytes;
  EXPECT_EQ(Decoded(bytes)[0].service, spans[0].service);
  EXPECT_EQ(Decoded(bytes)[1].service, "fallback");
  collector::ExportTraceServiceRequest request;
  ASSERT_TRUE(request.ParseFromString(bytes));
  ASSERT_EQ(request.resource_spans_size(), 2);
  for (const auto& group : request.resource_spans()) {
    ASSERT_EQ(group.resource().attributes_size(), 2);
    EXPECT_EQ(group.resource().attributes(1).key(), "host.name");
  }
  const OtlpResource winner{.service = "mine", .service_wins = true};
  EXPECT_EQ(Decoded(EncodeOtlpRequests(spans, winner, {})[0].bytes)[0].service, "mine");
}

TEST(OtlpProtoTest, SplitsAtTheCountAndAtTheSize) {
  const std::vector<Span> spans(1025, FullSpan());
  const std::vector<OtlpRequest> by_count = EncodeOtlpRequests(spans, {}, {});
  ASSERT_THAT(by_count, SizeIs(3));
  EXPECT_EQ(by_count[0].spans, 512u);
  EXPECT_EQ(by_count[2].spans, 1u);

  std::vector<Span> large(40, FullSpan());
  for (size_t i = 0; i < large.size(); ++i) {
    large[i].span = i + 1;
    large[i].service = "service " + std::to_string(i % 7);
    large[i].attributes.emplace_back("body", std::string(i * 37 % 500, 'x'));
  }
  size_t seen = 0;
  for (const OtlpRequest& request :
       EncodeOtlpRequests(large, {.service = "s"}, {.spans_max = 512, .bytes_max = 2'000})) {
    EXPECT_LE(request.bytes.size(), 2'000u);
    for (const Span& span : Decoded(request.bytes)) seen += span.span;
  }
  EXPECT_EQ(seen, 40u * 41 / 2);
}

TEST(OtlpProtoTest, ASpanLargerThanARequestGoesAlone) {
  std::vector<Span> spans(3, FullSpan());
  spans[1].attributes.emplace_back("body", std::string(5'000, 'x'));
  const std::vector<OtlpRequest> requests = EncodeOtlpRequests(spans, {}, {.spans_max = 512, .bytes_max = 2'000});
  ASSERT_THAT(requests, SizeIs(3));
  for (const OtlpRequest& request : requests) EXPECT_EQ(request.spans, 1u);
}

TEST(OtlpProtoTest, TextThatIsNoUtf8IsReplaced) {
  Span span = FullSpan();
  span.name = "a\xff b";
  span.attributes = {{"k\xc3", std::string("\xe2\x82")}};
  const std::vector<Span> read = Decoded(EncodeOtlpRequests(std::vector{span}, {}, {})[0].bytes);
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_EQ(read[0].name, "a\xef\xbf\xbd b");
}

TEST(OtlpProtoTest, ASpanThatIsNoneIsRejectedByNameAndTheRestTaken) {
  struct Case {
    const char* why;
    std::function<void(wire::Span&)> change;
  };
  const uint64_t late = uint64_t{1} << 63;
  for (const Case& c : {
           Case{"trace_id: 15 bytes", [](wire::Span& s) { s.set_trace_id(std::string(15, '\1')); }},
           Case{"trace_id: 32 bytes", [](wire::Span& s) { s.set_trace_id(std::string(32, '0')); }},
           Case{"trace_id: all zero", [](wire::Span& s) { s.set_trace_id(std::string(16, '\0')); }},
           Case{"span_id: 0 bytes", [](wire::Span& s) { s.clear_span_id(); }},
           Case{"span_id: all zero", [](wire::Span& s) { s.set_span_id(std::string(8, '\0')); }},
           Case{"parent_span_id: 9 bytes", [](wire::Span& s) { s.set_parent_span_id(std::string(9, '\1')); }},
           Case{"kind: 6", [](wire::Span& s) { s.set_kind(static_cast<wire::Span::SpanKind>(6)); }},
           Case{"kind: -1", [](wire::Span& s) { s.set_kind(static_cast<wire::Span::SpanKind>(-1)); }},
           Case{"status.code: 3",
                [](wire::Span& s) { s.mutable_status()->set_code(static_cast<wire::Status::StatusCode>(3)); }},
           Case{"start_time_unix_nano", [=](wire::Span& s) { s.set_start_time_unix_nano(late); }},
           Case{"end_time_unix_nano", [=](wire::Span& s) { s.set_end_time_unix_nano(late); }},
           Case{"events.time_unix_nano", [=](wire::Span& s) { s.add_events()->set_time_unix_nano(late); }},
           Case{"links.trace_id: 0 bytes", [](wire::Span& s) { s.add_links(); }},
       }) {
    SCOPED_TRACE(c.why);
    std::vector<Span> spans;
    const absl::StatusOr<OtlpTaken> taken = DecodeOtlpRequest(Spoilt(c.change), spans);
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ(taken->taken, 1u);
    EXPECT_EQ(taken->rejected, 1u);
    EXPECT_THAT(taken->rejected_why, HasSubstr(c.why));
    EXPECT_THAT(spans, SizeIs(1));
  }
}

// Cut anywhere, a request is refused or gives no more spans than it held.
TEST(OtlpProtoTest, TruncatedBytesAddNothingUnlessTheyAreARequest) {
  const std::vector<Span> all(3, FullSpan());
  const std::string bytes = EncodeOtlpRequests(all, {}, {})[0].bytes;
  for (size_t length = 1; length < bytes.size(); ++length) {
    std::vector<Span> spans(1);
    const bool ok = DecodeOtlpRequest(std::string_view(bytes).substr(0, length), spans).ok();
    EXPECT_FALSE(ok) << length;  // one resource: every cut is inside it
    EXPECT_THAT(spans, SizeIs(1));
  }
}

TEST(OtlpProtoTest, RandomDamageIsSurvived) {
  const std::vector<Span> all(3, FullSpan());
  const std::string bytes = EncodeOtlpRequests(all, {}, {})[0].bytes;
  std::mt19937 random(7);  // seed: 7
  for (int round = 0; round < 2'000; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    std::vector<Span> spans;
    const absl::StatusOr<OtlpTaken> taken = DecodeOtlpRequest(damaged, spans);
    EXPECT_EQ(spans.size(), taken.ok() ? taken->taken : 0);
  }
}

// A length of 2 GiB in ten bytes, and values nested without end.
TEST(OtlpProtoTest, HugeCountsAndDepthsAreRefused) {
  std::vector<Span> spans;
  EXPECT_FALSE(DecodeOtlpRequest("\x0a\xff\xff\xff\xff\x07xxxxx", spans).ok());
  const std::string deep = Spoilt([](wire::Span& span) {
    auto* value = span.add_attributes()->mutable_value();
    for (int i = 0; i < 1'000; ++i) value = value->mutable_array_value()->add_values();
  });
  EXPECT_FALSE(DecodeOtlpRequest(deep, spans).ok());
  EXPECT_THAT(spans, IsEmpty());
}

TEST(OtlpProtoTest, ArraysNestedValuesAndBytesBecomeTheTextThatTheFileReaderMakes) {
  const std::string bytes = Spoilt([](wire::Span& span) {
    auto* array = span.add_attributes()->mutable_value()->mutable_array_value();
    array->add_values()->set_string_value("a\"b");
    array->add_values()->set_int_value(-7);
    array->add_values()->set_bool_value(true);
    array->add_values()->set_double_value(0.5);
    array->add_values();
    auto* pair = span.add_attributes()->mutable_value()->mutable_kvlist_value()->add_values();
    pair->set_key("k");
    pair->mutable_value()->set_bytes_value("hi");
    for (const char* text : {"", "h", "hi", "hi!"}) span.add_attributes()->mutable_value()->set_bytes_value(text);
  });
  const std::string line =
      R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"01010101010101010101010101010101",)"
      R"("spanId":"0202020202020202","attributes":[)"
      R"({"value":{"arrayValue":{"values":[{"stringValue":"a\"b"},{"intValue":"-7"},{"boolValue":true},)"
      R"({"doubleValue":0.5},{}]}}},)"
      R"({"value":{"kvlistValue":{"values":[{"key":"k","value":{"bytesValue":"aGk="}}]}}},)"
      R"({"value":{"bytesValue":""}},{"value":{"bytesValue":"aA=="}},{"value":{"bytesValue":"aGk="}},)"
      R"({"value":{"bytesValue":"aGkh"}}]}]}]}]})";
  std::vector<Span> from_line;
  ASSERT_TRUE(OtlpLineReader().Read(line, from_line).ok());
  EXPECT_EQ(Decoded(bytes)[0].attributes, from_line[0].attributes);
}

TEST(OtlpProtoTest, PartialSuccessGoesThereAndBack) {
  EXPECT_EQ(EncodeOtlpResponse({}), "");
  EXPECT_EQ(OtlpResponseJson({}), "{}");
  const OtlpPartialSuccess partial{.rejected_spans = 3, .message = "a \"b\""};
  const absl::StatusOr<OtlpPartialSuccess> read = DecodeOtlpResponse(EncodeOtlpResponse(partial));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->rejected_spans, 3);
  EXPECT_EQ(read->message, partial.message);
  EXPECT_EQ(OtlpResponseJson(partial), R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"a \"b\""}})");
  EXPECT_TRUE(DecodeOtlpResponse("").ok());
  EXPECT_FALSE(DecodeOtlpResponse("<html>").ok());
}

}  // namespace
}  // namespace hopgap::formats
