#include "live/otlp_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/otlp_proto.h"
#include "formats/rpc_status.h"

namespace hopgap::live {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Kind = OtlpOutcome::Kind;

constexpr WallTime kNow{784111770s};  // Sun, 06 Nov 1994 08:49:30 GMT

remote::HttpResponse Http(int status, remote::HttpHeaders headers = {}, std::string body = {}) {
  return {.status = status, .headers = std::move(headers), .body = std::move(body)};
}

TEST(JudgeHttpTest, FourStatusesMayBeTriedAgainAndNoOther) {
  for (const int status : {429, 502, 503, 504})
    EXPECT_EQ(JudgeHttp(Http(status), kNow).kind, Kind::kTryAgain) << status;
  for (const int status : {301, 400, 401, 403, 404, 408, 413, 415, 500, 501, 505}) {
    EXPECT_EQ(JudgeHttp(Http(status), kNow).kind, Kind::kRefused) << status;
  }
  for (const int status : {200, 202, 204}) EXPECT_EQ(JudgeHttp(Http(status), kNow).kind, Kind::kTaken) << status;
  EXPECT_EQ(JudgeHttp(absl::UnavailableError("no connection"), kNow).kind, Kind::kTryAgain);
  EXPECT_EQ(JudgeHttp(absl::DeadlineExceededError("late"), kNow).kind, Kind::kTryAgain);
}

TEST(JudgeHttpTest, ObeysRetryAfter) {
  EXPECT_EQ(JudgeHttp(Http(429, {{"retry-after", "7"}}), kNow).wait, Duration{7s});
  EXPECT_EQ(JudgeHttp(Http(503, {{"Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"}}), kNow).wait, Duration{7s});
  EXPECT_EQ(JudgeHttp(Http(503), kNow).wait, std::nullopt);
}

TEST(RetryAfterTest, IsSecondsOrADate) {
  struct Case {
    const char* text;
    std::optional<Duration> wait;
  };
  for (const Case& c :
       {Case{"0", 0s}, Case{"120", 120s}, Case{"999999999999", 24h}, Case{"-1", std::nullopt}, Case{"", std::nullopt},
        Case{"1.5", std::nullopt}, Case{"soon", std::nullopt}, Case{"Sun, 06 Nov 1994 08:49:29 GMT", 0s},  // has passed
        Case{"Mon, 07 Nov 1994 08:49:30 GMT", 24h}, Case{"Sun, 06 Nov 1994 08:49:61 GMT", std::nullopt},
        Case{"Sun, 31 Feb 1994 08:49:30 GMT", std::nullopt}, Case{"Sun, 06 Now 1994 08:49:37 GMT", std::nullopt},
        Case{"Sunday, 06-Nov-94 08:49:37 GMT", std::nullopt}}) {
    EXPECT_EQ(ReadRetryAfter(c.text, kNow), c.wait) << c.text;
  }
}

TEST(JudgeGrpcTest, SixCodesMayBeTriedAgainAndFullOnlyWithADelay) {
  using enum absl::StatusCode;
  for (const absl::StatusCode code : {kCancelled, kDeadlineExceeded, kAborted, kOutOfRange, kUnavailable, kDataLoss}) {
    EXPECT_EQ(JudgeGrpc({absl::Status(code, "x"), "", ""}).kind, Kind::kTryAgain) << code;
  }
  for (const absl::StatusCode code :
       {kUnknown, kInvalidArgument, kNotFound, kAlreadyExists, kPermissionDenied, kFailedPrecondition, kUnimplemented,
        kInternal, kUnauthenticated, kResourceExhausted}) {
    EXPECT_EQ(JudgeGrpc({absl::Status(code, "x"), "", ""}).kind, Kind::kRefused) << code;
  }
  const absl::Status full = absl::ResourceExhaustedError("full");
  const OtlpOutcome later = JudgeGrpc({full, formats::EncodeRpcStatus(full, 2500ms), ""});
  EXPECT_EQ(later.kind, Kind::kTryAgain);
  EXPECT_EQ(later.wait, Duration{2500ms});
}

TEST(JudgeTest, APartialSuccessIsTakenAndNeverSentAgain) {
  const std::string some = formats::EncodeOtlpResponse({.rejected_spans = 3, .message = "too old"});
  const std::string warning = formats::EncodeOtlpResponse({.rejected_spans = 0, .message = "slow down"});
  for (const bool grpc : {false, true}) {
    const auto judge = [&](const std::string& body) {
      return grpc ? JudgeGrpc({absl::OkStatus(), "", body}) : JudgeHttp(Http(200, {}, body), kNow);
    };
    EXPECT_EQ(judge(some).kind, Kind::kTaken);
    EXPECT_EQ(judge(some).rejected_spans, 3);
    EXPECT_THAT(judge(some).message, HasSubstr("too old"));
    EXPECT_EQ(judge(warning).rejected_spans, 0);
    EXPECT_THAT(judge(warning).message, HasSubstr("slow down"));
    EXPECT_EQ(judge("").message, "");
    EXPECT_EQ(judge("<html>").kind, Kind::kTaken);
    EXPECT_THAT(judge("<html>").message, HasSubstr("taken, but"));
  }
}

}  // namespace
}  // namespace hopgap::live
