#include "server/byte_buffer.h"

#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace hopgap::server {
namespace {

TEST(ByteBufferTest, PiecesArriveInOrderAroundTheCopyLimit) {
  for (const size_t size : {size_t{0}, size_t{1}, kCopyBelow - 1, kCopyBelow, kCopyBelow + 1, size_t{1} << 20}) {
    SCOPED_TRACE(size);
    const pubsub::Slices pieces = {pubsub::Bytes(std::string("head")), pubsub::Bytes(std::string(size, 'x')),
                                   pubsub::Bytes(std::string("tail"))};
    EXPECT_EQ(ToBytes(ToByteBuffer(pieces)).view(), "head" + std::string(size, 'x') + "tail");
  }
}

TEST(ByteBufferTest, NoPiecesAreAnEmptyMessage) {
  EXPECT_TRUE(ToByteBuffer({}).Valid());
  EXPECT_EQ(ToByteBuffer({}).Length(), 0u);
  EXPECT_TRUE(ToBytes(ToByteBuffer({})).empty());
}

// A body is referenced while the transport has it, and dropped with it.
TEST(ByteBufferTest, ABodyIsNotCopiedAndIsHeldUntilTheBufferIsGone) {
  auto body = std::make_shared<const std::string>(kCopyBelow, 'b');
  const std::weak_ptr<const std::string> watch = body;
  const char* where = body->data();
  {
    grpc::ByteBuffer buffer = ToByteBuffer({pubsub::Bytes(body, *body)});
    body.reset();
    EXPECT_FALSE(watch.expired());
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(buffer.Dump(&slices).ok());
    ASSERT_EQ(slices.size(), 1u);
    EXPECT_EQ(reinterpret_cast<const char*>(slices[0].begin()), where);
  }
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace hopgap::server
