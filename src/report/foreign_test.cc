#include "report/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/from_spans.h"
#include "report/how_to.h"
#include "report/summary.h"
#include "report/text.h"
#include "report/trace_text.h"
#include "trace/foreign_testing.h"

namespace hopgap::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using trace::GoHop;
using trace::Scene;
using trace::Span;
using trace::SpanKind;
using trace::Stage;

struct Read {
  Foreign foreign;
  Run run;
};
Read ReadSpans(std::vector<Span> spans, bool join_message_ids = false) {
  trace::TraceSet set;
  EXPECT_TRUE(set.Add(spans).ok());
  FromSpans from_spans;
  ForeignBuilder builder;
  const absl::Status status = set.Finish({.join_message_ids = join_message_ids}, [&](std::span<const Span> trace) {
    from_spans.AddTrace(trace);
    builder.AddTrace(trace);
  });
  EXPECT_TRUE(status.ok()) << status;
  return {builder.Finish(set.quality()), from_spans.Finish("file", set.quality().spans)};
}
std::vector<Span> Many(uint64_t n, const std::function<Scene(uint64_t)>& scene) {
  std::vector<Span> all;
  for (uint64_t i = 1; i <= n; ++i) {
    for (Span& span : scene(i).spans) all.push_back(std::move(span));
  }
  return all;
}
std::string OnOneLine(std::string text) {
  std::string out;
  for (const char c : text) {
    const char plain = c == '\n' ? ' ' : c;
    if (plain != ' ' || out.empty() || out.back() != ' ') out += plain;
  }
  return out;
}
std::string Quality(const Foreign& foreign) { return OnOneLine(QualityText(foreign, {})); }
std::string Findings(const Foreign& foreign, std::optional<int> streams = {}) {
  return OnOneLine(FindingsText(foreign, streams));
}

// A Go hop that starts `ms` later, on an exactly-once stream.
Scene EosHop(uint64_t trace, int64_t ms, int64_t modack_ms, int64_t gap_ms = 19) {
  Scene scene(trace);
  const uint64_t create = scene.Add("t create", SpanKind::kProducer, 0, ms, ms + 12,
                                    {{"publish start", ms + 10}, {"publish end", ms + 11}});
  const int64_t received = ms + 11 + gap_ms;
  const uint64_t subscribe = scene.Add("s subscribe", SpanKind::kConsumer, create, received, received + modack_ms + 20,
                                       {{"modack start", received},
                                        {"modack end", received + modack_ms},
                                        {"ack start", received + modack_ms + 10},
                                        {"ack end", received + modack_ms + 20}});
  scene.Set("messaging.gcp_pubsub.exactly_once_delivery", true).Set("messaging.batch.message_count", int64_t{1});
  scene.Add("s process", SpanKind::kConsumer, subscribe, received + modack_ms, received + modack_ms + 5);
  return scene;
}

TEST(ForeignTest, C57_TheClientAndItsVersionAreNamed) {
  const Foreign foreign = ReadSpans(GoHop().spans).foreign;
  EXPECT_THAT(Quality(foreign), HasSubstr("Go v2 1.0: 3 spans"));
  EXPECT_THAT(DeliveriesText(foreign), HasSubstr("t → s, Go v2 1.0, n = 1"));
  EXPECT_THAT(Findings(foreign), Not(HasSubstr("exactly-once makes")));
}

TEST(ForeignTest, C56_TheGateIsAFindingWithItsNumberAndItsTrace) {
  const Foreign foreign =
      ReadSpans(Many(10, [](uint64_t i) { return EosHop(i, static_cast<int64_t>(i) * 1'000, 65); })).foreign;
  const std::string text = Findings(foreign, 4);
  EXPECT_THAT(text, HasSubstr("the receipt modack has been answered: s: p50 65.0 ms [65.0, 65.0], n = 10, trace 0000"));
  EXPECT_THAT(text, HasSubstr("the publisher holds messages back"));
  // 4 streams × 1 message / 65 ms
  EXPECT_THAT(text,
              HasSubstr("4 streams × 1.0 messages a response / 65.0 ms receipt modack = 61.5/s; now 1.00/s: 2 % used"));
  EXPECT_THAT(text, HasSubstr("subscription type: exactly-once → standard"));
  EXPECT_THAT(text, HasSubstr("PublishSettings.DelayThreshold: 10 ms (default) → 1 ms"));
  EXPECT_THAT(Findings(foreign), HasSubstr("at least 1 stream"));
}

TEST(ForeignTest, TheFirstLinesNameTheCauseAndWhatToSet) {
  const Foreign foreign =
      ReadSpans(Many(10, [](uint64_t i) { return EosHop(i, static_cast<int64_t>(i) * 1'000, 65); })).foreign;
  const std::string text = ShortText(foreign, std::nullopt);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 12);
  EXPECT_THAT(OnOneLine(text),
              AllOf(HasSubstr("cause: exactly-once makes handlers wait until the receipt modack has been answered. "
                              "Worst at s: mean 65.0 ms a message; p50 65.0 ms"),
                    HasSubstr("set: Go v2 1.0: subscription type: exactly-once → standard"),
                    HasSubstr("(predicted: 65.0 ms less a message of s)"),
                    HasSubstr("or: Go v2 1.0: PublishSettings.DelayThreshold")));
  EXPECT_EQ(ShortText(Foreign{}, std::nullopt), "");
}

TEST(ForeignTest, HeadOfLineIsEstimatedFromTheReceiptModackBefore) {
  // Two messages a second, 10 ms apart, one stream: the second is read when the first's modack has ended.
  std::vector<Span> spans;
  for (uint64_t i = 1; i <= 6; ++i) {
    const auto ms = static_cast<int64_t>(i) * 1'000;
    for (const Scene& scene : {EosHop(2 * i, ms, 300), EosHop(2 * i + 1, ms + 10, 300, 310)}) {
      spans.insert(spans.end(), scene.spans.begin(), scene.spans.end());
    }
  }
  const Foreign foreign = ReadSpans(std::move(spans)).foreign;
  const std::vector<Finding> findings = FindingsOf(foreign);
  const auto found =
      std::find_if(findings.begin(), findings.end(), [](const Finding& one) { return one.key == "head_of_line"; });
  ASSERT_NE(found, findings.end());
  EXPECT_NEAR(found->weight, 299.0 / 2, 1);
  EXPECT_THAT(found->what, HasSubstr("estimated from client spans"));
  EXPECT_THAT(Findings(foreign), AllOf(HasSubstr("ReceiveSettings.NumGoroutines: 1 → 4"),
                                       HasSubstr("Predicted on this trace, less a message: s 112 ms")));
}

// A third one waits behind both.
TEST(ForeignTest, HeadOfLineAddsUpWhatStoodInARow) {
  std::vector<Span> spans;
  for (uint64_t i = 1; i <= 6; ++i) {
    const auto ms = static_cast<int64_t>(i) * 2'000;
    for (const Scene& scene :
         {EosHop(3 * i, ms, 300), EosHop(3 * i + 1, ms + 10, 300, 310), EosHop(3 * i + 2, ms + 20, 300, 600)}) {
      spans.insert(spans.end(), scene.spans.begin(), scene.spans.end());
    }
  }
  const std::vector<Finding> findings = FindingsOf(ReadSpans(std::move(spans)).foreign);
  const auto found =
      std::find_if(findings.begin(), findings.end(), [](const Finding& one) { return one.key == "head_of_line"; });
  ASSERT_NE(found, findings.end());
  EXPECT_NEAR(found->weight, (0 + 299.0 + 599.0) / 3, 3);
}

TEST(ForeignTest, C61_SkewIsNamedAndItsGapsAreInNoPercentile) {
  const Read read = ReadSpans(Many(100, [](uint64_t i) {
    Scene scene(i);
    const auto ms = static_cast<int64_t>(i) * 1'000;
    const uint64_t create = scene.Add("t create", SpanKind::kProducer, 0, ms + 99, ms + 113,
                                      {{"publish start", ms + 100}, {"publish end", ms + 112}});
    scene.host = "b";
    const uint64_t subscribe = scene.Add("s subscribe", SpanKind::kConsumer, create, ms + 70, ms + 110,
                                         {{"ack start", ms + 100}, {"ack end", ms + 110}});
    scene.Add("s process", SpanKind::kInternal, subscribe, ms + 75, ms + 95);
    return scene;
  }));
  const std::string text = Quality(read.foreign);
  EXPECT_THAT(text, HasSubstr("clock skew, at least 30.0 ms, from a to b"));
  EXPECT_THAT(text, HasSubstr("100 of 100 gaps unusable, skew"));
  const DeliveryGroup& group = read.foreign.groups.at(0);
  EXPECT_THAT(StageValues(read.foreign, group, Stage::kDeliveryGap), IsEmpty());
  EXPECT_THAT(StageValues(read.foreign, group, Stage::kPublishRpc), SizeIs(100));
  EXPECT_THAT(StageValues(read.foreign, group, Stage::kWork), SizeIs(100));
  // Raw: kept, not clamped.
  EXPECT_EQ(read.foreign.rows[0].hop.stages[static_cast<size_t>(Stage::kDeliveryGap)].length,
            std::chrono::milliseconds{-42});
  EXPECT_THAT(OnOneLine(DeliveriesText(read.foreign)), HasSubstr("n/a"));
}

TEST(ForeignTest, C62_NothingIsCorrectedAndNoLengthIsNegative) {
  Scene scene(1);
  const uint64_t create =
      scene.Add("t create", SpanKind::kProducer, 0, 10, 22, {{"publish start", 11}, {"publish end", 21}});
  scene.host = "b";
  const uint64_t subscribe = scene.Add("s subscribe", SpanKind::kConsumer, create, 9, 40);
  scene.Add("s process", SpanKind::kInternal, subscribe, 15, 35);
  const Foreign foreign = ReadSpans(scene.spans).foreign;
  EXPECT_THAT(Quality(foreign), AllOf(HasSubstr("at least 2.0"), HasSubstr("nothing is corrected")));
  const trace::HopTimes& hop = foreign.rows[0].hop;
  EXPECT_EQ(hop.received, Scene::At(9));
  for (const Stage stage : {Stage::kClientPublish, Stage::kPublishRpc, Stage::kDispatchGap, Stage::kWork}) {
    EXPECT_GE(hop.stages[static_cast<size_t>(stage)].length, Duration{0});
  }
}

TEST(ForeignTest, ADeliveryThatOvertakesThePublishAnswerIsNoSkew) {
  Scene scene(1);
  const uint64_t create =
      scene.Add("t create", SpanKind::kProducer, 0, 10, 32, {{"publish start", 11}, {"publish end", 31}});
  scene.host = "b";
  const uint64_t subscribe = scene.Add("s subscribe", SpanKind::kConsumer, create, 25, 60);
  scene.Add("s process", SpanKind::kInternal, subscribe, 26, 50);
  const Foreign foreign = ReadSpans(scene.spans).foreign;
  EXPECT_THAT(Quality(foreign), AllOf(Not(HasSubstr("skew")), HasSubstr("1 of 1 delivery gaps are negative")));
  EXPECT_THAT(StageValues(foreign, foreign.groups.at(0), Stage::kDeliveryGap), testing::ElementsAre(-6'000'000));
}

TEST(ForeignTest, C63_ZeroLengthSpansAreNotMeasurable) {
  const Foreign foreign = ReadSpans(Many(200, [](uint64_t i) {
                            Scene scene(i);
                            scene.scope = "";
                            const uint64_t publish = scene.Add("orders publish", SpanKind::kProducer, 0, 5, 5);
                            scene.Add("orders process", SpanKind::kConsumer, publish, 30, 50);
                            return scene;
                          })).foreign;
  EXPECT_THAT(Quality(foreign),
              HasSubstr("publish stages not measurable (instrumentation writes zero-length spans: 200 of 200)"));
  EXPECT_THAT(StageValues(foreign, foreign.groups.at(0), Stage::kPublishRpc), IsEmpty());
  EXPECT_THAT(StageValues(foreign, foreign.groups.at(0), Stage::kWork), SizeIs(200));
}

TEST(ForeignTest, C67_WithoutEventsTheGateAndTheAckAreNotAvailable) {
  Scene scene(1);
  const uint64_t create = scene.Add("t create", SpanKind::kProducer, 0, 0, 12);
  scene.Add("publisher batching", SpanKind::kInternal, create, 1, 4);
  const uint64_t subscribe = scene.Add("s subscribe", SpanKind::kConsumer, create, 30, 140);
  scene.Set("messaging.gcp_pubsub.exactly_once_delivery", std::string("true"))
      .Set("messaging.gcp_pubsub.result", std::string("acked"));
  scene.Add("s process", SpanKind::kInternal, subscribe, 110, 130);
  const Read read = ReadSpans(scene.spans);
  const trace::HopTimes& hop = read.foreign.rows[0].hop;
  EXPECT_EQ(hop.stages[static_cast<size_t>(Stage::kPublishRpc)].length, std::chrono::milliseconds{8});
  EXPECT_EQ(hop.stages[static_cast<size_t>(Stage::kDeliveryGap)].length, std::chrono::milliseconds{18});
  EXPECT_FALSE(hop.has_lease_parts());
  EXPECT_FALSE(hop.Has(Stage::kAck));
  EXPECT_THAT(Findings(read.foreign), HasSubstr("none was seen here"));
  const std::string text = RenderText(Summarize(read.run), {});
  EXPECT_THAT(OnOneLine(text), HasSubstr("ack, beside it n/a"));
  EXPECT_EQ(read.run.arms.at(0).paths.at(0).until_acked,
            std::chrono::milliseconds{140});  // where its subscribe span ends
}

TEST(ForeignTest, C70_AChainThatBreaksIsSaidAndNotJoined) {
  const Read read = ReadSpans(Many(10, [](uint64_t i) {
    const auto ms = static_cast<int64_t>(i) * 1'000;
    Scene scene(2 * i), second(2 * i + 1);
    const uint64_t create = scene.Add("t create", SpanKind::kProducer, 0, ms, ms + 12,
                                      {{"publish start", ms + 2}, {"publish end", ms + 11}});
    const uint64_t subscribe = scene.Add("s subscribe", SpanKind::kConsumer, create, ms + 30, ms + 90);
    scene.Add("s process", SpanKind::kInternal, subscribe, ms + 33, ms + 80);
    second.Add("t2 create", SpanKind::kProducer, 0, ms + 60, ms + 70,
               {{"publish start", ms + 61}, {"publish end", ms + 69}});
    scene.spans.push_back(second.last());
    return scene;
  }));
  EXPECT_THAT(Quality(read.foreign),
              AllOf(HasSubstr("chain breaks after s: the publish to t2 inside the handler has no parent"),
                    HasSubstr("10 of 10")));
  for (const trace::Path& path : read.run.arms.at(0).paths) EXPECT_THAT(path.hops, SizeIs(1));
}

TEST(ForeignTest, C71_ThreeSubscriptionsAreThreeArmsPairedByMessage) {
  const Read read = ReadSpans(Many(8, [](uint64_t i) {
    const auto ms = static_cast<int64_t>(i) * 1'000;
    Scene scene(i);
    const uint64_t create = scene.Add("t create", SpanKind::kProducer, 0, ms, ms + 12,
                                      {{"publish start", ms + 2}, {"publish end", ms + 11}});
    for (const auto& [name, late] : {std::pair("std-a", 0), std::pair("std-b", 1), std::pair("eos", 50)}) {
      const uint64_t subscribe = scene.Add(
          std::string(name) + " subscribe", SpanKind::kConsumer, create, ms + 30, ms + 190,
          {{"modack start", ms + 31}, {"modack end", ms + 31 + late}, {"ack start", ms + 170}, {"ack end", ms + 180}});
      scene.Set("messaging.gcp_pubsub.exactly_once_delivery", late == 50);
      scene.Add(std::string(name) + " process", SpanKind::kInternal, subscribe, ms + 32 + late, ms + 160);
    }
    return scene;
  }));
  ASSERT_THAT(read.run.arms, SizeIs(3));
  EXPECT_EQ(read.run.arms[2].name, "t → eos");
  EXPECT_TRUE(read.run.spans_only->paired);
  for (const DeliveryRow& row : read.foreign.rows) EXPECT_EQ(row.hop.attempts, 1);
  const Summary summary = Summarize(read.run);
  const Difference* dispatch = summary.Find("t → eos", "dispatch_gap");
  ASSERT_NE(dispatch, nullptr);
  EXPECT_EQ(dispatch->pairs.n, 8u);
  EXPECT_EQ(dispatch->pairs.median->value, 50'000'000);
}

TEST(ForeignTest, C72_AnUnknownPublisherIsKeptInTheCallbackFigures) {
  Scene scene(1);
  const uint64_t subscribe =
      scene.Add("s subscribe", SpanKind::kConsumer, 0, 30, 66, {{"ack start", 59}, {"ack end", 65}});
  scene.Set("messaging.message.id", std::string("42"));
  scene.Add("s process", SpanKind::kInternal, subscribe, 33, 57);
  Scene publish(2);
  publish.Add("t create", SpanKind::kProducer, 0, 0, 12, {{"publish start", 2}, {"publish end", 11}});
  publish.Set("messaging.message.id", std::string("42"));
  scene.spans.push_back(publish.last());
  const Read apart = ReadSpans(scene.spans);
  EXPECT_THAT(Quality(apart.foreign),
              AllOf(HasSubstr("1 deliveries with unknown publisher"), HasSubstr("1 have the message id")));
  EXPECT_THAT(StageValues(apart.foreign, apart.foreign.groups.at(0), Stage::kWork), testing::ElementsAre(24'000'000));
  EXPECT_THAT(DeliveriesText(apart.foreign), HasSubstr("(publisher unknown) → s"));
  EXPECT_THAT(apart.run.arms, IsEmpty());
  const Read joined = ReadSpans(scene.spans, true);
  EXPECT_EQ(joined.foreign.unknown_publishers, 0u);
  EXPECT_THAT(joined.run.arms, SizeIs(1));
  EXPECT_THAT(Quality(joined.foreign), HasSubstr("joined to their publish by message id"));
}

TEST(ForeignTest, ATickingClientAColdFirstAndARedeliveryAreFound) {
  // Node: receipts wait up to 100 ms in a queue.
  std::vector<Span> spans = Many(10, [](uint64_t i) {
    const auto ms = static_cast<int64_t>(i) * 1'000;
    const int64_t cold = i == 1 ? 900 : 0, queued = 40 + 10 * static_cast<int64_t>(i % 6);
    Scene scene(2 * i), rpc(2 * i + 1);
    scene.scope = rpc.scope = "@google-cloud/pubsub";
    const uint64_t create = scene.Add("t create", SpanKind::kProducer, 0, ms - cold, ms + 12,
                                      {{"publish start", ms + 2}, {"publish end", ms + 11}});
    const uint64_t subscribe = scene.Add(
        "s subscribe", SpanKind::kConsumer, create, ms + 30, ms + 190,
        {{"modack start", ms + 31}, {"modack end", ms + queued + 41}, {"ack start", ms + 170}, {"ack end", ms + 180}});
    scene.Set("messaging.gcp_pubsub.message.exactly_once_delivery", true);
    scene.Add("s process", SpanKind::kInternal, subscribe, ms + queued + 42, ms + 160);
    rpc.Add("s modack", SpanKind::kClient, 0, ms + queued + 31, ms + queued + 41);
    rpc.LinkTo(scene, subscribe);
    scene.spans.push_back(rpc.last());
    return scene;
  });
  const Foreign foreign = ReadSpans(std::move(spans)).foreign;
  const std::string text = Findings(foreign);
  EXPECT_THAT(text, HasSubstr("from a job that runs every 100 ms"));
  EXPECT_THAT(text, HasSubstr("connections, tokens and streams were cold: s: 9"));
  EXPECT_THAT(text, HasSubstr("batching.maxMilliseconds of the subscription: 100 → 10"));
}

TEST(ForeignTest, OneTraceIsTakenApartWithTheSourceOfEveryInstant) {
  Scene scene = GoHop(1, true);
  scene.spans[0].events.clear();
  trace::TraceSet set = trace::SetOf({scene});
  std::string text;
  EXPECT_TRUE(set.ForEachTrace([&](std::span<const Span> spans) { text = OnOneLine(TraceText(spans)); }).ok());
  EXPECT_THAT(text, HasSubstr("Trace 00000000000000000000000000000001, 5 spans"));
  EXPECT_THAT(text, HasSubstr("publish end 12.0 (inferred)"));
  EXPECT_THAT(text, HasSubstr("client publish: not available"));
  EXPECT_THAT(text, HasSubstr("lease wait 65.0 ms, before it 1.00 ms, from event \"modack start\" of s subscribe"));
}

TEST(ForeignTest, HowToKnowsItsClientsAndNoOthers) {
  for (const char* client : {"go", "java", "python", "node"}) {
    EXPECT_THAT(HowToText(client), AllOf(HasSubstr("Switch it on"), HasSubstr("TOPIC create"))) << client;
    EXPECT_THAT(std::string(kHowToClients), HasSubstr(client));
  }
  EXPECT_EQ(HowToText("cobol"), "");
}

TEST(ForeignTest, MessagesNearTheQuantilesAreExemplars) {
  const Read read = ReadSpans(
      Many(10, [](uint64_t i) { return EosHop(i, static_cast<int64_t>(i) * 1'000, 10 * static_cast<int64_t>(i)); }));
  const std::string text = OnOneLine(CompositionText(read.run));
  EXPECT_THAT(text, HasSubstr("p50 00000000000000000000000000000005"));
  EXPECT_THAT(text, HasSubstr("p90 00000000000000000000000000000009"));
}

}  // namespace
}  // namespace hopgap::report
