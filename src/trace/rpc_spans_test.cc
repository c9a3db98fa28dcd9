#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/hop_plan.h"
#include "trace/hop_writer.h"

namespace hopgap::trace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Two messages of one response, one ack call: an RPC is one span with two links.
TEST(RpcSpansTest, OneSpanForEachCallWithALinkToEachMessage) {
  EventList list;
  const HopPlaces places = AddHop(list, "eos", 1);
  const int64_t at = kMs;
  for (uint64_t create : {10, 20}) {
    const MessageKey key = KeyOf(create, create);
    const auto record = [&](int64_t after, What what, uint64_t rpc, int64_t value) {
      list.Record({.at = InstantFromNanos(at + after),
                   .message = key,
                   .delivery = create + 1,
                   .rpc = rpc,
                   .value = value,
                   .what = what,
                   .place = places.subscription,
                   .stream = 0,
                   .count = 2});
    };
    record(0, What::kReceived, 1, 0);
    record(1, What::kReceiptModackStart, 50, 60);
    record(7, What::kReceiptModackEnd, 50, 0);
    record(20, What::kAckStart, 51, 0);
    record(30, What::kAckEnd, 51, 14);
    record(40, What::kExtensionStart, 52, 60);  // never ended
  }
  const std::vector<Span> spans = RpcSpans(list.events, list.context);
  ASSERT_THAT(spans, SizeIs(2));
  const Span& modack = spans[0];
  EXPECT_EQ(modack.name, "eos-s1 modack");
  EXPECT_EQ(modack.parent, 0u);
  EXPECT_EQ(modack.span, RpcSpan(SpanRole::kModackRpc, places.subscription, 50).create_span);
  EXPECT_EQ(modack.end - modack.start, Duration{6});
  EXPECT_EQ(*modack.Find("messaging.gcp_pubsub.is_receipt_modack"), AttributeValue(true));
  EXPECT_EQ(modack.Int("messaging.gcp_pubsub.message.ack_deadline"), 60);
  EXPECT_EQ(modack.Int("messaging.batch.message_count"), 2);
  ASSERT_THAT(modack.links, SizeIs(2));
  EXPECT_EQ(modack.links[1].trace_lo, 20u);
  EXPECT_EQ(modack.links[1].span, SpanId(SpanRole::kSubscribe, KeyOf(20, 20), 21));
  EXPECT_EQ(spans[1].name, "eos-s1 ack");
  EXPECT_EQ(spans[1].status, 2);
  EXPECT_EQ(spans[1].status_message, "UNAVAILABLE");
}

TEST(RpcSpansTest, MessageSpansLinkToThem) {
  EventList list;
  const HopPlaces places = AddHop(list, "std", 1);
  HopWriter writer(list, places, KeyOf(1, 9));
  writer.Publish(WarmHop(kMs), 0);
  writer.Deliver(WarmHop(kMs), 4);
  std::vector<uint64_t> linked, made;
  for (const Span& span : MessageSpans(list.events, list.context)) {
    for (const SpanLink& link : span.links) linked.push_back(link.span);
  }
  for (const Span& span : RpcSpans(list.events, list.context)) made.push_back(span.span);
  EXPECT_THAT(linked, testing::UnorderedElementsAreArray(made));
  EXPECT_THAT(made, SizeIs(3));
}

TEST(RpcSpansTest, OtherEventsAreIgnored) {
  EventList list;
  list.AddPlace({});
  list.Record({.at = InstantFromNanos(5), .what = What::kCallbackStart});
  EXPECT_THAT(RpcSpans(list.events, list.context), IsEmpty());
}

}  // namespace
}  // namespace hopgap::trace
