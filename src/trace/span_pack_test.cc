#include "trace/span_pack.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "base/text.h"

namespace hopgap::trace {
namespace {

Span Full() {
  Span span;
  span.trace_hi = 1;
  span.trace_lo = ~uint64_t{0};
  span.span = 3;
  span.parent = uint64_t{1} << 63;
  span.name = "t create";
  span.kind = SpanKind::kConsumer;
  span.start = WallTime{Duration{1'700'000'000'000'000'001}};
  span.end = span.start + Duration{12'345};
  span.attributes = {{"text", std::string("a value")},
                     {"number", int64_t{-5}},
                     {"least", std::numeric_limits<int64_t>::min()},
                     {"yes", true},
                     {"no", false},
                     {"fraction", -0.1},
                     {"", std::string(1'000, 'x')}};
  span.events = {{span.start - Duration{1}, "publish start", {}},
                 {span.end, "publish end", {{"messaging.batch.message_count", int64_t{2}}}}};
  span.links = {{4, 5, 6, {{"why", std::string("because")}}}, {7, 8, 9, {}}};
  span.status = 2;
  span.status_message = "it failed";
  span.service = "worker";
  span.scope = "cloud.google.com/go/pubsub/v2";
  span.scope_version = "2.0.0";
  span.host = "pod-1";
  span.language = "go";
  return span;
}

std::string Described(const Attributes& attributes) {
  std::string out;
  for (const auto& [key, value] : attributes) {
    out += StrCat(key, "=", value.index(), ":");
    std::visit([&out](const auto& one) { out += StrCat(one, ";"); }, value);
  }
  return out;
}
// Every field, so that two spans can be compared.
std::string Described(const Span& span) {
  std::string out =
      StrCat(span.trace_hi, " ", span.trace_lo, " ", span.span, " ", span.parent, " ", span.name, " ",
             static_cast<int>(span.kind), " ", span.start.time_since_epoch().count(), " ",
             span.end.time_since_epoch().count(), " ", span.status, " ", span.status_message, " ", span.service);
  out +=
      StrCat(" ", span.scope, " ", span.scope_version, " ", span.host, " ", span.language, Described(span.attributes));
  for (const SpanEvent& event : span.events) {
    out += StrCat("\n", event.name, " ", event.at.time_since_epoch().count(), Described(event.attributes));
  }
  for (const SpanLink& link : span.links) {
    out += StrCat("\n", link.trace_hi, " ", link.trace_lo, " ", link.span, Described(link.attributes));
  }
  return out;
}

SpanHead HeadOf(const Span& span) {
  SpanHead head;
  head.key = KeyOf(span);
  head.role = Role::kCreate;
  head.client = Client::kConventions;
  head.whole = true;
  return head;
}

TEST(SpanPackerTest, EveryFieldComesBackWhateverTheSpanBeforeLeft) {
  Span bare, wrong_clock = Full();
  bare.end = WallTime{Duration{7}};
  wrong_clock.start = WallTime::min();
  wrong_clock.end = WallTime::max();
  wrong_clock.events[0].at = WallTime::max();
  SpanPacker packer;
  Span out;
  for (const Span& span : {Full(), bare, Full(), wrong_clock, bare}) {
    std::string bytes;
    packer.Pack(span, HeadOf(span), bytes);
    ASSERT_TRUE(packer.Unpack(KeyOf(span), bytes, out));
    EXPECT_EQ(Described(out), Described(span));
    SpanHead head;
    ASSERT_TRUE(SpanPacker::UnpackHead(KeyOf(span), bytes, head));
    EXPECT_EQ(head.parent, span.parent);
    EXPECT_EQ(head.start, span.start);
    EXPECT_EQ(head.end(), span.end);
    EXPECT_EQ(head.role, Role::kCreate);
    EXPECT_EQ(head.client, Client::kConventions);
    EXPECT_TRUE(head.whole);
    EXPECT_EQ(head.linked, !span.links.empty());
    std::vector<SpanLink> links;
    ASSERT_TRUE(packer.UnpackLinks(KeyOf(span), bytes, links));
    EXPECT_EQ(links.size(), span.links.size());
  }
}

TEST(SpanPackerTest, WhatIsSaidAgainIsANumber) {
  SpanPacker packer;
  const Span span = Full();
  std::string first, second;
  packer.Pack(span, HeadOf(span), first);
  packer.Pack(span, HeadOf(span), second);
  EXPECT_EQ(first.size(), second.size());
  EXPECT_LT(second.size(), 1'000u + 160u);  // the long text is written out
}

// More values of a key than are kept as words, and more words than are kept.
TEST(SpanPackerTest, BeyondItsLimitsTextsAreWrittenOut) {
  SpanPacker packer;
  Span span, out;
  for (size_t i = 0; i < SpanPacker::kWordsMax + 10; ++i) {
    span.name = StrCat("name ", i);
    span.attributes = {{"messaging.message.id", StrCat("id ", i)}};
    std::string bytes;
    packer.Pack(span, HeadOf(span), bytes);
    ASSERT_TRUE(packer.Unpack(KeyOf(span), bytes, out));
    ASSERT_EQ(out.name, span.name);
    ASSERT_EQ(out.Text("messaging.message.id"), span.Text("messaging.message.id"));
  }
}

TEST(SpanPackerTest, ACutRecordIsDamage) {
  SpanPacker packer;
  const Span span = Full();
  std::string bytes;
  packer.Pack(span, HeadOf(span), bytes);
  Span out;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(packer.Unpack(KeyOf(span), std::string_view(bytes).substr(0, size), out)) << size;
  }
  EXPECT_FALSE(packer.Unpack(KeyOf(span), bytes + "x", out));
}

TEST(SpanPackerTest, KeysAreInTheOrderOfEnds) {
  Span span;
  std::vector<SortedRuns::Key> keys;
  for (const WallTime end : {WallTime::min(), WallTime{Duration{-1}}, WallTime{}, WallTime::max()}) {
    span.end = end;
    keys.push_back(KeyOf(span));
  }
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

}  // namespace
}  // namespace hopgap::trace
