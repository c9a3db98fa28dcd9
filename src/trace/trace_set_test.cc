#include "trace/trace_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "trace/foreign_testing.h"
#include "trace/scratch_testing.h"

namespace hopgap::trace {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

Duration LengthOfStage(const HopTimes& hop, Stage stage) { return hop.stages[static_cast<size_t>(stage)].length; }
Duration StagesOf(const Path& path) {
  Duration sum{0};
  for (int i = 0; i < kPathStages; ++i) sum += path.StageSum(static_cast<Stage>(i));
  return sum;
}

TEST(TraceSetTest, C55_OneStandardMessageOfGo) {
  const std::vector<Path> paths = PathsOf(SetOf({GoHop()}));
  ASSERT_THAT(paths, SizeIs(1));
  const HopTimes& hop = paths[0].hops[0];
  EXPECT_EQ(LengthOfStage(hop, Stage::kClientPublish), 2ms);
  EXPECT_EQ(LengthOfStage(hop, Stage::kPublishRpc), 9ms);
  EXPECT_EQ(LengthOfStage(hop, Stage::kDeliveryGap), 19ms);
  EXPECT_EQ(LengthOfStage(hop, Stage::kDispatchGap), 3ms);
  EXPECT_EQ(hop.dispatch.lease_wait, 0ms);
  EXPECT_FALSE(hop.exactly_once);
  EXPECT_EQ(LengthOfStage(hop, Stage::kWork), 24ms);
  EXPECT_EQ(*hop.ack_end - *hop.ack_start, 6ms);
  EXPECT_EQ(paths[0].until_acked, 65ms);
  EXPECT_EQ(hop.missing, 0);
}

TEST(TraceSetTest, C56_TheExactlyOnceGateIsTheReceiptCallAndNotTheWholeGap) {
  const std::vector<Path> paths = PathsOf(SetOf({GoHop(1, true)}));
  ASSERT_THAT(paths, SizeIs(1));
  const HopTimes& hop = paths[0].hops[0];
  EXPECT_TRUE(hop.exactly_once);
  EXPECT_EQ(LengthOfStage(hop, Stage::kDispatchGap), 80ms);
  EXPECT_EQ(hop.dispatch.lease_wait, 65ms);
  EXPECT_EQ(hop.dispatch.lease_batching, 1ms);
  EXPECT_EQ(hop.dispatch.flow_control, 12ms);
  EXPECT_EQ(hop.dispatch.scheduler, 1ms);
  EXPECT_EQ(LengthOfStage(hop, Stage::kWork), 20ms);
}

// One hop, in the words of one client.
struct Words {
  const char *scope, *topic, *publish, *flow, *scheduler, *eos_key, *system, *result;
  SpanKind publish_kind;
  Client client;
};
Scene HopIn(const Words& words) {
  Scene scene(1), rpc(2);
  scene.scope = rpc.scope = words.scope;
  const uint64_t create = scene.Add(std::string(words.topic) + " create", SpanKind::kProducer, 0, 0, 12,
                                    {{"publish start", 2}, {"publish end", 11}});
  scene.Set("messaging.system", std::string(words.system));
  scene.Set("messaging.destination.name", std::string(words.topic));
  const uint64_t subscribe =
      scene.Add("s subscribe", SpanKind::kConsumer, create, 30, 140,
                {{"modack start", 31}, {"modack end", 96}, {"ack start", 131}, {"ack end", 139}});
  scene.Set(words.eos_key, true).Set("messaging.gcp_pubsub.result", std::string(words.result));
  scene.Add(words.flow, SpanKind::kInternal, subscribe, 97, 109);
  scene.Add(words.scheduler, SpanKind::kInternal, subscribe, 109, 110);
  scene.Add("s process", SpanKind::kInternal, subscribe, 110, 130);
  scene.LinkTo(scene, create);
  rpc.Add(std::string(words.topic) + " " + words.publish, words.publish_kind, 0, 2, 11);
  rpc.LinkTo(scene, create);
  scene.spans.push_back(rpc.last());
  return scene;
}

constexpr char kFullTopic[] = "projects/p/topics/t";
constexpr Words kDialects[] = {
    {"cloud.google.com/go/pubsub", "t", "publish", "subscriber flow control", "subscribe scheduler",
     "messaging.gcp_pubsub.exactly_once_delivery", "pubsub", "acked", SpanKind::kInternal, Client::kGo1},
    {"cloud.google.com/go/pubsub/v2", "t", "publish", "subscriber concurrency control", "subscribe scheduler",
     "messaging.gcp_pubsub.exactly_once_delivery", "gcp_pubsub", "acked", SpanKind::kInternal, Client::kGo2},
    {"com.google.cloud.pubsub.v1", "t", "publish", "subscriber concurrency control", "subscriber scheduler",
     "messaging.gcp_pubsub.message.exactly_once_delivery", "gcp_pubsub", "ack", SpanKind::kClient, Client::kJava},
    {"@google-cloud/pubsub", kFullTopic, "send", "subscriber concurrency control", "subscriber scheduler",
     "messaging.gcp_pubsub.message.exactly_once_delivery", "gcp_pubsub", "ack", SpanKind::kProducer, Client::kNode},
    {"google.cloud.pubsub_v1", kFullTopic, "publish", "subscriber concurrency control", "subscriber scheduler",
     "messaging.gcp_pubsub.message.exactly_once_delivery", "gcp_pubsub", "acked", SpanKind::kClient, Client::kPython},
};

TEST(TraceSetTest, C57_TheSamePhasesInEveryClientsWords) {
  for (const Words& words : kDialects) {
    SCOPED_TRACE(ClientName(words.client));
    TraceSet set = SetOf({HopIn(words)});
    EXPECT_TRUE(set.quality().clients.contains({words.client, "1.0"}));
    const std::vector<Path> paths = PathsOf(set);
    ASSERT_THAT(paths, SizeIs(1));
    const HopTimes& hop = paths[0].hops[0];
    EXPECT_TRUE(hop.exactly_once);
    EXPECT_EQ(LengthOfStage(hop, Stage::kPublishRpc), 9ms);
    EXPECT_EQ(LengthOfStage(hop, Stage::kDeliveryGap), 19ms);
    EXPECT_EQ(hop.dispatch.lease_wait, 65ms);
    EXPECT_EQ(hop.dispatch.flow_control, 12ms);
    EXPECT_EQ(hop.dispatch.scheduler, 1ms);
    EXPECT_EQ(LengthOfStage(hop, Stage::kWork), 20ms);
    EachTrace(set, [](std::span<const Span> spans) {
      const TraceView view = ViewFromSpans(spans);
      for (const MessageView& message : view.messages) EXPECT_EQ(message.topic, "t");
    });
  }
}

TEST(TraceSetTest, TheConventionsInBothWordOrdersByParentOrByLink) {
  for (const auto& [publish, process] :
       {std::pair("orders publish", "orders process"), std::pair("send orders", "process orders")}) {
    for (const bool by_link : {false, true}) {
      SCOPED_TRACE(publish);
      Scene producer(1), consumer(by_link ? 2 : 1);
      producer.scope = consumer.scope = "";
      const uint64_t create = producer.Add(publish, SpanKind::kProducer, 0, 0, 10);
      producer.Set("messaging.destination.name", std::string("orders"));
      consumer.Add("x", SpanKind::kInternal, 0, 0, 1);  // takes the first id
      consumer.Add(process, SpanKind::kConsumer, by_link ? 0 : create, 30, 50);
      consumer.Set("messaging.destination.name", std::string("orders"));
      if (by_link) consumer.LinkTo(producer, create);
      consumer.spans.erase(consumer.spans.begin());
      TraceSet set = SetOf({producer, consumer});
      EXPECT_EQ(set.quality().linked, by_link ? 1u : 0u);
      const std::vector<Path> paths = PathsOf(set);
      ASSERT_THAT(paths, SizeIs(1));
      const HopTimes& hop = paths[0].hops[0];
      EXPECT_EQ(LengthOfStage(hop, Stage::kPublishRpc), 10ms);
      EXPECT_EQ(LengthOfStage(hop, Stage::kDeliveryGap), 20ms);
      EXPECT_EQ(LengthOfStage(hop, Stage::kWork), 20ms);
      EXPECT_FALSE(hop.Has(Stage::kDispatchGap));  // one span for receipt and callback
      EXPECT_FALSE(hop.Has(Stage::kClientPublish));
      EXPECT_FALSE(hop.Has(Stage::kAck));
      EXPECT_EQ(StagesOf(paths[0]), paths[0].until_handled);
    }
  }
}

TEST(TraceSetTest, CppsEventsAndItsLackOfReceipts) {
  Scene scene = GoHop();
  for (Span& span : scene.spans) {
    span.scope = "gl-cpp";
    for (SpanEvent& event : span.events) {
      event.name = "gl-cpp." + event.name;
      std::replace(event.name.begin(), event.name.end(), ' ', '_');
    }
    if (span.name.ends_with("subscribe")) {
      span.attributes = {{"messaging.gcp_pubsub.subscription.exactly_once_delivery", true}};
    }
  }
  const std::vector<Path> paths = PathsOf(SetOf({scene}));
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_TRUE(paths[0].hops[0].exactly_once);
  EXPECT_EQ(LengthOfStage(paths[0].hops[0], Stage::kPublishRpc), 9ms);
  EXPECT_FALSE(paths[0].hops[0].has_lease_parts());
}

TEST(TraceSetTest, C58_ABatchIsOneCallAndTenMessages) {
  Scene rpc(100);
  rpc.Add("t publish", SpanKind::kInternal, 0, 2, 22);
  TraceSet set;
  for (uint64_t i = 1; i <= 10; ++i) {
    Scene scene = GoHop(i);
    scene.spans[0].events.clear();
    rpc.LinkTo(scene, scene.spans[0].span);
    scene.spans[0].links.push_back({.trace_hi = 0, .trace_lo = 100, .span = rpc.last().span, .attributes = {}});
    ASSERT_TRUE(set.Add(scene.spans).ok());
  }
  ASSERT_TRUE(set.Add(rpc.spans).ok());
  ASSERT_TRUE(set.Finish().ok());
  const RpcStats& stats = set.quality().Rpc(Role::kPublishRpc);
  EXPECT_EQ(stats.calls, 1u);
  EXPECT_EQ(stats.total, 20ms);
  EXPECT_EQ(stats.messages_max, 10u);
  EXPECT_EQ(set.quality().traces, 11u);  // not merged
  const std::vector<Path> paths = PathsOf(set);
  ASSERT_THAT(paths, SizeIs(10));
  for (const Path& path : paths) EXPECT_EQ(LengthOfStage(path.hops[0], Stage::kPublishRpc), 20ms);
}

TEST(TraceSetTest, C59_EventsAloneGiveTheSameNumbersAndDanglingLinksAreCounted) {
  Scene scene = GoHop(1, true);
  scene.spans[1].links.push_back({.trace_hi = 0, .trace_lo = 77, .span = 7, .attributes = {}});
  TraceSet set = SetOf({scene});
  EXPECT_EQ(set.quality().dangling_links, 1u);
  EXPECT_EQ(set.quality().Rpc(Role::kModackRpc).calls, 0u);
  EXPECT_EQ(PathsOf(set).at(0).hops[0].dispatch.lease_wait, 65ms);

  // The other way round: RPC spans without events.
  Scene bare = GoHop(1, true), rpc(2);
  for (Span& span : bare.spans) span.events.clear();
  rpc.Add("s modack", SpanKind::kInternal, 0, 31, 96);
  rpc.Set("messaging.gcp_pubsub.is_receipt_modack", std::string("true")).LinkTo(bare, bare.spans[1].span);
  TraceSet from_rpcs = SetOf({bare, rpc});
  const std::vector<Path> paths = PathsOf(from_rpcs);
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].hops[0].dispatch.lease_wait, 65ms);
  EXPECT_GT(from_rpcs.quality().inferred_events, 0u);
}

TEST(TraceSetTest, C60_ARedeliveryIsNotASlowDelivery) {
  Scene scene(1);
  const uint64_t create =
      scene.Add("t create", SpanKind::kProducer, 0, 0, 12, {{"publish start", 2}, {"publish end", 11}});
  scene.Add("s subscribe", SpanKind::kConsumer, create, 30, 10'030);
  scene.Set("messaging.gcp_pubsub.result", std::string("expired"));
  const uint64_t second =
      scene.Add("s subscribe", SpanKind::kConsumer, create, 10'055, 10'125,
                {{"modack start", 10'056}, {"modack end", 10'086}, {"ack start", 10'101}, {"ack end", 10'120}});
  scene.Set("messaging.gcp_pubsub.exactly_once_delivery", true);
  scene.Add("s process", SpanKind::kInternal, second, 10'088, 10'100);
  const std::vector<Path> paths = PathsOf(SetOf({scene}));
  ASSERT_THAT(paths, SizeIs(1));
  const HopTimes& hop = paths[0].hops[0];
  EXPECT_EQ(hop.attempts, 2);
  EXPECT_EQ(hop.redelivery_wait, 10'025ms);
  EXPECT_EQ(LengthOfStage(hop, Stage::kDeliveryGap) - hop.redelivery_wait, 19ms);
  EXPECT_EQ(hop.dispatch.lease_wait, 30ms);
  EXPECT_EQ(LengthOfStage(hop, Stage::kWork), 12ms);
  EXPECT_EQ(*hop.ack_end - *hop.ack_start, 19ms);
  EXPECT_EQ(paths[0].until_acked, 10'120ms);
}

TEST(TraceSetTest, C63_SpansOfNoLengthAreNotMeasured) {
  Scene scene(1);
  scene.scope = "";
  const uint64_t publish = scene.Add("orders publish", SpanKind::kProducer, 0, 5, 5);
  scene.Add("orders process", SpanKind::kConsumer, publish, 30, 50);
  TraceSet set = SetOf({scene});
  const auto& [zero, all] = set.quality().zero_length.at({Client::kConventions, Role::kCreate});
  EXPECT_EQ(zero, 1u);
  EXPECT_EQ(all, 1u);
  const std::vector<Path> paths = PathsOf(set);
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_FALSE(paths[0].hops[0].Has(Stage::kPublishRpc));
  EXPECT_EQ(LengthOfStage(paths[0].hops[0], Stage::kWork), 20ms);
  EXPECT_EQ(StagesOf(paths[0]), paths[0].until_handled);
}

TEST(TraceSetTest, C69_DuplicatesAreOneSpanAndTheOneThatEndsLastIsKept) {
  const Scene scene = GoHop();
  Scene longer = GoHop();
  longer.spans.resize(2);
  longer.spans.erase(longer.spans.begin());
  longer.spans[0].end = Scene::At(70);
  TraceSet set = SetOf({scene, scene, longer});
  EXPECT_EQ(set.quality().spans, 3u);
  EXPECT_EQ(set.quality().duplicates, 3u);
  EXPECT_EQ(set.quality().conflicting, 1u);
  const std::vector<Path> paths = PathsOf(set);
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].hops[0].attempts, 1);  // no redelivery
}

// A lease extension beside a long receipt modack: the client waited for the later end.
TEST(TraceSetTest, AnExtensionBesideTheReceiptModackDoesNotEndIt) {
  Scene scene = GoHop(1, true);
  scene.spans[1].events = {{Scene::At(31), "modack start", {}},
                           {Scene::At(60), "modack start", {}},
                           {Scene::At(75), "modack end", {}},
                           {Scene::At(96), "modack end", {}}};
  const std::vector<Path> paths = PathsOf(SetOf({scene}));
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].hops[0].dispatch.lease_wait, 65ms);
  EXPECT_EQ(*paths[0].hops[0].modack_end - *paths[0].hops[0].modack_start, 65ms);
}

// What two exporters wrote of one span: the one with the events explains something, whichever came first.
TEST(TraceSetTest, OfSpansWithOtherContentsTheFullestIsKept) {
  for (const bool first : {false, true}) {
    Scene scene = GoHop();
    Span bare = scene.spans[0];
    bare.name = "a";
    bare.attributes.clear();
    bare.events.clear();
    scene.spans.insert(first ? scene.spans.begin() : scene.spans.end(), bare);
    TraceSet set = SetOf({scene});
    EXPECT_EQ(set.quality().differing, 1u);
    EXPECT_EQ(set.quality().duplicates, 0u);
    EXPECT_EQ(set.quality().spans, 3u);
    EXPECT_THAT(PathsOf(set), SizeIs(1));
  }
}

// Whatever is printed of them later, no terminal obeys it.
TEST(TraceSetTest, TextsAreKeptFitToBePrinted) {
  Scene scene = GoHop();
  for (Span& span : scene.spans) span.service = "\x1b]0;owned\x07\n";
  scene.spans[0].status_message = std::string(5000, 'x');
  TraceSet set = SetOf({scene});
  EXPECT_TRUE(set.Finish().ok());
  const absl::Status read = set.ForEachTrace([](std::span<const Span> spans) {
    for (const Span& span : spans) {
      EXPECT_EQ(span.service, "\\x1b]0;owned\\x07\\x0a");
      EXPECT_LE(span.status_message.size(), kTextBytesMax + 3);
    }
  });
  EXPECT_TRUE(read.ok()) << read;
}

TEST(TraceSetTest, C72_APushHasNoAckStageAndAnUnknownPublisherNoDeliveryGap) {
  Scene push(1), orphan(2);
  const uint64_t create =
      push.Add("t create", SpanKind::kProducer, 0, 0, 12, {{"publish start", 2}, {"publish end", 11}});
  push.Add("POST /push", SpanKind::kServer, create, 40, 60);
  const uint64_t subscribe =
      orphan.Add("s subscribe", SpanKind::kConsumer, 0, 30, 66, {{"ack start", 59}, {"ack end", 65}});
  orphan.Add("s process", SpanKind::kInternal, subscribe, 33, 57);
  TraceSet set = SetOf({push, orphan});
  const std::vector<Path> paths = PathsOf(set);
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(LengthOfStage(paths[0].hops[0], Stage::kDeliveryGap), 29ms);
  EXPECT_FALSE(paths[0].hops[0].Has(Stage::kAck));
  EXPECT_EQ(paths[0].until_acked, std::nullopt);
  EachTrace(set, [](std::span<const Span> spans) {
    if (spans[0].trace_lo != 2) return;
    const TraceView view = ViewFromSpans(spans);
    ASSERT_THAT(view.deliveries, SizeIs(1));
    const HopTimes hop = TimesOfDelivery(view, 0, DeliveriesOf(view)[0]);
    EXPECT_FALSE(hop.Has(Stage::kDeliveryGap));
    EXPECT_FALSE(hop.Has(Stage::kPublishRpc));
    EXPECT_EQ(LengthOfStage(hop, Stage::kWork), 24ms);
    EXPECT_TRUE(hop.Has(Stage::kAck));
  });
}

TEST(TraceSetTest, C73_OneOfTwoLeaseCallsIsTheReceipt) {
  for (const bool on_event : {false, true}) {
    Scene scene(1), receipt(2), extension(3);
    const uint64_t create =
        scene.Add("t create", SpanKind::kProducer, 0, 0, 12, {{"publish start", 2}, {"publish end", 11}});
    scene.Add("s subscribe", SpanKind::kConsumer, create, 30, 6'140,
              {{"modack start", 31}, {"modack end", 96}, {"modack start", 5'000}, {"modack end", 5'010}});
    scene.Set("messaging.gcp_pubsub.message.exactly_once_delivery", std::string("true"));
    const uint64_t subscribe = scene.last().span;
    if (on_event) scene.last().events[0].attributes = {{"messaging.gcp_pubsub.is_receipt_modack", std::string("true")}};
    scene.Add("s process", SpanKind::kInternal, subscribe, 100, 6'000);
    receipt.Add("s modack", SpanKind::kInternal, 0, 31, 96);
    if (!on_event) receipt.Set("messaging.gcp_pubsub.is_receipt_modack", true);
    receipt.Set("messaging.gcp_pubsub.message.ack_deadline", std::string("60")).LinkTo(scene, subscribe);
    extension.Add("s modack", SpanKind::kInternal, 0, 5'000, 5'010);
    extension.Set("messaging.gcp_pubsub.message.ack_deadline_seconds", int64_t{60}).LinkTo(scene, subscribe);
    TraceSet set = SetOf({scene, receipt, extension});
    EXPECT_EQ(PathsOf(set).at(0).hops[0].dispatch.lease_wait, 65ms);
    EachTrace(set, [](std::span<const Span> spans) {
      if (spans[0].trace_lo != 1) return;
      const DeliveryView delivery = ViewFromSpans(spans).deliveries.at(0);
      ASSERT_THAT(delivery.leases, SizeIs(2));
      EXPECT_TRUE(delivery.leases[0].receipt);
      EXPECT_FALSE(delivery.leases[1].receipt);
    });
  }
}

TEST(TraceSetTest, NodesQueueingIsNoRpc) {
  Scene scene = GoHop(1, true), rpc(2);
  for (Span& span : scene.spans) span.scope = "@google-cloud/pubsub";
  rpc.scope = "@google-cloud/pubsub";
  rpc.Add("s modack", SpanKind::kClient, 0, 80, 96);
  rpc.LinkTo(scene, scene.spans[1].span);
  const std::vector<Path> paths = PathsOf(SetOf({scene, rpc}));
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].hops[0].dispatch.lease_wait, 16ms);
  EXPECT_EQ(paths[0].hops[0].dispatch.lease_batching, 50ms);
}

TEST(TraceSetTest, UnendedAndImpossibleSpansAreLeftOutAndCounted) {
  Scene scene = GoHop();
  scene.spans[2].end = WallTime{};
  scene.Add("s process", SpanKind::kInternal, scene.spans[1].span, 40, 39);
  TraceSet set = SetOf({scene});
  EXPECT_EQ(set.quality().unended, 1u);
  EXPECT_EQ(set.quality().impossible, 1u);
  EXPECT_THAT(PathsOf(set), IsEmpty());
}

TEST(TraceSetTest, ATraceThatOutlivesEveryMessageIsImpossible) {
  Scene scene = GoHop();
  scene.spans[2].end += std::chrono::days{41};
  TraceSet set = SetOf({scene, GoHop(2)});
  EXPECT_EQ(set.quality().overlong, 3u);
  EXPECT_EQ(set.quality().overlong_traces, 1u);
  EXPECT_EQ(set.quality().impossible, 0u);
  EXPECT_THAT(PathsOf(set), SizeIs(1));
}

// Joins in a circle: two deliveries that link to a publish below the other.
TEST(TraceSetTest, JoinsInACircleEnd) {
  Scene a = GoHop(1), b = GoHop(2);
  for (auto& [scene, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    Span& subscribe = scene->spans[1];
    subscribe.parent = 0;
    subscribe.links.push_back(
        {.trace_hi = 0, .trace_lo = other->spans[0].trace_lo, .span = other->spans[0].span, .attributes = {}});
  }
  EXPECT_EQ(SetOf({a, b}).quality().linked, 2u);
}

// Of calls, links back, duplicates and deliveries that join over two traces.
std::vector<Span> OfEverything() {
  std::vector<Span> all;
  Scene rpc(100), c = GoHop(3);
  rpc.Add("t publish", SpanKind::kInternal, 0, 2, 22);
  for (uint64_t i = 1; i <= 2; ++i) {
    Scene scene = GoHop(i, true);
    scene.spans[0].events.clear();
    if (i == 1) rpc.LinkTo(scene, scene.spans[0].span);
    if (i == 2) scene.spans[0].links.push_back({0, 100, rpc.last().span, {}});
    // The second's delivery is of the first's publish, the third's of the second's: that trace moves twice.
    if (i == 2) scene.spans[1].parent = 0, scene.spans[1].links.push_back({0, 1, all[0].span, {}});
    if (i == 2) c.spans[1].parent = 0, c.spans[1].links.push_back({0, 2, scene.spans[0].span, {}});
    for (int twice = 0; twice < 2; ++twice) all.insert(all.end(), scene.spans.begin(), scene.spans.end());
  }
  Scene ack(200);
  ack.Add("s ack", SpanKind::kInternal, 0, 58, 63);
  ack.LinkTo(c, c.spans[1].span);
  ack.last().links.push_back({0, 77, 78, {}});
  c.spans[1].events.clear();
  for (const Scene* scene : {&rpc, &c, &ack}) all.insert(all.end(), scene->spans.begin(), scene->spans.end());
  return all;
}

std::string SetInWords(std::vector<Span> spans, const TraceSet::Options& options) {
  TraceSet set(options);
  EXPECT_TRUE(set.Add(spans).ok());
  std::string out;
  const absl::Status status = set.Finish({.join_message_ids = true}, [&](std::span<const Span> trace) {
    for (const Span& span : trace) {
      out += StrCat(span.trace_lo, " ", span.span, " ", span.parent, " ", span.name, "\n");
      for (const SpanEvent& event : span.events) out += StrCat("  ", event.name, " ", ToNanos(event.at), "\n");
    }
  });
  EXPECT_TRUE(status.ok()) << status;
  const SpanQuality& quality = set.quality();
  return StrCat(out, quality.spans, " ", quality.traces, " ", quality.duplicates, " ", quality.linked, " ",
                quality.dangling_links, " ", quality.inferred_events, " ", quality.missing_parents);
}

TEST(TraceSetTest, WhatIsOverTheLimitGoesToTheScratchAndGivesTheSame) {
  const std::string want = SetInWords(OfEverything(), {});
  EXPECT_NE(want.find("  ack start 1000058000000"), std::string::npos) << want;  // over two moves
  for (const size_t limit : {size_t{1}, (size_t{1} << 20) + 100, (size_t{1} << 20) + 500}) {
    ScratchFake scratch;
    EXPECT_EQ(SetInWords(OfEverything(), {.memory_max = limit, .scratch = &scratch}), want) << limit;
    EXPECT_FALSE(scratch.files.empty());
  }
}

TEST(TraceSetTest, AScratchThatIsFullIsSaidWhereverItHappens) {
  for (size_t room = 0, failures = 1; failures > 0; room += 400) {
    ScratchFake scratch(room);
    TraceSet set({.memory_max = 1, .scratch = &scratch});
    std::vector<Span> spans = OfEverything();
    absl::Status status = set.Add(spans);
    if (status.ok()) status = set.Finish();
    failures = status.ok() ? 0 : 1;
    if (failures == 0) break;
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << room << status;
    ASSERT_LT(room, 100'000u);
  }
}

TEST(TraceSetTest, AScratchThatLosesBytesIsSaid) {
  ScratchFake scratch;
  TraceSet set({.memory_max = 1, .scratch = &scratch});
  std::vector<Span> spans = OfEverything();
  ASSERT_TRUE(set.Add(spans).ok());
  ASSERT_TRUE(set.Finish().ok());
  for (const auto& file : scratch.files) file->resize(file->size() / 2);
  EXPECT_EQ(set.ForEachTrace([](std::span<const Span>) {}).code(), absl::StatusCode::kDataLoss);
}

TEST(TraceSetTest, MoreSpansThanItHoldsAreRefusedByNumber) {
  TraceSet set({.spans_max = 3});
  std::vector<Span> three = GoHop().spans, one = {three[0]};
  EXPECT_TRUE(set.Add(three).ok());
  const absl::Status status = set.Add(one);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("more than 3 spans"), std::string::npos);
}

}  // namespace
}  // namespace hopgap::trace
