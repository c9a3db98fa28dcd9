#include "pubsub/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "pubsub/wire_testing.h"

namespace hopgap::pubsub {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(WireWriterTest, WritesTheBytesOfTheFormatsDocumentation) {
  std::string out;
  WireWriter writer(out);
  writer.Varint(1, 150);
  writer.Text(2, "testing");
  EXPECT_EQ(out, Wire("08 96 01 12 07 'testing'"));
}

TEST(WireWriterTest, WritesNegativeNumbersAsTenBytesAndLargeFieldNumbersAsWideTags) {
  std::string out;
  WireWriter writer(out);
  writer.Signed(1, -1);
  writer.Varint(16, 0);
  writer.Header(2047, 300);
  EXPECT_EQ(out, Wire("08 ff ff ff ff ff ff ff ff ff 01 80 01 00 fa 7f ac 02"));
}

TEST(VarintTest, EveryBoundaryGoesThereAndBackInItsSize) {
  struct Case {
    uint64_t value;
    size_t size;
  };
  for (const Case& c : {Case{0, 1}, Case{1, 1}, Case{127, 1}, Case{128, 2}, Case{16'383, 2}, Case{16'384, 3},
                        Case{(uint64_t{1} << 32) - 1, 5}, Case{uint64_t{1} << 32, 5}, Case{(uint64_t{1} << 63) - 1, 9},
                        Case{uint64_t{1} << 63, 10}, Case{kMax, 10}}) {
    SCOPED_TRACE(c.value);
    std::string out;
    WireWriter::AppendVarint(out, c.value);
    EXPECT_EQ(out.size(), c.size);
    EXPECT_EQ(VarintSize(c.value), c.size);
    out.push_back('x');
    std::string_view rest = out;
    uint64_t value = 0;
    ASSERT_TRUE(TakeVarint(rest, value));
    EXPECT_EQ(value, c.value);
    EXPECT_EQ(rest, "x");
  }
}

TEST(VarintTest, WhatIsTruncatedOrTooWideIsLeftAlone) {
  for (const char* notation :
       {"", "80", "ff ff ff ff ff ff ff ff ff", "ff ff ff ff ff ff ff ff ff 02", "80 80 80 80 80 80 80 80 80 80 01"}) {
    SCOPED_TRACE(notation);
    const std::string text = Wire(notation);
    std::string_view rest = text;
    uint64_t value = 7;
    EXPECT_FALSE(TakeVarint(rest, value));
    EXPECT_EQ(rest, text);
    EXPECT_EQ(value, 7u);
  }
}

TEST(WireReaderTest, ReadsEveryType) {
  const std::string text = Wire("08 96 01  11 01 00 00 00 00 00 00 80  1a 02 'ab'  25 ff 00 00 80");
  WireReader reader(text);
  ASSERT_TRUE(reader.Next());
  EXPECT_TRUE(reader.field().Is(1, WireType::kVarint));
  EXPECT_EQ(reader.field().value, 150u);
  EXPECT_EQ(reader.field().whole, Wire("08 96 01"));
  ASSERT_TRUE(reader.Next());
  EXPECT_TRUE(reader.field().Is(2, WireType::kFixed64));
  EXPECT_EQ(reader.field().value, 0x8000000000000001u);
  ASSERT_TRUE(reader.Next());
  EXPECT_TRUE(reader.field().Is(3, WireType::kBytes));
  EXPECT_EQ(reader.field().bytes, "ab");
  EXPECT_EQ(reader.field().whole, Wire("1a 02 'ab'"));
  ASSERT_TRUE(reader.Next());
  EXPECT_TRUE(reader.field().Is(4, WireType::kFixed32));
  EXPECT_EQ(reader.field().value, 0x800000ffu);
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.ok());
}

TEST(WireReaderTest, ConvertsAsProtobufDoes) {
  const std::string text = Wire("08 ff ff ff ff ff ff ff ff ff 01  08 80 80 80 80 10  08 ff ff ff ff 0f");
  WireReader reader(text);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.field().AsSigned(), -1);
  EXPECT_EQ(reader.field().AsInt32(), -1);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.field().AsInt32(), 0) << "2^32 has a low half of 0";
  EXPECT_TRUE(reader.field().AsBool());
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.field().AsInt32(), -1);
}

TEST(WireReaderTest, StopsAtTheFirstMalformedByte) {
  struct Case {
    const char* name;
    const char* notation;
  };
  for (const Case& c :
       {Case{"field number 0", "02 00"}, Case{"group", "0b 0c"}, Case{"end of a group", "0c"},
        Case{"no such type", "0e 00"}, Case{"no value", "08"}, Case{"no length", "0a"},
        Case{"length past the end", "0a 02 'a'"}, Case{"fixed64 cut", "09 01 02 03 04 05 06 07"},
        Case{"fixed32 cut", "0d 01 02 03"}, Case{"tag past 29 bits", "80 80 80 80 10 00"},
        Case{"tag of six bytes", "88 80 80 80 80 00 01"}, Case{"length of six bytes", "0a 81 80 80 80 80 00 'a'"},
        Case{"length near 2^64", "0a ff ff ff ff ff ff ff ff ff 01 'a'"}}) {
    SCOPED_TRACE(c.name);
    const Bytes text = Guarded(Wire("10 01") + Wire(c.notation));
    WireReader reader(text.view());
    EXPECT_TRUE(reader.Next());
    EXPECT_FALSE(reader.Next());
    EXPECT_FALSE(reader.ok());
    EXPECT_FALSE(reader.Next()) << "it stays stopped";
  }
}

TEST(WireReaderTest, TagsAndLengthsMayTakeFiveBytes) {
  const std::string text = Wire("8a 80 80 80 00 81 80 80 80 00 'a'");
  WireReader reader(text);
  ASSERT_TRUE(reader.Next());
  EXPECT_TRUE(reader.field().Is(1, WireType::kBytes));
  EXPECT_EQ(reader.field().bytes, "a");
}

TEST(WireReaderTest, TheLargestFieldNumberIsRead) {
  const std::string text = Wire("f8 ff ff ff 0f 01");
  WireReader reader(text);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.field().number, (1u << 29) - 1);
}

TEST(IsUtf8Test, FollowsTheStandardsTableOfWellFormedSequences) {
  struct Case {
    const char* notation;
    bool want;
  };
  for (const Case& c : {Case{"", true},
                        Case{"'abcdefgh'", true},
                        Case{"7f", true},
                        Case{"80", false},
                        Case{"bf", false},
                        Case{"c1 bf", false},
                        Case{"c2 80", true},
                        Case{"df bf", true},
                        Case{"c2", false},
                        Case{"c2 c0", false},
                        Case{"e0 9f bf", false},
                        Case{"e0 a0 80", true},
                        Case{"ed 9f bf", true},
                        Case{"ed a0 80", false},
                        Case{"ee 80 80", true},
                        Case{"ef bf bf", true},
                        Case{"ef bf", false},
                        Case{"f0 8f bf bf", false},
                        Case{"f0 90 80 80", true},
                        Case{"f4 8f bf bf", true},
                        Case{"f4 90 80 80", false},
                        Case{"f5 80 80 80", false},
                        Case{"f0 90 80", false},
                        Case{"'12345678' c3 a4 '1234567'", true},
                        Case{"'1234567' ff '12345678'", false}}) {
    SCOPED_TRACE(c.notation);
    EXPECT_EQ(IsUtf8(Guarded(Wire(c.notation)).view()), c.want);
  }
}

}  // namespace
}  // namespace hopgap::pubsub
