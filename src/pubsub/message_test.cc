#include "pubsub/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pubsub/timestamp.h"
#include "pubsub/wire_testing.h"

namespace hopgap::pubsub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr WallTime At(int64_t ns) { return WallTime{Duration{ns}}; }

Message Parsed(std::string_view notation) {
  absl::StatusOr<Message> message = Message::Parse(Bytes(Wire(notation)));
  EXPECT_TRUE(message.ok()) << message.status();
  return message.ok() ? *message : Message();
}

// data "hi", attribute a=b, message_id "7", publish_time 2 s 5 ns, ordering_key "k".
constexpr const char* kGolden = "0a 02 'hi' 12 06 0a 01 'a' 12 01 'b' 1a 01 '7' 22 04 08 02 10 05 2a 01 'k'";

TEST(MessageTest, ParseFindsTheFieldsInPlace) {
  const Message message = Parsed(kGolden);
  EXPECT_EQ(message.data(), "hi");
  EXPECT_EQ(message.message_id(), "7");
  EXPECT_EQ(message.ordering_key(), "k");
  EXPECT_EQ(message.publish_time(), At(2'000'000'005));
  EXPECT_EQ(message.attribute_count(), 1u);
  EXPECT_THAT(message.Attributes(), ElementsAre(Pair("a", "b")));
  EXPECT_EQ(message.wire_size(), Wire(kGolden).size());
  EXPECT_TRUE(Inside(message.data(), message.wire().view()));
  EXPECT_TRUE(Inside(message.ordering_key(), message.wire().view()));
}

TEST(MessageTest, MakeWritesTheFieldsInOrderAndLeavesDefaultsOut) {
  EXPECT_EQ(Message::Make("hi", {{"a", "b"}, {"", ""}}, "k").wire().view(),
            Wire("0a 02 'hi' 12 06 0a 01 'a' 12 01 'b' 12 04 0a 00 12 00 2a 01 'k'"));
  EXPECT_EQ(Message::Make("", {}).wire().view(), "");
  EXPECT_THAT(Message::Make("", {}).wire_slices(), IsEmpty());
}

TEST(MessageTest, MakeAndParseAgreeAtEveryLengthOfTheLengths) {
  for (const size_t size : {0u, 1u, 127u, 128u, 1024u, 16'383u, 16'384u}) {
    SCOPED_TRACE(size);
    const std::string text(size, 'x');
    const Message message = Message::Make(text, {{text, "1"}, {"k", text}}, text);
    EXPECT_EQ(message.data(), text);
    EXPECT_EQ(message.ordering_key(), text);
    EXPECT_EQ(message.Attribute("k"), text);
    EXPECT_EQ(message.Attribute(text), "1");
  }
}

// Protobuf's rules, which decide what the official subscribers see.
TEST(MessageTest, OfWhatIsGivenTwiceTheLastCounts) {
  const Message message = Parsed(
      "0a 01 'x' 0a 01 'y' 12 06 0a 01 'a' 12 01 '1' 12 06 0a 01 'a' 12 01 '2'"
      "2a 01 'p' 2a 01 'q' 22 02 08 01 22 02 10 09");
  EXPECT_EQ(message.data(), "y");
  EXPECT_EQ(message.Attribute("a"), "2");
  EXPECT_EQ(message.ordering_key(), "q");
  EXPECT_EQ(message.publish_time(), At(1'000'000'009)) << "messages merge";
  EXPECT_EQ(message.attribute_count(), 2u);
}

TEST(MessageTest, PartsLeftOutOfAnAttributeAreEmpty) {
  const Message message = Parsed("12 03 0a 01 'a' 12 03 12 01 'b' 12 00");
  EXPECT_THAT(message.Attributes(), ElementsAre(Pair("a", ""), Pair("", "b"), Pair("", "")));
  EXPECT_EQ(message.Attribute("a"), "");
  EXPECT_EQ(message.Attribute(""), "");
  EXPECT_EQ(message.Attribute("b"), std::nullopt);
}

TEST(MessageTest, UnknownFieldsAndWrongTypesAreKeptAndIgnored) {
  const char* notation = "08 05 18 01 4a 02 'zz' 25 01 02 03 04 0a 01 'd'";
  const Message message = Parsed(notation);
  EXPECT_EQ(message.data(), "d");
  EXPECT_EQ(message.message_id(), "");
  EXPECT_EQ(message.wire().view(), Wire(notation));
  EXPECT_EQ(message.Accepted("1", At(0)).wire().view(), Wire(notation) + Wire("1a 01 '1' 22 00"));
}

TEST(MessageTest, WhatIsNoMessageIsRefusedAndSaysWhere) {
  struct Case {
    const char* notation;
    const char* why;
  };
  for (const Case& c :
       {Case{"0a 02 'h'", "truncated"}, Case{"12 02 0a 01", "attributes"},
        Case{"12 03 0a 01 ff", "attributes are not valid UTF-8"},
        Case{"12 03 12 01 ff", "attributes are not valid UTF-8"}, Case{"2a 01 ff", "ordering_key is not valid UTF-8"},
        Case{"1a 01 ff", "message_id is not valid UTF-8"}, Case{"22 01 08", "publish_time"}}) {
    SCOPED_TRACE(c.notation);
    const absl::Status status = Message::Parse(Bytes(Wire(c.notation))).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.why));
  }
  EXPECT_TRUE(Message::Parse(Bytes(Wire("0a 02 ff 00"))).ok()) << "data is any bytes";
}

TEST(MessageTest, EveryTruncationIsAnAnswerAndReadsNoByteTooMany) {
  const std::string whole = Wire(kGolden);
  for (size_t size = 0; size <= whole.size(); ++size) {
    SCOPED_TRACE(size);
    const Bytes text = Guarded(std::string_view(whole).substr(0, size));
    const absl::StatusOr<Message> message = Message::Parse(text);
    // Only a cut between two fields leaves a message.
    const bool at_a_boundary = size == 0 || size == 4 || size == 12 || size == 15 || size == 21 || size == 24;
    EXPECT_EQ(message.ok(), at_a_boundary);
    if (message.ok()) {
      EXPECT_TRUE(Inside(message->data(), text.view()));
    }
  }
}

TEST(MessageTest, AcceptedAppendsIdAndTimeAsWireBytes) {
  const Message message = Message::Make("hi", {{"a", "b"}}, "k");
  const Message accepted = message.Accepted("42", At(1'500'000'000));
  EXPECT_EQ(accepted.message_id(), "42");
  EXPECT_EQ(accepted.publish_time(), At(1'500'000'000));
  EXPECT_EQ(accepted.data(), "hi");
  EXPECT_EQ(accepted.ordering_key(), "k");
  EXPECT_EQ(accepted.Attribute("a"), "b");
  EXPECT_EQ(Join(accepted.wire_slices()),
            std::string(message.wire().view()) + Wire("1a 02 '42' 22 08 08 01 10 80 ca b5 ee 01"));
  EXPECT_EQ(accepted.wire_size(), TotalSize(accepted.wire_slices()));
  EXPECT_EQ(accepted.wire().view(), Join(accepted.wire_slices()));
  EXPECT_EQ(message.message_id(), "") << "the original is as it was";
}

TEST(MessageTest, AcceptedNeverCopiesTheBody) {
  const Message message = Message::Make(std::string(9'000'000, 'x'), {});
  const Message accepted = message.Accepted("1", At(1));
  const Slices slices = accepted.wire_slices();
  ASSERT_THAT(slices, SizeIs(2));
  EXPECT_EQ(slices[0].view().data(), message.wire().view().data());
  EXPECT_EQ(accepted.data().data(), message.data().data());
  EXPECT_LT(slices[1].size(), 64u);
}

TEST(MessageTest, AcceptedOutlivesTheMessageItCameFrom) {
  Message accepted;
  {
    const Message message = Message::Make(std::string(1000, 'x'), {{"a", "b"}}, "k");
    accepted = message.Accepted(std::string("12"), At(1));
  }
  EXPECT_EQ(accepted.data(), std::string(1000, 'x'));
  EXPECT_EQ(accepted.Attribute("a"), "b");
  EXPECT_EQ(accepted.ordering_key(), "k");
  EXPECT_EQ(accepted.message_id(), "12");
}

TEST(MessageTest, AcceptedCutsOutWhatThePublisherHadNoBusinessToSet) {
  const Message message = Parsed(
      "1a 01 '7' 12 06 0a 01 'a' 12 01 '1' 22 02 08 02 1a 01 '8' 0a 02 'hi'"
      "12 06 0a 01 'a' 12 01 '2' 22 02 10 01");
  const Message accepted = message.Accepted("9", At(0));
  const std::string want = Wire("12 06 0a 01 'a' 12 01 '1' 0a 02 'hi' 12 06 0a 01 'a' 12 01 '2' 1a 01 '9' 22 00");
  EXPECT_EQ(Join(accepted.wire_slices()), want);
  EXPECT_EQ(accepted.wire_size(), want.size());
  EXPECT_EQ(accepted.message_id(), "9");
  EXPECT_EQ(accepted.publish_time(), At(0));
  EXPECT_EQ(accepted.Attribute("a"), "2") << "the order of the attributes is kept across the cuts";
  EXPECT_THAT(accepted.Attributes(), ElementsAre(Pair("a", "1"), Pair("a", "2")));
  for (const Bytes& slice : accepted.wire_slices()) EXPECT_FALSE(slice.empty());
}

TEST(MessageTest, AcceptedTwiceHasTheLastIdOnly) {
  const Message again = Message::Make("hi", {}).Accepted("1", At(1)).Accepted("2", At(0));
  EXPECT_EQ(again.wire().view(), Wire("0a 02 'hi' 1a 01 '2' 22 00"));
  EXPECT_EQ(again.data(), "hi");
  const Message cut = Parsed("0a 02 'hi' 1a 01 '7' 2a 01 'k'").Accepted("1", At(1)).Accepted("2", At(0));
  EXPECT_EQ(cut.wire().view(), Wire("0a 02 'hi' 2a 01 'k' 1a 01 '2' 22 00"));
  EXPECT_EQ(cut.ordering_key(), "k");
}

TEST(MessageTest, AMessageOfNothingButServerFieldsKeepsNoneOfThem) {
  EXPECT_EQ(Parsed("1a 01 '7' 22 02 08 02").Accepted("9", At(0)).wire().view(), Wire("1a 01 '9' 22 00"));
}

TEST(MessageTest, AnAcceptedMessageReadsBackTheSame) {
  const Message accepted = Message::Make("hi", {{"a", "b"}, {"c", "d"}}, "k").Accepted("42", At(-1));
  const absl::StatusOr<Message> read = Message::Parse(Bytes(Join(accepted.wire_slices())));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->message_id(), "42");
  EXPECT_EQ(read->publish_time(), At(-1));
  EXPECT_EQ(read->Attributes(), accepted.Attributes());
  EXPECT_EQ(read->data(), "hi");
}

TEST(MessageTest, WireJoinsOnce) {
  const Message accepted = Message::Make("hi", {}).Accepted("1", At(1));
  EXPECT_EQ(accepted.wire().view().data(), accepted.wire().view().data());
}

TEST(MessageDeathTest, MakeTakesText) { EXPECT_DEATH(Message::Make("", {{"a", "\xff"}}), "UTF-8"); }

TEST(TimestampTest, NanosCountForwardAlsoBefore1970) {
  struct Case {
    int64_t ns;
    TimeParts parts;
    const char* notation;
  };
  for (const Case& c : {Case{0, {0, 0}, ""}, Case{1, {0, 1}, "10 01"},
                        Case{999'999'999, {0, 999'999'999}, "10 ff 93 eb dc 03"}, Case{1'000'000'000, {1, 0}, "08 01"},
                        Case{-1, {-1, 999'999'999}, "08 ff ff ff ff ff ff ff ff ff 01 10 ff 93 eb dc 03"},
                        Case{-1'000'000'000, {-1, 0}, "08 ff ff ff ff ff ff ff ff ff 01"}}) {
    SCOPED_TRACE(c.ns);
    EXPECT_EQ(ToTimeParts(At(c.ns)), c.parts);
    EXPECT_EQ(EncodeTimeParts(c.parts), Wire(c.notation));
    EXPECT_EQ(ToWallTime(c.parts), At(c.ns));
    TimeParts read;
    EXPECT_TRUE(ReadTimeParts(Wire(c.notation), read));
    EXPECT_EQ(read, c.parts);
  }
}

TEST(TimestampTest, WhatNoWallTimeHoldsIsNoTime) {
  constexpr int64_t kLast = 9'223'372'035;  // one second inside 2^63 ns
  EXPECT_TRUE(ToWallTime({kLast, 999'999'999}));
  EXPECT_FALSE(ToWallTime({kLast + 1, 0}));
  EXPECT_TRUE(ToWallTime({-kLast, 0}));
  EXPECT_FALSE(ToWallTime({-kLast - 1, 0}));
  EXPECT_FALSE(ToWallTime({0, -1}));
  EXPECT_FALSE(ToWallTime({0, 1'000'000'000}));
  // A publisher may write anything; it must not break the parser.
  EXPECT_EQ(Parsed("22 0c 08 ff ff ff ff ff ff ff ff 7f 10 01").publish_time(), std::nullopt);
}

constexpr TraceContext kContext{0x0af7651916cd43dd, 0x8448eb211c80319c, 0x00f067aa0ba902b7};
constexpr const char* kTraceparent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

TEST(TraceparentTest, TheStandardsExampleGoesThereAndBack) {
  EXPECT_EQ(FormatTraceparent(kContext), kTraceparent);
  EXPECT_EQ(ParseTraceparent(kTraceparent), kContext);
  EXPECT_TRUE(kContext.valid());
}

TEST(TraceparentTest, LaterVersionsAreReadByTheirFirst55Characters) {
  const std::string rest = std::string(kTraceparent).substr(2);
  EXPECT_EQ(ParseTraceparent("01" + rest), kContext);
  EXPECT_EQ(ParseTraceparent("cc" + rest + "-what-the-future-brings"), kContext);
  EXPECT_FALSE(ParseTraceparent("cc" + rest + "x").valid());
  EXPECT_FALSE(ParseTraceparent("ff" + rest).valid());
  EXPECT_FALSE(ParseTraceparent("00" + rest + "-x").valid()) << "version 00 has no more";
}

TEST(TraceparentTest, AnythingMalformedIsNoContext) {
  const std::string good = kTraceparent;
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseTraceparent(Guarded(good.substr(0, size)).view()).valid()) << size;
  }
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = 'X';
    EXPECT_EQ(ParseTraceparent(bad), TraceContext{}) << bad;
  }
  EXPECT_FALSE(ParseTraceparent("00-0AF7651916CD43DD8448EB211C80319C-00F067AA0BA902B7-01").valid());
  EXPECT_EQ(ParseTraceparent("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), TraceContext{});
  EXPECT_EQ(ParseTraceparent("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"), TraceContext{});
  EXPECT_TRUE(ParseTraceparent("00-00000000000000000000000000000001-0000000000000001-00").valid());
}

}  // namespace
}  // namespace hopgap::pubsub
