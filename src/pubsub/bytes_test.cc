#include "pubsub/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pubsub/slice_writer.h"

namespace hopgap::pubsub {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kBody(SliceWriter::kInlineBytesMax + 1, 'b');

TEST(BytesTest, ASliceOutlivesTheBytesItWasCutFrom) {
  Bytes part;
  {
    const Bytes whole(std::string("a short text and a tail"));
    part = whole.Slice(whole.view().substr(2, 5));
  }
  EXPECT_EQ(part.view(), "short");
}

TEST(BytesTest, CopiesShareTheirBytes) {
  const Bytes one(kBody);
  const Bytes two = one;
  EXPECT_EQ(one.view().data(), two.view().data());
}

TEST(BytesTest, JoinKeepsTheOrder) {
  const Slices slices{Bytes(std::string("ab")), Bytes(), Bytes(std::string("c"))};
  EXPECT_EQ(TotalSize(slices), 3u);
  EXPECT_EQ(Join(slices), "abc");
  EXPECT_EQ(Join({}), "");
}

TEST(SliceWriterTest, ABodyStaysWhereItIsBetweenItsHeaders) {
  const Bytes body(kBody);
  SliceWriter writer;
  writer.text() += "one";
  writer.Append(body);
  writer.Append(body);
  writer.text() += "two";
  const Slices slices = writer.Finish();
  ASSERT_THAT(slices, SizeIs(4));
  EXPECT_EQ(slices[1].view().data(), body.view().data());
  EXPECT_EQ(Join(slices), "one" + kBody + kBody + "two");
}

TEST(SliceWriterTest, SmallBodiesAreCopiedUpToTheLimit) {
  for (const size_t size : {size_t{0}, SliceWriter::kInlineBytesMax, SliceWriter::kInlineBytesMax + 1}) {
    SCOPED_TRACE(size);
    SliceWriter writer;
    writer.text() += "head";
    writer.Append(Bytes(std::string(size, 'x')));
    const Slices slices = writer.Finish();
    EXPECT_THAT(slices, SizeIs(size > SliceWriter::kInlineBytesMax ? 2 : 1));
    EXPECT_EQ(Join(slices), "head" + std::string(size, 'x'));
  }
}

TEST(SliceWriterTest, NothingWrittenIsNoSlice) { EXPECT_THAT(SliceWriter().Finish(), IsEmpty()); }

}  // namespace
}  // namespace hopgap::pubsub
