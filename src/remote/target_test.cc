#include "remote/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace hopgap::remote {
namespace {

using ::testing::HasSubstr;

TEST(ParseTargetTest, KnowsThreeKinds) {
  const Target plain = *ParseTarget("localhost:8085");
  EXPECT_EQ(plain.address, "localhost:8085");
  EXPECT_FALSE(plain.tls);
  EXPECT_FALSE(plain.service());

  const Target tls = *ParseTarget("tls:[::1]:8085", {.ca_file = "ca.pem", .token_file = "token"});
  EXPECT_EQ(tls.address, "[::1]:8085");
  EXPECT_TRUE(tls.tls);
  EXPECT_FALSE(tls.service());
  EXPECT_EQ(tls.ca_file, "ca.pem");

  const Target service = *ParseTarget("gcp:my-project");
  EXPECT_EQ(service.address, "pubsub.googleapis.com:443");
  EXPECT_EQ(service.project, "my-project");
  EXPECT_TRUE(service.tls);
  EXPECT_TRUE(service.global_endpoint());

  const Target regional = *ParseTarget("gcp:example.com:p", {.endpoint = "europe-west1-pubsub.googleapis.com"});
  EXPECT_EQ(regional.address, "europe-west1-pubsub.googleapis.com:443");
  EXPECT_EQ(regional.project, "example.com:p");
  EXPECT_FALSE(regional.global_endpoint());
}

TEST(ParseTargetTest, RefusalsNameFlagAndValue) {
  struct Case {
    const char* text;
    TargetSettings settings;
    const char* why;
  };
  for (const Case& c :
       {Case{"", {}, "is none of embedded, HOST:PORT, tls:HOST:PORT, gcp:PROJECT"},
        Case{"localhost", {}, "--target localhost: is none of"}, Case{":1", {}, "is none of"},
        Case{"host:0", {}, "is none of"}, Case{"host:65536", {}, "is none of"}, Case{"tls:host", {}, "is none of"},
        Case{"http://host:1", {}, "is none of"}, Case{"gcp:", {}, "has no project id"},
        Case{"gcp:My", {}, "has no project id"}, Case{"gcp:p", {.endpoint = "a b"}, "--endpoint a b: is not HOST"},
        Case{"host:1", {.endpoint = "e:1"}, "--endpoint e:1: is for gcp:PROJECT"},
        Case{"host:1", {.ca_file = "c"}, "--ca-file c: needs --target tls:"},
        Case{"host:1", {.token_file = "t"}, "a token must not travel in the clear"},
        Case{"gcp:p", {.token_file = "t"}, "is not for gcp:PROJECT"},
        Case{"tls:host:1", {.certificate_file = "c"}, "--client-cert and --client-key: give both or neither"}}) {
    SCOPED_TRACE(c.text);
    const absl::StatusOr<Target> target = ParseTarget(c.text, c.settings);
    ASSERT_EQ(target.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(MessageOf(target.status())), HasSubstr(c.why));
  }
}

TEST(AuthorizeTest, PlaintextNeedsNothingAndAMissingFileIsNamed) {
  Target plain = *ParseTarget("localhost:1");
  EXPECT_TRUE(Authorize(plain).ok());
  EXPECT_EQ(plain.access, nullptr);
  Target tls = *ParseTarget("tls:localhost:1", {.ca_file = "no-such-file.pem"});
  const absl::Status status = Authorize(tls);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("--ca-file no-such-file.pem: cannot be read"));
}

TEST(ExplainTest, SaysWhatToDoForTheServiceAndNothingForAPlainTarget) {
  const absl::Status quota = absl::ResourceExhaustedError("Insufficient tokens");
  EXPECT_EQ(Explain(quota, *ParseTarget("localhost:1")), quota);
  const Target service = *ParseTarget("gcp:p");
  EXPECT_THAT(std::string(MessageOf(Explain(quota, service))), HasSubstr("Insufficient tokens; a quota is used up"));
  EXPECT_THAT(std::string(MessageOf(Explain(absl::PermissionDeniedError("no"), service))),
              HasSubstr("roles/pubsub.editor"));
  EXPECT_EQ(Explain(absl::NotFoundError("x"), service), absl::NotFoundError("x"));
}

TEST(EndsARunTest, OnlyWhatWaitingDoesNotMend) {
  const Target plain = *ParseTarget("h:1"), tls = *ParseTarget("tls:h:1"), service = *ParseTarget("gcp:p");
  // Our broker's queue may be full for a moment; a quota is used up for a minute at least.
  EXPECT_FALSE(EndsARun(absl::ResourceExhaustedError("x"), tls));
  EXPECT_TRUE(EndsARun(absl::ResourceExhaustedError("x"), service));
  EXPECT_TRUE(EndsARun(absl::UnauthenticatedError("x"), tls));
  EXPECT_FALSE(EndsARun(absl::UnauthenticatedError("x"), plain));
  EXPECT_FALSE(EndsARun(absl::UnavailableError("x"), service));
}

}  // namespace
}  // namespace hopgap::remote
