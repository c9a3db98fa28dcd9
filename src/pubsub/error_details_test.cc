#include "pubsub/error_details.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pubsub/wire_testing.h"

namespace hopgap::pubsub {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Status{3, "bad", [Any{url, ErrorInfo{reason, domain, {a: PERM}}}]}
const std::string kGoldenDetails = Wire(
    "08 03 12 03 'bad' 1a 73"
    "0a 28 'type.googleapis.com/google.rpc.ErrorInfo' 12 47"
    "0a 1a 'EXACTLY_ONCE_ACKID_FAILURE' 12 15 'pubsub.googleapis.com'"
    "1a 12 0a 01 'a' 12 0d 'TRANSIENT_ABC'");

TEST(ErrorDetailsTest, EncodesTheTrailerTheLibrariesRead) {
  EXPECT_EQ(EncodeAckFailures(absl::InvalidArgumentError("bad"), {{"a", "TRANSIENT_ABC"}}), kGoldenDetails);
}

TEST(ErrorDetailsTest, MetadataGoesThereAndBack) {
  const std::string text =
      EncodeAckFailures(absl::InvalidArgumentError("x"),
                        {{"id-2", std::string(kTransientUnavailable)}, {"id-1", std::string(kPermanentInvalidAckId)}});
  EXPECT_THAT(DecodeErrorMetadata(text),
              ElementsAre(Pair("id-1", kPermanentInvalidAckId), Pair("id-2", kTransientUnavailable)));
}

TEST(ErrorDetailsTest, OnlyTheFirstErrorInfoCounts) {
  const std::string other = Wire("1a 10 0a 0a 'x/y.BadReq' 12 02 0a 00");
  const std::string second = EncodeAckFailures(absl::OkStatus(), {{"b", "C"}});
  EXPECT_THAT(DecodeErrorMetadata(other), IsEmpty());
  EXPECT_THAT(DecodeErrorMetadata(other + kGoldenDetails + second), ElementsAre(Pair("a", "TRANSIENT_ABC")));
}

TEST(ErrorDetailsTest, MalformedDetailsHoldNothing) {
  EXPECT_THAT(DecodeErrorMetadata("not protobuf"), IsEmpty());
  for (size_t size = 0; size < kGoldenDetails.size(); ++size) {
    SCOPED_TRACE(size);
    EXPECT_THAT(DecodeErrorMetadata(Guarded(kGoldenDetails.substr(0, size)).view()), IsEmpty());
  }
}

TEST(ErrorDetailsTest, NothingIsKeptOfDetailsThatBreakOffLater) {
  EXPECT_THAT(DecodeErrorMetadata(kGoldenDetails + Wire("08")), IsEmpty());
  // The Any's own last byte is a tag without a value.
  std::string any = kGoldenDetails.substr(kGoldenDetails.size() - 0x73) + Wire("18");
  EXPECT_THAT(DecodeErrorMetadata(Wire("1a 74") + any), IsEmpty());
  any.pop_back();
  EXPECT_THAT(DecodeErrorMetadata(Wire("1a 73") + any), ElementsAre(Pair("a", "TRANSIENT_ABC")));
}

// The design's budget: ids of 24 characters, as ours are at most.
TEST(ErrorDetailsTest, EightyFailuresOfOurIdsFitTheTrailersBudget) {
  AckIdFailures failures;
  for (int i = 0; i < 80; ++i) {
    failures.emplace_back("abcdefghijklmnopqrstuv" + std::to_string(10 + i), std::string(kPermanentInvalidAckId));
  }
  EXPECT_LE(EncodeAckFailures(absl::InvalidArgumentError(std::string(200, 'x')), failures).size(), kDetailsBytesMax);
}

TEST(ErrorDetailsTest, OnlyCallersKnownToTakeLargeTrailersGetThem) {
  EXPECT_EQ(DetailsBytesMaxOf("gl-go/1.26.8 gccl/2.7.0 grpc-go/1.82.0"), kDetailsBytesMaxOfGoAndJava);
  EXPECT_EQ(DetailsBytesMaxOf("grpc-java-netty/1.76.0"), kDetailsBytesMaxOfGoAndJava);
  for (std::string_view other : {"", "grpc-python/1.85.3 grpc-c/54.0.0 (linux; chttp2)", "grpc-node-js/1.14.0",
                                 "grpc-c++/1.51.1 grpc-c/29.0.0", "my-grpc-gopher/1", "grpc-javascript/1"}) {
    EXPECT_EQ(DetailsBytesMaxOf(other), kDetailsBytesMax) << other;
  }
}

}  // namespace
}  // namespace hopgap::pubsub
