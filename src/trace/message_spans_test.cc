#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/hop_plan.h"
#include "trace/hop_writer.h"

namespace hopgap::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr MessageKey kKey{.trace_hi = 1, .trace_lo = 2, .create_span = 3};

class MessageSpansTest : public testing::Test {
 protected:
  std::vector<Span> Spans(const HopPlan& plan, uint64_t parent = 0) {
    list_.events.clear();
    HopWriter writer(list_, places_, kKey);
    writer.Publish(plan, parent, 5);
    writer.Deliver(plan, 0xabc);
    return MessageSpans(list_.events, list_.context);
  }
  static const Span* Named(const std::vector<Span>& spans, std::string_view name) {
    for (const Span& span : spans) {
      if (span.name == name) return &span;
    }
    return nullptr;
  }
  static std::vector<std::string> EventNames(const Span& span) {
    std::vector<std::string> names;
    for (const SpanEvent& event : span.events) names.push_back(event.name);
    return names;
  }
  WallTime Wall(int64_t at) const { return list_.context.anchor.ToWall(InstantFromNanos(at)); }

  EventList list_;
  HopPlaces places_ = AddHop(list_, "eos", 1);
};

TEST_F(MessageSpansTest, WritesTheLibrarysSpansAndTheBrokersHalf) {
  std::vector<std::string> names;
  for (const Span& span : Spans(WarmHop(kMs))) {
    names.push_back(span.name);
    EXPECT_EQ(span.trace_hi, 1u);
    EXPECT_EQ(span.trace_lo, 2u);
    EXPECT_NE(span.span, 0u);
    EXPECT_LE(span.start, span.end);
  }
  EXPECT_THAT(names,
              ElementsAre("eos-t1 create", "publisher flow control", "publisher batching", "eos-t1 broker publish",
                          "eos-s1 subscribe", "subscriber concurrency control", "subscribe scheduler", "eos-s1 process",
                          "eos-s1 broker deliver", "eos-s1 broker lease", "eos-s1 broker ack"));
}

TEST_F(MessageSpansTest, CreateIsTheParentOfTheMessageAndAChildOfTheCallbackBefore) {
  HopPlan plan = WarmHop(kMs);
  plan.scheduled = 900'000;
  const std::vector<Span> spans = Spans(plan, 77);
  const Span* create = Named(spans, "eos-t1 create");
  ASSERT_NE(create, nullptr);
  EXPECT_EQ(create->span, kKey.create_span);
  EXPECT_EQ(create->parent, 77u);
  EXPECT_EQ(create->kind, SpanKind::kProducer);
  EXPECT_EQ(create->start, Wall(plan.call));
  EXPECT_EQ(create->end, Wall(plan.end));
  EXPECT_EQ(create->service, "eos hop 1");
  EXPECT_EQ(create->scope, kGoScope);
  EXPECT_EQ(create->Text("messaging.destination.name"), "projects/p/topics/eos-t1");
  EXPECT_EQ(create->Text("messaging.message.id"), "4711");
  EXPECT_EQ(create->Text("hopgap.arm"), "eos");
  EXPECT_EQ(create->Int("hopgap.hop"), 1);
  EXPECT_EQ(create->Int("hopgap.slot", -1), 4);
  EXPECT_EQ(create->Int("hopgap.scheduled_unix_nano"), ToNanos(Wall(plan.scheduled)));
  EXPECT_THAT(EventNames(*create), ElementsAre("publish start", "publish end"));
  ASSERT_THAT(create->links, SizeIs(1));
  const MessageKey rpc = RpcSpan(SpanRole::kPublishRpc, places_.topic, kKey.create_span);
  EXPECT_EQ(create->links[0].span, rpc.create_span);

  const Span* subscribe = Named(spans, "eos-s1 subscribe");
  ASSERT_NE(subscribe, nullptr);
  EXPECT_EQ(subscribe->parent, create->span);
  for (const char* child : {"subscriber concurrency control", "subscribe scheduler", "eos-s1 process"}) {
    EXPECT_EQ(Named(spans, child)->parent, subscribe->span) << child;
  }
  for (const char* child :
       {"eos-t1 broker publish", "eos-s1 broker deliver", "eos-s1 broker lease", "eos-s1 broker ack"}) {
    EXPECT_EQ(Named(spans, child)->parent, create->span) << child;
    EXPECT_EQ(Named(spans, child)->service, "hopgap-broker") << child;
    EXPECT_EQ(Named(spans, child)->scope, kBrokerScope) << child;
  }
}

TEST_F(MessageSpansTest, SubscribeSaysWhatTheStreamSaid) {
  HopPlan plan = WarmHop(kMs);
  plan.count = 3;
  const std::vector<Span> spans = Spans(plan);
  const Span* subscribe = Named(spans, "eos-s1 subscribe");
  ASSERT_NE(subscribe, nullptr);
  EXPECT_EQ(subscribe->kind, SpanKind::kInternal);  // as v2.7.0 has it; process is the consumer
  EXPECT_EQ(subscribe->start, Wall(plan.received));
  EXPECT_EQ(subscribe->end, Wall(plan.ack_end));
  EXPECT_EQ(*subscribe->Find("messaging.gcp_pubsub.exactly_once_delivery"), AttributeValue(true));
  EXPECT_EQ(subscribe->Int("messaging.batch.message_count"), 3);
  EXPECT_EQ(subscribe->Text("messaging.gcp_pubsub.result"), "acked");
  EXPECT_EQ(subscribe->Int("hopgap.stream"), 2);
  EXPECT_EQ(subscribe->Int("hopgap.response"), 7);
  EXPECT_EQ(subscribe->Int("hopgap.read_posted_unix_nano"), ToNanos(Wall(plan.read_posted)));
  EXPECT_EQ(subscribe->Text("hopgap.delivery"), "0000000000000abc");
  EXPECT_THAT(EventNames(*subscribe), ElementsAre("modack start", "modack end", "ack start", "ack end"));
  EXPECT_THAT(subscribe->links, SizeIs(2));
  const Span* process = Named(spans, "eos-s1 process");
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(process->end, Wall(plan.ack_called));
  EXPECT_THAT(EventNames(*process), ElementsAre("ack called"));
  EXPECT_EQ(process->Int("hopgap.handler_returned_unix_nano"), ToNanos(Wall(plan.returned)));
}

TEST_F(MessageSpansTest, AddedDelaysAreOnTheBrokersSpans) {
  HopPlan plan = WarmHop(kMs);
  plan.before_added = 1;
  plan.after_added = 2;
  plan.deliver_added = 3;
  plan.modack_added = 4;
  plan.ack_added = 5;
  const std::vector<Span> spans = Spans(plan);
  EXPECT_EQ(Named(spans, "eos-t1 broker publish")->Int("hopgap.added.publish_before_commit_ns"), 1);
  EXPECT_EQ(Named(spans, "eos-t1 broker publish")->Int("hopgap.added.publish_after_commit_ns"), 2);
  EXPECT_EQ(Named(spans, "eos-s1 broker deliver")->Int("hopgap.added.deliver_ns"), 3);
  EXPECT_EQ(Named(spans, "eos-s1 broker lease")->Int("hopgap.added.modack_ns"), 4);
  EXPECT_EQ(Named(spans, "eos-s1 broker ack")->Int("hopgap.added.ack_ns"), 5);
  EXPECT_EQ(Named(spans, "eos-s1 broker deliver")->start, Wall(plan.committed));
  EXPECT_EQ(Named(spans, "eos-s1 broker deliver")->end, Wall(plan.written));
}

TEST_F(MessageSpansTest, AnUnfinishedSpanIsLeftOut) {
  struct Case {
    int64_t HopPlan::*piece;
    const char* span;
  };
  for (const Case& c :
       {Case{&HopPlan::call, "eos-t1 create"}, Case{&HopPlan::end, "eos-t1 create"},
        Case{&HopPlan::admitted, "publisher flow control"}, Case{&HopPlan::batched, "publisher batching"},
        Case{&HopPlan::replied, "eos-t1 broker publish"}, Case{&HopPlan::ack_end, "eos-s1 subscribe"},
        Case{&HopPlan::flow_end, "subscriber concurrency control"}, Case{&HopPlan::callback, "subscribe scheduler"},
        Case{&HopPlan::ack_called, "eos-s1 process"}, Case{&HopPlan::committed, "eos-s1 broker deliver"},
        Case{&HopPlan::lease_replied, "eos-s1 broker lease"}, Case{&HopPlan::ack_replied, "eos-s1 broker ack"}}) {
    SCOPED_TRACE(c.span);
    HopPlan plan = WarmHop(kMs);
    EXPECT_NE(Named(Spans(plan), c.span), nullptr);
    plan.*(c.piece) = 0;
    EXPECT_EQ(Named(Spans(plan), c.span), nullptr);
  }
}

TEST_F(MessageSpansTest, NothingHappensOnASpanAfterItsEnd) {
  HopPlan plan = WarmHop(kMs);  // a standard receipt that leaves after the ack
  plan.modack_start = plan.ack_end + 1;
  plan.modack_end = plan.ack_end + 2;
  const std::vector<Span> spans = Spans(plan);
  EXPECT_THAT(EventNames(*Named(spans, "eos-s1 subscribe")), ElementsAre("ack start", "ack end"));
}

TEST_F(MessageSpansTest, TheResultSaysHowTheSubscribeSpanEnded) {
  HopPlan nacked = WarmHop(kMs);
  nacked.nack_called = nacked.ack_called;
  nacked.nack_start = nacked.ack_start;
  nacked.nack_end = nacked.ack_end;
  nacked.ack_called = nacked.ack_start = nacked.ack_end = 0;
  HopPlan expired = WarmHop(kMs);
  expired.ack_called = expired.ack_start = expired.ack_end = 0;
  expired.abandoned = expired.callback + kMs;
  EXPECT_EQ(Named(Spans(nacked), "eos-s1 subscribe")->Text("messaging.gcp_pubsub.result"), "nacked");
  EXPECT_THAT(EventNames(*Named(Spans(nacked), "eos-s1 process")), ElementsAre("nack called"));
  EXPECT_EQ(Named(Spans(expired), "eos-s1 subscribe")->Text("messaging.gcp_pubsub.result"), "expired");

  HopPlan failed = WarmHop(kMs);
  failed.flow_start = failed.flow_end = failed.scheduler_start = failed.callback = failed.ack_called = 0;
  failed.returned = failed.ack_start = failed.ack_end = 0;
  Spans(failed);
  HopWriter(list_, places_, kKey).Client(failed.modack_end, 0xabc, What::kReceiptFailed, 0, 0, failed);
  const std::vector<Span> spans = MessageSpans(list_.events, list_.context);
  ASSERT_NE(Named(spans, "eos-s1 subscribe"), nullptr);
  EXPECT_EQ(Named(spans, "eos-s1 subscribe")->status, 2);
  EXPECT_EQ(Named(spans, "eos-s1 process"), nullptr);
}

TEST_F(MessageSpansTest, NoEventsNoSpans) { EXPECT_THAT(MessageSpans({}, list_.context), IsEmpty()); }

TEST(SpanIdTest, NamesDifferByRoleMessageAndDelivery) {
  const MessageKey other{.trace_hi = 1, .trace_lo = 2, .create_span = 4};
  std::vector<uint64_t> ids;
  for (uint64_t role = 1; role <= 15; ++role) {
    for (const MessageKey& key : {kKey, other}) {
      for (uint64_t delivery : {0, 1, 2}) ids.push_back(SpanId(static_cast<SpanRole>(role), key, delivery));
    }
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
  EXPECT_NE(ids.front(), 0u);
  EXPECT_NE(DeliveryKey("a"), DeliveryKey("b"));
}

TEST(SpanTest, IntReadsDecimalTextToo) {
  Span span;
  span.attributes = {{"n", int64_t{7}}, {"text", std::string("1581452772000000321")}, {"word", std::string("x")}};
  EXPECT_EQ(span.Int("n"), 7);
  EXPECT_EQ(span.Int("text"), 1581452772000000321);
  EXPECT_EQ(span.Int("word", -1), -1);
  EXPECT_EQ(span.Int("none", -1), -1);
  EXPECT_EQ(span.Text("n"), "");
  EXPECT_EQ(span.Text("word"), "x");
}

TEST(StageTest, KeysAreNamesForJson) {
  for (int i = 0; i < kStages; ++i) {
    std::string name(StageName(static_cast<Stage>(i)));
    for (char& c : name) c = c == ' ' ? '_' : static_cast<char>(std::tolower(c));
    EXPECT_EQ(StageKey(static_cast<Stage>(i)), name);
  }
}

}  // namespace
}  // namespace hopgap::trace
