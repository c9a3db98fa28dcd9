#include "formats/cloud_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace hopgap::formats {
namespace {

using ::testing::HasSubstr;

constexpr char kPage[] = R"({"nextPageToken": "n2", "traces": [{"projectId": "p",
  "traceId": "0123456789abcdeffedcba9876543210", "spans": [
    {"spanId": "18446744073709551615", "kind": "RPC_CLIENT", "name": "topic create",
     "startTime": "2026-01-02T03:04:05.1Z", "endTime": "2026-01-02T03:04:05.123456789Z",
     "labels": {"service.name": "api-eos", "otel.scope.name": "cloud.google.com/go/pubsub/v2", "n": "7", "bad": 7}},
    {"spanId": "2", "parentSpanId": "18446744073709551615", "name": "b", "startTime": "2026-01-02T03:04:05Z",
     "endTime": "2026-01-02T03:04:06Z"},
    {"spanId": "0", "startTime": "2026-01-02T03:04:05Z", "endTime": "2026-01-02T03:04:06Z"},
    {"spanId": "3", "startTime": "yesterday", "endTime": "2026-01-02T03:04:06Z"}]}]})";

TEST(ReadCloudTracePageTest, ReadsSpansAndCountsWhatItCannotRead) {
  const absl::StatusOr<CloudTracePage> page = ReadCloudTracePage(kPage);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->next_page_token, "n2");
  EXPECT_EQ(page->traces, 1u);
  EXPECT_EQ(page->bad_spans, 2u);
  ASSERT_EQ(page->spans.size(), 2u);
  const trace::Span& span = page->spans[0];
  EXPECT_EQ(span.trace_hi, 0x0123456789abcdefu);
  EXPECT_EQ(span.trace_lo, 0xfedcba9876543210u);
  EXPECT_EQ(span.span, 0xffffffffffffffffu);
  EXPECT_EQ(span.parent, 0u);
  EXPECT_EQ(span.kind, trace::SpanKind::kClient);
  EXPECT_EQ(span.end - span.start, Duration{23'456'789});
  EXPECT_EQ(span.service, "api-eos");
  EXPECT_EQ(span.scope, trace::kGoScope);
  EXPECT_EQ(span.Int("n"), 7);
  EXPECT_EQ(page->spans[1].parent, 0xffffffffffffffffu);
  EXPECT_EQ(page->spans[1].kind, trace::SpanKind::kUnspecified);
}

TEST(ReadCloudTracePageTest, SaysWhatSpanTimesStillSayAndMarksIt) {
  const absl::StatusOr<CloudTracePage> page = ReadCloudTracePage(R"({"traces": [{
    "traceId": "0123456789abcdeffedcba9876543210", "spans": [
    {"spanId": "1", "name": "t create", "startTime": "1970-01-01T00:00:00Z", "endTime": "1970-01-01T00:00:04Z"},
    {"spanId": "2", "parentSpanId": "1", "name": "publisher batching", "startTime": "1970-01-01T00:00:01Z",
     "endTime": "1970-01-01T00:00:02Z"},
    {"spanId": "3", "name": "s subscribe", "startTime": "1970-01-01T00:00:05Z", "endTime": "1970-01-01T00:00:09Z",
     "labels": {"messaging.gcp_pubsub.result": "acked"}},
    {"spanId": "4", "name": "s subscribe", "startTime": "1970-01-01T00:00:05Z", "endTime": "1970-01-01T00:00:09Z",
     "labels": {"messaging.gcp_pubsub.result": "nacked"}},
    {"spanId": "5", "name": "s subscribe", "startTime": "1970-01-01T00:00:05Z", "endTime": "1970-01-01T00:00:09Z"}]}]})");
  ASSERT_TRUE(page.ok()) << page.status();
  const auto at = [&](size_t span, std::string_view event) -> int64_t {
    const trace::SpanEvent* found = page->spans[span].FindEvent(event);
    return found == nullptr ? -1 : ToNanos(found->at) / 1'000'000'000;
  };
  EXPECT_EQ(at(0, "publish start"), 2);
  EXPECT_EQ(at(0, "publish end"), 4);
  EXPECT_EQ(page->spans[0].events[0].attributes[0].first, "hopgap.inferred");
  EXPECT_EQ(at(2, "ack end"), 9);
  EXPECT_EQ(at(2, "nack end"), -1);
  EXPECT_EQ(at(3, "nack end"), 9);
  EXPECT_TRUE(page->spans[4].events.empty());
}

TEST(ReadCloudTracePageTest, AnEmptyWindowIsNoError) {
  const absl::StatusOr<CloudTracePage> page = ReadCloudTracePage("{}");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->traces, 0u);
  EXPECT_EQ(page->next_page_token, "");
}

TEST(ReadCloudTracePageTest, OtherTextIsRefused) {
  for (const char* text :
       {"", "[]", "<html>", R"({"traces": 5})", R"({"traces": [5]})", R"({"traces": [{}]})",
        R"({"traces": [{"traceId": "0123"}]})", R"({"traces": [{"traceId": "0123456789abcdeffedcba987654321g"}]})"}) {
    EXPECT_EQ(ReadCloudTracePage(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Rfc3339Test, ReadsAnyFractionAndNothingElse) {
  const WallTime second = *ParseRfc3339("1970-01-02T00:00:01Z");
  EXPECT_EQ(ToNanos(second), 86'401'000'000'000);
  EXPECT_EQ(ToNanos(*ParseRfc3339("1970-01-01T00:00:00.000000001Z")), 1);
  EXPECT_EQ(ToNanos(*ParseRfc3339("1970-01-01T00:00:00.5Z")), 500'000'000);
  EXPECT_EQ(FormatRfc3339(second + Duration{5}), "1970-01-02T00:00:01.000000005Z");
  EXPECT_TRUE(ParseRfc3339("1678-01-01T00:00:00Z") && ParseRfc3339("2261-12-31T23:59:59Z"));
  for (const char* text :
       {"", "1970-01-02T00:00:01", "1970-01-02T00:00:01+01:00", "1970-13-02T00:00:01Z", "1970-02-30T00:00:01Z",
        "1970-01-02T24:00:01Z", "1970-01-02T00:00:01.Z", "1970-01-02T00:00:01.0000000000Z", "1970-01-02T00:00:01.-1Z",
        "1970-01-02 00:00:01Z", "1677-12-31T23:59:59Z", "2262-01-01T00:00:00Z", "0026-05-07T10:00:00Z"}) {
    EXPECT_FALSE(ParseRfc3339(text).has_value()) << text;
  }
}

TEST(CloudTraceProgressTest, IsReadAsWritten) {
  const CloudTraceProgress progress{.project = "p",
                                    .service = "api",
                                    .from = WallTime{Duration{1}},
                                    .to = WallTime{Duration{2}},
                                    .page_token = "t\"",
                                    .saved_bytes = 3,
                                    .traces = 4,
                                    .spans = 5,
                                    .bad_spans = 6};
  const absl::StatusOr<CloudTraceProgress> read = ReadCloudTraceProgress(WriteCloudTraceProgress(progress));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(WriteCloudTraceProgress(*read), WriteCloudTraceProgress(progress));
  EXPECT_EQ(read->page_token, "t\"");
  EXPECT_EQ(read->to, progress.to);
  for (const char* text : {"", "{}", R"({"schema": "hopgap.cloudtrace/1"})"}) {
    EXPECT_FALSE(ReadCloudTraceProgress(text).ok()) << text;
  }
}

TEST(GoogleErrorTextTest, IsItsMessage) {
  EXPECT_EQ(GoogleErrorText(R"({"error": {"code": 403, "message": "denied"}})"), "denied");
  EXPECT_EQ(GoogleErrorText("<html>"), "");
  EXPECT_EQ(GoogleErrorText(R"({"error": "x"})"), "");
}

}  // namespace
}  // namespace hopgap::formats
