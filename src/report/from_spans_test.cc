#include "report/from_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/summary.h"
#include "report/text.h"

namespace hopgap::report {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using trace::Span;
using trace::SpanKind;

// Writes traces as the Go library does, every step 1 ms after the last.
class Trace {
 public:
  explicit Trace(uint64_t id) : id_(id) { at_ += std::chrono::seconds{id}; }

  // A publish under `parent`; returns the create span.
  uint64_t Publish(const std::string& topic, uint64_t parent = 0) {
    Span& span = Add(topic + " create", parent, SpanKind::kProducer);
    span.attributes.emplace_back("messaging.destination.name", topic);
    span.events = {{Step(), "publish start", {}}, {Step(), "publish end", {}}};
    span.end = at_;
    return span.span;
  }
  // A delivery of `create` that is acked; returns the process span.
  uint64_t Handle(uint64_t create, bool exactly_once = false, bool acked = true) {
    Span& subscribe = Add("s subscribe", create, SpanKind::kConsumer);
    const uint64_t id = subscribe.span;
    subscribe.attributes.emplace_back("messaging.gcp_pubsub.exactly_once_delivery", exactly_once);
    subscribe.attributes.emplace_back("messaging.destination.name", std::string("s"));
    const size_t index = spans.size() - 1;
    Span& process = Add("s process", id, SpanKind::kInternal);
    const uint64_t process_id = process.span;
    process.end = Step();
    if (!acked) process.events = {{process.end, "nack called", {}}};
    spans[index].events = {{Step(), "ack start", {}}, {Step(), "ack end", {}}};
    spans[index].end = at_;
    return process_id;
  }
  void Set(uint64_t span, std::string key, trace::AttributeValue value) {
    for (Span& one : spans) {
      if (one.span == span) one.attributes.emplace_back(std::move(key), std::move(value));
    }
  }
  Span& Add(std::string name, uint64_t parent, SpanKind kind) {
    Span& span = spans.emplace_back();
    span.trace_hi = 7;
    span.trace_lo = id_;
    span.span = id_ * 1'000 + spans.size();
    span.parent = parent;
    span.name = std::move(name);
    span.kind = kind;
    span.start = Step();
    span.end = span.start;
    return span;
  }
  std::vector<Span> spans;

 private:
  WallTime Step() { return at_ += 1ms; }
  const uint64_t id_;
  WallTime at_{1'000'000s};
};

// A chain of `hops` hops from topic "NAME1" on.
Trace Chain(uint64_t id, int hops, const std::string& name = "t", bool exactly_once = false) {
  Trace trace(id);
  uint64_t parent = 0;
  for (int hop = 1; hop <= hops; ++hop) {
    parent = trace.Handle(trace.Publish(name + std::to_string(hop), parent), exactly_once);
  }
  return trace;
}

Run RunOf(const std::vector<Trace>& traces) {
  FromSpans from_spans;
  uint64_t spans = 0;
  for (const Trace& trace : traces) {
    from_spans.AddTrace(trace.spans);
    spans += trace.spans.size();
  }
  return from_spans.Finish("file", spans);
}
std::string OneLine(std::string text) {
  std::string out;
  for (const char c : text) {
    const char plain = c == '\n' ? ' ' : c;
    if (plain != ' ' || out.empty() || out.back() != ' ') out += plain;
  }
  return out;
}
std::string PerHopText(const Run& run) { return OneLine(RenderText(Summarize(run), {.per_hop = true})); }

TEST(FromSpansTest, FindsTheHopsAndNamesArmsByTheirRootTopic) {
  const report::Run run = RunOf({Chain(1, 3, "b", true), Chain(2, 3, "b", true), Chain(3, 3, "c")});
  ASSERT_THAT(run.arms, SizeIs(2));
  EXPECT_EQ(run.arms[0].name, "c1");  // the standard one, which others are compared with
  EXPECT_EQ(run.arms[0].kind, "std");
  EXPECT_EQ(run.arms[1].name, "b1");
  EXPECT_EQ(run.arms[1].kind, "eos");
  EXPECT_THAT(run.arms[1].paths, SizeIs(2));
  EXPECT_EQ(run.configuration.hops, 3);
  EXPECT_THAT(run.arms[0].paths[0].hops, SizeIs(3));
  EXPECT_EQ(run.spans_only->traces, 3u);
  EXPECT_EQ(run.spans_only->explained, 3u);
  EXPECT_EQ(run.elapsed, 2s + Duration{run.arms[0].paths[0].until_handled});
}

TEST(FromSpansTest, TheAttributeOfTheRootNamesTheArm) {
  Trace trace = Chain(1, 2);
  trace.Set(trace.spans.front().span, "hopgap.arm", std::string("replay.eos"));
  const report::Run run = RunOf({trace});
  ASSERT_THAT(run.arms, SizeIs(1));
  EXPECT_EQ(run.arms[0].name, "replay.eos");
  EXPECT_EQ(run.arms[0].group, "replay");
}

TEST(FromSpansTest, CountsWhatHasNoLastHandlerByWhatIsMissing) {
  Trace unreceived(2), unhandled(3), unacked(4), other(5), rpc(6);
  unreceived.Publish("t1");
  unhandled.Add("s subscribe", unhandled.Publish("t1"), SpanKind::kConsumer);
  unacked.Handle(unacked.Publish("t1"), false, false);
  other.Add("GET /", 0, SpanKind::kServer);
  rpc.Add("t1 publish", 0, SpanKind::kClient)
      .links.push_back({.trace_hi = 7, .trace_lo = 1, .span = 1, .attributes = {}});
  const report::Run run = RunOf({Chain(1, 1), unreceived, unhandled, unacked, other, rpc});
  EXPECT_EQ(run.spans_only->traces, 4u);
  EXPECT_EQ(run.spans_only->explained, 1u);
  EXPECT_THAT(run.spans_only->notes,
              ElementsAre(HasSubstr("1 trace without a Pub/Sub publish"),
                          AllOf(HasSubstr("3 of 4 traces have no last handler"),
                                HasSubstr("1 published and not received here, 1 received and not handled, "
                                          "1 handled and not acked"))));
  EXPECT_EQ(run.arms[0].sent, 1u);  // the rest is said, and is not called lost
  EXPECT_EQ(Summarize(run).arms[0].unfinished, 0u);
}

TEST(FromSpansTest, PathsThatEndEarlyAreLeftOutAndSaid) {
  const report::Run run = RunOf({Chain(1, 3), Chain(2, 3), Chain(3, 2)});
  EXPECT_THAT(run.arms[0].paths, SizeIs(2));
  EXPECT_EQ(run.spans_only->explained, 2u);
  EXPECT_THAT(run.spans_only->notes, Contains(HasSubstr("1 of 3 paths of t1 left out")));
}

// Without its first hop's callback a chain seems to begin at the second topic.
TEST(FromSpansTest, APathWhoseBeginningIsMissingIsNoArmOfItsOwn) {
  Trace headless = Chain(2, 3);
  headless.spans.erase(headless.spans.begin(), headless.spans.begin() + 3);
  const report::Run run = RunOf({Chain(1, 3), headless});
  ASSERT_THAT(run.arms, SizeIs(1));
  EXPECT_EQ(run.arms[0].name, "t1");
  EXPECT_THAT(run.spans_only->notes, Contains(HasSubstr("spans of the beginning are missing")));
  // A caller that is not traced is no such case.
  Trace called = Chain(3, 3);
  called.spans.front().parent = 999;
  EXPECT_THAT(RunOf({called}).arms, SizeIs(1));
}

TEST(FromSpansTest, SeveralMessagesOfATraceAndCopiesOfOne) {
  Trace trace(1);
  const uint64_t root = trace.Add("job", 0, SpanKind::kInternal).span;
  const uint64_t first = trace.Publish("t1", root), second = trace.Publish("t1", root);
  trace.Handle(first);
  trace.Handle(second);
  trace.Handle(second);  // again
  const report::Run run = RunOf({trace});
  ASSERT_THAT(run.arms, SizeIs(1));
  ASSERT_THAT(run.arms[0].paths, SizeIs(2));
  EXPECT_EQ(Summarize(run).arms[0].n, 2u);
}

// Parents in a circle: such spans exist where ids were made up.
TEST(FromSpansTest, ACycleOfParentsHasNoPath) {
  Trace trace(1);
  const uint64_t process = trace.Handle(trace.Publish("t1"));
  trace.spans.front().parent = process;
  const uint64_t leaf = trace.Handle(trace.Publish("t2", process));
  EXPECT_NE(leaf, 0u);
  EXPECT_THAT(RunOf({trace}).arms, IsEmpty());
}

TEST(FromSpansTest, PairsNeedSlotsThatTheArmsShare) {
  const auto run_of = [](std::vector<int64_t> slots_a, std::vector<int64_t> slots_b) {
    std::vector<Trace> traces;
    uint64_t id = 0;
    for (const auto& [name, slots] : {std::pair("a", slots_a), std::pair("b", slots_b)}) {
      for (const int64_t slot : slots) {
        traces.push_back(Chain(++id, 1, name));
        if (slot >= 0) traces.back().Set(traces.back().spans.front().span, "hopgap.slot", slot);
      }
    }
    return RunOf(traces);
  };
  EXPECT_TRUE(run_of({0, 1}, {0, 1}).spans_only->paired);
  EXPECT_EQ(Summarize(run_of({0, 1}, {0, 1})).differences.front().pairs.n, 2u);
  const report::Run unslotted = run_of({-1, -1}, {-1, -1});
  EXPECT_FALSE(unslotted.spans_only->paired);
  EXPECT_THAT(unslotted.spans_only->notes, Contains(HasSubstr("no arrival slots")));
  EXPECT_EQ(unslotted.arms[0].paths[1].slot, 1u);  // by time
  EXPECT_THAT(Summarize(unslotted).differences, IsEmpty());
  EXPECT_THAT(run_of({0, 0}, {0, 1}).spans_only->notes, Contains(HasSubstr("the same arrival slot")));
}

TEST(FromSpansTest, SaysWhatCannotBeKnownAndInventsNothing) {
  const report::Run run = RunOf({Chain(1, 2, "a"), Chain(2, 2, "b", true)});
  const std::string text = PerHopText(run);
  EXPECT_THAT(text, HasSubstr("FROM SPANS ALONE · 2 of 2 traces explained · 12 spans of file"));
  EXPECT_THAT(text, HasSubstr("there is no verdict"));
  EXPECT_THAT(text, HasSubstr("without due times end to end begins at the publish call"));
  EXPECT_THAT(text, HasSubstr("delivery gap"));
  for (const char* invented : {"VALID", "send lateness", "lost 0", "Next", "less", "pairs"}) {
    EXPECT_THAT(text, Not(HasSubstr(invented))) << invented;
  }
  std::vector<Trace> due = {Chain(1, 2)};
  due[0].Set(due[0].spans.front().span, "hopgap.scheduled_unix_nano", std::string("1000000000000000"));
  EXPECT_TRUE(RunOf(due).spans_only->due_times);
  EXPECT_THAT(PerHopText(RunOf(due)), HasSubstr("send lateness"));
}

TEST(FromSpansTest, TheSmallestArmsBeyondTheLimitAreLeftOut) {
  std::vector<Trace> traces;
  for (uint64_t i = 0; i < FromSpans::kArmsMax + 1; ++i)
    traces.push_back(Chain(i + 1, 1, "x" + std::to_string(i) + "-"));
  for (uint64_t i = 0; i < FromSpans::kArmsMax; ++i) traces.push_back(Chain(i + 100, 1, "x" + std::to_string(i) + "-"));
  const report::Run run = RunOf(traces);
  EXPECT_THAT(run.arms, SizeIs(FromSpans::kArmsMax));
  EXPECT_THAT(run.spans_only->notes, Contains(HasSubstr("1 of 21 arms left out")));
  for (const ArmRun& arm : run.arms) EXPECT_THAT(arm.paths, SizeIs(2));
}

}  // namespace
}  // namespace hopgap::report
